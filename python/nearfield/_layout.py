"""Arrays of two dimensions in the layout that the library reads: rows at a stride."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearfield._errors import InvalidArgumentError


def is_in_place(name: str, array: np.ndarray[Any, Any]) -> bool:
    """Whether rows follow each other at a stride, each with its values side by side."""
    in_place = rows_are_in_place(name, array.shape, array.strides, array.itemsize)
    return in_place and bool(array.flags.aligned)


def rows_are_in_place(
    name: str, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int
) -> bool:
    if len(shape) != 2:
        advice = f": for one row, write {name}.reshape(1, -1)" if len(shape) == 1 else ""
        raise InvalidArgumentError(f"{name} has shape {shape}, expected (rows, columns){advice}")
    rows, cols = shape
    row_stride, col_stride = strides
    return (cols <= 1 or col_stride == itemsize) and (rows <= 1 or row_stride >= cols * itemsize)
