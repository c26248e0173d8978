"""Synthetic codes of bits, as binary descriptors and hashes of embeddings have them.

- Clusters: 1 in `ROWS_A_CLUSTER` rows begins one; their sizes follow Zipf's law. A row is the code
  of its centre with an eighth, a quarter or three eighths of its bits turned over, so that one
  has near and far rows.
- Near duplicates: 1 row in `ROWS_A_COPY` is a copy of another one with a 32nd of its bits turned
  over, and so are half of the queries.
- Distances are whole numbers up to 512, and so ties are many.
"""
from pathlib import Path

import numpy as np

from sets.random_streams import stream
from sets.vector_files import write_rows

ROWS_A_CLUSTER = 500
ROWS_A_COPY = 16
CHUNK = 16_384


def random_bytes(shape: tuple[int, int], random: np.random.RandomState) -> np.ndarray:
    return np.frombuffer(random.bytes(shape[0] * shape[1]), dtype=np.uint8).reshape(shape)


def some_bits(eighths: np.ndarray, columns: int, random: np.random.RandomState) -> np.ndarray:
    """A row for each of `eighths`, 1 to 3: so many of eight bits are set."""
    one, two, three = (random_bytes((len(eighths), columns), random) for _ in range(3))
    chosen = (one & two & three, one & two, (one | two) & three)
    return np.choose(eighths[:, None] - 1, chosen)


def noisy_copies(rows: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    turned = random_bytes(rows.shape, random)
    for _ in range(4):
        turned = turned & random_bytes(rows.shape, random)
    return rows ^ turned


class Mixture:
    """The distribution; base and queries are drawn from the same one."""

    def __init__(self, rows: int, columns: int) -> None:
        clusters = max(rows // ROWS_A_CLUSTER, 1)
        self.centres = random_bytes((clusters, columns), stream("bits", "centres", rows, columns))
        weights = 1 / np.arange(1.0, clusters + 1)
        self.up_to = np.cumsum(weights / weights.sum())

    def draw(self, count: int, random: np.random.RandomState) -> np.ndarray:
        cluster = np.searchsorted(self.up_to, random.random_sample(count))
        cluster = np.minimum(cluster, len(self.centres) - 1)
        eighths = random.randint(1, 4, count)
        return self.centres[cluster] ^ some_bits(eighths, self.centres.shape[1], random)


def make(folder: Path, rows: int, queries: int, columns: int) -> dict[str, object]:
    """`columns`: bytes a row."""
    mixture, random = Mixture(rows, columns), stream("bits", "base")
    base = np.empty((rows, columns), dtype=np.uint8)
    for first in range(0, rows, CHUNK):
        chunk = mixture.draw(min(CHUNK, rows - first), random)
        copies = chunk[::ROWS_A_COPY]
        sources = random.randint(0, len(chunk), len(copies))
        chunk[::ROWS_A_COPY] = noisy_copies(chunk[sources], random)
        base[first:first + len(chunk)] = chunk
    random = stream("bits", "queries")
    asked = mixture.draw(queries, random)
    sources = random.randint(0, rows, len(asked[::2]))
    asked[::2] = noisy_copies(base[sources], random)
    write_rows(folder / "base.u8bin", base)
    write_rows(folder / "queries.u8bin", asked)
    return {}
