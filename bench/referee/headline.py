"""What a case is known by: the smallest ratios over the rows that targets.toml names."""
import math
from dataclasses import dataclass

from referee.outcome import Entry, Row
from referee.targets import Target


@dataclass(frozen=True)
class RowFigures:
    """A row of the headline; NaN: nobody was there to compare with."""
    label: str
    ratio_peer: float
    ratio_limit: float
    noise: float


@dataclass(frozen=True)
class Headline:
    """NaN: a row has no figure, and the smallest of the others would hide that."""
    ratio_peer: float
    ratio_limit: float
    mismatches: int
    rows: tuple[RowFigures, ...]


def headline_rows(rows: list[Row], target: Target) -> list[Row]:
    chosen = [row for row in rows if row.label in target.rows]
    if len(chosen) != len(target.rows):
        raise ValueError(f"targets.toml names the rows {', '.join(target.rows)}; "
                         f"measured were {', '.join(row.label for row in rows)}")
    return chosen


def fastest(entries: list[Entry]) -> float:
    return min((entry.ratio.median for entry in entries if entry.ratio), default=math.nan)


def exact_peers(row: Row) -> list[Entry]:
    return [entry for entry in row.entries
            if entry is not row.ours and not entry.is_limit and not entry.approximate]


def figures(row: Row, limit: str) -> RowFigures:
    limits = [entry for entry in row.entries if entry.name == limit]
    return RowFigures(row.label, fastest(exact_peers(row)), fastest(limits), row.noise)


def smallest(ratios: list[float]) -> float:
    return math.nan if any(map(math.isnan, ratios)) else min(ratios)


def headline(rows: list[Row], target: Target) -> Headline:
    chosen = tuple(figures(row, target.limit) for row in headline_rows(rows, target))
    # Of all rows: a wrong answer is never beside the point.
    wrong = sum(row.ours.verdict.mismatches for row in rows if row.ours.verdict)
    return Headline(smallest([row.ratio_peer for row in chosen]),
                    smallest([row.ratio_limit for row in chosen]), wrong, chosen)
