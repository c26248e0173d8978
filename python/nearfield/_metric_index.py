"""Objects under any metric: words, sets, shapes, whatever a function of yours can compare."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from nearfield import _core
from nearfield._arguments import MOST_INT32, MOST_INT64, file_name, flag, integer, real, seed_number
from nearfield._copies import Copies
from nearfield._errors import InvalidArgumentError, UnsupportedError
from nearfield._index import IdsLike, _take_ids
from nearfield._objects import CMetric, MetricLike, NumberedObjects, listed, objects_of
from nearfield._pickled import file_bytes, from_bytes
from nearfield._results import (
    Neighbors,
    Pairs,
    Ranges,
    make_neighbors,
    make_pairs,
    make_ranges,
)
from nearfield._run import Progress, running

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self

CHOICES = ("random", "max_separation", "incremental")


@dataclass(frozen=True)
class MetricIndexStats:
    """What an index of objects holds."""

    size: int  # objects that may be found
    removed: int  # that still take room, until rebuild
    pivots: int
    kept: int  # pivots an object keeps
    object_bytes: int
    filter_bytes: int  # of pivot distances and signatures
    id_bytes: int
    signatures: bool
    distances: int  # computed by adding and rebuilding so far


@dataclass(frozen=True)
class Violation:
    """By how much a rule is broken at worst, and the numbers of the objects; by 0: not at all."""

    by: float
    objects: tuple[int, ...]


@dataclass(frozen=True)
class MetricReport:
    """What `check_metric` found. `print(report)` is for people."""

    triples: int
    distances: int
    not_a_distance: Violation
    identity: Violation
    symmetry: Violation
    triangle: Violation
    whole_numbers: Violation  # these three: of what the metric says of itself
    bound: Violation
    limit: Violation
    text: str

    @property
    def holds(self) -> bool:
        rules = self.not_a_distance, self.identity, self.symmetry, self.triangle
        said = self.whole_numbers, self.bound, self.limit
        return all(rule.by == 0 for rule in (*rules, *said))

    def __str__(self) -> str:
        return self.text


class MetricIndex:
    """Objects under ids, found by a metric.

    >>> import nearfield as nf
    >>> index = nf.MetricIndex(["near", "field", "nearby", "fields"], metric="edit")
    >>> found = index.search(["neer"], k=2)
    >>> found.ids, found.distances
    (array([[0, 2]]), array([[1., 3.]], dtype=float32))
    >>> index.get(2)
    'nearby'

    objects: those to begin with.
    metric: "edit" or another of `object_metrics`; a callable(one, others) that returns the
        distances from one object to each of a list; or a `CMetric`.
    batched: False for a callable(a, b) that returns one distance.
    slack: of a callable, the part of a distance by which rounding breaks the triangle inequality;
        by default 2**-40. A `CMetric` has its own.
    pivots: how many objects the others keep their distances to; by default 16, or none where the
        metric has signatures and nothing is said of kept, bits and choice.
    kept: how many of these an object keeps, its nearest and farthest; 0: all.
    bits: of a kept distance, 1 to 8.
    choice: how pivots are chosen, "random", "max_separation" or "incremental", with at most
        choice_budget distances: few of them make random ones (docs/metric.md).
    signatures: whether the metric's own lower bounds are used, where it has some.
    seed: of what is drawn at random when pivots are chosen, now and later.
    threads, timeout, progress: as of `add`, for the objects to begin with.
    """

    def __init__(
        self,
        objects: Iterable[Any] = (),
        metric: MetricLike = "edit",
        *,
        ids: IdsLike | None = None,
        batched: bool = True,
        slack: float | None = None,
        pivots: int | None = None,
        kept: int = 0,
        bits: int = 8,
        choice: str = "max_separation",
        choice_budget: int = 100_000,
        signatures: bool = True,
        seed: int = 0,
        threads: int = 0,
        timeout: float | None = None,
        progress: Progress = None,
    ) -> None:
        if choice not in CHOICES:
            raise InvalidArgumentError(f"choice is {choice!r}, expected one of {CHOICES}")
        self._objects = objects_of(metric, batched, slack)
        self._metric = metric
        self._core = _core.MetricIndex(
            self._objects.metric,
            None if pivots is None else integer("pivots", pivots),
            integer("kept", kept),
            integer("bits", bits, MOST_INT32),
            CHOICES.index(choice),
            integer("choice_budget", choice_budget),
            flag("signatures", signatures),
        )
        self._start(seed)
        self.add(objects, ids, threads=threads, timeout=timeout, progress=progress)

    def _start(self, seed: int) -> None:
        self._seed = seed_number(seed)
        # What was removed under a callable, which the engine may ask about until it rebuilds: some
        # are pivots. No object is removed between the look at it and the call that removes it.
        self._removed: list[bytes] = []
        self._removing = threading.Lock()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        metric: MetricLike = "edit",
        *,
        read_only: bool = False,
        max_bytes: int | None = None,
        seed: int = 0,
    ) -> Self:
        """An index that was saved, under the metric of the same name. The file is mapped.

        read_only: what would change the index is an error.
        max_bytes: a file that is larger is an error. For files that come from others.
        seed: as when an index is made, for pivots that are chosen from now on.
        """
        _refuse_callable(metric, "opened")
        index = cls.__new__(cls)
        index._objects = objects_of(metric)
        index._metric = metric
        index._core = _core.MetricIndex.open(
            file_name("path", path),
            index._objects.metric,
            flag("read_only", read_only),
            MOST_INT64 if max_bytes is None else integer("max_bytes", max_bytes),
        )
        index._start(seed)
        return index

    @staticmethod
    def verify(
        path: str | os.PathLike[str],
        metric: MetricLike = "edit",
        *,
        timeout: float | None = None,
        progress: Progress = None,
    ) -> None:
        """Reads all of a file and compares its sums: `CorruptFileError` if it was changed.

        `verify_index` does the same under the metric that the file names, if it is the library's.
        """
        _refuse_callable(metric, "verified")
        objects = objects_of(metric)
        with running(Copies(True), timeout=timeout, progress=progress) as run:
            _core.MetricIndex.verify(file_name("path", path), objects.metric, run)

    def save(self, path: str | os.PathLike[str], *, timeout: float | None = None) -> None:
        """Writes it to a file. Not under a Python callable, whose objects are Python's."""
        _refuse_callable(self._metric, "saved")
        with running(Copies(True), timeout=timeout) as run:
            self._core.save(file_name("path", path), run)

    def add(
        self,
        objects: Iterable[Any],
        ids: IdsLike | None = None,
        *,
        threads: int = 0,
        timeout: float | None = None,
        progress: Progress = None,
    ) -> NDArray[np.int64]:
        """Adds objects, and returns their ids: the next numbers that were never used, or yours."""
        given = None if ids is None else _take_ids(ids, Copies(True))
        packed = self._objects.packed(listed("objects", objects))
        try:
            with running(Copies(True), threads=threads, timeout=timeout, progress=progress) as run:
                first = self._core.add(packed, given, self._seed, run)
        except BaseException:
            self._objects.forget(packed)
            raise
        return np.arange(first, first + len(packed)) if given is None else given.copy()

    def remove(self, ids: IdsLike) -> int:
        """Removes what is there under these ids. How many there were."""
        taken = _take_ids(ids, Copies(True))
        if not isinstance(self._objects, NumberedObjects):
            return self._core.remove(taken)
        with self._removing:
            there = [one for one in np.unique(taken).tolist() if self._core.contains(one)]
            packed = [self._core.get(one) for one in there]
            removed = self._core.remove(taken)
            self._removed += packed
        return removed

    def rebuild(self, *, threads: int = 0, timeout: float | None = None) -> None:
        """Frees what was removed, and chooses pivots anew."""
        with self._removing:
            with running(Copies(True), threads=threads, timeout=timeout) as run:
                self._core.rebuild(self._seed, run)
            self._objects.forget(self._removed)
            self._removed = []

    def get(self, id: SupportsIndex) -> Any:
        """The object under an id, which must be there."""
        return self._objects.unpacked(self._core.get(integer("id", id)))

    @property
    def ids(self) -> NDArray[np.int64]:
        """All of them."""
        return self._core.ids()

    def __contains__(self, id: SupportsIndex) -> bool:
        return self._core.contains(integer("id", id))

    def __len__(self) -> int:
        return self._core.size()

    def __repr__(self) -> str:
        return f"MetricIndex(size={len(self)})"

    def __reduce__(self) -> tuple[Any, ...]:
        """As the bytes of its file, under a metric that has a name everywhere."""
        if not isinstance(self._metric, str):
            is_compiled = isinstance(self._metric, CMetric)
            raise UnsupportedError(
                "an index under a function of yours cannot be pickled: "
                + ("save it, and open it" if is_compiled else "pickle the objects, and add them")
                + " there under the metric"
            )
        return _from_bytes, (file_bytes(self.save), self._metric, self._seed)

    @property
    def stats(self) -> MetricIndexStats:
        return MetricIndexStats(**self._core.stats())

    def search(
        self,
        queries: Iterable[Any],
        k: int = 10,
        *,
        budget: int | None = None,
        pivots: int | None = None,
        threads: int = 0,
        memory_limit: int | str | None = None,
        timeout: float | None = None,
        progress: Progress = None,
        isa: str | None = None,
        device: str | None = None,
        device_memory_limit: int | str | None = None,
    ) -> Neighbors:
        """The k nearest objects of each query.

        `stats.pairs_verified` of the result is how many distances it took.

        budget: distances that a query may take, those to pivots among them; where it is not more
            than there are pivots, it looks at none of these. One that would take more gets the
            best of these, and the result says exact=False.
        pivots: how many of those an object keeps to look at.
        device: where pivots and signatures are looked at, "opencl" or "opencl,cpu". Distances of
            what is left are computed there for "edit", "lp:1", "lp:2" and "lp:inf", else on the
            CPU.
        """
        copies = Copies(True, memory_limit)
        limits = _optional("budget", budget), _optional("pivots", pivots)
        with (
            self._objects.lent("queries", queries) as packed,
            running(
                copies,
                threads=threads,
                isa=isa,
                timeout=timeout,
                progress=progress,
                device=device,
                device_memory_limit=device_memory_limit,
            ) as run,
        ):
            count = integer("k", k)
            return make_neighbors(self._core.search(packed, count, *limits, run))

    def within(
        self,
        queries: Iterable[Any],
        radius: float,
        *,
        ids_only: bool = False,
        budget: int | None = None,
        pivots: int | None = None,
        threads: int = 0,
        memory_limit: int | str | None = None,
        timeout: float | None = None,
        progress: Progress = None,
        isa: str | None = None,
        device: str | None = None,
        device_memory_limit: int | str | None = None,
    ) -> Ranges:
        """All objects within a radius of each query, the radius included.

        ids_only: the result has ids only, those of a query rising, and no distances: objects that
            pivots prove to be within the radius need none.
        """
        copies = Copies(True, memory_limit)
        limits = _optional("budget", budget), _optional("pivots", pivots)
        with (
            self._objects.lent("queries", queries) as packed,
            running(
                copies,
                threads=threads,
                isa=isa,
                timeout=timeout,
                progress=progress,
                device=device,
                device_memory_limit=device_memory_limit,
            ) as run,
        ):
            bound, bare = real("radius", radius), flag("ids_only", ids_only)
            return make_ranges(self._core.within(packed, bound, bare, *limits, run))

    def pairs(
        self,
        others: Iterable[Any] | None = None,
        *,
        radius: float | None = None,
        count: int | None = None,
        pivots: int | None = None,
        threads: int = 0,
        memory_limit: int | str | None = None,
        timeout: float | None = None,
        progress: Progress = None,
        isa: str | None = None,
        device: str | None = None,
        device_memory_limit: int | str | None = None,
    ) -> Pairs:
        """The closest pairs of two objects of the index, or of one of `others` and one of it.

        radius, count: those within the radius, the so many closest, or both.
        pivots: how many of those an object keeps to look at.
        """
        copies = Copies(True, memory_limit)
        bound = None if radius is None else real("radius", radius)
        most, slots = _optional("count", count), _optional("pivots", pivots)
        with (
            self._objects.lent("others", () if others is None else others) as packed,
            running(
                copies,
                threads=threads,
                isa=isa,
                timeout=timeout,
                progress=progress,
                device=device,
                device_memory_limit=device_memory_limit,
            ) as run,
        ):
            asked = None if others is None else packed
            return make_pairs(self._core.pairs(asked, bound, most, slots, run))


def _from_bytes(saved: bytes, metric: str, seed: int) -> MetricIndex:
    return from_bytes(lambda path: MetricIndex.open(path, metric, seed=seed), saved)


def check_metric(
    objects: Iterable[Any],
    metric: MetricLike,
    *,
    batched: bool = True,
    slack: float | None = None,
    triples: int = 10_000,
    seed: int = 0,
    timeout: float | None = None,
    progress: Progress = None,
) -> MetricReport:
    """Looks at random triples of the objects for what breaks the rules of a metric.

    That nothing is found proves nothing. A search relies on the rules: see docs/metric.md.
    `batched` and `slack` are those of a callable, as for `MetricIndex`; of another seed the triples
    are others.
    """
    kind = objects_of(metric, batched, slack)
    packed = kind.packed(listed("objects", objects))
    with running(Copies(True), timeout=timeout, progress=progress) as run:
        seen, distances, *rules, words = _core.check_metric(
            kind.metric, packed, integer("triples", triples), seed_number(seed), run
        )
    odd, identity, symmetry, triangle, whole, bound, limit = (
        Violation(by, tuple(one for one in ids if one >= 0)) for by, *ids in rules
    )
    return MetricReport(
        seen, distances, odd, identity, symmetry, triangle, whole, bound, limit, words
    )


def object_metrics() -> list[tuple[str, str]]:
    """Name and description of each metric of objects that has a name."""
    return [(name, description) for name, description, _ in _core.object_metrics()]


def _refuse_callable(metric: MetricLike, what: str) -> None:
    if not isinstance(metric, (str, CMetric)):
        raise UnsupportedError(
            f"an index under a Python callable cannot be {what}: its objects are Python's own; "
            "use a name or a CMetric"
        )


def _optional(name: str, value: int | None) -> int | None:
    return None if value is None else integer(name, value)
