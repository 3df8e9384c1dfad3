"""JAX on the CPU: arrays, and the functions that can be jitted and differentiated."""

import os

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
# The same functions on a GPU: TESSERA_TEST_JAX=cuda.
PLATFORM = os.environ.get("TESSERA_TEST_JAX", "cpu")
jax.config.update("jax_platforms", "cpu" if PLATFORM == "cpu" else PLATFORM + ",cpu")
jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

import tessera  # noqa: E402
import tessera.jax  # noqa: E402

RANDOM = np.random.default_rng(5)


@pytest.fixture(params=["ffi", "callback"], autouse=True)
def way(request, monkeypatch):
    """Through jax.ffi, and as in a build without JAX's headers."""
    if request.param == "callback":
        monkeypatch.setattr(tessera.jax, "_PLATFORMS", {})
    elif not tessera.jax._PLATFORMS:
        pytest.skip("built without JAX's headers")
    jax.clear_caches()


def normal(*shape, dtype=np.float64):
    return jnp.asarray(RANDOM.standard_normal(shape), dtype)


@pytest.mark.skipif(PLATFORM != "cpu", reason="arrays on the CPU")
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64, jnp.bfloat16, jnp.float16])
def test_arrays_come_back_as_they_came(dtype):
    a, b = normal(6, 8, dtype=dtype), normal(8, 5, dtype=dtype)
    got = tessera.gemm(a, b)
    assert isinstance(got, jax.Array) and got.dtype == dtype
    want = np.asarray(a, np.float64) @ np.asarray(b, np.float64)
    np.testing.assert_allclose(np.asarray(got, np.float64), want, rtol=2e-2, atol=2e-2)


def test_tracers_are_sent_to_the_right_door():
    with pytest.raises(tessera.InvalidArgumentError, match="tessera.jax"):
        jax.jit(lambda x: tessera.gemm(x, x))(normal(3, 3))


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit])
def test_gemm(transform):
    a, b = normal(6, 8), normal(8, 5)
    np.testing.assert_allclose(transform(tessera.jax.gemm)(a, b), a @ b, rtol=1e-12)
    check_grads(transform(lambda x, y: tessera.jax.gemm(x, y, 0.5)), (a, b), order=1, modes=["rev"])


def test_vmap():
    a, b = normal(3, 6, 8), normal(3, 8, 5)
    np.testing.assert_allclose(jax.vmap(tessera.jax.gemm)(a, b), a @ b, rtol=1e-12)


@pytest.mark.parametrize("transform", [lambda f: f, jax.jit])
def test_grouped_gemm(transform):
    sizes = jnp.asarray([3, 0, 5], jnp.int32)
    a, b = normal(10, 4), normal(3, 4, 6)
    got = transform(tessera.jax.grouped_gemm)(a, b, sizes)
    want = jnp.concatenate([a[:3] @ b[0], a[3:8] @ b[2], jnp.zeros((2, 6))])
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    check_grads(
        transform(lambda x, y: tessera.jax.grouped_gemm(x, y, sizes)),
        (a, b),
        order=1,
        modes=["rev"],
    )


def test_errors_arrive():
    if PLATFORM != "cpu" and tessera.jax._PLATFORMS:
        pytest.skip("a GPU reads the sizes itself, and nobody waits for what it finds")
    with pytest.raises(Exception, match="sizes: must be"):
        jax.jit(tessera.jax.grouped_gemm)(
            normal(4, 4), normal(1, 4, 4), jnp.asarray([9])
        ).block_until_ready()
