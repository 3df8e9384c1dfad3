"""Functions for JAX: they can be jitted and differentiated.

Where the extension module was built with JAX's headers, the calls go through ``jax.ffi`` and copy
nothing; on a GPU they run there, on the program's stream, and sizes are read there. Elsewhere they go
through ``jax.pure_callback`` on the host.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy

from . import _products, _tessera

__all__ = ["gemm", "grouped_gemm"]

# By the name of a call, the platforms where jax.ffi knows it.
_PLATFORMS: dict[str, list[str]] = {}
if hasattr(_tessera, "jax_targets"):
    for _platform, _targets in _tessera.jax_targets().items():
        for _name, _target in _targets.items():
            jax.ffi.register_ffi_target(_name, _target, platform=_platform)
            _PLATFORMS.setdefault(_name, []).append(_platform.lower())


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


def _call(name: str, result: Any, on_host: Any, *operands: Any, **attributes: Any) -> jax.Array:
    """The call through jax.ffi on platforms that know it, else `on_host` with NumPy's arrays.

    Behind two matrices there may be the groups' sizes, of which a GPU is given the running sum.
    """

    def through_ffi(*arrays: Any) -> Any:
        return jax.ffi.ffi_call(name, result, vmap_method="sequential")(*arrays, **attributes)

    def on_gpu(a: Any, b: Any, *sizes: Any) -> Any:
        return through_ffi(a, b, *(jnp.cumsum(s, dtype=jnp.int32) for s in sizes))

    def through_callback(*arrays: Any) -> Any:
        def call(*values: Any) -> numpy.ndarray:
            return on_host(*(numpy.asarray(value) for value in values))

        return jax.pure_callback(call, result, *arrays, vmap_method="sequential")

    known = {
        platform: on_gpu if platform == "cuda" else through_ffi
        for platform in _PLATFORMS.get(name, [])
    }
    if not known:
        return through_callback(*operands)
    return jax.lax.platform_dependent(*operands, default=through_callback, **known)


def _gemm(a: Any, b: Any, alpha: float, transpose_a: bool, transpose_b: bool) -> jax.Array:
    a, b = jnp.asarray(a), jnp.asarray(b)
    m = a.shape[1] if transpose_a else a.shape[0]
    n = b.shape[0] if transpose_b else b.shape[1]
    dtype = jnp.int32 if a.dtype in (jnp.int8, jnp.uint8) else a.dtype
    alpha = numpy.float64(alpha)

    def on_host(x: numpy.ndarray, y: numpy.ndarray) -> numpy.ndarray:
        return _products.gemm(
            x.T if transpose_a else x, y.T if transpose_b else y, alpha=float(alpha)
        )

    attributes = {"alpha": alpha, "transpose_a": transpose_a, "transpose_b": transpose_b}
    return _call("tessera_gemm", jax.ShapeDtypeStruct((m, n), dtype), on_host, a, b, **attributes)


def _grouped(a: Any, b: Any, sizes: Any, transpose_b: bool) -> jax.Array:
    a, b, sizes = jnp.asarray(a), jnp.asarray(b), jnp.asarray(sizes, jnp.int32)
    n = b.shape[1] if transpose_b else b.shape[2]
    result = jax.ShapeDtypeStruct((a.shape[0], n), a.dtype)

    def on_host(x: numpy.ndarray, y: numpy.ndarray, s: numpy.ndarray) -> numpy.ndarray:
        out = numpy.zeros(result.shape, result.dtype)
        rows = _rows(s, len(x))
        weights = [w.T if transpose_b else w for w in y]
        _products.grouped_gemm([x[r] for r in rows], weights, out=[out[r] for r in rows])
        return out

    return _call("tessera_grouped_gemm", result, on_host, a, b, sizes, transpose_b=transpose_b)


def _weight_gradient(a: Any, y: Any, sizes: Any) -> jax.Array:
    a, y, sizes = jnp.asarray(a), jnp.asarray(y), jnp.asarray(sizes, jnp.int32)
    result = jax.ShapeDtypeStruct((sizes.shape[0], a.shape[1], y.shape[1]), a.dtype)

    def on_host(x: numpy.ndarray, z: numpy.ndarray, s: numpy.ndarray) -> numpy.ndarray:
        out = numpy.empty(result.shape, result.dtype)
        rows = _rows(s, len(x))
        _products.grouped_gemm([x[r].T for r in rows], [z[r] for r in rows], out=list(out))
        return out

    return _call("tessera_grouped_weight_gradient", result, on_host, a, y, sizes)


def _rows(sizes: numpy.ndarray, total: int) -> list[slice]:
    ends = numpy.cumsum(sizes)
    if (sizes < 0).any() or (len(ends) > 0 and ends[-1] > total):
        raise _tessera.InvalidArgumentError(
            f"sizes: must be at least 0 with a sum of at most {total}; given {sizes.tolist()}; "
            "pass the groups' numbers of rows"
        )
    return [slice(int(end - size), int(end)) for end, size in zip(ends, sizes)]
