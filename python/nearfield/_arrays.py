"""Arrays of any library as numpy arrays, without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from nearfield import _core
from nearfield._errors import InvalidArgumentError, UnsupportedError

if TYPE_CHECKING:
    from typing_extensions import Buffer


@runtime_checkable
class DLPackArray(Protocol):
    """An array of a library that speaks DLPack, such as torch."""

    def __dlpack__(self, *, stream: int | None = None) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


# DLPack's numbers of memory that the CPU reads: its own, and what is pinned for CUDA or ROCm.
HOST_DEVICES = (1, 3, 11)


class HostArray(NamedTuple):
    values: np.ndarray[Any, Any]
    dtype: str  # "bfloat16", whose values come as uint16, or the numpy name


def host_array(name: str, given: Buffer | DLPackArray, expected: str) -> HostArray:
    """`expected` says, in errors, what else to pass."""
    if isinstance(given, np.ndarray):
        return _from_numpy(name, given)
    try:
        buffer = memoryview(given)  # type: ignore[arg-type]
    except (TypeError, BufferError, ValueError):
        pass
    else:
        return _from_numpy(name, np.asarray(buffer))
    if isinstance(given, DLPackArray):
        return _from_dlpack(name, given)
    if hasattr(given, "__cuda_array_interface__"):
        raise _on_a_device(name, "a CUDA device")
    raise TypeError(f"{name} is a {type(given).__name__}, expected {expected}")


def _from_numpy(name: str, array: np.ndarray[Any, Any]) -> HostArray:
    if isinstance(array, np.ma.MaskedArray):
        raise InvalidArgumentError(
            f"{name} is a masked array, and a search knows no masks: fill it, "
            f"as in {name}.filled(numpy.nan), for rows that are never returned"
        )
    if not array.dtype.isnative:
        raise InvalidArgumentError(
            f"{name} has dtype {array.dtype.str!r}, in the byte order of other machines: convert "
            f"with {name}.astype({name}.dtype.newbyteorder('='))"
        )
    if array.dtype.name == "bfloat16":
        return HostArray(array.view(np.uint16), "bfloat16")
    return HostArray(array, array.dtype.name)


def _from_dlpack(name: str, given: DLPackArray) -> HostArray:
    device = given.__dlpack_device__()[0]
    if device not in HOST_DEVICES:
        raise _on_a_device(name, f"a device (DLPack type {int(device)})")
    try:
        array = np.from_dlpack(given)  # type: ignore[arg-type]
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        # Numpy knows no bfloat16.
        values = _core.bfloat16_bits(given)
        if values is None:
            raise InvalidArgumentError(f"{name} cannot be read by DLPack: {error}") from error
        return HostArray(values, "bfloat16")
    return _from_numpy(name, array)


def _on_a_device(name: str, device: str) -> UnsupportedError:
    return UnsupportedError(
        f"{name} is in the memory of {device}, and is to be in that of the host here: "
        f"copy it to the host, as in {name}.cpu() or cupy.asnumpy({name})"
    )
