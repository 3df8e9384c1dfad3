"""What kind of value each argument takes. Asked only once a call has failed with a TypeError, as the
extension module then knows no more than that some argument did not fit."""

from __future__ import annotations

import math
import operator
import reprlib
from typing import Any, Callable, Mapping, NamedTuple

from ._tessera import InvalidArgumentError, Machine, PackedMatrix


class _Kind(NamedTuple):
    requirement: str
    accepts: Callable[[Any], bool]
    remedy: str
    may_be_none: bool = False

    def or_none(self) -> _Kind:
        return self._replace(may_be_none=True)


def _is_number(value: Any) -> bool:
    try:
        math.isnan(value)
    except (TypeError, OverflowError):
        return False
    return True


def _is_whole(value: Any, least: int, most: int) -> bool:
    try:
        return least <= operator.index(value) <= most
    except TypeError:
        return False


def _is_list(value: Any, accepts: Callable[[Any], bool]) -> bool:
    try:
        return all(accepts(item) for item in value) and len(value) >= 0
    except TypeError:
        return False


def is_shape(value: Any) -> bool:
    """Three whole numbers of any integer type."""
    return _is_list(value, _WHOLE.accepts) and len(value) == 3


def _are_sizes(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    is_native = getattr(dtype, "isnative", True) and getattr(dtype, "kind", "i") in "iu"
    return is_native and _is_list(value, lambda _: True)


def _is_readable(value: Any) -> bool:
    if isinstance(value, PackedMatrix):
        return True
    if hasattr(type(value), "__array__") or hasattr(type(value), "__array_interface__"):
        return True
    if hasattr(type(value), "__dlpack__"):
        try:
            return value.__dlpack__() is not None
        except Exception:  # whatever the framework calls it
            return False
    return _is_list(value, lambda item: _is_number(item) or _is_readable(item))


def _is_writable(value: Any) -> bool:
    try:
        view = memoryview(value)
    except TypeError:
        return False
    except (BufferError, ValueError):  # an array without words for its type in the buffer protocol
        return hasattr(type(value), "__array_interface__")
    return not view.readonly and all(stride % view.itemsize == 0 for stride in view.strides or ())


_INT64 = 2**63
_WHOLE = _Kind("a whole number", lambda v: _is_whole(v, -_INT64, _INT64 - 1), "pass an int")
_COUNT = _Kind(
    "a whole number of 32 bits", lambda v: _is_whole(v, -(2**31), 2**31 - 1), "pass an int"
)
_ADDRESS = _Kind(
    "a stream's address, at least 0",
    lambda v: _is_whole(v, 0, 2 * _INT64 - 1),
    "pass an int or None",
)
_NUMBER = _Kind("a number", _is_number, "pass a float")
_NAME = _Kind("a name", lambda v: isinstance(v, str), "pass a str")
_SWITCH = _Kind("True or False", lambda v: isinstance(v, bool), "pass a bool")
_READABLE = _Kind(
    "an array of numbers that speaks DLPack or the buffer protocol", _is_readable, "convert it"
)
_WRITABLE = _Kind(
    "an array to write to, with strides of whole elements", _is_writable, "pass a writable array"
).or_none()

_SIZES = _Kind("a list of whole numbers of 32 or 64 bits", _are_sizes, "convert it")

_ARRAY_LIST = _Kind("a list of arrays", bool, "pass one for each product")

_ARRAYS = ("a", "b", "c", "bias", "out")
_KINDS = {
    **dict.fromkeys(("a", "b", "gate", "up"), _READABLE),
    **dict.fromkeys(("c", "bias"), _READABLE.or_none()),
    **dict.fromkeys(("offsets", "counts"), _SIZES.or_none()),
    "out": _WRITABLE,
    "alpha": _NUMBER,
    "beta": _NUMBER.or_none(),
    "bias_axis": _NAME,
    "activation": _NAME,
    "threads": _COUNT,
    "stream": _ADDRESS.or_none(),
    **dict.fromkeys(("schedule", "order", "kernel"), _NAME.or_none()),
    **dict.fromkeys(("workers", "splits"), _COUNT.or_none()),
    **dict.fromkeys(("two_tile", "batch_invariant", "packed_b", "keep_others"), _SWITCH),
    "tile": _Kind("three whole numbers", is_shape, "pass (m, n, k)", may_be_none=True),
    "shapes": _Kind(
        "sizes of three whole numbers each",
        lambda v: _is_list(v, is_shape),
        "pass (m, n, k), or a list of such",
    ),
    "rows": _WHOLE.or_none(),
    "plan": _Kind(
        "a plan", lambda v: hasattr(v, "_handle"), "pass what tessera.plan returns", may_be_none=True
    ),
    "machine": _Kind(
        "a machine or its name",
        lambda v: isinstance(v, (Machine, str)),
        "see machine_names()",
        True,
    ),
}


def refusal(error: TypeError, given: Mapping[str, Any], *, has_lists: bool = False) -> Exception:
    """Of a caller's variables the first argument of a wrong kind, in the house form; else the error
    itself. With lists, arrays are given as lists of them."""
    for name, kind in _KINDS.items():
        value = given.get(name)
        if name not in given or (value is None and kind.may_be_none):
            continue
        if not (has_lists and name in _ARRAYS):
            if not kind.accepts(value):
                return _refused(name, kind, value)
        elif not _is_list(value, lambda _: True):
            return _refused(name, _ARRAY_LIST, value)
        else:
            for i, item in enumerate(value):
                if not kind.accepts(item):
                    return _refused(f"{name}[{i}]", kind, item)
    return error


def _refused(name: str, kind: _Kind, value: Any) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{name}: must be {kind.requirement}; given {reprlib.repr(value)}; {kind.remedy}"
    )
