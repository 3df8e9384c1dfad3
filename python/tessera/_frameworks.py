"""The caller's framework: what its arrays need to be handed over, and how it makes new ones.

No framework is imported here unless one of its arrays has come in.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any, ContextManager

from ._tessera import InvalidArgumentError, Memory, UnsupportedError

# The library's name of an element type, for every name that a framework gives it.
_TYPE_NAMES = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "int8": "i8",
    "uint8": "u8",
    "int32": "i32",
    "double": "f64",
    "float": "f32",
    "half": "f16",
}
_LONG_NAMES = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "i8": "int8",
    "u8": "uint8",
    "i32": "int32",
}


# Asking a dtype for its name can take longer than a small product.
_NAME_OF_DTYPE: dict[Any, str] = {}


def type_name(dtype: Any, argument: str = "dtype") -> str:
    """``f32`` for ``"f32"``, ``"float32"``, ``numpy.float32``, ``torch.float32``, and so on."""
    try:
        known = _NAME_OF_DTYPE.get(dtype)
    except TypeError:  # nothing that has no hash is a type
        raise _refused_type(dtype, argument) from None
    if known is not None:
        return known
    if not getattr(dtype, "isnative", True):
        raise InvalidArgumentError(
            f"{argument}: must have elements in this machine's order of bytes; given {dtype!r}; "
            "convert the array with astype(dtype.newbyteorder('='))"
        )
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    if name is None:
        name = getattr(dtype, "__name__", None) or str(dtype)
    name = name.rpartition(".")[2]
    if name not in _LONG_NAMES and name not in _TYPE_NAMES:
        raise _refused_type(dtype, argument)
    return _NAME_OF_DTYPE.setdefault(dtype, _TYPE_NAMES.get(name, name))


def _refused_type(dtype: Any, argument: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{argument}: must have one of the types {', '.join(_LONG_NAMES.values())}; given {dtype!r}; "
        "convert it"
    )


_NO_DEVICE = contextlib.nullcontext()
# DLPack's numbers for memory that the host reads: its own, and what CUDA has pinned.
_HOST_MEMORY = (1, 3)


class Framework:
    """NumPy, and whatever knows DLPack or the buffer protocol alone: their results are NumPy's."""

    def type_name(self, array: Any, argument: str) -> str:
        if not hasattr(array, "dtype"):
            array = as_numpy(array, argument)
        return type_name(array.dtype, argument)

    def readable(self, array: Any, argument: str) -> Any:
        """The array as the extension module can read it, without a copy if possible."""
        if hasattr(type(array), "__array_interface__"):
            return _numpy_readable(as_numpy(array, argument), argument)
        if hasattr(type(array), "__dlpack__"):
            return array
        return _numpy_readable(as_numpy(array, argument), argument)

    def writable(self, array: Any) -> Any:
        """The same memory, for the extension module to write to."""
        if not hasattr(type(array), "__array_interface__"):
            return array
        if not array.flags.writeable:
            raise InvalidArgumentError(
                "out: must be writable; given a read-only array; pass a copy of it"
            )
        return _numpy_memory(array, "out")

    def empty(self, shape: tuple[int, ...], type_name: str, like: Any) -> Any:
        import numpy

        return numpy.empty(shape, _numpy_dtype(type_name))

    def indices(self, values: Any, like: Any, argument: str) -> Any:
        """Whole numbers beside the array, in its device's memory if they can be moved there."""
        if hasattr(values, "dtype"):
            return values
        numbers = as_numpy(values, argument)
        if numbers.size > 0 and numbers.dtype.kind not in "iu":
            raise InvalidArgumentError(
                f"{argument}: must be whole numbers; given {numbers.dtype} values; convert them"
            )
        return numbers.astype("int64")

    def readable_indices(self, values: Any) -> Any:
        """What `indices` gave, as the extension module can read it."""
        return values

    def are_on_device(self, values: Any) -> bool:
        """Whether reading them here would wait for a device."""
        kind = getattr(values, "__dlpack_device__", None)
        return kind is not None and kind()[0] not in _HOST_MEMORY

    def copy_into(self, destination: Any, source: Any) -> None:
        destination[...] = source

    def finished(self, array: Any) -> Any:
        """What the caller gets for an array that `empty` made and that has been written."""
        return array

    def stream(self, like: Any) -> int:
        return 0

    def device(self, like: Any) -> ContextManager[Any]:
        """Makes the array's device the current one."""
        return _NO_DEVICE


class _Torch(Framework):
    def readable(self, array: Any, argument: str) -> Any:
        if array.requires_grad:
            _refuse_gradient()
        if array.is_neg():
            # A view, as of the imaginary part of a conjugate, whose memory has the other sign.
            array = array.resolve_neg()
        strides = array.stride()
        if 0 in strides and array.numel() > 0:
            array = array.contiguous()
            strides = array.stride()
        return _torch_memory(array, strides, argument)

    def writable(self, array: Any) -> Any:
        if array.is_neg():
            raise InvalidArgumentError(
                "out: must be what its memory holds; given a view of the other sign; "
                "pass a tensor of its own"
            )
        return _torch_memory(array, array.stride(), "out")

    def empty(self, shape: tuple[int, ...], type_name: str, like: Any) -> Any:
        import torch

        return torch.empty(shape, dtype=getattr(torch, _LONG_NAMES[type_name]), device=like.device)

    def indices(self, values: Any, like: Any, argument: str) -> Any:
        import torch

        if not isinstance(values, torch.Tensor):
            values = torch.as_tensor(_NUMPY.indices(values, like, argument))
        if values.dtype not in (torch.int32, torch.int64):
            values = values.to(torch.int64)
        return values.to(like.device).contiguous()

    def readable_indices(self, values: Any) -> Any:
        return (values.data_ptr(), values.numel(), 8 * values.element_size(), values.get_device())

    def are_on_device(self, values: Any) -> bool:
        return values.is_cuda

    def copy_into(self, destination: Any, source: Any) -> None:
        destination.copy_(source)

    def stream(self, like: Any) -> int:
        if not like.is_cuda:
            return 0
        import torch

        return torch.cuda.current_stream(like.device).cuda_stream

    def device(self, like: Any) -> ContextManager[Any]:
        if not like.is_cuda:
            return _NO_DEVICE
        import torch

        return torch.cuda.device(like.device)


class _Jax(Framework):
    """Arrays on the CPU; a JAX array cannot be written to, so the result is NumPy's at first."""

    def readable(self, array: Any, argument: str) -> Any:
        import jax

        if isinstance(array, jax.core.Tracer):
            raise InvalidArgumentError(
                f"{argument}: must hold values; given a tracer of a JAX transformation; "
                "use tessera.jax, whose functions can be traced"
            )
        return array

    def finished(self, array: Any) -> Any:
        import jax.numpy

        return jax.numpy.asarray(array)


class _Cupy(Framework):
    def readable(self, array: Any, argument: str) -> Any:
        if any(s < 1 for s, n in zip(array.strides, array.shape) if n > 1):
            import cupy

            array = cupy.ascontiguousarray(array)
        return array

    def empty(self, shape: tuple[int, ...], type_name: str, like: Any) -> Any:
        import cupy

        return cupy.empty(shape, _numpy_dtype(type_name))

    def stream(self, like: Any) -> int:
        import cupy

        return cupy.cuda.get_current_stream().ptr

    def device(self, like: Any) -> ContextManager[Any]:
        return like.device


class _Packed(Framework):
    """What pack_b has packed, which the extension module knows."""

    def type_name(self, array: Any, argument: str) -> str:
        return array.type

    def readable(self, array: Any, argument: str) -> Any:
        return array


_FRAMEWORKS = {
    "torch": _Torch(),
    "jax": _Jax(),
    "jaxlib": _Jax(),
    "cupy": _Cupy(),
    "tessera": _Packed(),
}
_NUMPY = Framework()
_FRAMEWORK_OF_TYPE: dict[type, Framework] = {}


def framework_of(array: Any) -> Framework:
    """Of an array; a list of numbers or a bytes-like object counts as NumPy's."""
    kind = type(array)
    known = _FRAMEWORK_OF_TYPE.get(kind)
    if known is not None:
        return known
    found = _NUMPY
    for base in kind.__mro__:
        found = _FRAMEWORKS.get(base.__module__.partition(".")[0], found)
        if found is not _NUMPY:
            break
    _FRAMEWORK_OF_TYPE[kind] = found
    return found


def _refuse_gradient() -> None:
    """A result without its gradient would go unnoticed."""
    import torch

    if torch.is_grad_enabled():
        raise InvalidArgumentError(
            "tensor: must need no gradient; given one with requires_grad; use tessera.torch, whose "
            "operators have gradients, or detach it"
        )


def _torch_memory(tensor: Any, strides: tuple[int, ...], argument: str) -> Memory:
    if tensor.device.type not in ("cpu", "cuda") or tensor.layout is not _torch_strided():
        raise UnsupportedError(
            f"{argument}: must be dense and lie in host or CUDA memory; given one of layout "
            f"{tensor.layout} on {tensor.device}; convert or move it"
        )
    # -1 on the host, as everywhere here.
    return Memory(
        tensor,
        tensor.data_ptr(),
        tensor.shape,
        strides,
        type_name(tensor.dtype, argument),
        tensor.get_device(),
    )


@functools.lru_cache(maxsize=None)
def _torch_strided() -> Any:
    import torch

    return torch.strided


def _numpy_readable(array: Any, argument: str) -> Any:
    if not array.flags.forc:
        size = array.itemsize
        if any(s < size or s % size for s, n in zip(array.strides, array.shape) if n > 1):
            array = array.copy(order="C")
    return _numpy_memory(array, argument)


def _numpy_memory(array: Any, argument: str) -> Any:
    # NumPy has no words for bf16 when it hands an array over.
    if type_name(array.dtype, argument) != "bf16":
        return array
    if any(stride % 2 for stride in array.strides):
        raise InvalidArgumentError(
            f"{argument}: must have strides of whole elements; given strides of {array.strides} bytes; "
            "pass an array of its own"
        )
    strides = [stride // 2 for stride in array.strides]
    return Memory(array, array.ctypes.data, array.shape, strides, "bf16")


def as_numpy(array: Any, argument: str) -> Any:
    import numpy

    try:
        return numpy.asarray(array)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"{argument}: must be an array of numbers; given what NumPy takes for none ({error}); "
            "convert it"
        ) from None


def _numpy_dtype(type_name: str) -> Any:
    if type_name == "bf16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    import numpy

    return numpy.dtype(_LONG_NAMES[type_name])
