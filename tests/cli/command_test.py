#!/usr/bin/env python3
"""The command from outside: plans, benchmarks, progress and help.

usage: command_test.py path/to/tessera
"""
import json
import os

from command_case import CommandCase, main, read_npy


class CommandTest(CommandCase):
    def test_a_plan_with_any_scalars_can_be_read_and_run(self):
        for scalar in ("nan", "inf", "-inf"):
            text = self.tessera(f"plan 4x4x4 --alpha {scalar} --beta={scalar} --json").stdout
            problem = json.loads(text, parse_constant=self.fail)["problem"]
            self.assertEqual((problem["alpha"], problem["beta"]), (scalar, scalar))
            (self.folder / "plan.json").write_text(text)
            line = f"run 4x4x4 --alpha {scalar} --beta={scalar} --plan plan.json --out C.npy"
            self.tessera(line)
            for row in read_npy(self.folder / "C.npy"):
                self.assertFalse(any(abs(value) < 1e30 for value in row), row)

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

    def test_plan_of_claimed_tiles(self):
        layer = ",".join(["1024x4096x14336"] * 8)
        layer_plan = self.tessera(f"plan --group {layer} --type bf16 --machine h200").stdout
        self.assertIn("whoever is free takes the next tile\n", layer_plan)
        shown = self.tessera(f"plan --group {layer} --type bf16 --machine h200 --schedule hybrid "
                             "--kernel sm90_bf16_256x128x64_swapped_1x2").stdout
        for figure in ("hybrid, 66 workers, in pieces", "the last 22 come in 3 pieces each"):
            self.assertIn(figure, shown)
        self.assertNotIn("round robin", shown)
        pieces = f"plan --group {layer} --type bf16 --machine h200 --splits 2 --kernel "
        self.assertIn("whoever is free takes the next piece\n",
                      self.tessera(pieces + "sm90_bf16_256x128x64_swapped_1x2").stdout)
        self.assertNotIn("whoever", self.tessera(pieces + "sm90_bf16_128x256x64_2x1").stdout)
        self.assertNotIn("two-tile", self.tessera(f"plan --group {layer} --type bf16 --machine h200 "
                                                  "--all").stdout)

    def test_plan_names_a_hybrid_by_what_it_cuts(self):
        line = "--tile 128x128x32 --workers 82 --schedule hybrid"
        # 168 and 100 tiles: of the latter no full wave would be left beside the one that joins.
        self.assertIn("82 workers, two-tile,", self.tessera(f"plan 1536x1792x6016 {line}").stdout)
        self.assertIn("82 workers, one-tile,", self.tessera(f"plan 1280x1280x6016 {line}").stdout)

    def test_plan_says_how_tiles_are_added_up(self):
        line = "plan 256x256x65536 --type bf16 --machine h200 --kernel sm90_bf16_128x128x64 --splits "
        for splits, words in ((33, "up to 33 workers share a tile; they meet"),
                              (5, "up to 5 workers share a tile; the last to be done")):
            self.assertIn(words, self.tessera(f"{line}{splits}").stdout)
        self.assertIn("the last of every 8 adds up theirs, in 2 levels",
                      self.tessera(f"{line}33 --beta 1").stdout)
        self.assertNotIn("fix-up  ", self.tessera("plan 512x512x512").stdout)
        story = json.loads(self.tessera(f"{line}33 --json".replace("plan", "explain", 1)).stdout)
        self.assertTrue(story["workers"]["peers_meet"])

    def test_plan_for_a_machine_that_is_not_here(self):
        shown = self.tessera("plan 4096x4096x4096 --type bf16 --machine h200 --all").stdout
        self.assertIn("132 SMs", shown)
        self.assertIn("chosen", shown)
        self.tessera("plan 4096x4096x4096 --type bf16", env={"TESSERA_MACHINE": "h200"})

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
        # B of a product without rows is not read: 32 MB would take a millisecond and more.
        record = json.loads(self.tessera("bench 1x64x64,0x2000x4000 --cold --threads 1 "
                                         "--seconds 0.001 --json").stdout)
        self.assertLess(record["results"][0]["bound_seconds"], 1e-4)
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
        for peer in record["peers"]:
            self.assertNotIn("/", peer["path"])

    def test_bench_against_another_build(self):
        library = os.environ["TESSERA_ANOTHER_BUILD"]
        for trans in ("NN", "NT", "TN", "TT", "NP", "TP"):
            record = json.loads(self.tessera(
                f"bench 33x7x65 4x4x4:3 --trans {trans} --peer tessera={library} --threads 1 "
                "--seconds 0.001 --json").stdout)
            self.assertEqual(record["trans"], trans)
            for one in record["results"]:
                ours, other = one["results"]
                self.assertEqual(other["detail"], "tessera_plan_run")
                self.assertNotIn("wrong_result", ours)
                self.assertNotIn("wrong_result", other)
                self.assertEqual(one["skipped"], [])
        shown = self.tessera(f"bench 9x9x9 --peer tessera={library},tessera={library} --threads 1 "
                             "--seconds 0.001").stdout
        self.assertEqual(shown.count("times tessera="), 2)

    def test_bench_random_lists(self):
        line = "bench --shapes awkward --threads 1 --seconds 0.001 --json --seed 5 --count "
        five = json.loads(self.tessera(line + "5").stdout)["results"]
        two = json.loads(self.tessera(line + "2").stdout)["results"]
        shapes = [one["groups"][0] for one in five]
        self.assertEqual(shapes[:2], [one["groups"][0] for one in two])
        self.assertEqual(len({tuple(shape) for shape in shapes}), 5)
        for m, n, k in shapes:
            self.assertLessEqual(m * n * k, 20_000_000)
            self.assertTrue(all(2 <= side < 2897 for side in (m, n, k)))

    def test_calibrate(self):
        result = json.loads(self.tessera("calibrate --seconds 0.001 --save m.json --json").stdout)
        self.assertEqual(result["file"], "m.json")
        shown = self.tessera("plan 100x100x100 --machine m.json").stdout
        self.assertIn("cores", shown)

    def test_long_work_shows_a_bar_on_a_terminal_alone(self):
        (self.folder / "list.csv").write_text("m,n,k,why\n64,64,64,a\n65,65,65,b\n66,66,66,c\n")
        # All last by their options, however fast the machine.
        for line in ("run 700x700x700 --repeat 300 --threads 1",
                     "bench --shapes list.csv --threads 1 --seconds 0.3",
                     "sweep --corpus list.csv --seconds 0.2 --threads 1 --out s.jsonl",
                     "trace 700x700x700 --repeat 160 --threads 1",
                     "limits hbm --shape 64x64x8192 --memory 32M --repeat 1000 --threads 1",
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
    main()
