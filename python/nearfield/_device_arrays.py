"""Arrays in the memory of a CUDA card, which are read there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from nearfield import _core
from nearfield._arguments import integer
from nearfield._arrays import DLPackArray
from nearfield._errors import InvalidArgumentError
from nearfield._layout import rows_are_in_place

# DLPack's numbers of memory that a CUDA card reads: its own, and what moves between the two.
CUDA_DEVICES = (2, 13)
# CUDA's number of the default stream, which DLPack and this library know it by.
DEFAULT_STREAM = 1
# That of the default stream of a thread. A call runs in a thread of its own, where it would be
# another one; the default stream waits for it.
THREAD_STREAM = 2


@runtime_checkable
class CudaArrayLike(Protocol):
    """An array of a library that speaks the CUDA array interface, such as cupy or numba."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


@runtime_checkable
class CudaStream(Protocol):
    """A stream of a library that speaks its protocol, such as cuda.core."""

    def __cuda_stream__(self) -> tuple[int, int]: ...


T = TypeVar("T")
StreamLike: TypeAlias = int | CudaStream | None


@dataclass(frozen=True)
class DeviceArray:
    """Two dimensions, values of a row side by side."""

    core: _core.DeviceArray
    shape: tuple[int, ...]
    card: int | None  # None where the array does not tell
    owner: object  # keeps the memory


def stream_number(stream: StreamLike) -> int:
    """0: none."""
    if stream is None:
        return 0
    if isinstance(stream, CudaStream):
        return _of_any_thread(int(stream.__cuda_stream__()[1]) or DEFAULT_STREAM)
    number = integer("stream", stream)
    if number <= 0:
        raise InvalidArgumentError(
            f"stream is {number}, expected a cudaStream_t as a number: the default stream is "
            f"{DEFAULT_STREAM}, that of a thread {THREAD_STREAM}"
        )
    return _of_any_thread(number)


def _of_any_thread(stream: int) -> int:
    return DEFAULT_STREAM if stream == THREAD_STREAM else stream


def device_array(
    name: str, given: object, stream: int, dtypes: dict[str, str]
) -> DeviceArray | None:
    """None where it is not in the memory of a CUDA card; `dtypes` are the library's, by name."""
    if isinstance(given, np.ndarray):
        return None
    if isinstance(given, DLPackArray):
        device, card = given.__dlpack_device__()
        if device not in CUDA_DEVICES:
            return None
        return _from_dlpack(name, given, int(card), stream or DEFAULT_STREAM, dtypes)
    if isinstance(given, CudaArrayLike):
        return _from_interface(name, given, dtypes)
    return None


def device_of(device: str | None, arrays: dict[str, object]) -> str | None:
    """That of the caller, or the one that has the arrays."""
    held = {name: array for name, array in arrays.items() if isinstance(array, DeviceArray)}
    if device is not None or not held:
        return device
    cards = {array.card for array in held.values()} - {None}
    if len(cards) > 1:
        places = ", ".join(f"{name} in that of card {array.card}" for name, array in held.items())
        raise InvalidArgumentError(f"arrays are in the memory of two cards, {places}: copy one")
    return f"cuda:{cards.pop()}" if cards else "cuda"


def core_of(array: T | DeviceArray) -> T | _core.DeviceArray:
    return array.core if isinstance(array, DeviceArray) else array


def _from_dlpack(
    name: str, given: DLPackArray, card: int, stream: int, dtypes: dict[str, str]
) -> DeviceArray:
    try:
        tensor = _core.DLPackTensor(given.__dlpack__(stream=stream))
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise InvalidArgumentError(f"{name} cannot be read by DLPack: {error}") from error
    layout = _Layout(tensor.dtype, tensor.itemsize, tensor.shape, tensor.strides)
    return _checked(name, tensor.address, layout, stream, card, tensor, dtypes)


def _from_interface(name: str, given: CudaArrayLike, dtypes: dict[str, str]) -> DeviceArray:
    fields = given.__cuda_array_interface__
    if fields.get("mask") is not None:
        raise InvalidArgumentError(
            f"{name} is a masked array, and this library knows no masks: fill it"
        )
    dtype = np.dtype(fields["typestr"])
    if not dtype.isnative:
        raise InvalidArgumentError(
            f"{name} has dtype {dtype.str!r}, in the byte order of other machines: convert it"
        )
    stream = fields.get("stream")
    if stream == 0:
        raise InvalidArgumentError(
            f"{name} says that it is written in stream 0, which its interface forbids: the default "
            f"stream is {DEFAULT_STREAM}, that of a thread {THREAD_STREAM}"
        )
    shape = tuple(fields["shape"])
    layout = _Layout(dtype.name, dtype.itemsize, shape, fields.get("strides"))
    writer = _of_any_thread(stream or 0)
    return _checked(name, fields["data"][0], layout, writer, None, given, dtypes)


@dataclass(frozen=True)
class _Layout:
    dtype: str
    itemsize: int
    shape: Sequence[int]
    strides: Sequence[int] | None  # bytes; None: C order


def _checked(
    name: str,
    address: int,
    layout: _Layout,
    stream: int,
    card: int | None,
    owner: object,
    dtypes: dict[str, str],
) -> DeviceArray:
    shape, size = tuple(layout.shape), layout.itemsize
    if layout.dtype not in dtypes:
        raise InvalidArgumentError(
            f"{name} has dtype {layout.dtype}, expected one of {', '.join(dtypes)}: convert it"
        )
    strides = layout.strides or (shape[-1] * size if shape else 0, size)
    if not rows_are_in_place(name, shape, tuple(strides), size):
        raise InvalidArgumentError(
            f"{name} of shape {shape} and strides {tuple(strides)} is in the memory of a card, "
            f"where rows are read in C order: pass {name}.contiguous(), or "
            f"cupy.ascontiguousarray({name})"
        )
    rows, cols = shape
    core = _core.DeviceArray(
        address, dtypes[layout.dtype], rows, cols, strides[0] if rows > 1 else 0, stream
    )
    return DeviceArray(core, shape, card, owner)
