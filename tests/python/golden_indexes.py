"""Index files of this version, which every later one opens: what is in them, and who makes them.

`python tests/python/golden_indexes.py` writes those that are not there, and changes none.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import nearfield as nf
from definition import Array

FOLDER = Path(__file__).parent / "golden"
REMOVED = 40  # a row
NEXT_ID = 9001
ADDITIVE = "coded,kind=lsq,codebooks=3,bits=4,iterations=3,rounds=2"
ALONE = "coded,codebooks=9,train=256"
SORTED = "lsh,hash=sign,bits=2,tables=1,match=sort"


@dataclass(frozen=True)
class Golden:
    dtype: str
    metric: str
    # What a reader must know, as its metadata has it.
    features: str = ""
    family: str = "flat"
    count: int = 83
    cols: int = 9

    @property
    def path(self) -> Path:
        features = "".join(f"-{feature}" for feature in self.features.split(",") if feature)
        family = self.family.partition(",")[0]
        return FOLDER / f"v1-{family}-{self.dtype}-{self.metric}{features}.nf"

    def rows(self) -> Array:
        """No generator of random numbers, which might change."""
        row, col = np.indices((self.count, self.cols))
        numbers = (row * 7919 + col * 104_729 + row * col * 31) % 23 - 11
        if self.dtype == "bits":
            return (numbers > 0).astype(np.uint8)
        if self.dtype == "uint8":
            return (numbers + 11).astype(np.uint8)
        rows = numbers.astype(self.dtype)
        if rows.dtype.kind == "f":
            rows[7, 3] = np.nan
        return rows

    def as_vectors(self, rows: Array) -> Array | nf.Bits:
        if self.dtype != "bits":
            return rows
        return nf.bits(np.packbits(rows, axis=-1, bitorder="little"), self.cols)

    @property
    def is_numbered(self) -> bool:
        return self.features.endswith("numbered_ids")

    def ids(self) -> Array:
        """Of the rows: its number of each, or of none."""
        numbers = np.arange(self.count, dtype=np.int64)
        return numbers if self.is_numbered else 9000 - 100 * numbers

    def left(self) -> Array:
        """Rows that were not removed: where ids are the numbers of rows, all."""
        numbers = np.arange(self.count)
        return numbers if self.is_numbered else np.delete(numbers, REMOVED)

    @property
    def next_id(self) -> int:
        return int(self.ids().max()) + 1

    @property
    def is_rounded(self) -> bool:
        """What rounding loses is measured by kernels, which need not agree on the last bit."""
        return self.dtype.startswith("float") and self.metric != "l1" and self.family == "flat"

    @property
    def is_written_today(self) -> bool:
        """Bytes of `flat` were once kept as rows too."""
        packed = self.family == "flat" and self.dtype in ("uint8", "int8")
        return packed == (self.features == "packed_rows")


ALL = [
    Golden("uint8", "sqeuclidean"),
    Golden("int8", "inner_product"),
    Golden("uint8", "sqeuclidean", "packed_rows"),
    Golden("int8", "inner_product", "packed_rows"),
    Golden("float32", "sqeuclidean"),
    Golden("float16", "inner_product"),
    Golden("float64", "l1"),
    Golden("bits", "hamming"),
    Golden("bits", "hamming", family="mih", count=2100, cols=24),  # fewer have no tables
    # Every bucket is near enough, and to be met in one is enough: nothing is missed.
    Golden(
        "bits",
        "hamming",
        family="ewh,tables=2,bits=4,errors=4,weights=5:4:3:2:1,threshold=1",
        count=2100,
        cols=24,
    ),
    # With the tables of both; so few are not scored, but looked up or scanned: nothing is missed.
    Golden("bits", "hamming", family="auto,recall=0.9", count=2100, cols=24),
    # Every bucket is probed, so that the answers are those of the definition.
    Golden("uint8", "sqeuclidean", family="lsh,bits=3,tables=2,probes=8", count=2100),
    Golden("float32", "cosine", family=f"{SORTED},probes=4", count=2100),
    # A codeword for each value, so that nothing is lost; and all that is lost, verified.
    Golden("uint8", "sqeuclidean", family="coded,codebooks=9,train=256,rerank=0", count=300),
    Golden("float32", "euclidean", family=f"{ADDITIVE},train=64,rerank=300", count=300),
    Golden("uint8", "sqeuclidean", "coded_rows", family=f"{ALONE},vectors=none", count=300),
    Golden(
        "uint8",
        "sqeuclidean",
        "coded_rows,numbered_ids",
        family=f"{ALONE},vectors=none",
        count=300,
    ),
]


def make(golden: Golden) -> nf.Index:
    index = nf.Index(golden.family, dim=golden.cols, dtype=golden.dtype, metric=golden.metric)
    index.add(golden.as_vectors(golden.rows()), ids=golden.ids())
    index.remove(np.delete(golden.ids(), golden.left()))
    return index


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for golden in ALL:
        if not golden.path.exists():
            make(golden).save(golden.path)
            print(golden.path)
