"""Synthetic fingerprints: codes whose bits are as random as those of a good hash, and near
duplicates.

- 1 row in `ROWS_A_COPY` is a copy of another one with up to `MOST_TURNED` of its bits turned over.
- Every second query is such a copy of a row; the others are near nothing.
"""
from pathlib import Path

import numpy as np

from sets.bits import CHUNK, ROWS_A_COPY, random_bytes
from sets.random_streams import stream
from sets.vector_files import write_rows

MOST_TURNED = 40


def turned_over(rows: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    """Each row with 0 to MOST_TURNED of its bits turned over, as many rows of each number."""
    count = random.randint(0, MOST_TURNED + 1, len(rows))
    order = random.random_sample((len(rows), 8 * rows.shape[1])).argsort(axis=1)
    return rows ^ np.packbits(order < count[:, None], axis=1)


def make(folder: Path, rows: int, queries: int, columns: int) -> dict[str, object]:
    """`columns`: bytes a row."""
    random = stream("fingerprints", "base")
    base = np.empty((rows, columns), dtype=np.uint8)
    for first in range(0, rows, CHUNK):
        chunk = random_bytes((min(CHUNK, rows - first), columns), random).copy()
        copies = chunk[::ROWS_A_COPY]
        sources = random.randint(0, len(chunk), len(copies))
        chunk[::ROWS_A_COPY] = turned_over(chunk[sources], random)
        base[first:first + len(chunk)] = chunk
    random = stream("fingerprints", "queries")
    asked = random_bytes((queries, columns), random).copy()
    asked[::2] = turned_over(base[random.randint(0, rows, len(asked[::2]))], random)
    write_rows(folder / "base.u8bin", base)
    write_rows(folder / "queries.u8bin", asked)
    return {}
