"""What a thesis is made of, for being measured again."""
from collections.abc import Callable
from dataclasses import dataclass, field

from reproduction.measured import Place, Recall, Timing
from reproduction.shapes import Judge

Quantity = Callable[[dict[str, Timing]], float | None]


@dataclass(frozen=True)
class Stated:
    section: str
    says: str  # of its device
    judge: Judge


@dataclass(frozen=True)
class Printed:
    """Matches of a table of the thesis."""
    counts: Recall
    recall: float | None = None  # as it is printed, if it is


@dataclass(frozen=True)
class Figure:
    title: str
    setting: str  # as the thesis has it
    here: str     # what is not as there, whatever the size
    stated: tuple[Stated, ...]
    x: str = ""      # of the picture: a number of a place; empty: none is drawn
    panel: str = ""  # a panel for each of these numbers; empty: one
    line: str = ""   # a line for each of these numbers, of what is derived; empty: one
    in_milliseconds: bool = False
    derived: dict[str, Quantity] = field(default_factory=dict)  # drawn instead, where there are
    data_set: tuple[str, str] | None = None  # the option of the program, the name of the set
    printed: tuple[Printed, ...] = ()        # recalls that stand beside those measured
    setting_of: Callable[[Place], str] | None = None  # recalls are drawn over times of the same
    # What the ratio of a recall, or x of an error, is here, over which it is drawn; empty: a ratio.
    over: str = ""


@dataclass(frozen=True)
class Thesis:
    title: str
    device: str
    program: str  # that measures
    figures: dict[str, Figure]
    on_cpu: bool = False  # it measures the CPU, whatever devices there are
    keeps: bool = False   # the program goes on with what is in a folder: --keep
