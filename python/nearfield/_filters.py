"""Which rows of the base may be returned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np

from nearfield import _core
from nearfield._arrays import DLPackArray, host_array
from nearfield._errors import InvalidArgumentError
from nearfield._rows import Bits

if TYPE_CHECKING:
    from typing_extensions import Buffer

FilterLike: TypeAlias = Union["Buffer", DLPackArray, Bits, list[int], tuple[int, ...], range, None]


@dataclass(frozen=True)
class TakenFilter:
    core: _core.Filter | None
    copied_bytes: int


def take_filter(given: FilterLike, rows: int) -> TakenFilter:
    if given is None:
        return TakenFilter(None, 0)
    if isinstance(given, Bits):
        packed = _checked("packed bits", given.packed, given.nbits, rows)
        _check_unused_bits(packed, given.nbits)
        return _from_bytes(packed)
    if isinstance(given, (list, tuple, range)):
        given = np.array(given, dtype=None if given else np.int64)
    values, dtype = host_array("filter", given)
    if dtype == "bool":
        mask = _checked("a mask of bool", values, values.size, rows)
        return _from_bytes(np.packbits(mask, bitorder="little"))
    if dtype.startswith(("int", "uint")) and values.ndim == 1:
        return _from_ids(values)
    raise InvalidArgumentError(
        f"filter has dtype {dtype} and shape {values.shape}, expected a mask of bool of "
        f"shape ({rows},), ids of rows as integers, or packed bits by nearfield.bits"
    )


def _checked(what: str, values: np.ndarray[Any, Any], size: int, rows: int) -> np.ndarray[Any, Any]:
    if values.ndim != 1 or size != rows:
        raise InvalidArgumentError(
            f"filter is {what} of shape {values.shape} for {size} rows, and the base has {rows}: "
            "pass one bit for each row, or the ids of the rows as integers"
        )
    return values


def _check_unused_bits(packed: np.ndarray[Any, np.dtype[np.uint8]], nbits: int) -> None:
    if nbits % 8 and packed[-1] >> nbits % 8:
        raise InvalidArgumentError(
            f"filter is packed bits with some set after the last of {nbits}: pack them with "
            'numpy.packbits(mask, bitorder="little")'
        )


def _from_bytes(packed: np.ndarray[Any, np.dtype[np.uint8]]) -> TakenFilter:
    words = np.zeros((packed.size + 7) // 8, dtype="<u8")
    words.view(np.uint8)[: packed.size] = packed
    return TakenFilter(_core.bitset_filter(words), words.nbytes)


def _from_ids(values: np.ndarray[Any, Any]) -> TakenFilter:
    ids = np.ascontiguousarray(values, dtype=np.int64)
    if values.dtype == np.uint64 and ids.size and ids.min() < 0:
        raise InvalidArgumentError(f"filter holds {values.max()}, which is no id of a row")
    return TakenFilter(_core.list_filter(ids), 0 if ids is values else ids.nbytes)
