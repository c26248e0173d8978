"""The headline of a case, and what targets.toml asks of it."""
import math
import tomllib
from dataclasses import dataclass
from pathlib import Path

from referee.outcome import Entry, Row

FILE = Path(__file__).resolve().parent.parent / "targets.toml"


@dataclass(frozen=True)
class Target:
    rows: tuple[str, ...]     # labels of the rows that are the headline
    limit: str                # the way that is the bare limit
    required: tuple[str, ...]  # ways without which the headline says nothing
    ratio_peer: float
    ratio_limit: float


@dataclass(frozen=True)
class Headline:
    """The smallest ratios over the headline's rows; NaN: nobody was there to compare with."""
    ratio_peer: float
    ratio_limit: float
    mismatches: int
    noise: float


def read_target(case: str, size: str) -> Target:
    entry = tomllib.loads(FILE.read_text())[case]
    return Target(tuple(entry["headline"]), entry["limit"], tuple(entry["required"]), **entry[size])


def smallest(entries: list[Entry]) -> float:
    return min((entry.ratio.median for entry in entries if entry.ratio), default=math.nan)


def exact_peers(row: Row) -> list[Entry]:
    return [entry for entry in row.entries
            if entry is not row.ours and not entry.is_limit and not entry.approximate]


def headline_rows(rows: list[Row], target: Target) -> list[Row]:
    chosen = [row for row in rows if row.label in target.rows]
    if len(chosen) != len(target.rows):
        raise ValueError(f"targets.toml names the rows {', '.join(target.rows)}; "
                         f"measured were {', '.join(row.label for row in rows)}")
    return chosen


def headline(rows: list[Row], target: Target) -> Headline:
    chosen = headline_rows(rows, target)
    peers = [smallest(exact_peers(row)) for row in chosen]
    limits = [smallest([entry for entry in row.entries if entry.name == target.limit])
              for row in chosen]
    # Of all rows: a wrong answer is never beside the point.
    wrong = sum(row.ours.verdict.mismatches for row in rows if row.ours.verdict)
    return Headline(min(peers), min(limits), wrong, max(row.noise for row in chosen))
