"""What targets.toml asks of a case."""
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from peers.amx import cpu_has_tiles

FILE = Path(__file__).resolve().parent.parent / "targets.toml"
PEERS = "peers"   # stands for the fastest exact peer


@dataclass(frozen=True)
class Target:
    limit: str                          # the way that ratio_limit is about
    required: tuple[str, ...]           # ways without which the headline says nothing
    rows: dict[str, dict[str, float]]   # by label of the rows of the headline, by way: least ratio
    least_recall: dict[str, float] = field(default_factory=dict)   # by label of any rows
    most_verified: dict[str, float] = field(default_factory=dict)   # likewise, of all pairs

    def required_on(self, label: str) -> tuple[str, ...]:
        named = (way for way in self.rows[label] if way != PEERS)
        return tuple(dict.fromkeys((*self.required, *named)))

    def of_rows(self, labels: set[str]) -> "Target":
        """For a run of some rows."""
        def chosen(by_label: dict[str, Any]) -> dict[str, Any]:
            return {label: value for label, value in by_label.items() if label in labels}

        return replace(self, rows=chosen(self.rows), least_recall=chosen(self.least_recall),
                       most_verified=chosen(self.most_verified))


def read_target(case: str, size: str) -> Target:
    entry = tomllib.loads(FILE.read_text())[case][size]
    rows = entry["rows"]
    if not cpu_has_tiles():
        rows = rows | entry.get("rows_without_amx", {})
    return Target(entry["limit"], tuple(entry["required"]), rows, entry.get("least_recall", {}),
                  entry.get("most_verified", {}))
