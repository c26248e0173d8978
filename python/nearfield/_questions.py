"""What a search is asked, in the engine's terms: the same for the search, its plan and its cursor.

Each function returns the leading arguments of the engine's function.
"""

from __future__ import annotations

from nearfield import _core
from nearfield._arguments import flag, integer, real, text
from nearfield._copies import Copies
from nearfield._filters import FilterLike, take_filter
from nearfield._rows import RowsLike, take_rows


def ask_knn(
    queries: RowsLike,
    base: RowsLike,
    k: int,
    metric: str,
    filter: FilterLike,
    exclude_self: bool,
    check_finite: bool,
    copies: Copies,
) -> tuple[_core.Rows, _core.Rows, _core.KnnOptions]:
    wanted, rows, allowed = _take_sets(queries, base, filter, copies)
    options = _core.KnnOptions(
        integer("k", k),
        text("metric", metric),
        allowed,
        flag("exclude_self", exclude_self),
        flag("check_finite", check_finite),
    )
    return wanted, rows, options


def ask_within(
    queries: RowsLike,
    base: RowsLike,
    radius: float,
    metric: str,
    filter: FilterLike,
    exclude_self: bool,
    check_finite: bool,
    copies: Copies,
) -> tuple[_core.Rows, _core.Rows, _core.WithinOptions]:
    wanted, rows, allowed = _take_sets(queries, base, filter, copies)
    options = _core.WithinOptions(
        real("radius", radius),
        text("metric", metric),
        allowed,
        flag("exclude_self", exclude_self),
        flag("check_finite", check_finite),
    )
    return wanted, rows, options


def ask_graph(
    rows: RowsLike, k: int, metric: str, filter: FilterLike, check_finite: bool, copies: Copies
) -> tuple[_core.Rows, _core.GraphOptions]:
    taken = take_rows("rows", rows, copies)
    allowed = take_filter(filter, taken.rows, copies)
    options = _core.GraphOptions(
        integer("k", k), text("metric", metric), allowed, flag("check_finite", check_finite)
    )
    return taken, options


def ask_pairs(
    rows: RowsLike,
    other: RowsLike | None,
    radius: float | None,
    count: int | None,
    metric: str,
    check_finite: bool,
    copies: Copies,
) -> tuple[_core.Rows, _core.Rows | None, _core.PairsOptions]:
    first = take_rows("rows", rows, copies)
    second = None if other is None else take_rows("other", other, copies)
    options = _core.PairsOptions(
        None if radius is None else real("radius", radius),
        None if count is None else integer("count", count),
        text("metric", metric),
        flag("check_finite", check_finite),
    )
    return first, second, options


def ask_mutual(
    rows: RowsLike, other: RowsLike | None, metric: str, check_finite: bool, copies: Copies
) -> tuple[_core.Rows, _core.Rows | None, _core.MutualOptions]:
    first = take_rows("rows", rows, copies)
    second = None if other is None else take_rows("other", other, copies)
    options = _core.MutualOptions(text("metric", metric), flag("check_finite", check_finite))
    return first, second, options


def ask_match(
    first: RowsLike,
    second: RowsLike,
    ratio: float | None,
    margin: float | None,
    max_distance: float | None,
    cross_check: str,
    metric: str,
    check_finite: bool,
    copies: Copies,
) -> tuple[_core.Rows, _core.Rows, _core.MatchOptions]:
    options = match_options(ratio, margin, max_distance, cross_check, metric, check_finite)
    return take_rows("first", first, copies), take_rows("second", second, copies), options


def match_options(
    ratio: float | None,
    margin: float | None,
    max_distance: float | None,
    cross_check: str,
    metric: str,
    check_finite: bool,
) -> _core.MatchOptions:
    return _core.MatchOptions(
        text("metric", metric),
        None if ratio is None else real("ratio", ratio),
        None if margin is None else real("margin", margin),
        None if max_distance is None else real("max_distance", max_distance),
        text("cross_check", cross_check),
        flag("check_finite", check_finite),
    )


def _take_sets(
    queries: RowsLike, base: RowsLike, filter: FilterLike, copies: Copies
) -> tuple[_core.Rows, _core.Rows, _core.Filter | None]:
    wanted, rows = take_rows("queries", queries, copies), take_rows("base", base, copies)
    return wanted, rows, take_filter(filter, rows.rows, copies)
