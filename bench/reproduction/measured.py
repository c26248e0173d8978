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

    def __str__(self) -> str:
        return ", ".join(f"{name} {number:,}" for name, number in self._asdict().items() if number)


@dataclass(frozen=True)
class Timing:
    place: Place
    timed: str  # kernels, call or copy
    rounds: tuple[float, ...]

    @property
    def seconds(self) -> float:
        return median(self.rounds)

    @property
    def rate(self) -> float:
        """Distances a second."""
        return self.place.q * self.place.n / self.seconds


@dataclass
class Measured:
    """Of a figure."""
    places: dict[Place, dict[str, Timing]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def series(self) -> list[str]:
        return list(dict.fromkeys(name for timings in self.places.values() for name in timings))

    def timed(self, series: str) -> str:
        return next(timings[series].timed for timings in self.places.values() if series in timings)

    def add(self, line: dict[str, Any]) -> None:
        if "note" in line:
            self.notes.append(line["note"])
            return
        if line["checked"] is not True:
            raise ValueError(f"an answer that was not checked: {line}")
        place = Place(*(int(line[name]) for name in Place._fields))
        timing = Timing(place, line["timed"], tuple(line["rounds"]))
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
