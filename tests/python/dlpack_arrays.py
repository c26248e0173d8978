"""Arrays of another library, as nearfield meets them: torch is too big to install for it."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Tensor:
    """Speaks DLPack and nothing else."""

    def __init__(self, values: NDArray[Any]) -> None:
        self.values = values

    def __dlpack__(self, **arguments: Any) -> object:
        return self.values.__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


class DeviceTensor:
    """In the memory of a GPU; whoever exports it before asking where it is has a mistake."""

    def __dlpack__(self, **arguments: Any) -> object:
        raise AssertionError("exported")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


class CudaArray:
    __cuda_array_interface__ = {"shape": (2, 2), "typestr": "<f4", "version": 3}  # noqa: RUF012


class _DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _DLManagedTensor(ctypes.Structure):
    _fields_ = (
        ("tensor", _DLTensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


class BFloat16Tensor:
    """torch's bfloat16: a type that numpy's DLPack does not know."""

    BFLOAT = 4  # DLPack's number

    def __init__(self, values: NDArray[np.float32], device: int = 1) -> None:
        """The values must be exact in bfloat16. Device 3 is memory pinned for CUDA."""
        self.device = device
        self.bits = (np.ascontiguousarray(values).view(np.uint32) >> 16).astype(np.uint16)
        self.shape = (ctypes.c_int64 * 2)(*values.shape)
        tensor = _DLTensor(
            self.bits.ctypes.data, device, 0, 2, self.BFLOAT, 16, 1, self.shape, None, 0
        )
        self.managed = _DLManagedTensor(tensor, None, None)

    def __dlpack__(self, **arguments: Any) -> object:
        make = ctypes.pythonapi.PyCapsule_New
        make.restype = ctypes.py_object
        make.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(ctypes.addressof(self.managed), b"dltensor", None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0
