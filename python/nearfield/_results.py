"""What searches return. Results sort by key, then by smaller id: the order is total."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np

from nearfield._arguments import integer

if TYPE_CHECKING:
    from numpy import float32, float64, int32, int64
    from numpy.typing import NDArray

    from nearfield._core import Fields, FoundGroups, FoundNeighbors, FoundPairs, FoundRanges


@dataclass(frozen=True)
class Plan:
    """What will run. `print(plan)` is for people."""

    device: str  # "cpu", or another of `devices`: "opencl:0"
    isa: str  # of what runs on the CPU
    filter: str  # what drops rows before their key is computed
    kernel: str  # what computes keys: "sqeuclidean/f32/avx2"
    selector: str  # what keeps the best
    threads: int
    query_batch: int  # queries answered in one pass over the base
    base_chunk: int  # rows of the base in memory at a time
    passes: int  # times the base is read
    query_tile: int  # block handed to the kernels: queries x rows
    row_tile: int
    row_parts: int  # parts of the base searched side by side, then merged
    pairs: int  # (query, row) pairs to look at
    result_bytes: int
    working_bytes: int  # everything else allocated while searching
    filter_row_bytes: int  # of these, for each row of a chunk: at most what the filter makes of it
    expected_recall: float  # of what is asked for, by theory; below 1 if it is approximate
    note: str  # what was decided besides, and why; mostly empty
    text: str = field(repr=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Stats:
    """What ran."""

    plan: Plan
    pairs_considered: int  # (query, row) pairs the filter looked at
    pairs_verified: int  # pairs whose true key was computed
    seconds: float


@dataclass(frozen=True, eq=False, repr=False)
class Neighbors:
    """The k nearest rows of each query. Unpacks as `distances, ids`.

    Where fewer than k rows were found, `counts` says how many, and the rest is id -1, key and
    distance +inf (distance -inf for a similarity).
    """

    ids: NDArray[int64]  # queries x k
    distances: NDArray[float32]  # queries x k: what the metric reports, rounded
    keys: NDArray[float64]  # queries x k: what is sorted, exact
    counts: NDArray[int64]  # how many of the k were found, a query
    exact: bool  # proven equal to the definition, not merely likely
    stats: Stats

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return iter((self.distances, self.ids))

    def __repr__(self) -> str:
        queries, k = self.ids.shape
        return f"Neighbors(queries={queries}, k={k}, exact={self.exact})"


@dataclass(frozen=True, eq=False, repr=False)
class Ranges:
    """All rows within a radius of each query. Unpacks as `distances, ids`, those of all queries.

    The arrays hold the results of all queries, one after the other: those of query i are
    `offsets[i]` to `offsets[i + 1]`, and `result[i]` is its `(distances, ids)`. Where ids only were
    asked for, `distances` and `keys` are empty.
    """

    offsets: NDArray[int64]  # queries + 1
    ids: NDArray[int64]
    distances: NDArray[float32]
    keys: NDArray[float64]
    exact: bool
    stats: Stats

    @property
    def counts(self) -> NDArray[int64]:
        """How many were found, a query."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        """Queries."""
        return len(self.offsets) - 1

    def __getitem__(self, query: SupportsIndex) -> tuple[NDArray[float32], NDArray[int64]]:
        queries = len(self)
        at = integer("query", query)
        if not -queries <= at < queries:
            raise IndexError(f"query is {at}, expected {-queries} to {queries - 1}")
        found = at % queries  # negative numbers count from the end, as in a list
        part = slice(self.offsets[found], self.offsets[found + 1])
        return self.distances[part], self.ids[part]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return iter((self.distances, self.ids))

    def __repr__(self) -> str:
        return f"Ranges(queries={len(self)}, found={len(self.ids)}, exact={self.exact})"


@dataclass(frozen=True, eq=False, repr=False)
class Pairs:
    """Pairs of rows, each once, the closest first. Unpacks as `distances, first, second`."""

    first: NDArray[int64]
    second: NDArray[int64]
    distances: NDArray[float32]
    keys: NDArray[float64]
    exact: bool
    stats: Stats

    def __len__(self) -> int:
        return len(self.first)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return iter((self.distances, self.first, self.second))

    def __repr__(self) -> str:
        return f"Pairs(found={len(self)}, exact={self.exact})"


@dataclass(frozen=True, eq=False, repr=False)
class DuplicateGroups(Sequence["NDArray[int64]"]):
    """Groups of two codes and more: `groups[i]` are the rows of group i, rising. Groups come in
    the order of their first rows.
    """

    first_of: NDArray[int64]  # of each row the first of its group; itself where it has no duplicate
    offsets: NDArray[int64]  # group i: rows[offsets[i]:offsets[i + 1]]
    rows: NDArray[int64]
    distances: NDArray[int32]  # of each of `rows` to the first of its group: in how many bits
    distinct: int  # different codes
    stats: Stats

    @property
    def kept(self) -> NDArray[int64]:
        """The rows that are the first of their group, or alone: one of each kind."""
        return np.flatnonzero(self.first_of == np.arange(len(self.first_of)))

    @property
    def duplicates(self) -> NDArray[int64]:
        """All other rows."""
        return np.flatnonzero(self.first_of != np.arange(len(self.first_of)))

    def __len__(self) -> int:
        """Groups."""
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, group: SupportsIndex) -> NDArray[int64]: ...
    @overload
    def __getitem__(self, group: slice) -> list[NDArray[int64]]: ...
    def __getitem__(self, group: SupportsIndex | slice) -> NDArray[int64] | list[NDArray[int64]]:
        if isinstance(group, slice):
            return [self[number] for number in range(*group.indices(len(self)))]
        groups = len(self)
        at = integer("group", group)
        if not -groups <= at < groups:
            raise IndexError(f"group is {at}, expected {-groups} to {groups - 1}")
        found = at % groups
        return self.rows[self.offsets[found] : self.offsets[found + 1]]

    def __repr__(self) -> str:
        duplicates = len(self.rows) - len(self)
        return f"DuplicateGroups(groups={len(self)}, duplicates={duplicates})"


@dataclass(frozen=True)
class MatchPairsStats:
    """What `match_pairs` did."""

    pairs: int  # of images
    matches: int  # in all of them
    images_read: int  # an image that had to make room for others counts again
    most_bytes_kept: int  # of images, read and made ready
    seconds: float
    reading_seconds: float  # of these, reading images and making them ready
    taking_seconds: float  # of these, waiting for `take`


@dataclass(frozen=True, eq=False, repr=False)
class PairMatches(Sequence[Pairs]):
    """The matches of many pairs of images: `result[i]` are those of `result.pairs[i]`."""

    pairs: NDArray[int64]  # pairs x 2: numbers of images
    matches: list[Pairs]  # one a pair; none if they were given to `take`
    stats: MatchPairsStats

    def __len__(self) -> int:
        return len(self.matches)

    @overload
    def __getitem__(self, pair: SupportsIndex) -> Pairs: ...
    @overload
    def __getitem__(self, pair: slice) -> list[Pairs]: ...
    def __getitem__(self, pair: SupportsIndex | slice) -> Pairs | list[Pairs]:
        return self.matches[pair]

    def __repr__(self) -> str:
        return f"PairMatches(pairs={len(self.pairs)}, matches={self.stats.matches})"


@dataclass(frozen=True, eq=False, repr=False)
class Selected:
    """The k first values of each row. Unpacks as `values, ids`."""

    ids: NDArray[int64]  # rows x k
    values: NDArray[float64]  # rows x k
    counts: NDArray[int64]  # how many of the k were found, a row
    stats: Stats

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return iter((self.values, self.ids))

    def __repr__(self) -> str:
        rows, k = self.ids.shape
        return f"Selected(rows={rows}, k={k})"


@dataclass(frozen=True, eq=False, repr=False)
class Pairwise:
    """The distances of all queries to all rows."""

    values: NDArray[float64]  # queries x rows
    stats: Stats

    def __repr__(self) -> str:
        queries, rows = self.values.shape
        return f"Pairwise(queries={queries}, rows={rows})"


def make_plan(fields: Fields) -> Plan:
    return Plan(**fields)


def make_stats(fields: Fields) -> Stats:
    return Stats(**{**fields, "plan": make_plan(fields["plan"])})


def make_neighbors(found: FoundNeighbors) -> Neighbors:
    ids, distances, keys, counts, exact, stats = found
    return Neighbors(ids, distances, keys, counts, exact, make_stats(stats))


def make_ranges(found: FoundRanges) -> Ranges:
    offsets, ids, distances, keys, exact, stats = found
    return Ranges(offsets, ids, distances, keys, exact, make_stats(stats))


def make_groups(found: FoundGroups) -> DuplicateGroups:
    first_of, offsets, rows, distances, distinct, stats = found
    return DuplicateGroups(first_of, offsets, rows, distances, distinct, make_stats(stats))


def make_pairs(found: FoundPairs) -> Pairs:
    first, second, distances, keys, exact, stats = found
    return Pairs(first, second, distances, keys, exact, make_stats(stats))
