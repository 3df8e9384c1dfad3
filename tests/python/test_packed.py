"""Weights that are packed ahead of the products that use them."""

import concurrent.futures

import numpy as np
import pytest

import tessera


def _whole_numbers(shape, dtype, seed):
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8"])
def test_one_packing_serves_any_number_of_rows(dtype):
    b = _whole_numbers((130, 70), dtype, 1)
    packed = tessera.pack_b(b, rows=16)
    assert packed.shape == (130, 70) and packed.nbytes > 0 and packed.kernel in repr(packed)
    wide = b.astype("float64")
    b[...] = 0  # its memory is not read any more
    for rows in (1, 5, 16, 100):
        a = _whole_numbers((rows, 130), dtype, rows)
        np.testing.assert_array_equal(tessera.gemm(a, packed), a.astype("float64") @ wide)


def test_bf16():
    bf16 = pytest.importorskip("ml_dtypes").bfloat16
    a, b = _whole_numbers((20, 64), bf16, 1), _whole_numbers((64, 48), bf16, 2)
    packed = tessera.pack_b(b, rows=20)
    assert packed.type == "bf16"
    want = a.astype("float32") @ b.astype("float32")
    np.testing.assert_array_equal(tessera.gemm(a, packed, out_dtype="f32"), want)


def test_strides_batches_and_epilogues():
    a = _whole_numbers((3, 7, 40), np.float32, 1)
    b = _whole_numbers((30, 40), np.float32, 2)
    packed = tessera.pack_b(b.T, rows=7)
    np.testing.assert_array_equal(tessera.gemm(a, packed), a @ b.T)
    bias = np.arange(30, dtype=np.float32)
    c = np.ones((7, 30), np.float32)
    got = tessera.gemm(a[0], packed, c, alpha=2, beta=-1, bias=bias, activation="relu")
    np.testing.assert_array_equal(got, np.maximum(2 * a[0] @ b.T - 1 + bias, 0))


def test_groups_may_mix():
    a = [_whole_numbers((m, 40), np.float32, m) for m in (3, 50, 8)]
    b = [_whole_numbers((40, 30), np.float32, 10 + i) for i in range(3)]
    first = tessera.pack_b(b[0], rows=20)
    third = tessera.pack_b(b[2], plan=tessera.plan(a[0], first))
    for_all = tessera.plan([(x.shape[0], 30, 40) for x in a], packed_b=True)
    packed = [tessera.pack_b(x, plan=for_all) for x in b]
    for got, again, x, y in zip(for_all.run(a, packed), tessera.grouped_gemm(a, packed), a, b):
        np.testing.assert_array_equal(got, x @ y)
        np.testing.assert_array_equal(again, x @ y)
    for got, x, y in zip(tessera.grouped_gemm(a, [first, b[1], third]), a, b):
        np.testing.assert_array_equal(got, x @ y)


def test_plans():
    a, b = _whole_numbers((9, 130), np.float32, 1), _whole_numbers((130, 70), np.float32, 2)
    packed = tessera.pack_b(b, rows=9)
    plan = tessera.plan(a, packed, workers=2)
    assert plan.kernel == packed.kernel and plan.tile[2] == packed.block_k
    np.testing.assert_array_equal(plan(a, packed), a @ b)
    np.testing.assert_array_equal(plan.run([a], [packed])[0], a @ b)
    assert tessera.plan(a, packed, tile=(9, 64, 0)).tile[2] == packed.block_k
    with pytest.raises(tessera.InvalidArgumentError, match="packed_b: must be packed with a block_k of 40"):
        tessera.plan(a, b, kernel=packed.kernel, tile=(16, 32, 40)).run([a], [packed])


def test_unsigned_inputs():
    a, b = _whole_numbers((5, 64), np.uint8, 1) & 3, _whole_numbers((64, 20), np.int8, 2)
    want = a.astype("int32") @ b.astype("int32")
    packed = tessera.pack_b(b, rows=5, a_dtype=np.uint8)
    np.testing.assert_array_equal(tessera.gemm(a, packed), want)
    np.testing.assert_array_equal(tessera.plan(a, packed)(a, packed), want)
    plan = tessera.plan((5, 20, 64), types="u8")
    np.testing.assert_array_equal(plan(a, tessera.pack_b(b, plan=plan)), want)


def test_many_threads_use_one():
    a, b = _whole_numbers((9, 130), np.float32, 1), _whole_numbers((130, 70), np.float32, 2)
    packed = tessera.pack_b(b, rows=9)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: tessera.gemm(a, packed, threads=1), range(50)):
            np.testing.assert_array_equal(got, a @ b)


def test_products_without_a_sum():
    b = _whole_numbers((130, 70), np.float32, 2)
    packed = tessera.pack_b(b, rows=9)
    assert tessera.gemm(np.ones((0, 130), np.float32), packed).shape == (0, 70)
    a, c = np.full((3, 130), np.nan, np.float32), np.ones((3, 70), np.float32)
    np.testing.assert_array_equal(tessera.gemm(a, packed, c, alpha=0, beta=2), 2 * c)


def test_packings_that_disagree_change_nothing():
    a, b = _whole_numbers((4, 40), np.float32, 1), _whole_numbers((40, 30), np.float32, 2)
    packings = [
        tessera.pack_b(b, plan=tessera.plan(a, b, tile=(4, 32, depth))) for depth in (8, 16)
    ]
    out = [np.full((4, 30), 7, np.float32) for _ in packings]
    with pytest.raises(tessera.InvalidArgumentError, match="packed B of group 1: must be packed as"):
        tessera.grouped_gemm([a, a], packings, [np.zeros_like(x) for x in out], out=out)
    assert all((x == 7).all() for x in out)


def test_a_device_multiplies_none():
    a = tessera._tessera.Memory(A, 4096, (4, 5), (5, 1), "f32", 0)
    c = tessera._tessera.Memory(A, 8192, (4, 3), (3, 1), "f32", 0)
    packed = tessera.pack_b(B, rows=4)
    with pytest.raises(tessera.UnsupportedError, match="B: must lie in the device's memory"):
        tessera._tessera.gemm(a, packed, c, 1.0, 0.0, None, "none", "none", 0, 0, None)


def test_torch():
    torch = pytest.importorskip("torch")
    a, b = torch.arange(20.0).reshape(4, 5), torch.arange(15.0).reshape(5, 3)
    result = tessera.gemm(a, tessera.pack_b(b, rows=4))
    assert isinstance(result, torch.Tensor) and torch.equal(result, a @ b)


A = np.ones((4, 5), np.float32)
B = np.ones((5, 3), np.float32)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda p: tessera.pack_b(B), "rows and plan: must be one of the two; given neither"),
        (lambda p: tessera.pack_b(B, rows=1, plan=tessera.plan(A, B)), "rows and plan: .*given both"),
        (lambda p: tessera.pack_b(B, rows=0), "rows: must be from 1 to"),
        (lambda p: tessera.pack_b(B, rows=2**62), "rows: must be from 1 to"),
        (lambda p: tessera.pack_b(B, rows="many"), "rows: must be a whole number"),
        (lambda p: tessera.pack_b(B, plan="fast"), "plan: must be a plan"),
        (lambda p: tessera.pack_b(B.astype(np.uint8), rows=4), "B: must be of type i8 where A is of u8"),
        (lambda p: tessera.pack_b(B, rows=4, a_dtype="f64"), "B: must be of type f64 where A is of f64"),
        (lambda p: tessera.pack_b(B, rows=4, a_dtype="int32"), "B: must be multiplied with an A"),
        (lambda p: tessera.pack_b(B[:0], rows=4), "B: must have elements to pack"),
        (lambda p: tessera.pack_b(p, rows=4), "B: must be an array; given a packed matrix"),
        (lambda p: tessera.pack_b(np.ones((2, 5, 3), np.float32), rows=4), "B: must have 2 dimensions"),
        (lambda p: tessera.pack_b(["x"], rows=4), "b: must have one of the types"),
        (lambda p: tessera.gemm(p, B), "A: must be an array; given a packed matrix"),
        (lambda p: tessera.gemm(A.astype(np.float64), p), "packed_b: must be f32 for an A of f64"),
        (lambda p: tessera.gemm(np.ones((4, 6), np.float32), p), "B: must have as many rows as A"),
        (lambda p: tessera.gemm(A, B, bias=p), "bias: must be an array"),
        (lambda p: tessera.plan(p, np.ones((3, 2), np.float32)), "a: must be an array"),
        (lambda p: tessera.plan(np.ones((4, 6), np.float32), p), "b: must have as many rows as a"),
        (lambda p: tessera.plan(A.astype(np.float64), p), "b: must be f64 beside an a of f64"),
        (lambda p: tessera.ragged_gemm(A, p, offsets=[0, 5]), "B: must be an array"),
        (lambda p: tessera.gated_gemm(A, p, p), "must be an array; given a packed matrix"),
    ],
)
def test_errors_say_what_is_wrong(call, words):
    with pytest.raises(tessera.InvalidArgumentError, match=words):
        call(tessera.pack_b(B, rows=4))
