"""All distances between two sets of rows."""

from __future__ import annotations

from nearfield import _core
from nearfield._arguments import flag, text
from nearfield._copies import Copies
from nearfield._results import Pairwise, make_stats
from nearfield._rows import RowsLike, take_rows
from nearfield._run import Progress, running


def pairwise(
    queries: RowsLike,
    base: RowsLike,
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
    device: one of `devices`, such as "opencl" or "cuda:1"; None is the CPU. The values are the
        same, to the bit.
    device_memory_limit: most bytes to allocate on the device: a number, or "512M". None: what it
        has. Work is cut to fit.

    The other arguments are those of `knn`.
    """
    copies = Copies(copy, memory_limit)
    wanted, rows = take_rows("queries", queries, copies), take_rows("base", base, copies)
    name, as_keys = text("metric", metric), flag("keys", keys)
    with running(
        copies,
        threads=threads,
        isa=isa,
        timeout=timeout,
        progress=progress,
        device=device,
        device_memory_limit=device_memory_limit,
    ) as run:
        values, stats = _core.pairwise(wanted, rows, name, as_keys, run)
    return Pairwise(values, make_stats(stats))
