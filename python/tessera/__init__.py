"""Tessera: matrix multiplication as a scheduling problem.

``gemm`` and ``grouped_gemm`` multiply arrays of any framework that speaks DLPack or the buffer
protocol, and answer in the caller's framework; ``ragged_gemm`` and ``gated_gemm`` are for groups
that one array cuts, and for SwiGLU; ``pack_b`` is for weights that many products share; ``plan`` and
``explain`` say how. ``tessera.torch`` and ``tessera.jax`` hold the operators for those frameworks'
compilers and differentiation.
"""

from ._packed import pack_b
from ._plan import Plan, explain, plan
from ._products import gemm, grouped_gemm
from ._ragged import check_sizes, gated_gemm, ragged_gemm
from ._tessera import (
    Error,
    InvalidArgumentError,
    Machine,
    OutOfMemoryError,
    PackedMatrix,
    UnsupportedError,
    device_count,
    machine_names,
    set_log,
    version,
)

__version__ = version()

__all__ = [
    "Error",
    "InvalidArgumentError",
    "Machine",
    "OutOfMemoryError",
    "PackedMatrix",
    "Plan",
    "UnsupportedError",
    "check_sizes",
    "device_count",
    "explain",
    "gated_gemm",
    "gemm",
    "grouped_gemm",
    "machine_names",
    "pack_b",
    "plan",
    "ragged_gemm",
    "set_log",
]
