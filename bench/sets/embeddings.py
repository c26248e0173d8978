"""Synthetic embeddings with what makes those of transformers hard to round.

- Clusters: 1 in `ROWS_A_CLUSTER` rows begins one; their sizes follow Zipf's law.
- A spectrum: dimension j, in a random order, has a spread of (j + 1) ** -0.5.
- Outlier dimensions: a few have a mean of `OUTLIER_MEAN` times the largest spread, in all rows, and
  so one scale for a whole row loses the others.
- Lengths differ by a percent.
"""
from pathlib import Path

import numpy as np

from sets.random_streams import stream
from sets.vector_files import write_rows

ROWS_A_CLUSTER = 200
WITHIN_CLUSTER = 0.5          # of the spread between centres
OUTLIERS = 4
OUTLIER_MEAN = 20.0
LENGTH_SPREAD = 0.01
CHUNK = 16_384


class Mixture:
    """The distribution; base and queries are drawn from the same one."""

    def __init__(self, rows: int, columns: int) -> None:
        random = stream("embeddings", "mixture", rows, columns)
        self.spread = (random.permutation(columns) + 1.0) ** -0.5
        outliers = random.permutation(columns)[:OUTLIERS]
        self.mean = np.zeros(columns)
        self.mean[outliers] = OUTLIER_MEAN * random.choice([-1, 1], OUTLIERS)
        self.spread[outliers] = 1
        clusters = max(rows // ROWS_A_CLUSTER, 1)
        self.centres = random.standard_normal((clusters, columns)) * self.spread
        weights = 1 / np.arange(1.0, clusters + 1)
        self.up_to = np.cumsum(weights / weights.sum())

    def draw(self, count: int, random: np.random.RandomState) -> np.ndarray:
        cluster = np.searchsorted(self.up_to, random.random_sample(count))
        cluster = np.minimum(cluster, len(self.centres) - 1)
        noise = random.standard_normal((count, self.centres.shape[1])) * self.spread
        lengths = 1 + LENGTH_SPREAD * random.standard_normal((count, 1))
        values = (self.mean + self.centres[cluster] + WITHIN_CLUSTER * noise) * lengths
        return values.astype(np.float32)


def make(folder: Path, rows: int, queries: int, columns: int) -> dict[str, object]:
    mixture = Mixture(rows, columns)
    for part, count in (("base", rows), ("queries", queries)):
        random = stream("embeddings", part)
        values = np.empty((count, columns), dtype=np.float32)
        for first in range(0, count, CHUNK):
            values[first:first + CHUNK] = mixture.draw(min(CHUNK, count - first), random)
        write_rows(folder / f"{part}.fbin", values)
    return {}
