"""What a search would do with the same arguments, without doing it.

They take the arguments of the search, raise what it would raise about shapes, types and memory, and
copy no rows. `timeout` and `progress` are checked and not used.
"""

from __future__ import annotations

from nearfield import _core
from nearfield._copies import Copies
from nearfield._filters import FilterLike
from nearfield._questions import (
    ask_graph,
    ask_knn,
    ask_match,
    ask_mutual,
    ask_pairs,
    ask_within,
)
from nearfield._results import Plan, make_plan
from nearfield._rows import RowsLike
from nearfield._run import Progress, running


def plan_knn(
    queries: RowsLike,
    base: RowsLike,
    k: int = 10,
    metric: str = "sqeuclidean",
    *,
    filter: FilterLike = None,
    exclude_self: bool = False,
    check_finite: bool = False,
    copy: bool = True,
    threads: int = 0,
    memory_limit: int | str | None = None,
    timeout: float | None = None,
    progress: Progress = None,
    isa: str | None = None,
    device: str | None = None,
    device_memory_limit: int | str | None = None,
) -> Plan:
    """What `knn` would do.

    >>> import numpy as np
    >>> import nearfield as nf
    >>> plan = nf.plan_knn(np.zeros((5, 8), np.uint8), np.zeros((1000, 8), np.uint8))
    >>> plan.pairs, plan.kernel.split("/")[:2]
    (5000, ['sqeuclidean', 'u8'])
    """
    copies = Copies(copy, memory_limit, for_plan=True)
    question = ask_knn(queries, base, k, metric, filter, exclude_self, check_finite, copies)
    with running(
        copies,
        threads=threads,
        isa=isa,
        timeout=timeout,
        progress=progress,
        device=device,
        device_memory_limit=device_memory_limit,
    ) as run:
        return make_plan(_core.plan_knn(*question, run))


def plan_within(
    queries: RowsLike,
    base: RowsLike,
    radius: float,
    metric: str = "sqeuclidean",
    *,
    filter: FilterLike = None,
    exclude_self: bool = False,
    check_finite: bool = False,
    copy: bool = True,
    threads: int = 0,
    memory_limit: int | str | None = None,
    timeout: float | None = None,
    progress: Progress = None,
    isa: str | None = None,
    device: str | None = None,
    device_memory_limit: int | str | None = None,
) -> Plan:
    """What `within` would do; `result_bytes` are those of the offsets alone."""
    copies = Copies(copy, memory_limit, for_plan=True)
    question = ask_within(queries, base, radius, metric, filter, exclude_self, check_finite, copies)
    with running(
        copies,
        threads=threads,
        isa=isa,
        timeout=timeout,
        progress=progress,
        device=device,
        device_memory_limit=device_memory_limit,
    ) as run:
        return make_plan(_core.plan_within(*question, run))


def plan_graph(
    rows: RowsLike,
    k: int = 10,
    metric: str = "sqeuclidean",
    *,
    filter: FilterLike = None,
    check_finite: bool = False,
    copy: bool = True,
    threads: int = 0,
    memory_limit: int | str | None = None,
    timeout: float | None = None,
    progress: Progress = None,
    isa: str | None = None,
    device: str | None = None,
    device_memory_limit: int | str | None = None,
) -> Plan:
    """What `graph` would do."""
    copies = Copies(copy, memory_limit, for_plan=True)
    question = ask_graph(rows, k, metric, filter, check_finite, copies)
    with running(
        copies,
        threads=threads,
        isa=isa,
        timeout=timeout,
        progress=progress,
        device=device,
        device_memory_limit=device_memory_limit,
    ) as run:
        return make_plan(_core.plan_graph(*question, run))


def plan_pairs(
    rows: RowsLike,
    other: RowsLike | None = None,
    *,
    radius: float | None = None,
    count: int | None = None,
    metric: str = "sqeuclidean",
    check_finite: bool = False,
    copy: bool = True,
    threads: int = 0,
    memory_limit: int | str | None = None,
    timeout: float | None = None,
    progress: Progress = None,
    isa: str | None = None,
    device: str | None = None,
    device_memory_limit: int | str | None = None,
) -> Plan:
    """What `pairs` would do; without a count, `result_bytes` are 0."""
    copies = Copies(copy, memory_limit, for_plan=True)
    question = ask_pairs(rows, other, radius, count, metric, check_finite, copies)
    with running(
        copies,
        threads=threads,
        isa=isa,
        timeout=timeout,
        progress=progress,
        device=device,
        device_memory_limit=device_memory_limit,
    ) as run:
        return make_plan(_core.plan_pairs(*question, run))


def plan_mutual(
    rows: RowsLike,
    other: RowsLike | None = None,
    metric: str = "sqeuclidean",
    *,
    check_finite: bool = False,
    copy: bool = True,
    threads: int = 0,
    memory_limit: int | str | None = None,
    timeout: float | None = None,
    progress: Progress = None,
    isa: str | None = None,
    device: str | None = None,
    device_memory_limit: int | str | None = None,
) -> Plan:
    """What `mutual` would do. Of two sets each pair counts twice: once from either side."""
    copies = Copies(copy, memory_limit, for_plan=True)
    question = ask_mutual(rows, other, metric, check_finite, copies)
    with running(
        copies,
        threads=threads,
        isa=isa,
        timeout=timeout,
        progress=progress,
        device=device,
        device_memory_limit=device_memory_limit,
    ) as run:
        return make_plan(_core.plan_mutual(*question, run))


def plan_match(
    first: RowsLike,
    second: RowsLike,
    *,
    ratio: float | None = 0.8,
    margin: float | None = None,
    max_distance: float | None = None,
    cross_check: str = "nearest",
    metric: str = "euclidean",
    check_finite: bool = False,
    copy: bool = True,
    threads: int = 0,
    memory_limit: int | str | None = None,
    timeout: float | None = None,
    progress: Progress = None,
    isa: str | None = None,
    device: str | None = None,
    device_memory_limit: int | str | None = None,
) -> Plan:
    """What `match` would do. With a cross check each pair counts twice: once from either side."""
    copies = Copies(copy, memory_limit, for_plan=True)
    question = ask_match(
        first, second, ratio, margin, max_distance, cross_check, metric, check_finite, copies
    )
    with running(
        copies,
        threads=threads,
        isa=isa,
        timeout=timeout,
        progress=progress,
        device=device,
        device_memory_limit=device_memory_limit,
    ) as run:
        return make_plan(_core.plan_match(*question, run))
