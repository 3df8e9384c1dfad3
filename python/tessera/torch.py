"""Operators for PyTorch: they differentiate, compile whole and record into CUDA graphs.

Importing this registers ``torch.ops.tessera``. Nothing here is tied to a version of torch's own
binary interface: the operators are registered from Python.
"""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor

from . import _products, _ragged

__all__ = ["gated_gemm", "gemm", "grouped_gemm", "grouped_weight_gradient"]

_INTEGERS = (torch.int8, torch.uint8)


@torch.library.custom_op("tessera::gemm", mutates_args=())
def gemm(
    a: Tensor,
    b: Tensor,
    bias: Optional[Tensor] = None,
    activation: str = "none",
    alpha: float = 1.0,
) -> Tensor:
    """activation(alpha · a @ b + bias) of (m, k) and (k, n), each perhaps a batch; bias is (n)."""
    bias = None if bias is None else bias.detach()
    return _products.gemm(a.detach(), b.detach(), bias=bias, activation=activation, alpha=alpha)


@gemm.register_fake
def _(a, b, bias=None, activation="none", alpha=1.0):
    torch._check(
        a.dim() in (2, 3) and b.dim() in (2, 3), lambda: "a and b: must have 2 or 3 dimensions"
    )
    torch._check(
        a.shape[-1] == b.shape[-2], lambda: f"b: must have {a.shape[-1]} rows, as a has columns"
    )
    batch = a.shape[:-2] if a.dim() >= b.dim() else b.shape[:-2]
    dtype = torch.int32 if a.dtype in _INTEGERS else a.dtype
    return a.new_empty((*batch, a.shape[-2], b.shape[-1]), dtype=dtype)


def _save_gemm(ctx, inputs, output) -> None:
    a, b, bias, ctx.activation, ctx.alpha = inputs
    ctx.save_for_backward(a, b, bias)


def _gemm_gradient(ctx, gradient: Tensor):
    a, b, bias = ctx.saved_tensors
    if ctx.activation != "none":
        # Cheaper to compute again than to keep: the product that the activation was applied to.
        before = gemm(a, b, bias, "none", ctx.alpha)
        gradient = _activation_gradient(ctx.activation, gradient, before)
    need_a, need_b = ctx.needs_input_grad[:2]
    # Arguments that were left to their defaults are not counted there.
    need_bias = bias is not None and ctx.needs_input_grad[2]
    gradient_a = _sum_to(gemm(gradient, b.mT, None, "none", ctx.alpha), a) if need_a else None
    gradient_b = None
    if need_b and b.dim() == 2 and a.dim() == 3:
        # One b for the whole batch: a single long product adds up its gradient.
        gradient_b = gemm(a.flatten(0, 1).mT, gradient.flatten(0, 1), None, "none", ctx.alpha)
    elif need_b:
        gradient_b = gemm(a.mT, gradient, None, "none", ctx.alpha)
    gradient_bias = gradient.flatten(0, -2).sum(0) if need_bias else None
    return gradient_a, gradient_b, gradient_bias, None, None


def _sum_to(gradient: Tensor, operand: Tensor) -> Tensor:
    return gradient.sum(0) if gradient.dim() > operand.dim() else gradient


def _activation_gradient(activation: str, gradient: Tensor, before: Tensor) -> Tensor:
    if activation == "none":
        return gradient
    if activation == "relu":
        return gradient * (before > 0)
    if activation == "silu":
        return torch.ops.aten.silu_backward(gradient, before)
    approximate = "tanh" if activation == "gelu_tanh" else "none"
    return torch.ops.aten.gelu_backward(gradient, before, approximate=approximate)


gemm.register_autograd(_gemm_gradient, setup_context=_save_gemm)


@torch.library.custom_op("tessera::grouped_gemm", mutates_args=())
def grouped_gemm(a: Tensor, b: Tensor, ends: Tensor) -> Tensor:
    """Rows ends[g − 1] to ends[g] of a (total, k) times b[g] of b (groups, k, n): (total, n).

    ``ends`` are cumulative sizes, integers that never fall. On a GPU they are read there: nothing
    waits for them, and wrong ones compute nothing (``tessera.check_sizes`` raises them). Rows past
    the last end become 0.
    """
    _check_ends(ends, b.shape[0], a.shape[0])
    a, b = a.detach(), b.detach()
    result = _room_for_rows(a, ends, b.shape[2])
    _multiply(_products._tessera.ragged_rows, a, ends, b, result)
    return result


@grouped_gemm.register_fake
def _(a: Tensor, b: Tensor, ends: Tensor) -> Tensor:
    _check_grouped(a, ends)
    torch._check(b.dim() == 3, lambda: "b: must have 3 dimensions, (groups, k, n)")
    torch._check(
        a.shape[1] == b.shape[1], lambda: f"b: must have {a.shape[1]} rows, as a has columns"
    )
    return a.new_empty((a.shape[0], b.shape[2]))


@torch.library.custom_op("tessera::grouped_weight_gradient", mutates_args=())
def grouped_weight_gradient(a: Tensor, y: Tensor, ends: Tensor) -> Tensor:
    """a[rows of g]ᵀ @ y[rows of g] for every group: (groups, k, n). A group with no rows gets 0."""
    _check_ends(ends, ends.shape[0], a.shape[0])
    a, y = a.detach(), y.detach()
    result = a.new_empty((ends.shape[0], a.shape[1], y.shape[1]))
    _multiply(_products._tessera.ragged_k, a.mT, ends, y, result)
    return result


@grouped_weight_gradient.register_fake
def _(a: Tensor, y: Tensor, ends: Tensor) -> Tensor:
    _check_grouped(a, ends)
    _check_grouped(y, ends)
    return a.new_empty((ends.shape[0], a.shape[1], y.shape[1]))


def _check_grouped(rows: Tensor, ends: Tensor) -> None:
    torch._check(rows.dim() == 2, lambda: "rows: must have 2 dimensions")
    torch._check(ends.dim() == 1, lambda: "ends: must have 1 dimension")


def _check_ends(ends: Tensor, groups: int, total: int) -> None:
    """As far as the host can without waiting for a device."""
    bounds = [0] if ends.is_cuda else [0, *ends.tolist()]
    rises = all(low <= high for low, high in zip(bounds, bounds[1:]))
    if ends.shape[0] == groups and rises and bounds[-1] <= total:
        return
    raise _products._tessera.InvalidArgumentError(
        f"ends: must be {groups} cumulative sizes of at most {total}; given {ends.tolist()}; "
        "pass the running sum of the groups' rows"
    )


def _room_for_rows(a: Tensor, ends: Tensor, columns: int) -> Tensor:
    """Room for the groups' rows; those past the last are 0."""
    if ends.is_cuda:
        return a.new_zeros((a.shape[0], columns))
    result = a.new_empty((a.shape[0], columns))
    result[int(ends[-1]) if len(ends) > 0 else 0 :].zero_()
    return result


def _multiply(multiply, a: Tensor, ends: Tensor, b: Tensor, result: Tensor) -> None:
    """The library reads ends where the operands are."""
    framework = _products.framework_of(a)
    with framework.device(a):
        ends = framework.indices(ends, a, "ends")  # kept until the call is queued
        multiply(
            framework.readable(a, "a"),
            framework.readable_indices(ends),
            framework.readable(b, "b"),
            framework.writable(result),
            1.0,
            0.0,
            None,
            "none",
            0,
            framework.stream(a),
            None,
        )


def _save_grouped(ctx, inputs, output) -> None:
    ctx.save_for_backward(*inputs)


def _grouped_gradient(ctx, gradient: Tensor):
    a, b, ends = ctx.saved_tensors
    need_a, need_b = ctx.needs_input_grad[:2]
    return (
        grouped_gemm(gradient, b.mT, ends) if need_a else None,
        grouped_weight_gradient(a, gradient, ends) if need_b else None,
        None,
    )


def _weight_gradient_gradient(ctx, gradient: Tensor):
    a, y, ends = ctx.saved_tensors
    need_a, need_y = ctx.needs_input_grad[:2]
    return (
        grouped_gemm(y, gradient.mT, ends) if need_a else None,
        grouped_gemm(a, gradient, ends) if need_y else None,
        None,
    )


grouped_gemm.register_autograd(_grouped_gradient, setup_context=_save_grouped)
grouped_weight_gradient.register_autograd(_weight_gradient_gradient, setup_context=_save_grouped)


@torch.library.custom_op("tessera::gated_gemm", mutates_args=())
def gated_gemm(
    a: Tensor,
    gate: Tensor,
    up: Tensor,
    ends: Optional[Tensor] = None,
    activation: str = "silu",
) -> Tensor:
    """The gated pair, SwiGLU with its default: activation(a @ gate) · (a @ up), rounded once.

    ``a`` is (total, k), ``gate`` and ``up`` (k, n), or with the ``ends`` of grouped_gemm (groups, k,
    n): then each group's rows meet its own two weights.
    """
    a, gate, up = a.detach(), gate.detach(), up.detach()
    if ends is None:
        return _ragged.gated_gemm(a, gate, up, activation=activation)
    _check_ends(ends, gate.shape[0], a.shape[0])
    result = _room_for_rows(a, ends, gate.shape[2])
    return _ragged.gated_gemm(a, gate, up, ends, activation=activation, out=result)


@gated_gemm.register_fake
def _(a, gate, up, ends=None, activation="silu"):
    torch._check(
        a.dim() == 2 and gate.dim() == up.dim() == (2 if ends is None else 3),
        lambda: "a, gate and up: must have 2 dimensions, the weights 3 with ends",
    )
    torch._check(
        gate.shape == up.shape and a.shape[1] == gate.shape[-2],
        lambda: f"gate and up: must both have {a.shape[1]} rows, as a has columns",
    )
    return a.new_empty((a.shape[0], gate.shape[-1]))


def _save_gated(ctx, inputs, output) -> None:
    a, gate, up, ends, ctx.activation = inputs
    ctx.save_for_backward(a, gate, up, ends)


def _gated_gradient(ctx, gradient: Tensor):
    a, gate, up, ends = ctx.saved_tensors

    def multiply(x, weights):
        return gemm(x, weights) if ends is None else grouped_gemm(x, weights, ends)

    def weight_gradient(y):
        return gemm(a.mT, y) if ends is None else grouped_weight_gradient(a, y, ends)

    # Cheaper to compute again than to keep.
    before, factor = multiply(a, gate), multiply(a, up)
    gradient_up = gradient * _activate(ctx.activation, before)
    gradient_gate = _activation_gradient(ctx.activation, gradient * factor, before)
    need_a, need_gate, need_up = ctx.needs_input_grad[:3]
    gradient_a = None
    if need_a:
        gradient_a = multiply(gradient_gate, gate.mT) + multiply(gradient_up, up.mT)
    return (
        gradient_a,
        weight_gradient(gradient_gate) if need_gate else None,
        weight_gradient(gradient_up) if need_up else None,
        None,
        None,
    )


def _activate(activation: str, before: Tensor) -> Tensor:
    if activation == "none":
        return before
    if activation == "relu":
        return torch.relu(before)
    if activation == "silu":
        return torch.nn.functional.silu(before)
    approximate = "tanh" if activation == "gelu_tanh" else "none"
    return torch.nn.functional.gelu(before, approximate=approximate)


gated_gemm.register_autograd(_gated_gradient, setup_context=_save_gated)
