"""The matches of two images by their definition: nearest, ratio and mutual, on exact distances."""
import numpy as np

from peers.interface import as_float32, tested_matches

ROWS_AT_A_TIME = 256   # by 45,000 others: 46 MB
LARGEST_BYTE = 255
EXACT_IN_FLOAT32 = 2**24


def squared_lengths(rows: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", rows, rows)


def two_nearest(rows: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each row the nearest other by (distance, smaller id), and the squared distances to the
    nearest two.

    By a product of float32 matrices: 45,000 x 45,000, both ways, take a minute of one core, and by
    differences 50. Of bytes it is exact: every sum on the way is a whole number that float32 holds.
    """
    if rows.dtype != np.uint8 or 2 * rows.shape[1] * LARGEST_BYTE**2 > EXACT_IN_FLOAT32:
        raise ValueError(f"{rows.shape[1]} columns of {rows.dtype}: products of these in float32 "
                         "are not exact")
    left, right = as_float32(rows), as_float32(others)
    beside = squared_lengths(right)
    ids, keys = np.empty(len(rows), dtype=np.int64), np.empty((len(rows), 2), dtype=np.float32)
    for first in range(0, len(rows), ROWS_AT_A_TIME):
        block = left[first:first + ROWS_AT_A_TIME]
        away = (squared_lengths(block)[:, None] + beside) - 2 * (block @ right.T)
        here, part = np.arange(len(block)), slice(first, first + len(block))
        ids[part] = away.argmin(axis=1)
        keys[part, 0] = away[here, ids[part]]
        away[here, ids[part]] = np.inf
        keys[part, 1] = away.min(axis=1)
    return ids, keys


def matches(queries: np.ndarray, base: np.ndarray, ratio: float) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the queries, increasing, and those of the base that belong to them."""
    ids, keys = two_nearest(queries, base)
    back, _ = two_nearest(base, queries)
    return tested_matches(keys, ids, back, ratio)
