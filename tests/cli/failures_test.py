#!/usr/bin/env python3
"""How the command fails: wrong usage, broken files, interruption, a full disk.

usage: failures_test.py path/to/tessera
"""
import pathlib
import signal
import subprocess
import time

from command_case import CommandCase, main, whole_numbers, write_batch, write_npy


class FailuresTest(CommandCase):
    def test_wrong_usage(self):
        for line, words in (
                ("", ["--help"]),
                ("multiply", ["'multiply'", "run, plan"]),
                ("plan", ["shape"]),
                ("plan 12x13", ["MxNxK", "'12x13'"]),
                ("plan 1x2x3 --group 4x5x6", ["once"]),
                ("plan 1x2x3 --schedule greedy", ["data_parallel", "'greedy'"]),
                ("plan 1x2x3 --order spiral", ["hilbert", "'spiral'"]),
                ("plan 1x2x3 --type f33", ["bf16", "'f33'"]),
                ("plan 1x2x3 --machine cray", ["h200", "'cray'"]),
                ("plan 1x2x3 --kernel cpu_nothing", ["cpu_nothing"]),
                ("plan 1x2x3 --device tpu", ["cuda", "'tpu'"]),
                ("plan 1x2x3 --trans NX", ["NN", "'NX'"]),
                ("plan 1x2x3 --tile 0x1x1", ["BMxBNxBK"]),
                ("plan 1x2x3 --workers 0", ["--workers"]),
                ("plan 1x2x3 --what", ["--what"]),
                ("plan 1x2x3 --alpha x", ["--alpha", "tessera plan --help"]),
                ("bench 4x4x4 --seconds nan", ["--seconds", "0.001 to 3600", "'nan'"]),
                ("limits hbm --memory -1", ["--memory"]),
                ("limits hbm --memory 0", ["--memory", "'0'"]),
                ("trace 300x300x300 --threads 100000", ["--threads"]),
                ("explain 300x300x300 --run --threads 100000", ["--threads"]),
                ("run", ["--a and --b"]),
                ("run --a A.npy", ["--a and --b"]),
                ("run 1x2x3 --c C.npy", ["--c"]),
                ("run --group 1x2x3,4x5x6 --out C.npy", ["--out"]),
                ("run 4x4x4 --type i8 --alpha 0.5", ["alpha"]),
                ("bench --kind unknown", ["--shapes"]),
                ("bench 4x4x4 --peer fastblas", ["openblas", "'fastblas'"]),
                ("bench 4x4x4 --schedule greedy", ["'greedy'"]),
                ("bench 4x4x4 --trans NX", ["--trans", "NN, NT, NP, TN, TT or TP", "'NX'"]),
                ("bench 4x4x4 --trans PN", ["--trans", "'PN'"]),
                ("bench --suite moe --trans NT", ["--trans", "'NT'"]),
                ("bench --suite moe --trans NP", ["--trans", "'NP'"]),
                ("bench --suite moe --kind nobody", ["--kind", "'nobody'"]),
                ("bench 4x4x4 --suite moe", ["--suite"]),
                ("bench --suite moe --type f32,bf16", ["--suite"]),
                ("make 3by4 M.npy", ["ROWSxCOLS"]),
                ("make 3x4 M.npy --seed -1", ["--seed", "0 to 18446744073709551615", "'-1'"]),
                ("make 3x4 M.npy --seed 18446744073709551616", ["--seed", "given '18446744073709551616'"]),
                ("make 3x4 M.npy --seed 1.5", ["--seed", "whole number", "'1.5'"]),
                ("run 4x4x4 --seed -1", ["--seed", "'-1'"]),
                ("trace 4x4x4 --seed -1", ["--seed", "'-1'"]),
                ("sweep --seed -1", ["--seed", "'-1'"]),
                ("bench 4x4x4 --seed -1", ["--seed", "'-1'"]),
        ):
            with self.subTest(line):
                self.fails(line, 2, *words)

    def test_operands_that_do_not_fit(self):
        write_npy(self.folder / "A.npy", whole_numbers(4, 5, 1))
        write_npy(self.folder / "B.npy", whole_numbers(6, 4, 1))
        write_npy(self.folder / "D.npy", whole_numbers(5, 4, 1), "d", "<f8")
        write_npy(self.folder / "U.npy", [[1, 2], [3, 4]], "H", "<u2")
        self.fails("run --a A.npy --b B.npy --out C.npy", 2, "B.npy", "5 rows", "6x4", "--trans")
        self.fails("run --a A.npy --b D.npy --out C.npy", 2, "f64")
        self.fails("run --a A.npy --b D.npy --type f32 --out C.npy", 2, "D.npy", "f32", "f64")
        self.fails("run --a U.npy --b U.npy --out C.npy", 1, "--type bf16")
        self.fails("run --a A.npy --b D.npy --c A.npy --beta 1 --out C.npy", 2)

    def test_a_bias_that_does_not_fit(self):
        for name, matrix in (("A", whole_numbers(4, 5, 1)), ("B", whole_numbers(5, 3, 2))):
            write_npy(self.folder / f"{name}.npy", matrix)
        write_npy(self.folder / "six.npy", whole_numbers(1, 6, 1), shape=(6,))
        write_npy(self.folder / "rows.npy", whole_numbers(4, 1, 1))
        write_npy(self.folder / "wide.npy", whole_numbers(2, 2, 1))
        write_npy(self.folder / "double.npy", whole_numbers(1, 3, 1), "d", "<f8", shape=(3,))
        run = "run --a A.npy --b B.npy --out C.npy --bias"
        self.fails(f"{run} six.npy", 2, "six.npy", "3 values, one per column", "4, one per row", "given 6")
        self.fails(f"{run} rows.npy --bias-axis column", 2, "rows.npy", "--bias-axis", "4x1")
        self.fails(f"{run} double.npy", 2, "double.npy", "f32", "f64", "astype")
        self.fails(f"{run} wide.npy", 1, "wide.npy", "vector", "(2, 2)")
        self.fails(f"{run} missing.npy", 1, "missing.npy", "No such file")
        self.fails(f"{run} six.npy --bias-axis across", 2, "row", "'across'")
        self.fails("run 4x4x4 --bias-axis row", 2, "--bias-axis", "--bias FILE")
        self.fails("run --group 4x4x4,5x5x5 --bias six.npy", 2, "--bias", "single product")

    def test_a_batch_that_does_not_fit(self):
        write_batch(self.folder / "A.npy", [whole_numbers(4, 5, seed) for seed in range(3)])
        write_batch(self.folder / "B.npy", [whole_numbers(5, 6, seed) for seed in range(2)])
        write_batch(self.folder / "wide.npy", [whole_numbers(6, 5, seed) for seed in range(3)])
        write_npy(self.folder / "B0.npy", whole_numbers(5, 6, 1))
        write_npy(self.folder / "C0.npy", whole_numbers(4, 6, 1))
        write_npy(self.folder / "deep.npy", [[1.0]], shape=(1, 1, 1, 1))
        write_npy(self.folder / "none.npy", [[]], shape=(0, 5, 6))
        write_npy(self.folder / "fortran.npy", [[1.0, 2.0]], fortran=True, shape=(2, 1, 1))
        (self.folder / "group.json").write_text('{"products": [{"a": "A.npy", "b": "B0.npy"}]}')
        self.fails("run --a A.npy --b B.npy --out D.npy", 2, "B.npy", "3 matrices", "given 2",
                   "one for all")
        self.fails("run --a A.npy --b wide.npy --out D.npy", 2, "wide.npy", "5 rows", "6x5")
        self.fails("run --a A.npy --b B0.npy --c C0.npy --beta 1 --out D.npy", 2, "C0.npy",
                   "3 matrices", "two dimensions")
        self.fails("run --a deep.npy --b B0.npy --out D.npy", 1, "deep.npy", "4 dimensions")
        self.fails("run --a A.npy --b none.npy --out D.npy", 1, "none.npy", "1 to 1048576")
        self.fails("run --a fortran.npy --b B0.npy --out D.npy", 1, "ascontiguousarray")
        self.fails("run --group group.json", 2, "A.npy", "--a and --b")

    def test_broken_files(self):
        write_npy(self.folder / "A.npy", whole_numbers(4, 5, 1))
        whole = (self.folder / "A.npy").read_bytes()
        (self.folder / "short.npy").write_bytes(whole[:-1])
        (self.folder / "text.npy").write_text("not a matrix at all")
        (self.folder / "empty.npy").write_bytes(b"")
        (self.folder / "broken.json").write_text('{"products": [')
        (self.folder / "foreign.json").write_text('{"schema": 77}')
        (self.folder / "list.csv").write_text("m,n,k,why\n1,2\n")
        for line, words in (
                ("run --a missing.npy --b A.npy", ["missing.npy", "No such file"]),
                ("run --a short.npy --b A.npy --out C.npy", ["short.npy", "truncated"]),
                ("run --a text.npy --b A.npy --out C.npy", ["text.npy", ".npy file"]),
                ("run --a empty.npy --b A.npy --out C.npy", ["0 bytes"]),
                ("run --a . --b A.npy", ["ordinary file"]),
                ("run --group broken.json", ["broken.json", "JSON"]),
                ("run --group missing.json", ["missing.json"]),
                ("plan 1x2x3 --machine foreign.json", []),
                ("run 1x2x3 --plan foreign.json", []),
                ("bench --shapes list.csv", ["line 2", "list.csv"]),
                ("bench --shapes missing.csv", ["missing.csv"]),
                ("bench 4x4x4 --peer openblas=missing.so", ["openblas"]),
                ("bench 4x4x4 --peer tessera=missing.so", ["tessera=/path/lib.so"]),
                ("run 4x4x4 --out missing/C.npy", ["missing/C.npy", "directory"]),
                ("run 4x4x4 --out .", ["."]),
                ("run 4x4x4 --out /dev/null", ["ordinary file"]),
                ("make 4x4 missing/M.npy", ["missing/M.npy"]),
        ):
            with self.subTest(line):
                self.fails(line, 1, *words)
        self.assertTrue(pathlib.Path("/dev/null").is_char_device())

    def test_output_that_cannot_be_printed_is_a_failure(self):
        for line in ("--help", "plan 1x2x3", "plan 1x2x3 --json", "info --no-measure", "manual",
                     "make 3x4 M.npy"):
            for to in (">/dev/full", ">&-"):
                with self.subTest(line + to):
                    result = subprocess.run(["bash", "-c", f"exec {self.command} {line} {to}"],
                                            cwd=self.folder, capture_output=True, text=True, timeout=60)
                    self.assertEqual(result.returncode, 1, result.stderr)
                    self.assertRegex(result.stderr, "^tessera: .*(No space left|Bad file|a write that failed)")

    def test_what_is_printed_goes_into_no_file(self):
        (self.folder / "list.csv").write_text("m,n,k,why\n16,16,16,a\n")
        line = "sweep --corpus list.csv --seconds 0.001 --threads 1 --out s.jsonl"
        subprocess.run(["bash", "-c", f"exec {self.command} {line} >&- 2>&-"], cwd=self.folder,
                       timeout=60)
        self.assertIn("1 of 1 shapes", self.tessera("report s.jsonl").stdout)

    def test_a_sweep_that_fails_at_once_commits_to_no_settings(self):
        (self.folder / "list.csv").write_text("m,n,k,why\n16,16,16,a\n")
        line = "sweep --corpus list.csv --seconds 0.001 --threads 1 --out s.jsonl"
        self.tessera(f"{line} --kernel cpu_nothing", 2)
        self.tessera(line)

    def test_interruption_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen(
                [self.command] + "run 3000x3000x3000 --out C.npy --repeat 1000000".split(),
                cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(2)
            process.send_signal(number)
            _, errors = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 1, errors)
            self.assertIn("nothing was written", errors)
            self.assertEqual(self.files(), [])

    def test_a_full_disk_leaves_nothing(self):
        self.tessera("make 300x300 A.npy")
        result = subprocess.run(["bash", "-c", f"ulimit -f 100; trap '' XFSZ; exec {self.command} run "
                                 "--a A.npy --b A.npy --out C.npy"],
                                cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("C.npy", result.stderr)
        self.assertEqual(self.files(), ["A.npy"])


if __name__ == "__main__":
    main()
