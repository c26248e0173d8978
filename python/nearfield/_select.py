"""The k first of values that are there already."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nearfield import _core
from nearfield._arguments import flag, integer
from nearfield._arrays import DLPackArray, host_array
from nearfield._errors import InvalidArgumentError
from nearfield._layout import TakenArray, take_array
from nearfield._results import Selected, make_stats
from nearfield._run import Progress, make_run

if TYPE_CHECKING:
    from typing_extensions import Buffer


def select_k(
    values: Buffer | DLPackArray,
    k: int = 10,
    largest: bool = False,
    sorted: bool = True,
    ids: Buffer | DLPackArray | None = None,
    *,
    copy: bool = True,
    threads: int = 0,
    memory_limit: int | str | None = None,
    timeout: float | None = None,
    progress: Progress = None,
) -> Selected:
    """The k smallest, or largest, of each row of values, in the total order of every search.

    >>> import numpy as np
    >>> import nearfield as nf
    >>> scores = np.array([[0.5, 0.9, 0.1, 0.9]])
    >>> nf.select_k(scores, k=3, largest=True).ids
    array([[1, 3, 0]])

    values: two dimensions of float32 or float64. A NaN is never returned.
    ids: those of the columns, or one for each value: int64. None: the id of a value is its column.
    sorted: False gives the same k in any order, and saves time where k is a large part of a row.

    The other arguments are those of `knn`.
    """
    taken = _take_values(values, copy)
    own_ids = None if ids is None else _take_ids(ids, taken.array.shape)
    run = make_run(
        threads=threads,
        memory_limit=memory_limit,
        timeout=timeout,
        progress=progress,
        taken=(taken, own_ids) if own_ids else (taken,),
    )
    first_ids, first_values, counts, stats = _core.select_k(
        taken.array,
        integer("k", k),
        flag("largest", largest),
        flag("sorted", sorted),
        own_ids.array if own_ids else None,
        run,
    )
    return Selected(first_ids, first_values, counts, make_stats(stats))


def _take_values(given: Buffer | DLPackArray, copy: bool) -> TakenArray:
    array, dtype = host_array("values", given)
    if dtype not in ("float32", "float64"):
        raise InvalidArgumentError(
            f"values has dtype {dtype}, expected float32 or float64: convert with "
            "values.astype(numpy.float64)"
        )
    return take_array("values", array, copy)


def _take_ids(given: Buffer | DLPackArray, shape: tuple[int, ...]) -> TakenArray:
    array, dtype = host_array("ids", given)
    if dtype != "int64" or array.shape not in (shape, shape[1:]):
        raise InvalidArgumentError(
            f"ids has dtype {dtype} and shape {array.shape}, expected int64 of shape {shape[1:]}, "
            f"one for each column, or {shape}, one for each value"
        )
    close = np.ascontiguousarray(array)
    return TakenArray(close, 0 if close is array else close.nbytes)
