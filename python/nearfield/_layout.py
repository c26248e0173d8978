"""Arrays of two dimensions in the layout that the library reads: rows at a stride."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nearfield._arguments import flag
from nearfield._errors import InvalidArgumentError


class TakenArray(NamedTuple):
    array: np.ndarray[Any, Any]
    copied_bytes: int  # 0 if it is the array that was given


def take_array(name: str, array: np.ndarray[Any, Any], copy: bool) -> TakenArray:
    """The array itself if it can be read in place, else a copy, unless `copy` forbids it."""
    allowed = flag("copy", copy)
    if array.ndim != 2:
        advice = f": for one row, write {name}.reshape(1, -1)" if array.ndim == 1 else ""
        raise InvalidArgumentError(
            f"{name} has shape {array.shape}, expected (rows, columns){advice}"
        )
    if _in_place(array):
        return TakenArray(array, 0)
    if not allowed:
        raise InvalidArgumentError(
            f"{name} of shape {array.shape} and strides {array.strides} cannot be searched in "
            f"place, and copy=False forbids a copy: pass numpy.array({name}, order='C')"
        )
    copied = np.array(array, order="C")
    return TakenArray(copied, copied.nbytes)


def _in_place(array: np.ndarray[Any, Any]) -> bool:
    """Whether rows follow each other at a stride, each with its values side by side."""
    rows, cols = array.shape
    row_stride, col_stride = array.strides
    return bool(
        array.flags.aligned
        and (cols <= 1 or col_stride == array.itemsize)
        and (rows <= 1 or row_stride >= cols * array.itemsize)
    )
