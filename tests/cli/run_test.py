#!/usr/bin/env python3
"""`tessera run` from outside: files, types, batches, groups and stored plans.

usage: run_test.py path/to/tessera
"""
import json

from command_case import CommandCase, main, matmul, read_npy, whole_numbers, write_batch, write_npy


class RunTest(CommandCase):
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


if __name__ == "__main__":
    main()
