"""The written definition of a key, in numpy: what truth is checked against.

Float64, differences first, element i to partial sum i mod 8, the partial sums joined by the tree of
ARCHITECTURE.md. So that equal distances are equal numbers, and nothing needs a tolerance.
"""
import numpy as np


def squared_distances(query: np.ndarray, rows: np.ndarray) -> np.ndarray:
    if rows.dtype == np.uint8:
        # Exact in any order.
        difference = rows.astype(np.int32) - query.astype(np.int32)
        return np.einsum("ij,ij->i", difference, difference, dtype=np.int64)
    partial = np.zeros((len(rows), 8))
    for first in range(0, rows.shape[1], 8):
        part = rows[:, first:first + 8].astype(np.float64) - query[first:first + 8]
        partial[:, :part.shape[1]] += part * part
    half = partial[:, :4] + partial[:, 4:]
    quarter = half[:, :2] + half[:, 2:]
    return quarter[:, 0] + quarter[:, 1]


def differing_bits(query: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.bitwise_count(rows ^ query).sum(axis=1, dtype=np.int64)


def edits(query: str, texts: np.ndarray) -> np.ndarray:
    """By RapidFuzz, which the data set checks against the textbook's table."""
    from rapidfuzz.distance import Levenshtein  # other sets do without
    from rapidfuzz.process import cdist
    return cdist([query], texts, scorer=Levenshtein.distance, dtype=np.int32)[0]


KEYS = {"sqeuclidean": squared_distances, "hamming": differing_bits, "edit": edits}
ROWS_AT_ONCE = 1_000_000   # as numbers of 4 bytes they and their differences are a gigabyte


def nearest(query: np.ndarray, rows: np.ndarray, k: int, metric: str) -> np.ndarray:
    """Ids by (key, smaller id)."""
    parts = [KEYS[metric](query, rows[first:first + ROWS_AT_ONCE])
             for first in range(0, max(len(rows), 1), ROWS_AT_ONCE)]
    return np.argsort(np.concatenate(parts), kind="stable")[:k]
