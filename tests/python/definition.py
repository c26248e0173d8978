"""The searches as they are written down, slow and obvious, for rows of small integers.

Sums of small integers are exact in float64 in any order, so that results are compared bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SIMILARITIES = ("inner_product", "cosine")


def _cosine(x: Array, y: Array) -> Array:
    """0 where either is zero."""
    squares = (x * x).sum(axis=2) * (y * y).sum(axis=2)
    similarity: Array = (x * y).sum(axis=2) / np.sqrt(np.where(squares == 0, 1, squares))
    return similarity


def keys(queries: Array, base: Array, metric: str) -> Array:
    """queries x rows, NaN where a row or a query is not finite."""
    x = queries.astype(np.float64)[:, None, :]
    y = base.astype(np.float64)[None, :, :]
    finite = np.isfinite(x).all(axis=2) & np.isfinite(y).all(axis=2)
    x, y = np.nan_to_num(x, posinf=0, neginf=0), np.nan_to_num(y, posinf=0, neginf=0)
    definitions: dict[str, Callable[[], Array]] = {
        "sqeuclidean": lambda: ((x - y) ** 2).sum(axis=2),
        "euclidean": lambda: ((x - y) ** 2).sum(axis=2),
        "inner_product": lambda: 0 - (x * y).sum(axis=2),
        "cosine": lambda: 0 - _cosine(x, y),
        "l1": lambda: abs(x - y).sum(axis=2),
        "linf": lambda: abs(x - y).max(axis=2, initial=0),
        "hamming": lambda: (x != y).sum(axis=2).astype(np.float64),
    }
    return np.where(finite, definitions[metric](), np.nan)


def reported(key: Array, metric: str) -> Array:
    if metric == "euclidean":
        return np.sqrt(key)
    return -key if metric in SIMILARITIES else key


def knn(
    queries: Array, base: Array, k: int, metric: str = "sqeuclidean", allowed: Array | None = None
) -> tuple[Array, Array, Array]:
    """Ids, keys and counts."""
    every = keys(queries, base, metric)
    if allowed is not None:
        every[:, ~allowed] = np.nan
    ids = np.full((len(queries), k), -1, dtype=np.int64)
    found = np.full((len(queries), k), np.inf)
    counts = np.zeros(len(queries), dtype=np.int64)
    for query, row_keys in enumerate(every):
        order = sorted((key, row) for row, key in enumerate(row_keys) if not np.isnan(key))[:k]
        counts[query] = len(order)
        for place, (key, row) in enumerate(order):
            ids[query, place], found[query, place] = row, key
    return ids, found, counts


def integers(rows: int, cols: int, dtype: object = np.float32, seed: int = 1) -> Array:
    """Few different values: many ties."""
    return np.random.default_rng(seed).integers(0, 4, (rows, cols)).astype(dtype)  # type: ignore
