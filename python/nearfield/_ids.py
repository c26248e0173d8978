"""Ids of rows, one for each value of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nearfield._arrays import DLPackArray, host_array
from nearfield._copies import Copies
from nearfield._errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Buffer


def take_ids(
    given: Buffer | DLPackArray, copies: Copies, shapes: tuple[tuple[int, ...], ...] | None = None
) -> NDArray[np.int64]:
    """As int64 in C order; of one of the shapes, or of any two dimensions if none is given."""
    array, dtype = host_array("ids", given, expected="an array of int64")
    fits = array.ndim == 2 if shapes is None else array.shape in shapes
    if dtype not in ("int64", "int32") or not fits:
        expected = "(rows, columns)" if shapes is None else " or ".join(map(str, shapes))
        raise InvalidArgumentError(
            f"ids has dtype {dtype} and shape {array.shape}, expected int64 or int32 of shape "
            f"{expected}"
        )
    return copies.contiguous("ids", array, np.dtype(np.int64))
