"""What a run is, and what came of it."""
from dataclasses import dataclass, field
from typing import Any

from referee.answers import Correctness, Verdict
from referee.arithmetic import Ratio
from referee.cases import NEARFIELD, Question


@dataclass(frozen=True)
class Conditions:
    size: str
    threads: int
    rounds: int
    patience: float
    out_of_the_box: bool = True   # peers without their best environment too


@dataclass
class Entry:
    """A line of the table: a contender with a setting, and what came of it."""
    name: str
    setting: dict[str, int]
    is_limit: bool
    approximate: bool
    seconds_to_prepare: float
    sample: int = 0   # the queries that it answers; 0: all. Times are of all
    verdict: Verdict | None = None
    times: list[float] = field(default_factory=list)
    out_of_the_box: "Entry | None" = None   # the same without its best environment
    ratio: Ratio | None = None
    refused: str | None = None
    plan: dict[str, Any] = field(default_factory=dict)   # what the library says it did

    @property
    def label(self) -> str:
        chosen = " ".join(f"{name}={value}" for name, value in self.setting.items())
        return f"{self.name} {chosen}".strip()


@dataclass
class Row:
    """A question, and everybody's line."""
    subject: str
    question: Question
    base_shape: tuple[int, int]
    queries: int
    checked: int
    checked_by_definition: int
    noise: float
    entries: list[Entry]
    own_times: tuple[list[float], ...] = ()   # of Nearfield and its twin, for the noise
    correctness_of_truth: Correctness | None = None   # of matches

    @property
    def label(self) -> str:
        return f"{self.subject} {self.question}"

    @property
    def ours(self) -> Entry:
        return next(entry for entry in self.entries if entry.name == NEARFIELD)


@dataclass
class Outcome:
    rows: list[Row] = field(default_factory=list)
    absent: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    blas: dict[str, dict[str, float]] = field(default_factory=dict)
    environment: dict[str, dict[str, str]] = field(default_factory=dict)   # that was set, by label

    def add(self, other: "Outcome", subject: str) -> None:
        self.rows += other.rows
        self.absent |= {f"{name} on {subject}": why for name, why in other.absent.items()}
        self.versions |= other.versions
        self.blas |= other.blas
        self.environment |= other.environment
