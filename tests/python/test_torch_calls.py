"""That what PyTorch's tensors and operators hand to the extension module is what it takes, where there is
no PyTorch: with a stand-in. test_torch.py tests the real one."""

import importlib
import sys
from unittest import mock

import fake_torch
import numpy as np
import pytest
from fake_torch import Tensor

import tessera
from tessera import _frameworks

RANDOM = np.random.default_rng(11)


@pytest.fixture
def operators():
    """tessera.torch over the stand-in; whatever was imported before comes back."""
    with mock.patch.dict(sys.modules, torch=fake_torch.module()):
        with mock.patch.object(tessera, "torch", None, create=True):
            _frameworks._torch_strided.cache_clear()
            sys.modules.pop("tessera.torch", None)
            yield importlib.import_module("tessera.torch")
    _frameworks._torch_strided.cache_clear()


def normal(*shape):
    return Tensor(RANDOM.standard_normal(shape))


def whole(*values):
    return Tensor(np.array(values, np.int64))


def silu(x):
    return x / (1 + np.exp(-x))


def by_rows(multiply, ends, total, columns):
    """multiply(rows, group) of each group's rows, and 0 past the last."""
    result = np.zeros((total, columns))
    for g, (begin, end) in enumerate(zip([0, *ends], ends)):
        result[begin:end] = multiply(slice(begin, end), g)
    return result


def grouped(a, b, ends):
    return by_rows(lambda rows, g: a[rows] @ b[g], ends, len(a), b.shape[2])


def weight_gradient(a, y, ends):
    cuts = zip([0, *ends], ends)
    return np.stack([a[begin:end].T @ y[begin:end] for begin, end in cuts])


def gated(a, gate, up, ends=None, activation="silu"):
    apply = {"silu": silu, "relu": lambda x: np.maximum(x, 0), "none": lambda x: x}[activation]
    if ends is None:
        return apply(a @ gate) * (a @ up)
    return apply(grouped(a, gate, ends)) * grouped(a, up, ends)


ENDS = whole(3, 3, 7)  # of 9 rows
# name, operator, arguments, the same in NumPy
CASES = [
    ("gemm", "gemm", [normal(4, 6), normal(6, 5)], lambda a, b: a @ b),
    ("transposed", "gemm", [normal(6, 4).mT, normal(5, 6).mT], lambda a, b: a @ b),
    (
        "epilogue",
        "gemm",
        [normal(4, 6), normal(6, 5), normal(5), "silu", 0.5],
        lambda a, b, bias, activation, alpha: silu(alpha * (a @ b) + bias),
    ),
    (
        "bias",
        "gemm",
        [normal(4, 6), normal(6, 5), normal(5)],
        lambda a, b, bias: a @ b + bias,
    ),
    ("batch", "gemm", [normal(3, 4, 6), normal(6, 5)], lambda a, b: a @ b),
    ("batches", "gemm", [normal(3, 4, 6), normal(3, 6, 5)], lambda a, b: a @ b),
    ("grouped_gemm", "grouped_gemm", [normal(9, 4), normal(3, 4, 5), ENDS], grouped),
    (
        "grouped_weight_gradient",
        "grouped_weight_gradient",
        [normal(9, 4), normal(9, 5), ENDS],
        weight_gradient,
    ),
    ("gated_gemm", "gated_gemm", [normal(5, 4), normal(4, 6), normal(4, 6)], gated),
    (
        "gated_gemm_of_groups",
        "gated_gemm",
        [normal(9, 4), normal(3, 4, 5), normal(3, 4, 5), ENDS, "relu"],
        gated,
    ),
    ("gated_without", "gated_gemm", [normal(5, 4), normal(4, 6), normal(4, 6), None, "none"], gated),
]
EACH_CASE = pytest.mark.parametrize(
    "name, arguments, reference", [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)


def in_numpy(reference, arguments):
    return reference(*(x.array if isinstance(x, Tensor) else x for x in arguments))


@EACH_CASE
def test_operators(operators, name, arguments, reference):
    operator = getattr(operators, name)
    got = operator(*arguments)
    assert isinstance(got, Tensor)
    np.testing.assert_allclose(got.array, in_numpy(reference, arguments), rtol=1e-12, atol=1e-12)
    described = operator.fake(*arguments)
    assert (described.shape, described.dtype) == (got.shape, got.dtype)


def slopes(function, at, weights):
    """The gradient of (function() · weights).sum() by each element of `at`, by differences."""
    result = np.empty_like(at)
    for i in np.ndindex(at.shape):
        former, sums = at[i], []
        for step in (1e-6, -1e-6):
            at[i] = former + step
            sums.append((function() * weights).sum())
        at[i] = former
        result[i] = (sums[0] - sums[1]) / 2e-6
    return result


@EACH_CASE
def test_gradients(operators, name, arguments, reference):
    weights = RANDOM.standard_normal(in_numpy(reference, arguments).shape)
    gradients = getattr(operators, name).backward(arguments, Tensor(weights))
    for argument, gradient in zip(arguments, gradients):
        if not isinstance(argument, Tensor) or argument is ENDS:
            assert gradient is None
            continue
        want = slopes(lambda: in_numpy(reference, arguments), argument.array, weights)
        np.testing.assert_allclose(gradient.array, want, rtol=1e-6, atol=1e-6)


def test_integers_are_described_as_they_come(operators):
    a = Tensor(np.ones((3, 4), np.int8))
    got = operators.gemm(a, a.mT)
    assert got.tolist() == [[4] * 3] * 3
    assert operators.gemm.fake(a, a.mT).dtype is got.dtype


def test_ends_of_other_integers(operators):
    a, b = normal(9, 4), normal(3, 4, 5)
    got = operators.grouped_gemm(a, b, Tensor(ENDS.array.astype(np.int16)))
    np.testing.assert_allclose(got.array, grouped(a.array, b.array, ENDS.array), rtol=1e-12)
    with pytest.raises(tessera.InvalidArgumentError, match="ends"):
        operators.grouped_gemm(a, b, whole(3, 2, 7))


# The package's own calls, by what they take of tensors. Each gives the result and what it should be.
CALLS = {
    "gemm": lambda a, b, out: (tessera.gemm(a, b), a.array @ b.array),
    "gemm with all": lambda a, b, out: (
        tessera.gemm(a, b, out, alpha=2, beta=3, bias=b[0], out=out, activation="relu"),
        np.maximum(2 * (a.array @ b.array) + 3 + b.array[0], 0),
    ),
    "gemm with c": lambda a, b, out: (tessera.gemm(a, b, out), a.array @ b.array + 1),
    "grouped_gemm": lambda a, b, out: (
        tessera.grouped_gemm([a], [b], [out], bias=[b[0]])[0],
        a.array @ b.array + 1 + b.array[0],
    ),
    "ragged rows": lambda a, b, out: (
        tessera.ragged_gemm(a, b[None], [0, 4], c=out, bias=b[0]),
        a.array @ b.array + 1 + b.array[0],
    ),
    "ragged rows by a tensor": lambda a, b, out: (
        tessera.ragged_gemm(a, b[None], whole(0, 4), out=out),
        a.array @ b.array,
    ),
    "ragged k": lambda a, b, out: (
        tessera.ragged_gemm(a, b, [0, 6])[0],
        a.array @ b.array,
    ),
    "masked rows": lambda a, b, out: (
        tessera.ragged_gemm(a[None], b[None], counts=[4])[0],
        a.array @ b.array,
    ),
    "gated": lambda a, b, out: (
        tessera.gated_gemm(a, b, b, activation="none"),
        (a.array @ b.array) ** 2,
    ),
    "gated rows": lambda a, b, out: (
        tessera.gated_gemm(a, b[None], b[None], [0, 4], activation="none", out=out),
        (a.array @ b.array) ** 2,
    ),
    "plan": lambda a, b, out: (tessera.plan(a, b)(a, b), a.array @ b.array),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(operators, name):
    got, want = CALLS[name](normal(4, 6), normal(6, 5), Tensor(np.ones((4, 5))))
    assert isinstance(got, Tensor)
    np.testing.assert_allclose(got.array, want, rtol=1e-12, atol=1e-12)
