"""The k first of values that are there already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nearfield import _core
from nearfield._arguments import flag, integer
from nearfield._arrays import DLPackArray, host_array
from nearfield._copies import Copies
from nearfield._device_arrays import (
    CudaArrayLike,
    StreamLike,
    core_of,
    device_array,
    device_of,
    stream_number,
)
from nearfield._errors import InvalidArgumentError
from nearfield._ids import take_ids
from nearfield._layout import is_in_place
from nearfield._results import Selected, make_stats
from nearfield._run import Progress, running

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Buffer

DTYPES = {"float32": "f32", "float64": "f64"}


def select_k(
    values: Buffer | DLPackArray | CudaArrayLike,
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
    device: str | None = None,
    device_memory_limit: int | str | None = None,
    stream: StreamLike = None,
) -> Selected:
    """The k smallest, or largest, of each row of values, in the total order of every search.

    >>> import numpy as np
    >>> import nearfield as nf
    >>> scores = np.array([[0.5, 0.9, 0.1, 0.9]])
    >>> nf.select_k(scores, k=3, largest=True).ids
    array([[1, 3, 0]])

    values: two dimensions of float32 or float64. A NaN is never returned.
    ids: those of the columns, or one for each value: int64, or int32, which is copied. None: the id
        of a value is its column.
    sorted: False gives the same k in any order, and saves time where k is a large part of a row.
    device: one of `devices`, such as "opencl" or "cuda:1"; None is the CPU, or the card that has
        the values: those in the memory of a CUDA card (DLPack or `__cuda_array_interface__`) are
        read there. Results are the same.
    device_memory_limit: most bytes to allocate on the device: a number, or "512M". None: what it
        has. Work is cut to fit.
    stream: of CUDA, one of yours behind whose work that of the call is queued: a cudaStream_t as a
        number, or an object with `__cuda_stream__`. The call still returns when it is done.

    The other arguments are those of `knn`.
    """
    copies = Copies(copy, memory_limit)
    own_stream = stream_number(stream)
    on_device = device_array("values", values, own_stream, DTYPES)
    array = on_device or _take_values(values, copies)  # type: ignore[arg-type]
    own_ids = None if ids is None else take_ids(ids, copies, (array.shape[1:], array.shape))
    count, most = integer("k", k), flag("largest", largest)
    with running(
        copies,
        threads=threads,
        timeout=timeout,
        progress=progress,
        device=device_of(device, {"values": array}),
        device_memory_limit=device_memory_limit,
        stream=own_stream,
    ) as run:
        first_ids, first_values, counts, stats = _core.select_k(
            core_of(array), count, most, flag("sorted", sorted), own_ids, run
        )
    return Selected(first_ids, first_values, counts, make_stats(stats))


def _take_values(given: Buffer | DLPackArray, copies: Copies) -> NDArray[Any]:
    array, dtype = host_array("values", given, expected="an array of float32 or float64")
    if dtype not in DTYPES:
        raise InvalidArgumentError(
            f"values has dtype {dtype}, expected float32 or float64: convert with "
            "values.astype(numpy.float64)"
        )
    return array if is_in_place("values", array) else copies.copy("values", array, array.dtype)
