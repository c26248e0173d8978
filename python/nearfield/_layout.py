"""Arrays of two dimensions in the layout that the library reads: rows at a stride."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearfield._errors import InvalidArgumentError


def is_in_place(name: str, array: np.ndarray[Any, Any]) -> bool:
    """Whether rows follow each other at a stride, each with its values side by side."""
    if array.ndim != 2:
        advice = f": for one row, write {name}.reshape(1, -1)" if array.ndim == 1 else ""
        raise InvalidArgumentError(
            f"{name} has shape {array.shape}, expected (rows, columns){advice}"
        )
    rows, cols = array.shape
    row_stride, col_stride = array.strides
    return bool(
        array.flags.aligned
        and (cols <= 1 or col_stride == array.itemsize)
        and (rows <= 1 or row_stride >= cols * array.itemsize)
    )
