"""Answers of parts of an index, joined to that of the whole.

Compared are keys, which are float64, then ids; never the rounded distances. As every key is the
same bits wherever it is computed, so is the joined answer: that of one index with all vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import nearfield as nf

if TYPE_CHECKING:
    from numpy import float32, float64, int64
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Nearest:
    """The k nearest of each query, in a part of an index."""

    ids: NDArray[int64]  # queries x k, -1 where there were fewer
    distances: NDArray[float32]
    keys: NDArray[float64]
    counts: NDArray[int64]
    exact: bool

    @classmethod
    def of(cls, found: nf.Neighbors) -> Nearest:
        return cls(found.ids, found.distances, found.keys, found.counts, found.exact)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return iter((self.distances, self.ids))

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process: ids as int32 where that holds them all, and counts only
        where some are fewer than k. Ray sends up to 100 KiB with its reply, and more by way of its
        store, in two more steps: of 512 queries and k = 10 it is 80 KiB so, and was 104."""
        sent = dict(vars(self))
        narrow = self.ids.astype(np.int32)
        if np.array_equal(narrow, self.ids):
            sent["ids"] = narrow
        if (self.counts == self.ids.shape[1]).all():
            sent["counts"] = None
        return sent

    def __setstate__(self, sent: dict[str, Any]) -> None:
        ids = sent["ids"].astype(np.int64, copy=False)
        counts = sent["counts"]
        if counts is None:
            counts = np.full(len(ids), ids.shape[1], np.int64)
        vars(self).update(sent, ids=ids, counts=counts)


@dataclass(frozen=True)
class Near:
    """All within a radius of each query, in a part of an index: those of query i are `offsets[i]`
    to `offsets[i + 1]`."""

    offsets: NDArray[int64]
    ids: NDArray[int64]
    distances: NDArray[float32]
    keys: NDArray[float64]
    exact: bool

    @classmethod
    def of(cls, found: nf.Ranges) -> Near:
        return cls(found.offsets, found.ids, found.distances, found.keys, found.exact)


def merge_nearest(parts: Sequence[Nearest]) -> Nearest:
    """Of parts that have no id in common, each with the same number of queries and the same k."""
    if len(parts) == 1:
        return parts[0]
    return _in_order(parts, parts[0].ids.shape[1])


def merge_overlapping(parts: Sequence[Nearest]) -> Nearest:
    """The same, of parts that may have ids in common, with the same keys."""
    if len(parts) == 1:
        return parts[0]
    k = parts[0].ids.shape[1]
    found = _in_order(parts, len(parts) * k)
    is_again = np.zeros(found.ids.shape, np.int8)
    is_again[:, 1:] = (found.ids[:, 1:] == found.ids[:, :-1]) & (found.ids[:, 1:] != -1)
    counts = np.minimum(found.counts - is_again.sum(axis=1), k)
    # Those that are there again go behind those that are not there, of which there are enough: a
    # part has as many as are wanted here, or more.
    order = np.argsort(is_again, axis=1, kind="stable")[:, :k]
    return Nearest(
        np.take_along_axis(found.ids, order, axis=1),
        np.take_along_axis(found.distances, order, axis=1),
        np.take_along_axis(found.keys, order, axis=1),
        counts,
        found.exact,
    )


def _in_order(parts: Sequence[Nearest], most: int) -> Nearest:
    """The nearest in any of the parts, at most so many."""
    ids = np.concatenate([part.ids for part in parts], axis=1)
    keys = np.concatenate([part.keys for part in parts], axis=1)
    absent = ids == -1
    # A vector may be infinitely far, in float64, and still comes before none.
    columns = (ids, absent, keys) if absent.any() else (ids, keys)
    order = np.lexsort(columns, axis=1)[:, :most]
    distances = np.concatenate([part.distances for part in parts], axis=1)
    counts = np.minimum(np.sum([part.counts for part in parts], axis=0), most)
    return Nearest(
        np.take_along_axis(ids, order, axis=1),
        np.take_along_axis(distances, order, axis=1),
        np.take_along_axis(keys, order, axis=1),
        counts.astype(np.int64),
        all(part.exact for part in parts),
    )


def merge_near(parts: Sequence[Near]) -> Near:
    """Of parts that have no id in common, each with the same number of queries."""
    if len(parts) == 1:
        return parts[0]
    queries = np.arange(len(parts[0].offsets) - 1)
    of_query = np.concatenate([np.repeat(queries, np.diff(part.offsets)) for part in parts])
    ids = np.concatenate([part.ids for part in parts])
    keys = np.concatenate([part.keys for part in parts])
    order = np.lexsort((ids, keys, of_query))
    return Near(
        np.sum([part.offsets for part in parts], axis=0),
        ids[order],
        np.concatenate([part.distances for part in parts])[order],
        keys[order],
        all(part.exact for part in parts),
    )


def join_nearest(batches: Sequence[Nearest]) -> Nearest:
    """Of batches of queries, one after the other."""
    if len(batches) == 1:
        return batches[0]
    return Nearest(
        np.concatenate([batch.ids for batch in batches]),
        np.concatenate([batch.distances for batch in batches]),
        np.concatenate([batch.keys for batch in batches]),
        np.concatenate([batch.counts for batch in batches]),
        all(batch.exact for batch in batches),
    )


def join_near(batches: Sequence[Near]) -> Near:
    """Of batches of queries, one after the other."""
    if len(batches) == 1:
        return batches[0]
    counts = np.concatenate([np.diff(batch.offsets) for batch in batches])
    return Near(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.concatenate([batch.ids for batch in batches]),
        np.concatenate([batch.distances for batch in batches]),
        np.concatenate([batch.keys for batch in batches]),
        all(batch.exact for batch in batches),
    )
