"""Weights that are packed ahead of the products that use them, on a CPU."""

from __future__ import annotations

from typing import Any, Optional

from . import _tessera
from ._frameworks import framework_of, type_name
from ._kinds import refusal
from ._plan import Plan


def pack_b(
    b: Any, *, rows: Optional[int] = None, a_dtype: Any = None, plan: Optional[Plan] = None
) -> _tessera.PackedMatrix:
    """Packs ``b`` (k, n), which has an element at least, for products of about ``rows`` rows.

    The result stands for ``b`` in ``gemm``, ``grouped_gemm``, ``plan`` and a plan's runs, with any
    number of rows, though another packing might be faster for many more or fewer. ``a_dtype`` is the
    type of ``a``, where that is not ``b``'s: uint8 beside int8. With a ``plan`` in place of ``rows``
    it is packed for that plan's kernel, as the products of one ``grouped_gemm`` have to be; make it with
    ``packed_b=True``.

    The result keeps nothing of ``b``, has no gradient, and many threads may use it at once.
    """
    if (rows is None) == (plan is None):
        given = "neither" if rows is None else "both"
        raise _tessera.InvalidArgumentError(
            f"rows and plan: must be one of the two; given {given}; "
            "say how many rows the products' a usually has, or pass a plan"
        )
    try:
        readable = framework_of(b).readable(b, "b")
        if plan is not None:
            if not isinstance(plan, Plan):
                raise TypeError(f"plan: a {type(plan).__name__}")
            return _tessera.pack_b_for_plan(readable, plan._handle)
        return _tessera.pack_b(
            readable, rows, None if a_dtype is None else type_name(a_dtype, "a_dtype")
        )
    except TypeError as error:
        raise refusal(error, locals()) from None
