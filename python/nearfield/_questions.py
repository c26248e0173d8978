"""What a search is asked, in the engine's terms: the same for the search, its plan and its cursor.

Each function returns the leading arguments of the engine's function, and what they were made of:
`make_run` takes the memory of its copies off the limit.
"""

from __future__ import annotations

from nearfield import _core
from nearfield._arguments import flag, integer, real, text
from nearfield._filters import FilterLike, TakenFilter, take_filter
from nearfield._rows import RowsLike, TakenRows, take_rows
from nearfield._run import Taken


def ask_knn(
    queries: RowsLike,
    base: RowsLike,
    k: int,
    metric: str,
    filter: FilterLike,
    exclude_self: bool,
    check_finite: bool,
    copy: bool,
) -> tuple[tuple[_core.Rows, _core.Rows, _core.KnnOptions], tuple[Taken, ...]]:
    wanted, rows, allowed = _take_sets(queries, base, filter, copy)
    options = _core.KnnOptions(
        integer("k", k),
        text("metric", metric),
        allowed.core,
        flag("exclude_self", exclude_self),
        flag("check_finite", check_finite),
    )
    return (wanted.core, rows.core, options), (wanted, rows, allowed)


def ask_within(
    queries: RowsLike,
    base: RowsLike,
    radius: float,
    metric: str,
    filter: FilterLike,
    exclude_self: bool,
    check_finite: bool,
    copy: bool,
) -> tuple[tuple[_core.Rows, _core.Rows, _core.WithinOptions], tuple[Taken, ...]]:
    wanted, rows, allowed = _take_sets(queries, base, filter, copy)
    options = _core.WithinOptions(
        real("radius", radius),
        text("metric", metric),
        allowed.core,
        flag("exclude_self", exclude_self),
        flag("check_finite", check_finite),
    )
    return (wanted.core, rows.core, options), (wanted, rows, allowed)


def ask_graph(
    rows: RowsLike, k: int, metric: str, filter: FilterLike, check_finite: bool, copy: bool
) -> tuple[tuple[_core.Rows, _core.GraphOptions], tuple[Taken, ...]]:
    taken = take_rows("rows", rows, copy)
    allowed = take_filter(filter, taken.core.rows)
    options = _core.GraphOptions(
        integer("k", k), text("metric", metric), allowed.core, flag("check_finite", check_finite)
    )
    return (taken.core, options), (taken, allowed)


def ask_pairs(
    rows: RowsLike,
    other: RowsLike | None,
    radius: float | None,
    count: int | None,
    metric: str,
    check_finite: bool,
    copy: bool,
) -> tuple[tuple[_core.Rows, _core.Rows | None, _core.PairsOptions], tuple[Taken, ...]]:
    first = take_rows("rows", rows, copy)
    second = None if other is None else take_rows("other", other, copy)
    options = _core.PairsOptions(
        None if radius is None else real("radius", radius),
        None if count is None else integer("count", count),
        text("metric", metric),
        flag("check_finite", check_finite),
    )
    if second is None:
        return (first.core, None, options), (first,)
    return (first.core, second.core, options), (first, second)


def _take_sets(
    queries: RowsLike, base: RowsLike, filter: FilterLike, copy: bool
) -> tuple[TakenRows, TakenRows, TakenFilter]:
    wanted, rows = take_rows("queries", queries, copy), take_rows("base", base, copy)
    return wanted, rows, take_filter(filter, rows.core.rows)
