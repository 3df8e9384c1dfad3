"""gemm and grouped_gemm over NumPy and what else lies in host memory."""

import array
import threading

import numpy as np
import pytest

import tessera

RANDOM = np.random.default_rng(7)


def whole_numbers(shape, dtype):
    """Products of these are exact."""
    return RANDOM.integers(0 if dtype == np.uint8 else -3, 4, shape).astype(dtype)


def exact(a, b):
    return a.astype(np.int64) @ b.astype(np.int64)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int8, np.uint8])
@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 7, 11), (33, 65, 17), (1, 64, 64), (64, 1, 64)])
def test_types_and_shapes(dtype, shape):
    m, n, k = shape
    a = whole_numbers((m, k), dtype)
    b = whole_numbers((k, n), np.int8 if dtype == np.uint8 else dtype)
    c = tessera.gemm(a, b)
    assert isinstance(c, np.ndarray)
    assert c.dtype == (np.int32 if np.issubdtype(dtype, np.integer) else dtype)
    np.testing.assert_array_equal(c, exact(a, b))


def test_bf16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    a = whole_numbers((9, 20), np.float32).astype(ml_dtypes.bfloat16)
    b = whole_numbers((20, 6), np.float32).astype(ml_dtypes.bfloat16)
    c = tessera.gemm(a, b)
    assert c.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(c.astype(np.float32), exact(a, b))
    out = np.zeros((6, 9), ml_dtypes.bfloat16)
    tessera.gemm(a, b, out=out.T)
    np.testing.assert_array_equal(out.T, c)
    packed = np.zeros((9, 6), [("tag", np.uint8), ("value", ml_dtypes.bfloat16)])["value"]
    with pytest.raises(tessera.InvalidArgumentError, match="out: must have strides of whole"):
        tessera.gemm(a, b, out=packed)
    wide = tessera.gemm(a, b, out_dtype="float32")
    assert wide.dtype == np.float32
    np.testing.assert_array_equal(wide, exact(a, b))


def test_strides_are_taken_as_they_are():
    a = whole_numbers((40, 30), np.float32)
    b = whole_numbers((60, 40), np.float32)
    np.testing.assert_array_equal(tessera.gemm(a.T, b.T), exact(a.T, b.T))
    np.testing.assert_array_equal(
        tessera.gemm(a[::2, 3:20], b.T[:17:1, ::3]), exact(a[::2, 3:20], b.T[:17, ::3])
    )
    # The library knows no steps backwards and no rows in one place: these are copied.
    np.testing.assert_array_equal(
        tessera.gemm(a[::-1].T, b[:, ::-1].T), exact(a[::-1].T, b[:, ::-1].T)
    )
    ones = np.broadcast_to(np.float32(2), (30, 40))
    np.testing.assert_array_equal(tessera.gemm(ones, a), exact(ones, a))
    read_only = a.copy()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(tessera.gemm(read_only.T, a), exact(a.T, a))


def test_addends_and_outputs():
    a, b = whole_numbers((6, 8), np.float32), whole_numbers((8, 5), np.float32)
    c = whole_numbers((6, 5), np.float32)
    before = c.copy()
    np.testing.assert_array_equal(tessera.gemm(a, b, c), exact(a, b) + before)
    np.testing.assert_array_equal(
        tessera.gemm(a, b, c, alpha=2, beta=-0.5), 2 * exact(a, b) - 0.5 * before
    )
    np.testing.assert_array_equal(c, before)

    out = np.full((6, 5), np.nan, np.float32)
    assert tessera.gemm(a, b, out=out) is out
    np.testing.assert_array_equal(out, exact(a, b))
    assert tessera.gemm(a, b, c, out=c) is c
    np.testing.assert_array_equal(c, exact(a, b) + before)


def test_epilogue():
    a, b = whole_numbers((6, 8), np.float32), whole_numbers((8, 5), np.float32)
    columns, rows = whole_numbers(5, np.float32), whole_numbers(6, np.float32)
    got = tessera.gemm(a, b, bias=columns, activation="relu")
    np.testing.assert_array_equal(got, np.maximum(exact(a, b) + columns, 0))
    got = tessera.gemm(a, b, bias=rows, bias_axis="row")
    np.testing.assert_array_equal(got, exact(a, b) + rows[:, None])
    z = exact(a, b).astype(np.float64)
    np.testing.assert_allclose(
        tessera.gemm(a, b, activation="silu"), z / (1 + np.exp(-z)), atol=1e-5
    )


def test_batches():
    a, b = whole_numbers((4, 6, 8), np.float64), whole_numbers((4, 8, 5), np.float64)
    np.testing.assert_array_equal(tessera.gemm(a, b), exact(a, b))
    np.testing.assert_array_equal(tessera.gemm(a, b[0]), exact(a, b[0]))
    np.testing.assert_array_equal(tessera.gemm(a[0], b), exact(a[0], b))
    np.testing.assert_array_equal(
        tessera.gemm(a.transpose(0, 2, 1), a), exact(a.transpose(0, 2, 1), a)
    )
    assert tessera.gemm(a[:0], b[:0]).shape == (0, 6, 5)


def test_groups():
    shapes = [(3, 4, 5), (64, 32, 16), (1, 1, 40), (0, 4, 5), (7, 5, 0)]
    a = [whole_numbers((m, k), np.float32) for m, n, k in shapes]
    b = [whole_numbers((k, n), np.float32) for m, n, k in shapes]
    for got, x, y in zip(tessera.grouped_gemm(a, b), a, b):
        np.testing.assert_array_equal(got, exact(x, y))
    out = [np.full((m, n), np.nan, np.float32) for m, n, k in shapes]
    tessera.grouped_gemm(a, b, out=out, alpha=-1)
    for got, x, y in zip(out, a, b):
        np.testing.assert_array_equal(got, -exact(x, y))
    assert tessera.grouped_gemm([], []) == []


def test_buffers_without_numpy():
    a = memoryview(array.array("d", [1, 2, 3, 4])).cast("B").cast("d", (2, 2))
    np.testing.assert_array_equal(tessera.gemm(a, a), [[7, 10], [15, 22]])


class OnlyDlpack:
    """An array of a framework that nobody has heard of."""

    def __init__(self, values):
        self._values = values
        self.shape = values.shape
        self.dtype = values.dtype

    def __dlpack__(self, **arguments):
        return self._values.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self._values.__dlpack_device__()


def test_any_dlpack():
    a = whole_numbers((4, 4), np.float32)
    np.testing.assert_array_equal(tessera.gemm(OnlyDlpack(a), OnlyDlpack(a)), exact(a, a))


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: tessera.gemm(np.ones((2, 3)), np.ones((4, 2))), ["B", "3", "4"]),
        (lambda: tessera.gemm(np.ones((2, 3)), np.ones((3, 2), np.float32)), ["types", "f64·f32"]),
        (lambda: tessera.gemm(np.ones(3), np.ones((3, 2))), ["dimensions"]),
        (lambda: tessera.gemm(np.ones((2, 2), complex), np.ones((2, 2), complex)), ["complex128"]),
        (
            lambda: tessera.gemm(np.ones((2, 2)), np.ones((2, 2)), activation="swish"),
            ["swish", "silu"],
        ),
        (
            lambda: tessera.gemm(np.ones((2, 2)), np.ones((2, 2)), bias=np.ones(3)),
            ["bias", "3 values"],
        ),
        (lambda: tessera.grouped_gemm([np.ones((2, 2))], []), ["one length"]),
        (lambda: tessera.gemm(np.ones((2, 2)), np.ones((2, 2)), threads=-1), ["threads"]),
    ],
)
def test_errors_say_what_is_wrong(call, words):
    with pytest.raises(tessera.InvalidArgumentError) as caught:
        call()
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, tessera.Error)
    for word in words:
        assert word in str(caught.value)


class BrokenDlpack(OnlyDlpack):
    def __dlpack__(self, **arguments):
        raise BufferError("not today")


SWAPPED = np.ones((4, 4), np.dtype(np.float64).newbyteorder())
READ_ONLY = memoryview(bytes(128)).cast("d", (4, 4))
PACKED = np.zeros((4, 4), [("tag", np.uint8), ("value", np.float64)])["value"]


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda a: tessera.gemm(a, a, alpha="x"), "alpha: must be a number; given 'x'"),
        (lambda a: tessera.gemm(a, a, alpha=1j), "alpha: must be a number; given 1j"),
        (lambda a: tessera.gemm(a, a, alpha=10**400), "alpha: must be a number"),
        (lambda a: tessera.gemm(a, a, out=a.copy(), beta="x"), "beta: must be a number"),
        (lambda a: tessera.gemm(a, a, threads="2"), "threads: must be a whole number"),
        (lambda a: tessera.gemm(a, a, threads=2**40), "threads: must be a whole number of 32 bits"),
        (lambda a: tessera.gemm(a, a, stream=-1), "stream: must be a stream's address"),
        (lambda a: tessera.gemm(a, a, activation=None), "activation: must be a name; given None"),
        (
            lambda a: tessera.gemm(a, a, bias=a[0], bias_axis=1),
            "bias_axis: must be a name; given 1",
        ),
        (lambda a: tessera.gemm(SWAPPED, a), "a: must have elements in this machine's order"),
        (lambda a: tessera.gemm(a, SWAPPED), "b: must have elements in this machine's order"),
        (lambda a: tessera.gemm(a, a, bias=SWAPPED[0]), "bias: must have elements in this machine"),
        (lambda a: tessera.gemm(a, a, out=SWAPPED), "out: must have elements in this machine's"),
        (
            lambda a: tessera.gemm(a, a.astype(object)),
            "b: must have one of the types float64, .*'O'",
        ),
        (lambda a: tessera.gemm("abc", a, out=a), "a: must have one of the types .*'<U3'"),
        (lambda a: tessera.gemm([[1, 2], [3]], a), "a: must be an array of numbers"),
        (lambda a: tessera.gemm(a, BrokenDlpack(a)), "b: must be an array of numbers that speaks"),
        (lambda a: tessera.gemm(a, a, out=READ_ONLY), "out: must be an array to write to"),
        (lambda a: tessera.gemm(a, a, out=a.tolist()), "out: must be an array to write to"),
        (
            lambda a: tessera.gemm(a, a, out=PACKED),
            "out: must be .* with strides of whole elements",
        ),
        (lambda a: tessera.gemm(a, a, object()), "c: must be numbers of the result's shape"),
        (
            lambda a: tessera.gemm(a, a, np.ones(3)),
            "c: must be numbers of the result's shape .4, 4",
        ),
        (lambda a: tessera.gemm(a, a, out_dtype=[1]), "out_dtype: must have one of the types"),
        (lambda a: tessera.grouped_gemm([a], None), "b: must be a list of arrays; given None"),
        (lambda a: tessera.grouped_gemm([a], [a], 5), "c: must be a list of arrays; given 5"),
        (lambda a: tessera.grouped_gemm([a], [a], out=[5]), "out.0.: must be an array to write to"),
        (lambda a: tessera.grouped_gemm([a], [a], alpha="x"), "alpha: must be a number"),
        (lambda a: tessera.ragged_gemm(a, a[None], [0, 4], alpha="x"), "alpha: must be a number"),
        (lambda a: tessera.ragged_gemm(a, a[None], [0, 1.5]), "offsets: must be whole numbers"),
        (lambda a: tessera.ragged_gemm(a, a[None], 5), "offsets: must be a list of whole numbers"),
        (
            lambda a: tessera.ragged_gemm(a[None], a[None], counts=np.array([4], object)),
            "counts: must be a list of whole numbers",
        ),
        (lambda a: tessera.gated_gemm(a, a, "x"), "up: must have one of the types"),
        (lambda a: tessera.gated_gemm(a, a, a, activation=3), "activation: must be a name"),
        (lambda a: tessera.plan((4, 4)), "shapes: must be sizes of three whole numbers"),
        (lambda a: tessera.plan(5), "shapes: must be sizes of three whole numbers"),
        (lambda a: tessera.plan((4, 4, 4), tile=(1, 2)), "tile: must be three whole numbers"),
        (lambda a: tessera.plan((4, 4, 4), machine=5), "machine: must be a machine or its name"),
        (lambda a: tessera.plan((4, 4, 4), two_tile=1), "two_tile: must be True or False"),
        (lambda a: tessera.plan((4, 4, 4), types=("f32", "f32")), "types: must be one, or three"),
        (lambda a: tessera.plan(a, a)(a, a, threads="x"), "threads: must be a whole number"),
        (lambda a: tessera.plan(a, a).run([a], 5), "b: must be a list of arrays; given 5"),
        (lambda a: tessera.set_log(5), "receiver: must be callable .* given 5"),
    ],
)
def test_values_of_a_wrong_kind_are_named(call, words):
    with pytest.raises(tessera.InvalidArgumentError, match=words):
        call(np.ones((4, 4)))


def test_a_type_error_of_another_kind_stays():
    with pytest.raises(TypeError, match="unexpected keyword"):
        tessera.gemm(np.ones((4, 4)), np.ones((4, 4)), gamma=1)


def test_shapes_of_any_integers():
    shape = tessera.plan(np.array([4, 5, 6])).shapes
    assert shape == [(4, 5, 6)] and tessera.plan([np.array([4, 5, 6])]).shapes == shape
    assert tessera.plan([[1.0, 2, 3]], [[1.0], [2], [3]]).shapes == [(1, 1, 3)]


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: tessera.gemm(a, b, beta=1),
        lambda a, b: tessera.gemm(a, b, beta=float("nan")),
        lambda a, b: tessera.grouped_gemm([a], [b], beta=1),
        lambda a, b: tessera.ragged_gemm(a, b[None], offsets=[0, 4], beta=1),
        lambda a, b: tessera.plan((4, 4, 4), types="f64", beta=1)(a, b),
    ],
)
def test_beta_needs_something_to_scale(call):
    """A new result's memory holds whatever was there before."""
    a = np.ones((4, 4))
    with pytest.raises(tessera.InvalidArgumentError, match="neither c nor out"):
        call(a, a)
    assert (tessera.gemm(a, a, beta=0) == 4).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b, c, out: tessera.gemm(a, b, c, out=out),
        lambda a, b, c, out: tessera.grouped_gemm([a], [b], [c], out=[out]),
        lambda a, b, c, out: tessera.ragged_gemm(a, b[None], offsets=[0, 4], c=c, out=out),
        lambda a, b, c, out: tessera.ragged_gemm(
            a[None], b[None], counts=[4], c=c[None], out=out[None]
        ),
        lambda a, b, c, out: tessera.ragged_gemm(a, b, offsets=[0, 4], c=c[None], out=out[None]),
    ],
)
def test_an_error_changes_no_array(call):
    """c goes to out, which may be an input by mistake, only when all else is right."""
    a, c, out = np.ones((4, 4)), np.full((4, 4), 7.0), np.zeros((4, 4))
    with pytest.raises(tessera.InvalidArgumentError, match="share no memory"):
        call(a, a, c, a)
    with pytest.raises(tessera.InvalidArgumentError):
        call(a, np.ones((3, 4)), c, out)
    assert (a == 1).all() and (out == 0).all()
    call(a, a, c, out)
    assert (out == 11).all() and (c == 7).all()


def test_overlap_is_refused():
    a = np.ones((4, 4))
    with pytest.raises(tessera.InvalidArgumentError, match="share no memory"):
        tessera.gemm(a, a, out=a)
    np.testing.assert_array_equal(a, np.ones((4, 4)))


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: tessera.gemm(a, b),
        lambda a, b: tessera.gemm(b, a),
        lambda a, b: tessera.gemm(b, b, out=a),
        lambda a, b: tessera.gemm(b, b, bias=a[0]),
        lambda a, b: tessera.grouped_gemm([b, a], [b, b]),
        lambda a, b: tessera.ragged_gemm(b, a[None], [0, 4]),
        lambda a, b: tessera.gated_gemm(b, b, a),
    ],
)
def test_elements_off_their_alignment_are_refused(call):
    memory = np.zeros(65, np.uint8)
    a, b = memory[1:].view(np.float32).reshape(4, 4), np.ones((4, 4), np.float32)
    with pytest.raises(tessera.InvalidArgumentError, match="aligned to its element type's 4 bytes"):
        call(a, b)
    assert not memory.any()


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_read_only_outputs_are_refused(dtype):
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes").bfloat16
    a = np.ones((2, 2), dtype)
    out = np.ones((2, 2), dtype)
    out.flags.writeable = False
    with pytest.raises(tessera.InvalidArgumentError, match="out: must be writable"):
        tessera.gemm(a, a, out=out)
    with pytest.raises(tessera.InvalidArgumentError, match="out: must be writable"):
        tessera.grouped_gemm([a], [a], out=[out])
    assert (out == 1).all()


def test_the_interpreter_lock_is_released():
    """While one thread multiplies, another runs Python."""
    a = np.ones((700, 700))
    stop = threading.Event()
    turns = 0

    def multiply():
        for _ in range(20):
            tessera.gemm(a, a, threads=1)
        stop.set()

    worker = threading.Thread(target=multiply)
    worker.start()
    while not stop.is_set():
        turns += 1
        stop.wait(0.0005)
    worker.join()
    assert turns > 5


def test_log():
    lines = []
    tessera.set_log(lines.append)
    try:
        tessera.gemm(np.ones((3, 5)), np.ones((5, 4)))
    finally:
        tessera.set_log(None)
    tessera.gemm(np.ones((3, 5)), np.ones((5, 4)))
    assert len(lines) == 1 and "gemm 3x4x5 f64" in lines[0]
