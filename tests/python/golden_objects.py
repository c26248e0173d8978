"""Files of indexes of objects, of this version, which every later one opens: as golden_indexes.py.

`python tests/python/golden_objects.py` writes those that are not there, and changes none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import nearfield as nf
from definition import Array
from golden_indexes import FOLDER, REMOVED

COUNT = 150  # more than two blocks of 64


@dataclass(frozen=True)
class GoldenObjects:
    name: str
    metric: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return FOLDER / f"v1-objects-{self.name}.nf"

    def objects(self) -> list[Any]:
        """No generator of random numbers, which might change."""
        if self.metric.startswith("lp"):
            row, col = np.indices((COUNT, 5))
            return list(((row * 7919 + col * 104_729 + row * col * 31) % 23 - 11).astype(float))
        return [
            "".join("abcdefgé' "[(i * 7 + j * 3 + i * j) % 10] for j in range(2 + i % 11))
            for i in range(COUNT)
        ]

    def ids(self) -> Array:
        """Of the objects, none of them its number."""
        return 9000 - 10 * np.arange(COUNT, dtype=np.int64)

    def made(self, **options: Any) -> nf.MetricIndex:
        index = nf.MetricIndex(self.objects(), self.metric, ids=self.ids(), **options)
        index.remove(self.ids()[REMOVED : REMOVED + 1])
        return index


OBJECTS = [
    GoldenObjects("edit-signatures", "edit"),
    GoldenObjects("edit-both", "edit", {"pivots": 4}),
    GoldenObjects("damerau-kvp", "damerau", {"pivots": 7, "kept": 3, "signatures": False}),
    # Sums of whole numbers: no rounding that another machine could do otherwise.
    GoldenObjects("lp-laesa", "lp:1", {"pivots": 5, "choice": "incremental", "bits": 6}),
]


if __name__ == "__main__":
    for golden in OBJECTS:
        if not golden.path.exists():
            golden.made(**golden.options).save(golden.path)
            print(golden.path)
