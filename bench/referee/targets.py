"""What targets.toml asks of a case."""
import tomllib
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "targets.toml"


@dataclass(frozen=True)
class Target:
    rows: tuple[str, ...]      # labels of the rows that are the headline
    limit: str                 # the way that is the bare limit
    required: tuple[str, ...]  # ways without which the headline says nothing
    ratio_peer: float
    ratio_limit: float


def read_target(case: str, size: str) -> Target:
    entry = tomllib.loads(FILE.read_text())[case]
    return Target(tuple(entry["headline"]), entry["limit"], tuple(entry["required"]), **entry[size])
