"""Groups whose sizes stand in one array: offsets of sorted rows, counts of filled rows."""

from __future__ import annotations

from typing import Any, Callable, Optional

from . import _tessera
from ._frameworks import Framework, framework_of
from ._kinds import refusal
from ._products import _beta, _placing, _result_type, _shape


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
    # duplicate: the keywords that gemm has
    out: Any = None,
    out_dtype: Any = None,
    threads: int = 0,
    stream: Optional[int] = None,
) -> Any:
    """Products of the parts that whole numbers in one array cut; nothing is padded.

    - ``offsets`` (G + 1 that never fall) and ``b`` of (G, k, n): rows ``offsets[g]:offsets[g + 1]``
      of ``a`` (total, k) times ``b[g]``. The result is (total, n).
    - ``offsets`` and ``b`` of (total, n): the same columns of ``a`` (m, total) times the same rows
      of ``b``. The result is (G, m, n); a group without any is 0, or ``beta · c``.
    - ``counts`` (G) and ``a`` of (G, capacity, k): ``a[g, :counts[g]] @ b[g]``. The result is
      (G, capacity, n).

    Rows that belong to no group are 0 in a new result, and left alone in ``out``. ``bias`` is (n),
    or (G, n) with one for each group; the other arguments are those of ``gemm``.

    On a GPU the sizes are read there and nothing waits for them; those that lie in the host's
    memory are copied. Wrong sizes in a GPU's memory compute nothing; ``check_sizes`` raises them.
    """
    if (offsets is None) == (counts is None):
        raise _tessera.InvalidArgumentError(
            "offsets and counts: must be one of the two; given "
            f"{'none' if offsets is None else 'both'}; pass what says the groups' sizes"
        )
    framework = framework_of(a)
    try:
        with framework.device(a):
            if offsets is None:
                sizes = framework.indices(counts, a, "counts")
            else:
                sizes = framework.indices(offsets, a, "offsets")
            multiply, shape = _door(_shape(a, "a"), _shape(b, "b"), sizes, offsets is not None)
            result = out
            if result is None:
                result = framework.empty(shape, _result_type(framework, a, out_dtype), like=a)
                for part in _untouched(framework, multiply, sizes):
                    result[part] = 0
            multiply(
                framework.readable(a, "a"),
                framework.readable_indices(sizes),
                framework_of(b).readable(b, "b"),
                framework.writable(result),
                alpha,
                _beta(c, out, beta),
                None if bias is None else framework_of(bias).readable(bias, "bias"),
                activation,
                threads,
                # duplicate: what gemm ends with, too
                framework.stream(a) if stream is None else stream,
                None if c is None else _placing(framework, [result], [c]),
            )
    except TypeError as error:
        raise refusal(error, locals()) from None
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
    stream: Optional[int] = None,
) -> Any:
    """The gated pair, SwiGLU with its default: ``silu(a @ gate) * (a @ up)``.

    ``gate`` and ``up`` are (k, n), or with ``offsets`` (G, k, n) as ``ragged_gemm`` takes them. The
    product of the two is rounded once.
    """
    framework = framework_of(a)
    try:
        with framework.device(a):
            result = out
            if result is None:
                shape = (_shape(a, "a")[0], _shape(gate, "gate")[-1])
                result = framework.empty(shape, _result_type(framework, a, out_dtype), like=a)
            operands = [
                framework.readable(a, "a"),
                framework_of(gate).readable(gate, "gate"),
                framework_of(up).readable(up, "up"),
                framework.writable(result),
            ]
            if stream is None:
                stream = framework.stream(a)
            if offsets is None:
                _tessera.gated(*operands, activation, threads, stream)
            else:
                offsets = framework.indices(offsets, a, "offsets")
                if out is None:
                    for part in _untouched(framework, _tessera.ragged_rows, offsets):
                        result[part] = 0
                sizes = framework.readable_indices(offsets)
                _tessera.gated_rows(*operands, sizes, activation, threads, stream)
    except TypeError as error:
        raise refusal(error, locals()) from None
    return framework.finished(result) if out is None else out


def check_sizes(like: Any, *, stream: Optional[int] = None) -> None:
    """Raises what ``ragged_gemm`` and ``gated_gemm`` found wrong with sizes in a GPU's memory.

    ``like`` is any array on that GPU. Waits for its current stream, or the one given, which is the
    one that the calls were made on; each fault is raised once. For an array on the CPU there is
    nothing to ask: there the calls themselves raise.
    """
    framework = framework_of(like)
    if not framework.are_on_device(like):
        return
    with framework.device(like):
        _tessera.check_sizes(framework.stream(like) if stream is None else stream)


def _door(
    a: tuple[int, ...], b: tuple[int, ...], sizes: Any, is_cut: bool
) -> tuple[Callable[..., None], tuple[int, ...]]:
    """What computes this, and its result's shape."""
    if not is_cut and (len(a), len(b)) == (3, 3):
        return _tessera.masked_rows, (a[0], a[1], b[2])
    if is_cut and (len(a), len(b)) == (2, 3):
        return _tessera.ragged_rows, (a[0], b[2])
    if is_cut and (len(a), len(b)) == (2, 2):
        return _tessera.ragged_k, (len(sizes) - 1, a[0], b[1])
    raise _tessera.InvalidArgumentError(
        "a and b: must have 2 dimensions each, or b 3, with offsets, and 3 each with counts; "
        f"given shapes {a} and {b}; reshape the arrays"
    )


def _untouched(framework: Framework, multiply: Callable[..., None], sizes: Any) -> list[slice]:
    """The rows of a new result that no group writes; all of them where only a device knows."""
    if multiply is _tessera.ragged_k or len(sizes) == 0:
        return []
    if multiply is _tessera.masked_rows or framework.are_on_device(sizes):
        return [slice(None)]
    return [slice(0, max(0, int(sizes[0]))), slice(max(0, int(sizes[-1])), None)]
