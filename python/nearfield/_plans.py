"""What a search would do with the same arguments, without doing it.

They raise what the search would raise about shapes, types and memory.
"""

from __future__ import annotations

from nearfield import _core
from nearfield._arguments import flag, integer, real, text
from nearfield._filters import FilterLike, take_filter
from nearfield._results import Plan, make_plan
from nearfield._rows import RowsLike, take_rows
from nearfield._run import make_run


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
    isa: str | None = None,
) -> Plan:
    """What `knn` would do.

    >>> import numpy as np
    >>> import nearfield as nf
    >>> plan = nf.plan_knn(np.zeros((5, 8), np.uint8), np.zeros((1000, 8), np.uint8))
    >>> plan.pairs, plan.kernel.split("/")[:2]
    (5000, ['sqeuclidean', 'u8'])
    """
    wanted, rows = take_rows("queries", queries, copy), take_rows("base", base, copy)
    allowed = take_filter(filter, rows.core.rows)
    options = _core.KnnOptions(
        integer("k", k),
        text("metric", metric),
        allowed.core,
        flag("exclude_self", exclude_self),
        flag("check_finite", check_finite),
    )
    taken = (wanted, rows, allowed)
    run = make_run(threads=threads, isa=isa, memory_limit=memory_limit, taken=taken)
    return make_plan(_core.plan_knn(wanted.core, rows.core, options, run))


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
    isa: str | None = None,
) -> Plan:
    """What `within` would do; `result_bytes` are those of the offsets alone."""
    wanted, rows = take_rows("queries", queries, copy), take_rows("base", base, copy)
    allowed = take_filter(filter, rows.core.rows)
    options = _core.WithinOptions(
        real("radius", radius),
        text("metric", metric),
        allowed.core,
        flag("exclude_self", exclude_self),
        flag("check_finite", check_finite),
    )
    taken = (wanted, rows, allowed)
    run = make_run(threads=threads, isa=isa, memory_limit=memory_limit, taken=taken)
    return make_plan(_core.plan_within(wanted.core, rows.core, options, run))


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
    isa: str | None = None,
) -> Plan:
    """What `graph` would do."""
    taken = take_rows("rows", rows, copy)
    allowed = take_filter(filter, taken.core.rows)
    options = _core.GraphOptions(
        integer("k", k),
        text("metric", metric),
        allowed.core,
        flag("check_finite", check_finite),
    )
    run = make_run(threads=threads, isa=isa, memory_limit=memory_limit, taken=(taken, allowed))
    return make_plan(_core.plan_graph(taken.core, options, run))


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
    isa: str | None = None,
) -> Plan:
    """What `pairs` would do; without a count, `result_bytes` are 0."""
    first = take_rows("rows", rows, copy)
    second = None if other is None else take_rows("other", other, copy)
    options = _core.PairsOptions(
        None if radius is None else real("radius", radius),
        None if count is None else integer("count", count),
        text("metric", metric),
        flag("check_finite", check_finite),
    )
    taken = (first, second) if second else (first,)
    run = make_run(threads=threads, isa=isa, memory_limit=memory_limit, taken=taken)
    return make_plan(_core.plan_pairs(first.core, second.core if second else None, options, run))
