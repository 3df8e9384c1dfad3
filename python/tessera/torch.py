"""Operators for PyTorch: they differentiate, compile whole and record into CUDA graphs.

Importing this registers ``torch.ops.tessera``. Nothing here is tied to a version of torch's own
binary interface: the operators are registered from Python.
"""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor

from . import _products

__all__ = ["gemm", "grouped_gemm", "grouped_weight_gradient"]

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

    ``ends`` are cumulative sizes, integers that never fall; the host reads them, so on a GPU keep
    them on the CPU where waiting for the stream would hurt. Rows past the last end become 0.
    """
    a, b = a.detach(), b.detach()
    result = a.new_empty((a.shape[0], b.shape[2]))
    if _are_on_host(a, ends):
        _run_on_host(_products._tessera.ragged_rows, a, ends, b, result, b.shape[0])
        result[int(ends[-1]) if len(ends) > 0 else 0 :].zero_()
        return result
    slices = _slices(ends, b.shape[0], a.shape[0])
    _products.grouped_gemm(
        [a[s] for s in slices], list(b.unbind(0)), out=[result[s] for s in slices]
    )
    result[slices[-1].stop if slices else 0 :].zero_()
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
    a, y = a.detach(), y.detach()
    result = a.new_empty((ends.shape[0], a.shape[1], y.shape[1]))
    if _are_on_host(a, ends):
        _run_on_host(_products._tessera.ragged_k, a.mT, ends, y, result, ends.shape[0])
        return result
    slices = _slices(ends, ends.shape[0], a.shape[0])
    _products.grouped_gemm(
        [a[s].mT for s in slices], [y[s] for s in slices], out=list(result.unbind(0))
    )
    return result


@grouped_weight_gradient.register_fake
def _(a: Tensor, y: Tensor, ends: Tensor) -> Tensor:
    _check_grouped(a, ends)
    _check_grouped(y, ends)
    return a.new_empty((ends.shape[0], a.shape[1], y.shape[1]))


def _check_grouped(rows: Tensor, ends: Tensor) -> None:
    torch._check(rows.dim() == 2, lambda: "rows: must have 2 dimensions")
    torch._check(ends.dim() == 1, lambda: "ends: must have 1 dimension")


def _are_on_host(a: Tensor, ends: Tensor) -> bool:
    return a.device.type == "cpu" and ends.device.type == "cpu"


def _run_on_host(multiply, a: Tensor, ends: Tensor, b: Tensor, result: Tensor, groups: int) -> None:
    """The library reads ends where they are."""
    if ends.shape[0] != groups:
        _refuse_ends(groups, a.shape[0], ends.tolist())
    if ends.dtype not in (torch.int32, torch.int64):
        ends = ends.to(torch.int64)
    framework = _products.framework_of(a)
    try:
        multiply(
            framework.readable(a),
            ends,
            framework.readable(b),
            framework.writable(result),
            1.0,
            0.0,
            None,
            "none",
            0,
        )
    except _products._tessera.InvalidArgumentError as error:
        # It calls them offsets.
        raise type(error)(str(error).replace("offsets", "ends", 1)) from None


def _refuse_ends(groups: int, total: int, given: list[int]) -> None:
    raise _products._tessera.InvalidArgumentError(
        f"ends: must be {groups} cumulative sizes of at most {total}; given {given}; "
        "pass the running sum of the groups' rows"
    )


def _slices(ends: Tensor, groups: int, total: int) -> list[slice]:
    bounds = [0, *ends.tolist()]
    rises = all(low <= high for low, high in zip(bounds, bounds[1:]))
    if len(bounds) != groups + 1 or not rises or bounds[-1] > total:
        _refuse_ends(groups, total, bounds[1:])
    return [slice(low, high) for low, high in zip(bounds, bounds[1:])]


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
