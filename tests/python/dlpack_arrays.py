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


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Exported:
    """Hands out a capsule over memory of the host, whatever device it says it is of."""

    def __init__(self, array: NDArray[Any], code: int, device: int, card: int) -> None:
        self.array = array
        self.device = device, card
        self.deleted = 0
        self.streams: list[int | None] = []
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.strides = (ctypes.c_int64 * array.ndim)(
            *(stride // array.itemsize for stride in array.strides)
        )
        tensor = _DLTensor(
            array.ctypes.data,
            device,
            card,
            array.ndim,
            code,
            8 * array.itemsize,
            1,
            self.shape,
            self.strides,
            0,
        )
        self.delete = _DELETER(self._delete)
        deleter = ctypes.cast(self.delete, ctypes.c_void_p)
        self.managed = _DLManagedTensor(tensor, None, deleter)

    def _delete(self, _: int) -> None:
        self.deleted += 1

    def __dlpack__(self, *, stream: int | None = None, **arguments: Any) -> object:
        self.streams.append(stream)
        make = ctypes.pythonapi.PyCapsule_New
        make.restype = ctypes.py_object
        make.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(ctypes.addressof(self.managed), b"dltensor", None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device


class BFloat16Tensor(_Exported):
    """torch's bfloat16: a type that numpy's DLPack does not know."""

    BFLOAT = 4  # DLPack's number

    def __init__(self, values: NDArray[np.float32], device: int = 1) -> None:
        """The values must be exact in bfloat16. Device 3 is memory pinned for CUDA."""
        bits = (np.ascontiguousarray(values).view(np.uint32) >> 16).astype(np.uint16)
        super().__init__(bits, self.BFLOAT, device, 0)


class CudaTensor(_Exported):
    """In the memory of a CUDA card, it says; 13 is managed memory."""

    CODES = {"i": 0, "u": 1, "f": 2}  # noqa: RUF012

    def __init__(self, array: NDArray[Any], device: int = 2, card: int = 0) -> None:
        super().__init__(array, self.CODES[array.dtype.kind], device, card)


class CudaInterface:
    """The CUDA array interface, version 3, of what it says is memory of a card."""

    def __init__(self, array: NDArray[Any], **fields: Any) -> None:
        self.array = array
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (array.ctypes.data, False),
            "strides": array.strides,
            "version": 3,
            **fields,
        }
