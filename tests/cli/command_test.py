#!/usr/bin/env python3
"""The command from outside: what it prints, how it ends, and which files it leaves.

usage: command_test.py path/to/tessera
"""
import array
import json
import os
import pathlib
import pty
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

COMMAND = ""


def write_npy(path, rows, code="f", descr="<f4", fortran=False, shape=None):
    """A matrix as numpy.save stores it; `rows` is a list of lists."""
    shape = shape or (len(rows), len(rows[0]))
    order = zip(*rows) if fortran else rows
    data = array.array(code, [value for line in order for value in line]).tobytes()
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape!r}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    pathlib.Path(path).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                                   header.encode() + data)


def read_npy(path, code="f"):
    """Rows of a two-dimensional C-order file."""
    content = pathlib.Path(path).read_bytes()
    assert content.startswith(b"\x93NUMPY\x01\x00"), content[:10]
    size = struct.unpack("<H", content[8:10])[0]
    header = eval(content[10:10 + size].decode(), {})  # our own file
    assert not header["fortran_order"], header
    values = array.array(code)
    values.frombytes(content[10 + size:])
    *batch, rows, cols = header["shape"]
    assert len(values) == rows * cols * (batch[0] if batch else 1)
    lines = [list(values[i * cols:(i + 1) * cols]) for i in range(len(values) // cols)]
    return [lines[i:i + rows] for i in range(0, len(lines), rows)] if batch else lines


def write_batch(path, matrices):
    rows = [row for matrix in matrices for row in matrix]
    write_npy(path, rows, shape=(len(matrices), len(matrices[0]), len(matrices[0][0])))


def matmul(a, b):
    columns = list(zip(*b))
    return [[sum(x * y for x, y in zip(row, column)) for column in columns] for row in a]


def whole_numbers(rows, cols, seed):
    generator = random.Random(seed)
    return [[float(generator.randint(-4, 4)) for _ in range(cols)] for _ in range(rows)]


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def tessera(self, line, code=0, env=None):
        """Runs a command line in the test's folder and checks how it ends."""
        result = subprocess.run([COMMAND] + line.split(), cwd=self.folder, capture_output=True,
                                text=True, timeout=300, env={**os.environ, **(env or {})})
        self.assertEqual(result.returncode, code, f"{line}\n{result.stdout}{result.stderr}")
        return result

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())

    def fails(self, line, code, *words):
        """The line ends with `code`, one line of explanation that has all words, and no new file."""
        before = self.files()
        result = self.tessera(line, code)
        self.assertTrue(result.stderr.startswith("tessera: "), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual(self.files(), before)

    # The worked examples.

    def test_plan_of_the_hybrid_example(self):
        shown = self.tessera("plan 1536x1792x6016 --tile 128x128x32 --workers 82 --schedule hybrid")
        for figure in ("12 x 14 = 168", "188", "86", "82", "16168", "197 each, 14 left over"):
            self.assertIn(figure, shown.stdout)
        plan = json.loads(self.tessera("plan 1536x1792x6016 --tile 128x128x32 --workers 82 "
                                       "--schedule hybrid --no-two-tile --json").stdout)
        counts = plan["decomposition"]
        self.assertEqual((counts["stream_k_tiles"], counts["data_parallel_tiles"]), (4, 164))
        self.assertEqual(counts["stream_k_iterations"], 752)
        self.assertEqual((counts["iterations_per_worker"], counts["leftover_iterations"]), (9, 14))

    def test_plan_of_the_group_example(self):
        shown = self.tessera("plan --group 192x320x128,256x448x192 --tile 64x64x64 --workers 6 "
                             "--schedule data_parallel").stdout
        for figure in ("15 + 28 = 43", "2 and 3", "w, w + 6, w + 12"):
            self.assertIn(figure, shown)

    def test_plan_for_a_machine_that_is_not_here(self):
        shown = self.tessera("plan 4096x4096x4096 --type bf16 --machine h200 --all").stdout
        self.assertIn("132 SMs", shown)
        self.assertIn("chosen", shown)
        self.tessera("plan 4096x4096x4096 --type bf16", env={"TESSERA_MACHINE": "h200"})

    # Runs.

    def test_run_from_files(self):
        a, b = whole_numbers(33, 47, 1), whole_numbers(47, 29, 2)
        write_npy(self.folder / "A.npy", a)
        write_npy(self.folder / "B.npy", b, fortran=True)
        shown = self.tessera("run --a A.npy --b B.npy --out C.npy --schedule stream_k --workers 7 "
                             "--check")
        self.assertIn("passed: all 957 elements", shown.stdout)
        self.assertEqual(shown.stderr, "")
        self.assertEqual(self.files(), ["A.npy", "B.npy", "C.npy"])
        self.assertEqual(read_npy(self.folder / "C.npy"), matmul(a, b))

    def test_run_with_transposed_and_initial_matrices(self):
        a, b, c = whole_numbers(9, 8, 1), whole_numbers(9, 7, 2), whole_numbers(8, 7, 3)
        for name, matrix in (("A", a), ("B", b), ("C", c)):
            write_npy(self.folder / f"{name}.npy", matrix)
        self.tessera("run --a A.npy --b B.npy --c C.npy --out C.npy --trans TN --alpha 2 --beta -1 "
                     "--check")
        product = matmul([list(column) for column in zip(*a)], b)
        expected = [[2 * p - q for p, q in zip(*rows)] for rows in zip(product, c)]
        self.assertEqual(read_npy(self.folder / "C.npy"), expected)

    def test_run_with_a_bias(self):
        a, b = whole_numbers(9, 8, 1), whole_numbers(8, 7, 2)
        write_npy(self.folder / "A.npy", a)
        write_npy(self.folder / "B.npy", b)
        columns, rows = whole_numbers(1, 7, 3)[0], whole_numbers(1, 9, 4)[0]
        by_column = [[x + y for x, y in zip(row, columns)] for row in matmul(a, b)]
        by_row = [[x + y for x in row] for row, y in zip(matmul(a, b), rows)]
        for values, shape, expected, more in (
                (columns, (7,), by_column, ""), (columns, (1, 7), by_column, ""),
                (columns, (7,), by_column, "--bias-axis column"), (rows, (9,), by_row, ""),
                (rows, (9, 1), by_row, "--bias-axis row"),
                (columns, (7,), [[max(x, 0) for x in row] for row in by_column],
                 "--activation relu")):
            with self.subTest(f"{shape} {more}"):
                write_npy(self.folder / "V.npy", [values], shape=shape)
                self.tessera(f"run --a A.npy --b B.npy --bias V.npy --out C.npy --check {more}")
                self.assertEqual(read_npy(self.folder / "C.npy"), expected)

    def test_a_bias_for_a_square_stands_beside_the_columns(self):
        a, b = whole_numbers(5, 6, 1), whole_numbers(6, 5, 2)
        values = whole_numbers(1, 5, 3)[0]
        for name, matrix in (("A", a), ("B", b)):
            write_npy(self.folder / f"{name}.npy", matrix)
        write_npy(self.folder / "V.npy", [values], shape=(5,))
        self.tessera("run --a A.npy --b B.npy --bias V.npy --out C.npy --check")
        self.assertEqual(read_npy(self.folder / "C.npy"),
                         [[x + y for x, y in zip(row, values)] for row in matmul(a, b)])
        self.tessera("run --a A.npy --b B.npy --bias V.npy --bias-axis row --out C.npy --check")
        self.assertEqual(read_npy(self.folder / "C.npy"),
                         [[x + y for x in row] for row, y in zip(matmul(a, b), values)])

    def test_a_large_run_with_a_bias_is_verified(self):
        write_npy(self.folder / "V.npy", whole_numbers(1, 1792, 1), shape=(1792,))
        for more in ("", "--type bf16"):
            shown = self.tessera(f"run 1536x1792x300 --bias V.npy --check --repeat 1 {more}").stdout
            self.assertIn("Freivalds", shown)

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

    def test_run_of_a_batch(self):
        a = [whole_numbers(4, 5, seed) for seed in range(3)]
        b = [whole_numbers(5, 6, seed) for seed in range(10, 13)]
        c = [whole_numbers(4, 6, seed) for seed in range(20, 23)]
        for name, matrices in (("A", a), ("B", b), ("C", c)):
            write_batch(self.folder / f"{name}.npy", matrices)
        write_npy(self.folder / "B0.npy", b[0])
        write_npy(self.folder / "A0.npy", a[0])
        write_npy(self.folder / "V.npy", [[1, 2, 3, 4, 5, 6]], shape=(6,))
        products = [matmul(x, y) for x, y in zip(a, b)]
        shown = self.tessera("run --a A.npy --b B.npy --out D.npy --check --json").stdout
        self.assertEqual(len(json.loads(shown)["plan"]["problem"]["groups"]), 3)
        self.assertEqual(read_npy(self.folder / "D.npy"), products)
        self.tessera("run --a A.npy --b B0.npy --out D.npy --check --schedule stream_k --workers 5")
        self.assertEqual(read_npy(self.folder / "D.npy"), [matmul(x, b[0]) for x in a])
        self.tessera("run --a A0.npy --b B.npy --out D.npy --check")
        self.assertEqual(read_npy(self.folder / "D.npy"), [matmul(a[0], y) for y in b])
        self.tessera("run --a A.npy --b B.npy --c C.npy --beta -1 --bias V.npy --out D.npy --check")
        self.assertEqual(read_npy(self.folder / "D.npy"),
                         [[[p - q + j + 1 for j, (p, q) in enumerate(zip(*rows))]
                           for rows in zip(*pair)] for pair in zip(products, c)])
        write_batch(self.folder / "one.npy", a[:1])
        self.tessera("run --a one.npy --b B0.npy --out D.npy --check")
        self.assertEqual(read_npy(self.folder / "D.npy"), products[:1])

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

    def test_run_of_every_type(self):
        for kind in ("f64", "f32", "f16", "bf16", "i8", "u8"):
            shown = self.tessera(f"run 65x70x75 --type {kind} --beta 1 --check --repeat 1").stdout
            self.assertIn("passed", shown)
        self.tessera("run 40x50x60 --type bf16 --out-type f32 --activation gelu_erf --check")
        self.tessera("run 1536x1792x300 --type bf16 --check")

    def test_run_of_integers_from_files(self):
        a = [[-3, 100, 7], [5, -128, 1]]
        b = [[1, 2], [3, 4], [5, 127]]
        write_npy(self.folder / "A.npy", a, "b", "|i1")
        write_npy(self.folder / "B.npy", b, "b", "|i1")
        self.tessera("run --a A.npy --b B.npy --out C.npy --check")
        self.assertEqual(read_npy(self.folder / "C.npy", "i"), matmul(a, b))

    def test_bits_do_not_depend_on_threads(self):
        self.tessera("make 130x500 A.npy")
        self.tessera("make 500x90 B.npy --seed 1")
        contents = set()
        for threads in (1, 2, 5):
            self.tessera(f"run --a A.npy --b B.npy --out C.npy --schedule stream_k --workers 7 "
                         f"--tile 64x64x32 --threads {threads}")
            contents.add((self.folder / "C.npy").read_bytes())
        self.assertEqual(len(contents), 1)

    def test_run_of_groups(self):
        result = json.loads(self.tessera("run --group 30x20x10,0x5x7,3x4x0 --check --json").stdout)
        self.assertTrue(result["check"]["passed"])
        self.assertEqual(len(result["plan"]["problem"]["groups"]), 3)

        (self.folder / "data").mkdir()
        products = []
        for number, (m, n, k) in enumerate(((5, 6, 7), (8, 3, 2))):
            write_npy(self.folder / f"data/A{number}.npy", whole_numbers(m, k, number))
            write_npy(self.folder / f"data/B{number}.npy", whole_numbers(k, n, number + 9))
            products.append({"a": f"A{number}.npy", "b": f"B{number}.npy", "c": f"C{number}.npy"})
        (self.folder / "data/group.json").write_text(json.dumps({"products": products}))
        self.tessera("run --group data/group.json --check")
        for number, (m, n, k) in enumerate(((5, 6, 7), (8, 3, 2))):
            self.assertEqual(read_npy(self.folder / f"data/C{number}.npy"),
                             matmul(whole_numbers(m, k, number), whole_numbers(k, n, number + 9)))

    def test_run_of_a_stored_plan(self):
        plan = self.tessera("plan 100x110x120 --schedule split_k --splits 3 --tile 64x64x16 --json")
        (self.folder / "plan.json").write_text(plan.stdout)
        shown = self.tessera("run 100x110x120 --plan plan.json --check").stdout
        self.assertIn("split_k(3)", shown)
        self.fails("run 100x110x121 --plan plan.json", 2, "planned")

    def test_comparison_of_schedules(self):
        rows = json.loads(self.tessera("run 200x200x200 --compare --check --json").stdout)
        self.assertEqual([row["schedule"] for row in rows["schedules"]],
                         ["data_parallel", "split_k", "stream_k", "hybrid"])
        self.assertTrue(all(row["check"]["passed"] for row in rows["schedules"]))

    # Wrong usage and failures.

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
                ("run", ["--a and --b"]),
                ("run --a A.npy", ["--a and --b"]),
                ("run 1x2x3 --c C.npy", ["--c"]),
                ("run --group 1x2x3,4x5x6 --out C.npy", ["--out"]),
                ("run 4x4x4 --type i8 --alpha 0.5", ["alpha"]),
                ("bench --kind unknown", ["--shapes"]),
                ("bench 4x4x4 --peer fastblas", ["openblas", "'fastblas'"]),
                ("bench 4x4x4 --schedule greedy", ["'greedy'"]),
                ("bench --suite moe --kind nobody", ["--kind", "'nobody'"]),
                ("bench 4x4x4 --suite moe", ["--suite"]),
                ("bench --suite moe --type f32,bf16", ["--suite"]),
                ("make 3by4 M.npy", ["ROWSxCOLS"]),
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
                ("run 4x4x4 --out missing/C.npy", ["missing/C.npy", "directory"]),
                ("run 4x4x4 --out .", ["."]),
                ("run 4x4x4 --out /dev/null", ["ordinary file"]),
                ("make 4x4 missing/M.npy", ["missing/M.npy"]),
        ):
            with self.subTest(line):
                self.fails(line, 1, *words)
        self.assertTrue(pathlib.Path("/dev/null").is_char_device())

    def test_interruption_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen(
                [COMMAND] + "run 3000x3000x3000 --out C.npy --repeat 1000000".split(),
                cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(2)
            process.send_signal(number)
            _, errors = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 1, errors)
            self.assertIn("nothing was written", errors)
            self.assertEqual(self.files(), [])

    def test_a_full_disk_leaves_nothing(self):
        self.tessera("make 300x300 A.npy")
        result = subprocess.run(["bash", "-c", f"ulimit -f 100; trap '' XFSZ; exec {COMMAND} run "
                                 "--a A.npy --b A.npy --out C.npy"],
                                cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("C.npy", result.stderr)
        self.assertEqual(self.files(), ["A.npy"])

    # The other verbs.

    def test_info(self):
        info = json.loads(self.tessera("info --no-measure --json",
                                       env={"OMP_PROC_BIND": "close"}).stdout)
        self.assertGreaterEqual(info["cpu"]["cores"], 1)
        self.assertIn("h200", info["machines"])
        self.assertEqual(info["environment"]["OMP_PROC_BIND"], "close")
        self.assertIn("cpu_scalar_f32", [kernel["name"] for kernel in info["kernels"]])
        self.assertIn("processor", self.tessera("info --no-measure").stdout)

    def test_bench(self):
        (self.folder / "list.csv").write_text("m,n,k,why\n64,64,64,square\n1,300,200,skinny\n")
        line = "bench --shapes list.csv --schedule auto,stream_k --threads 1 --seconds 0.01"
        record = json.loads(self.tessera(line + " --save record.json --json").stdout)
        self.assertEqual(record, json.loads((self.folder / "record.json").read_text()))
        self.assertEqual([one["shape"] for one in record["results"]], ["64x64x64", "1x300x200"])
        for one in record["results"]:
            self.assertEqual(one["results"][0]["name"], "tessera")
            self.assertNotIn("wrong_result", one["results"][0])
            self.assertGreater(one["peak_gflops"], 0)
        record = json.loads(self.tessera("bench 8x8x8:50,9x9x9 --threads 1 --seconds 0.001 --json").stdout)
        self.assertEqual(len(record["results"][0]["groups"]), 51)
        shown = self.tessera(line + " --kind skinny").stdout
        self.assertIn("1x300x200", shown)
        self.assertNotIn("64x64x64", shown)

    def test_bench_layers_of_experts(self):
        rows = "".join(f"small,4,48,32,640,{sizes}\n" for sizes in ("uniform", "dirichlet(1.0)"))
        (self.folder / "moe.csv").write_text("suite,groups,n,k,total_rows,sizes\n" + rows)
        line = "bench --suite moe --shapes moe.csv --threads 1 --seconds 0.001"
        record = json.loads(self.tessera(line + " --save moe.json --json").stdout)
        self.assertEqual(record, json.loads((self.folder / "moe.json").read_text()))
        self.assertEqual([one["rows"] for one in record["results"]], [40, 40])
        for one in record["results"]:
            self.assertNotIn("wrong_result", one)
        self.assertEqual(len(record["skewed_over_uniform"]), 1)
        self.assertIn("of the bound", self.tessera(line + " --kind uniform").stdout)

    def test_bench_against_peers_that_are_here(self):
        peers = [peer["name"] for peer in json.loads(
            self.tessera("info --no-measure --json").stdout)["peers"]]
        if not peers:
            self.skipTest("neither OpenBLAS, BLIS nor oneDNN is installed")
        record = json.loads(self.tessera(f"bench 96x96x96 --peer {','.join(peers)} --threads 1 "
                                         "--seconds 0.01 --json").stdout)
        measured = {one["name"] for one in record["results"][0]["results"]}
        self.assertEqual(measured, {"tessera", *peers})
        self.assertFalse([one for one in record["results"][0]["results"] if "wrong_result" in one])
        self.assertEqual([peer["name"] for peer in record["peers"]], peers)

    def test_calibrate(self):
        result = json.loads(self.tessera("calibrate --seconds 0.001 --save m.json --json").stdout)
        self.assertEqual(result["file"], "m.json")
        shown = self.tessera("plan 100x100x100 --machine m.json").stdout
        self.assertIn("cores", shown)

    def on_a_terminal(self, line):
        """What a command line writes to stderr where that is a terminal."""
        try:
            ours, theirs = pty.openpty()
        except OSError as error:  # a root without /dev/pts
            self.skipTest(f"no terminal to be had: {error}")
        process = subprocess.Popen([COMMAND] + line.split(), cwd=self.folder, stderr=theirs,
                                   stdout=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm"})
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            shown += piece
        os.close(ours)
        self.assertEqual(process.wait(timeout=300), 0, shown)
        return shown.decode()

    def test_long_work_shows_a_bar_on_a_terminal_alone(self):
        (self.folder / "list.csv").write_text("m,n,k,why\n64,64,64,a\n65,65,65,b\n66,66,66,c\n")
        # All last by their options, however fast the machine.
        for line in ("run 700x700x700 --repeat 150 --threads 1",
                     "bench --shapes list.csv --threads 1 --seconds 0.3",
                     "sweep --corpus list.csv --seconds 0.2 --threads 1 --out s.jsonl",
                     "trace 700x700x700 --repeat 80 --threads 1",
                     "limits hbm --shape 64x64x1024 --memory 4M --repeat 1000 --threads 1",
                     "limits intensity --shape 192x192x192 --repeat 200 --threads 1",
                     "limits scratchpad --shape 256x256x256 --repeat 1000 --threads 1"):
            with self.subTest(line):
                shown = self.on_a_terminal(line)
                self.assertRegex(shown, r"\[[#.]+\] +\d+ %  \S+ \S+/s, \S+ \S+ left")
                # The last thing is to remove it.
                self.assertTrue(shown.endswith("\r\x1b[K"), repr(shown[-60:]))
                (self.folder / "s.jsonl").unlink(missing_ok=True)
        self.assertEqual(
            self.tessera("trace 700x700x700 --repeat 80 --threads 1").stderr, "")

    def test_a_sweeps_page_lies_beside_its_file(self):
        (self.folder / "list.csv").write_text("m,n,k,why\n16,16,16,a\n17,17,17,b\n")
        self.tessera("sweep --corpus list.csv --seconds 0.01 --threads 1 --out s.jsonl")
        self.assertIn("wrote s.html", self.tessera("report s.jsonl --html").stdout)
        self.assertIn("<svg", (self.folder / "s.html").read_text())
        for line in ("sweep --out t.jsonl --corpus", "bench --shapes", "bench --suite moe --shapes"):
            self.fails(f"{line} log25", 1, "log256", "'log25'")

    def test_make_is_repeatable(self):
        self.tessera("make 5x7 A.npy --type bf16 --seed 3")
        self.tessera("make 5x7 B.npy --type bf16 --seed 3")
        self.tessera("make 5x7 C.npy --type bf16 --seed 4")
        a, b, c = ((self.folder / f"{name}.npy").read_bytes() for name in "ABC")
        self.assertEqual(a, b)
        self.assertNotEqual(a, c)

    def test_help_and_version(self):
        self.assertRegex(self.tessera("--version").stdout, r"^\d+\.\d+\.\d+\n$")
        for verb in ("", "run ", "plan ", "bench "):
            self.assertIn("Exit codes", self.tessera(f"{verb}--help").stdout)


if __name__ == "__main__":
    COMMAND = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
