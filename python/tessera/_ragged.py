"""Groups whose sizes stand in one array: offsets of sorted rows, counts of filled rows."""

from __future__ import annotations

from typing import Any, Callable, Optional

from . import _tessera
from ._frameworks import framework_of
from ._products import _beta, _place_addend, _result_type, _shape


def ragged_gemm(
    a: Any,
    b: Any,
    offsets: Any = None,
    *,
    counts: Any = None,
    c: Any = None,
    alpha: float = 1.0,
    beta: Optional[float] = None,
    bias: Any = None,
    activation: str = "none",
    out: Any = None,
    out_dtype: Any = None,
    threads: int = 0,
) -> Any:
    """Products of the parts that whole numbers in one array cut; nothing is padded.

    - ``offsets`` (G + 1 that never fall) and ``b`` of (G, k, n): rows ``offsets[g]:offsets[g + 1]``
      of ``a`` (total, k) times ``b[g]``. The result is (total, n).
    - ``offsets`` and ``b`` of (total, n): the same columns of ``a`` (m, total) times the same rows
      of ``b``. The result is (G, m, n); a group without any is 0, or ``beta · c``.
    - ``counts`` (G) and ``a`` of (G, capacity, k): ``a[g, :counts[g]] @ b[g]``. The result is
      (G, capacity, n).

    Rows that belong to no group are 0 in a new result, and left alone in ``out``. ``bias`` is (n),
    or (G, n) with one for each group; the other arguments are those of ``gemm``. CPU only so far:
    for arrays on a GPU pass lists to ``grouped_gemm``.
    """
    if (offsets is None) == (counts is None):
        raise _tessera.InvalidArgumentError(
            "offsets and counts: must be one of the two; given "
            f"{'none' if offsets is None else 'both'}; pass what says the groups' sizes"
        )
    sizes = _indices(counts if offsets is None else offsets)
    multiply, shape, untouched = _door(_shape(a), _shape(b), sizes, offsets is not None)
    framework = framework_of(a)
    result = out
    if result is None:
        result = framework.empty(shape, _result_type(framework, a, out_dtype), like=a)
        for rows in untouched:
            result[rows] = 0
    if c is not None:
        _place_addend(framework, result, c)
    multiply(
        framework.readable(a),
        sizes,
        framework_of(b).readable(b),
        framework.writable(result),
        alpha,
        _beta(c, beta),
        None if bias is None else framework_of(bias).readable(bias),
        activation,
        threads,
    )
    return framework.finished(result) if out is None else out


def gated_gemm(
    a: Any,
    gate: Any,
    up: Any,
    offsets: Any = None,
    *,
    activation: str = "silu",
    out: Any = None,
    out_dtype: Any = None,
    threads: int = 0,
) -> Any:
    """The gated pair, SwiGLU with its default: ``silu(a @ gate) * (a @ up)``, rounded once.

    ``gate`` and ``up`` are (k, n), or with ``offsets`` (G, k, n) as ``ragged_gemm`` takes them. CPU
    only so far.
    """
    framework = framework_of(a)
    result = out
    if result is None:
        shape = (_shape(a)[0], _shape(gate)[-1])
        result = framework.empty(shape, _result_type(framework, a, out_dtype), like=a)
    operands = [
        framework.readable(a),
        framework_of(gate).readable(gate),
        framework_of(up).readable(up),
        framework.writable(result),
    ]
    if offsets is None:
        _tessera.gated(*operands, activation, threads)
    else:
        offsets = _indices(offsets)
        if out is None:
            for rows in _outside(offsets):
                result[rows] = 0
        _tessera.gated_rows(*operands, offsets, activation, threads)
    return framework.finished(result) if out is None else out


def _indices(values: Any) -> Any:
    """A list becomes an array."""
    if hasattr(values, "dtype"):
        return values
    import numpy

    return numpy.asarray(values, dtype=numpy.int64)


def _door(
    a: tuple[int, ...], b: tuple[int, ...], sizes: Any, is_cut: bool
) -> tuple[Callable[..., None], tuple[int, ...], list[slice]]:
    """What computes this, its result's shape, and the parts of it that no group writes."""
    if not is_cut and (len(a), len(b)) == (3, 3):
        return _tessera.masked_rows, (a[0], a[1], b[2]), [slice(None)]
    if is_cut and (len(a), len(b)) == (2, 3):
        return _tessera.ragged_rows, (a[0], b[2]), _outside(sizes)
    if is_cut and (len(a), len(b)) == (2, 2):
        return _tessera.ragged_k, (len(sizes) - 1, a[0], b[1]), []
    raise _tessera.InvalidArgumentError(
        "a and b: must have 2 dimensions each, or b 3, with offsets, and 3 each with counts; "
        f"given shapes {a} and {b}; reshape the arrays"
    )


def _outside(offsets: Any) -> list[slice]:
    """Rows before the first group and after the last."""
    if len(offsets) == 0:
        return []
    return [slice(0, max(0, int(offsets[0]))), slice(max(0, int(offsets[-1])), None)]
