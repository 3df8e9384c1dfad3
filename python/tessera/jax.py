"""Functions for JAX on CPUs: they can be jitted and differentiated.

Where the extension module was built with JAX's headers, the calls go through ``jax.ffi`` and copy
nothing; elsewhere through ``jax.pure_callback``.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy

from . import _products, _tessera

__all__ = ["gemm", "grouped_gemm"]

_HAS_FFI = hasattr(_tessera, "jax_targets")
if _HAS_FFI:
    for _name, _target in _tessera.jax_targets().items():
        jax.ffi.register_ffi_target(_name, _target, platform="cpu")


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def gemm(a: Any, b: Any, alpha: float = 1.0) -> jax.Array:
    """alpha · a @ b: a is (m, k), b is (k, n)."""
    return _gemm(a, b, alpha, False, False)


def _gemm_forward(a: Any, b: Any, alpha: float) -> Any:
    return _gemm(a, b, alpha, False, False), (a, b)


def _gemm_backward(alpha: float, saved: Any, gradient: Any) -> Any:
    a, b = saved
    return _gemm(gradient, b, alpha, False, True), _gemm(a, gradient, alpha, True, False)


gemm.defvjp(_gemm_forward, _gemm_backward)


@jax.custom_vjp
def grouped_gemm(a: Any, b: Any, sizes: Any) -> jax.Array:
    """The next sizes[g] rows of a (total, k) times b[g] of b (groups, k, n): (total, n).

    Like ``jax.lax.ragged_dot``; rows past the last group become 0.
    """
    return _grouped(a, b, sizes, False)


def _grouped_forward(a: Any, b: Any, sizes: Any) -> Any:
    return _grouped(a, b, sizes, False), (a, b, sizes)


def _grouped_backward(saved: Any, gradient: Any) -> Any:
    a, b, sizes = saved
    no_gradient = numpy.zeros(jnp.shape(sizes), jax.dtypes.float0)
    return _grouped(gradient, b, sizes, True), _weight_gradient(a, gradient, sizes), no_gradient


grouped_gemm.defvjp(_grouped_forward, _grouped_backward)


def _gemm(a: Any, b: Any, alpha: float, transpose_a: bool, transpose_b: bool) -> jax.Array:
    a, b = jnp.asarray(a), jnp.asarray(b)
    m = a.shape[1] if transpose_a else a.shape[0]
    n = b.shape[0] if transpose_b else b.shape[1]
    result = jax.ShapeDtypeStruct((m, n), _result_dtype(a))
    if _HAS_FFI:
        call = jax.ffi.ffi_call("tessera_gemm", result, vmap_method="sequential")
        return call(
            a, b, alpha=numpy.float64(alpha), transpose_a=transpose_a, transpose_b=transpose_b
        )

    def on_host(x: Any, y: Any) -> Any:
        return _on_host(x, y, alpha, transpose_a, transpose_b)

    return jax.pure_callback(on_host, result, a, b, vmap_method="sequential")


def _on_host(x: Any, y: Any, alpha: float, transpose_a: bool, transpose_b: bool) -> numpy.ndarray:
    x, y = numpy.asarray(x), numpy.asarray(y)
    return _products.gemm(x.T if transpose_a else x, y.T if transpose_b else y, alpha=alpha)


def _grouped(a: Any, b: Any, sizes: Any, transpose_b: bool) -> jax.Array:
    a, b, sizes = jnp.asarray(a), jnp.asarray(b), jnp.asarray(sizes, jnp.int32)
    n = b.shape[1] if transpose_b else b.shape[2]
    result = jax.ShapeDtypeStruct((a.shape[0], n), a.dtype)
    if _HAS_FFI:
        call = jax.ffi.ffi_call("tessera_grouped_gemm", result, vmap_method="sequential")
        return call(a, b, sizes, transpose_b=transpose_b)

    def on_host(x: Any, y: Any, s: Any) -> numpy.ndarray:
        x, y = numpy.asarray(x), numpy.asarray(y)
        out = numpy.zeros(result.shape, result.dtype)
        rows = _rows(s)
        weights = [w.T if transpose_b else w for w in y]
        _products.grouped_gemm([x[r] for r in rows], weights, out=[out[r] for r in rows])
        return out

    return jax.pure_callback(on_host, result, a, b, sizes, vmap_method="sequential")


def _weight_gradient(a: Any, y: Any, sizes: Any) -> jax.Array:
    a, y, sizes = jnp.asarray(a), jnp.asarray(y), jnp.asarray(sizes, jnp.int32)
    result = jax.ShapeDtypeStruct((sizes.shape[0], a.shape[1], y.shape[1]), a.dtype)
    if _HAS_FFI:
        call = jax.ffi.ffi_call("tessera_grouped_weight_gradient", result, vmap_method="sequential")
        return call(a, y, sizes)

    def on_host(x: Any, z: Any, s: Any) -> numpy.ndarray:
        x, z = numpy.asarray(x), numpy.asarray(z)
        out = numpy.empty(result.shape, result.dtype)
        rows = _rows(s)
        _products.grouped_gemm([x[r].T for r in rows], [z[r] for r in rows], out=list(out))
        return out

    return jax.pure_callback(on_host, result, a, y, sizes, vmap_method="sequential")


def _rows(sizes: Any) -> list[slice]:
    ends = numpy.cumsum(numpy.asarray(sizes))
    return [slice(int(end - size), int(end)) for end, size in zip(ends, numpy.asarray(sizes))]


def _result_dtype(a: jax.Array) -> Any:
    return jnp.int32 if a.dtype in (jnp.int8, jnp.uint8) else a.dtype
