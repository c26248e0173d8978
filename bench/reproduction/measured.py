"""What the program that measures has printed: lines of JSON, put in order."""
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median
from typing import Any, NamedTuple


class Place(NamedTuple):
    """Where a series was measured; 0: plays no part."""
    q: int
    n: int
    d: int
    k: int
    parts: int
    batch: int = 0   # queries of a table
    queues: int = 0  # side by side
    bits: int = 0    # of a hash
    tables: int = 0  # of hashes
    kept: int = 0    # distances to pivots, of an object
    near: int = 0    # bits in which what is to be found may differ
    share: int = 0   # of the CPU, in percent
    codebooks: int = 0
    asked: int = 0   # recall, in percent

    def __str__(self) -> str:
        return ", ".join(f"{name} {number:,}" for name, number in self._asdict().items() if number)


@dataclass(frozen=True)
class Timing:
    place: Place
    timed: str  # kernels, call or copy
    rounds: tuple[float, ...]
    distances: float = 0  # that a query computes, where it is said

    @property
    def seconds(self) -> float:
        return median(self.rounds)

    @property
    def rate(self) -> float:
        """Distances a second."""
        return self.place.q * self.place.n / self.seconds


class Recall(NamedTuple):
    """Matches of a set of queries, by one way and one ratio test."""
    data: str
    series: str
    ratio: float  # 0: none
    correct: int
    wrong: int
    none: int      # rejected by the ratio test
    tied: int = 0  # of the wrong: as near as the true nearest
    gained: int = 0  # correct, and not by the series before
    lost: int = 0    # the other way round

    @property
    def accepted(self) -> int:
        return self.correct + self.wrong

    @property
    def value(self) -> float | None:
        """Of those that were matched at all."""
        return self.correct / self.accepted if self.accepted else None


class Point(NamedTuple):
    """Of a line of errors."""
    data: str  # a panel
    series: str
    x: int
    error: float


@dataclass
class Measured:
    """Of a figure."""
    places: dict[Place, dict[str, Timing]] = field(default_factory=dict)
    recalls: list[Recall] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def series(self) -> list[str]:
        return list(dict.fromkeys(name for timings in self.places.values() for name in timings))

    def recall(self, data: str, series: str, ratio: float) -> Recall | None:
        return next((one for one in self.recalls
                     if (one.data, one.series, one.ratio) == (data, series, ratio)), None)

    def error(self, data: str, series: str, x: int) -> float | None:
        return next((one.error for one in self.points
                     if (one.data, one.series, one.x) == (data, series, x)), None)

    def timed(self, series: str) -> str:
        return next(timings[series].timed for timings in self.places.values() if series in timings)

    def add(self, line: dict[str, Any]) -> None:
        if "note" in line:
            self.notes.append(line["note"])
            return
        if "correct" in line:
            self.recalls.append(Recall(**{name: line[name] for name in Recall._fields
                                          if name in line}))
            return
        if "error" in line:
            self.points.append(Point(**{name: line[name] for name in Point._fields}))
            return
        if line["checked"] is not True:
            raise ValueError(f"an answer that was not checked: {line}")
        place = Place(*(int(line.get(name, 0)) for name in Place._fields))
        timing = Timing(place, line["timed"], tuple(line["rounds"]), line.get("distances", 0))
        self.places.setdefault(place, {})[line["series"]] = timing


@dataclass
class Outcome:
    device: dict[str, Any] = field(default_factory=dict)
    figures: dict[str, Measured] = field(default_factory=dict)
    lines: list[dict[str, Any]] = field(default_factory=list)

    def add(self, text: str) -> None:
        line = json.loads(text)
        self.lines.append(line)
        if "figure" in line:
            self.figures.setdefault(line["figure"], Measured()).add(line)
        else:
            self.device = line


def outcome_of(lines: Iterable[str]) -> Outcome:
    outcome = Outcome()
    for line in lines:
        outcome.add(line)
    return outcome
