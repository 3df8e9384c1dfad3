"""As much of PyTorch as the package asks of it, over NumPy arrays in host memory: what is not here is an
AttributeError. For machines without PyTorch, where its operators' calls would go untested."""

import inspect
import math
import types

import numpy as np


class Dtype:
    def __init__(self, name):
        self.of_numpy = np.dtype(name)

    def __str__(self):
        return f"torch.{self.of_numpy.name}"


_DTYPES = {
    name: Dtype(name)
    for name in ("float64", "float32", "int8", "uint8", "int16", "int32", "int64", "bool")
}
_CPU = types.SimpleNamespace(type="cpu")
_STRIDED = object()


class Tensor:
    """Strides and addresses are NumPy's own, so that views are views here, too."""

    layout = _STRIDED
    device = _CPU
    is_cuda = False
    requires_grad = False

    def __init__(self, values):
        self.array = np.asarray(values)

    shape = property(lambda self: tuple(self.array.shape))
    dtype = property(lambda self: _DTYPES[self.array.dtype.name])
    mT = property(lambda self: Tensor(self.array.swapaxes(-1, -2)))

    def dim(self):
        return self.array.ndim

    def numel(self):
        return self.array.size

    def stride(self):
        return tuple(step // self.array.itemsize for step in self.array.strides)

    def data_ptr(self):
        return self.array.ctypes.data

    def element_size(self):
        return self.array.itemsize

    def get_device(self):
        return -1

    def is_neg(self):
        return False

    def detach(self):
        return Tensor(self.array)

    def contiguous(self):
        return Tensor(np.ascontiguousarray(self.array))

    def to(self, kind):
        return Tensor(self.array.astype(kind.of_numpy)) if isinstance(kind, Dtype) else self

    def new_empty(self, shape, dtype=None):
        # Whatever is not written shows.
        return Tensor(np.full(shape, 77, (dtype or self.dtype).of_numpy))

    def new_zeros(self, shape):
        return Tensor(np.zeros(shape, self.array.dtype))

    def zero_(self):
        self.array[...] = 0

    def copy_(self, source):
        self.array[...] = source.array

    def tolist(self):
        return self.array.tolist()

    def flatten(self, first, last):
        last %= self.dim()
        middle = math.prod(self.shape[first : last + 1])
        return Tensor(self.array.reshape(*self.shape[:first], middle, *self.shape[last + 1 :]))

    def sum(self, dimension):
        return Tensor(self.array.sum(dimension))

    def __len__(self):
        return len(self.array)

    def __int__(self):
        return int(self.array)

    def __getitem__(self, where):
        return Tensor(self.array[where])

    def __setitem__(self, where, value):
        self.array[where] = value

    def __gt__(self, other):
        return Tensor(self.array > other)

    def __add__(self, other):
        return Tensor(self.array + other.array)

    def __mul__(self, other):
        return Tensor(self.array * other.array)


# The package tells frameworks apart by where their arrays' types come from.
Tensor.__module__ = "torch"


class Operator:
    """What torch.library.custom_op makes of a function."""

    def __init__(self, function):
        self.function = function

    def __call__(self, *arguments, **keywords):
        return self.function(*arguments, **keywords)

    def register_fake(self, function):
        self.fake = function

    def register_autograd(self, gradient, setup_context):
        self.gradient = gradient
        self.setup_context = setup_context

    def backward(self, arguments, gradient):
        """Of each argument, None where there is none."""
        inputs = inspect.signature(self.function).bind(*arguments)
        inputs.apply_defaults()
        context = types.SimpleNamespace()
        context.save_for_backward = lambda *tensors: setattr(context, "saved_tensors", tensors)
        context.needs_input_grad = tuple(_is_differentiable(x) for x in inputs.args)
        self.setup_context(context, inputs.args, self(*arguments))
        return self.gradient(context, gradient)


def _is_differentiable(value):
    return isinstance(value, Tensor) and value.array.dtype.kind == "f"


def _check(condition, message):
    if not condition:
        raise RuntimeError(message())


def _sigmoid(values):
    return 1 / (1 + np.exp(-values))


def _silu(x):
    return Tensor(x.array * _sigmoid(x.array))


def _silu_backward(gradient, x):
    s = _sigmoid(x.array)
    return Tensor(gradient.array * s * (1 + x.array * (1 - s)))


def module():
    """For sys.modules["torch"]."""
    torch = types.ModuleType("torch")
    vars(torch).update(
        _DTYPES,
        Tensor=Tensor,
        strided=_STRIDED,
        _check=_check,
        as_tensor=Tensor,
        empty=lambda shape, dtype, device: Tensor(np.full(shape, 77, dtype.of_numpy)),
        is_grad_enabled=lambda: True,
        relu=lambda x: Tensor(np.maximum(x.array, 0)),
        library=types.SimpleNamespace(custom_op=lambda name, mutates_args: Operator),
        nn=types.SimpleNamespace(functional=types.SimpleNamespace(silu=_silu)),
        ops=types.SimpleNamespace(aten=types.SimpleNamespace(silu_backward=_silu_backward)),
    )
    return torch
