"""gemm and grouped_gemm for arrays of any framework."""

from __future__ import annotations

from typing import Any, Optional, Sequence

from . import _tessera
from ._frameworks import Framework, as_numpy, framework_of, type_name
from ._kinds import refusal

# What a product of these has where the caller names no type.
_RESULT_TYPES = {"i8": "i32", "u8": "i32"}


def gemm(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    alpha: float = 1.0,
    beta: Optional[float] = None,
    bias: Any = None,
    bias_axis: str = "column",
    activation: str = "none",
    out: Any = None,
    out_dtype: Any = None,
    threads: int = 0,
    stream: Optional[int] = None,
) -> Any:
    """``activation(alpha · a @ b + beta · c + bias)``, in the framework of ``a``.

    ``a`` is (m, k) and ``b`` (k, n), with any strides; three dimensions are a batch, in which ``b``
    may be one matrix for all. ``c`` is added where it is given (``beta`` is then 1 unless said
    otherwise). ``bias`` has one value per ``"column"`` of the result, or per ``"row"``. The
    activations are none, relu, gelu_tanh, gelu_erf and silu. ``out`` receives the result; it may be
    ``c``, but must share no memory with the others. On a GPU the work is queued on ``stream``, by
    default the framework's current one.
    """
    framework = framework_of(a)
    result = out
    try:
        with framework.device(a):
            if result is None:
                result = framework.empty(
                    _result_shape(a, b), _result_type(framework, a, out_dtype), like=a
                )
            _tessera.gemm(
                framework.readable(a, "a"),
                framework_of(b).readable(b, "b"),
                framework.writable(result),
                alpha,
                _beta(c, out, beta),
                None if bias is None else framework_of(bias).readable(bias, "bias"),
                "none" if bias is None else bias_axis,
                activation,
                threads,
                framework.stream(a) if stream is None else stream,
                None if c is None else _placing(framework, [result], [c]),
            )
    except TypeError as error:
        raise refusal(error, locals()) from None
    return framework.finished(result) if out is None else out


def grouped_gemm(
    a: Sequence[Any],
    b: Sequence[Any],
    c: Optional[Sequence[Any]] = None,
    *,
    alpha: float = 1.0,
    beta: Optional[float] = None,
    bias: Optional[Sequence[Any]] = None,
    bias_axis: str = "column",
    activation: str = "none",
    out: Optional[Sequence[Any]] = None,
    out_dtype: Any = None,
    threads: int = 0,
    stream: Optional[int] = None,
) -> list[Any]:
    """Many products of any sizes, ``a[i] @ b[i]``, with the same types, in one schedule.

    The arguments are lists of what ``gemm`` takes; the result is a list.
    """
    try:
        if len(a) == 0:
            return []
        framework = framework_of(a[0])
        with framework.device(a[0]):
            results = _results(framework, a, b, out, _result_type(framework, a[0], out_dtype))
            if c is not None and len(c) != len(results):
                raise _tessera.InvalidArgumentError(
                    f"c: must have {len(results)} arrays, as a has; given {len(c)}; pass one for "
                    "each product"
                )
            _tessera.grouped_gemm(
                _readable(a, "a"),
                _readable(b, "b"),
                [framework.writable(x) for x in results],
                alpha,
                _beta(c, out, beta),
                None if bias is None else _readable(bias, "bias"),
                "none" if bias is None else bias_axis,
                activation,
                threads,
                framework.stream(a[0]) if stream is None else stream,
                None if c is None else _placing(framework, results, c),
            )
        return results if out is not None else [framework.finished(x) for x in results]
    except TypeError as error:
        raise refusal(error, locals(), has_lists=True) from None


def _result_shape(a: Any, b: Any) -> tuple[int, ...]:
    shape_a, shape_b = _shape(a, "a"), _shape(b, "b")
    if len(shape_a) < 2 or len(shape_b) < 2:
        raise _tessera.InvalidArgumentError(
            f"a and b: must have 2 dimensions, or 3 for a batch; given shapes {shape_a} and "
            f"{shape_b}; reshape the arrays"
        )
    batch = shape_a[:-2] if len(shape_a) >= len(shape_b) else shape_b[:-2]
    return (*batch, shape_a[-2], shape_b[-1])


def _shape(array: Any, argument: str) -> tuple[int, ...]:
    if hasattr(array, "shape"):
        return tuple(array.shape)
    return as_numpy(array, argument).shape


def _result_type(framework: Framework, a: Any, out_dtype: Any) -> str:
    if out_dtype is not None:
        return type_name(out_dtype, "out_dtype")
    name = framework.type_name(a, "a")
    return _RESULT_TYPES.get(name, name)


def _results(
    framework: Framework, a: Sequence[Any], b: Sequence[Any], out: Any, type_name: str
) -> list[Any]:
    """The caller's arrays, or new ones."""
    if out is not None:
        return list(out)
    return [framework.empty(_result_shape(x, y), type_name, like=x) for x, y in zip(a, b)]


def _readable(arrays: Sequence[Any], argument: str) -> list[Any]:
    return [framework_of(array).readable(array, argument) for array in arrays]


def _beta(c: Any, out: Any, beta: Optional[float]) -> float:
    """Without c, what ``out`` holds is the addend if the caller names a beta."""
    if beta is None:
        return 0.0 if c is None else 1.0
    if c is None and out is None:
        _refuse_beta(beta)
    return beta


def _refuse_beta(beta: float) -> None:
    """A new result holds nothing that could be scaled."""
    if beta != 0:
        raise _tessera.InvalidArgumentError(
            f"beta: must be 0 where neither c nor out is given; given {beta}; pass what it scales"
        )


def _placing(framework: Framework, results: Sequence[Any], addends: Any) -> Any:
    """What puts each c where its product is added to it: called once all arguments are known to be
    right, so that a wrong one changes nothing."""
    pairs = [(result, c) for result, c in zip(results, addends) if c is not result]

    def place() -> None:
        for result, c in pairs:
            try:
                framework.copy_into(result, c)
            except (TypeError, ValueError) as error:
                raise _tessera.InvalidArgumentError(
                    f"c: must be numbers of the result's shape {tuple(result.shape)}, or for all of "
                    f"it; given what cannot be copied there ({error}); reshape or convert it"
                ) from None

    return place if pairs else None
