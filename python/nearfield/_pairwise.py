"""All distances between two sets of rows."""

from __future__ import annotations

from nearfield import _core
from nearfield._arguments import flag, text
from nearfield._copies import Copies
from nearfield._device_arrays import (
    CudaArrayLike,
    DeviceArray,
    StreamLike,
    core_of,
    device_array,
    device_of,
    stream_number,
)
from nearfield._results import Pairwise, make_stats
from nearfield._rows import DTYPES, RowsLike, take_rows
from nearfield._run import Progress, running


def pairwise(
    queries: RowsLike | CudaArrayLike,
    base: RowsLike | CudaArrayLike,
    metric: str = "sqeuclidean",
    *,
    keys: bool = False,
    copy: bool = True,
    threads: int = 0,
    memory_limit: int | str | None = None,
    timeout: float | None = None,
    progress: Progress = None,
    isa: str | None = None,
    device: str | None = None,
    device_memory_limit: int | str | None = None,
    stream: StreamLike = None,
) -> Pairwise:
    """The distance of each query to every row of the base: a table, not a search.

    >>> import numpy as np
    >>> import nearfield as nf
    >>> base = np.array([[0, 0], [3, 4]], dtype=np.float32)
    >>> queries = np.array([[0, 0], [3, 0], [3, 3]], dtype=np.float32)
    >>> nf.pairwise(queries, base, metric="l1").values
    array([[0., 7.],
           [3., 4.],
           [6., 1.]])

    A row that holds a NaN or an infinity has NaN distances.

    keys: the key by which searches order, instead of what they report of it: the smaller the
        closer, for every metric.
    device: one of `devices`, such as "opencl" or "cuda:1"; None is the CPU, or the card that has
        the arrays: those in the memory of a CUDA card (DLPack or `__cuda_array_interface__`) are
        read there. The values are the same, to the bit.
    device_memory_limit: most bytes to allocate on the device: a number, or "512M". None: what it
        has. Work is cut to fit.
    stream: of CUDA, one of yours behind whose work that of the call is queued: a cudaStream_t as a
        number, or an object with `__cuda_stream__`. The call still returns when it is done.

    The other arguments are those of `knn`.
    """
    copies = Copies(copy, memory_limit)
    own_stream = stream_number(stream)
    wanted = _take("queries", queries, copies, own_stream)
    rows = _take("base", base, copies, own_stream)
    name, as_keys = text("metric", metric), flag("keys", keys)
    with running(
        copies,
        threads=threads,
        isa=isa,
        timeout=timeout,
        progress=progress,
        device=device_of(device, {"queries": wanted, "base": rows}),
        device_memory_limit=device_memory_limit,
        stream=own_stream,
    ) as run:
        values, stats = _core.pairwise(core_of(wanted), core_of(rows), name, as_keys, run)
    return Pairwise(values, make_stats(stats))


def _take(
    name: str, given: RowsLike | CudaArrayLike, copies: Copies, stream: int
) -> _core.Rows | DeviceArray:
    on_device = device_array(name, given, stream, DTYPES)
    return on_device or take_rows(name, given, copies)  # type: ignore[arg-type]
