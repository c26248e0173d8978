"""What a case is known by: the ratios of the rows that targets.toml names, and the smallest."""
import math
from dataclasses import dataclass

from referee.outcome import Entry, Row
from referee.targets import PEERS, Target


@dataclass(frozen=True)
class Figure:
    """Somebody's time over ours; NaN: he was not there."""
    who: str
    measured: float
    wanted: float


@dataclass(frozen=True)
class RowFigures:
    """A row of the headline; NaN: nobody was there to compare with."""
    label: str
    ratio_peer: float
    ratio_limit: float
    noise: float
    figures: tuple[Figure, ...]   # those that have a target


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
        raise ValueError(f"targets.toml names the rows {'; '.join(target.rows)}: "
                         f"measured were {'; '.join(row.label for row in rows)}")
    return chosen


def fastest(entries: list[Entry]) -> float:
    return min((entry.ratio.median for entry in entries if entry.ratio), default=math.nan)


def peers(row: Row) -> list[Entry]:
    """Exact ones, or approximate ones where Nearfield is."""
    return [entry for entry in row.entries if entry is not row.ours and not entry.is_limit
            and entry.approximate == row.ours.approximate]


def ratio_to(way: str, row: Row) -> float:
    if way == PEERS:
        return fastest(peers(row))
    return fastest([entry for entry in row.entries if entry.name == way])


def figures(row: Row, target: Target) -> RowFigures:
    wanted = tuple(Figure(who, ratio_to(who, row), least)
                   for who, least in target.rows[row.label].items())
    return RowFigures(row.label, ratio_to(PEERS, row), ratio_to(target.limit, row), row.noise,
                      wanted)


def smallest(ratios: list[float]) -> float:
    return math.nan if not ratios or any(map(math.isnan, ratios)) else min(ratios)


def limited(chosen: tuple[RowFigures, ...], limit: str) -> list[float]:
    """Of the rows that have a target for the limit; of all if none has."""
    with_target = [row for row in chosen if any(figure.who == limit for figure in row.figures)]
    return [row.ratio_limit for row in with_target or chosen]


def headline(rows: list[Row], target: Target) -> Headline:
    chosen = tuple(figures(row, target) for row in headline_rows(rows, target))
    # Of all rows: a wrong answer is never beside the point, of who promises right ones.
    wrong = sum(row.ours.verdict.mismatches for row in rows
                if row.ours.verdict and not row.ours.approximate)
    return Headline(smallest([row.ratio_peer for row in chosen]),
                    smallest(limited(chosen, target.limit)), wrong, chosen)
