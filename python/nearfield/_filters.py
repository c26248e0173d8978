"""Which rows of the base may be returned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np

from nearfield import _core
from nearfield._arguments import MOST_INT64
from nearfield._arrays import DLPackArray, host_array
from nearfield._copies import Copies
from nearfield._errors import InvalidArgumentError
from nearfield._rows import Bits

if TYPE_CHECKING:
    from typing_extensions import Buffer

ID_BYTES = 8

FilterLike: TypeAlias = Union["Buffer", DLPackArray, Bits, list[int], tuple[int, ...], range, None]


def take_filter(given: FilterLike, rows: int, copies: Copies) -> _core.Filter | None:
    """Converted, if it is not there as the engine reads it: also where rows must not be copied."""
    expected = (
        f"a mask of bool of shape ({rows},), ids of rows as integers, or packed bits by "
        "nearfield.bits"
    )
    if given is None:
        return None
    if isinstance(given, Bits):
        packed = _checked("packed bits", given.packed, given.nbits, rows)
        _check_unused_bits(packed, given.nbits)
        return _bitset(packed, rows, copies)
    if isinstance(given, (list, tuple, range)):
        given = _array_of(given, expected, copies)
    values, dtype = host_array("filter", given, expected)
    if dtype == "bool":
        mask = _checked("a mask of bool", values, values.size, rows)
        return _bitset(mask, rows, copies)
    if dtype.startswith(("int", "uint")) and values.ndim == 1:
        return _list_of_ids(values, copies)
    raise InvalidArgumentError(
        f"filter has dtype {dtype} and shape {values.shape}, expected {expected}"
    )


def _array_of(
    given: list[int] | tuple[int, ...] | range, expected: str, copies: Copies
) -> np.ndarray[Any, Any]:
    copies.count(ID_BYTES * len(given))
    try:
        return np.array(given, dtype=None if given else np.int64)
    except ValueError as error:  # of lists of different lengths
        raise InvalidArgumentError(
            f"filter is a {type(given).__name__} of which numpy makes no array ({error}), expected "
            f"{expected}"
        ) from None


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


def _bitset(values: np.ndarray[Any, Any], rows: int, copies: Copies) -> _core.Filter:
    """Of a mask of bool, or of packed bits."""
    words_needed = (rows + 63) // 64
    copies.count(8 * words_needed)
    packed = np.packbits(values, bitorder="little") if values.dtype == bool else values
    words = np.zeros(words_needed, dtype="<u8")
    words.view(np.uint8)[: packed.size] = packed
    return _core.bitset_filter(words)


def _list_of_ids(values: np.ndarray[Any, Any], copies: Copies) -> _core.Filter:
    if values.dtype == np.uint64 and values.size and values.max() > MOST_INT64:
        raise InvalidArgumentError(f"filter holds {values.max()}, which is no id of a row")
    in_place = values.dtype == np.int64 and values.flags.c_contiguous and values.flags.aligned
    if not in_place:
        copies.count(ID_BYTES * values.size)
        values = np.array(values, np.int64)
    return _core.list_filter(values)
