"""ragged_gemm and gated_gemm: groups that one array cuts."""

import numpy as np
import pytest

import tessera

OFFSETS = [2, 10, 10, 11, 27]  # of 30 rows: 2 before, 3 after, an empty group
TOTAL, GROUPS, K, N = 30, 4, 12, 9


def whole_numbers(*shape, dtype=np.float32):
    return np.random.default_rng(len(shape)).integers(-3, 4, shape).astype(dtype)


def by_rows(a, b):
    """Products of the rows of each group; zeros elsewhere."""
    result = np.zeros((TOTAL, N), a.dtype)
    for g, (begin, end) in enumerate(zip(OFFSETS, OFFSETS[1:])):
        result[begin:end] = a[begin:end] @ b[g]
    return result


@pytest.mark.parametrize("kind", [list, np.int32, np.int64])
def test_ragged_rows(kind):
    offsets = OFFSETS if kind is list else np.array(OFFSETS, kind)
    a, b = whole_numbers(TOTAL, K), whole_numbers(GROUPS, K, N)
    np.testing.assert_array_equal(tessera.ragged_gemm(a, b, offsets), by_rows(a, b))
    transposed = np.ascontiguousarray(b.transpose(0, 2, 1)).transpose(0, 2, 1)
    np.testing.assert_array_equal(tessera.ragged_gemm(a, transposed, offsets), by_rows(a, b))


def test_ragged_rows_leave_the_others_alone():
    a, b = whole_numbers(TOTAL, K), whole_numbers(GROUPS, K, N)
    out = np.full((TOTAL, N), 7, np.float32)
    assert tessera.ragged_gemm(a, b, OFFSETS, out=out) is out
    assert (out[:2] == 7).all() and (out[27:] == 7).all()
    np.testing.assert_array_equal(out[2:27], by_rows(a, b)[2:27])
    added = tessera.ragged_gemm(a, b, OFFSETS, c=out, alpha=-1)
    np.testing.assert_array_equal(added[2:27], 0)
    assert (added[:2] == 7).all()


def test_biases():
    a, b = whole_numbers(TOTAL, K), whole_numbers(GROUPS, K, N)
    bias = whole_numbers(GROUPS, N)
    got = tessera.ragged_gemm(a, b, OFFSETS, bias=bias, activation="relu")
    one = tessera.ragged_gemm(a, b, OFFSETS, bias=bias[3])
    for g, (begin, end) in enumerate(zip(OFFSETS, OFFSETS[1:])):
        product = a[begin:end] @ b[g]
        np.testing.assert_array_equal(got[begin:end], np.maximum(0, product + bias[g]))
        np.testing.assert_array_equal(one[begin:end], product + bias[3])


def test_ragged_k():
    x, y = whole_numbers(TOTAL, K), whole_numbers(TOTAL, N)
    got = tessera.ragged_gemm(x.T, y, OFFSETS)
    assert got.shape == (GROUPS, K, N)
    for g, (begin, end) in enumerate(zip(OFFSETS, OFFSETS[1:])):
        np.testing.assert_array_equal(got[g], x[begin:end].T @ y[begin:end])


def test_masked():
    a, b = whole_numbers(GROUPS, 6, K), whole_numbers(GROUPS, K, N)
    counts = np.array([6, 0, 2, 1], np.int32)
    got = tessera.ragged_gemm(a, b, counts=counts)
    for g, count in enumerate(counts):
        np.testing.assert_array_equal(got[g, :count], a[g, :count] @ b[g])
        assert (got[g, count:] == 0).all()


def test_gated():
    a, gate, up = whole_numbers(TOTAL, K), whole_numbers(GROUPS, K, N), whole_numbers(GROUPS, K, N)
    up = up[::-1].copy()
    p, q = by_rows(a, gate).astype(np.float64), by_rows(a, up)
    got = tessera.gated_gemm(a, gate, up, OFFSETS)
    np.testing.assert_allclose(got, p / (1 + np.exp(-p)) * q, rtol=1e-5, atol=1e-5)
    assert (got[:2] == 0).all() and (got[27:] == 0).all()
    one = tessera.gated_gemm(a, gate[0], up[0], activation="relu")
    np.testing.assert_array_equal(one, np.maximum(0, a @ gate[0]) * (a @ up[0]))


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda a, b: tessera.ragged_gemm(a, b), ["offsets and counts", "none"]),
        (lambda a, b: tessera.ragged_gemm(a, b, OFFSETS, counts=[1]), ["both"]),
        (lambda a, b: tessera.ragged_gemm(a, b[0, 0], OFFSETS), ["dimensions", "(9,)"]),
        (lambda a, b: tessera.ragged_gemm(a, b, [0, 5, 4, 9, 9]), ["offsets[2]", "5", "given 4"]),
        (
            lambda a, b: tessera.ragged_gemm(a, b, [0, 5, 5, 9, 31]),
            ["offsets[4]", "30", "given 31"],
        ),
        (lambda a, b: tessera.ragged_gemm(a, b, [-4, 5, 5, 9, 20]), ["offsets[0]", "given -4"]),
        (lambda a, b: tessera.ragged_gemm(a, b, [0, 30]), ["offsets", "5 numbers", "given 2"]),
        (lambda a, b: tessera.ragged_gemm(a, b, np.ones(5)), ["offsets", "int32 or int64"]),
        (lambda a, b: tessera.ragged_gemm(a, b[:, :3], OFFSETS), ["B", "12"]),
        (lambda a, b: tessera.gated_gemm(a, b, b[:, :, :3], OFFSETS), ["up", "12×9"]),
    ],
)
def test_errors_say_what_is_wrong(call, words):
    with pytest.raises(tessera.InvalidArgumentError) as caught:
        call(whole_numbers(TOTAL, K), whole_numbers(GROUPS, K, N))
    for word in words:
        assert word in str(caught.value)
