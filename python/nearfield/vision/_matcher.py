"""A matcher in place of cv2.BFMatcher. Names of methods and arguments are OpenCV's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, TypeAlias, Union, overload

import cv2
import numpy as np

from nearfield._arguments import flag, integer, real
from nearfield._errors import InvalidArgumentError, UnsupportedError
from nearfield._results import Pairs
from nearfield._rows import Bits, bits
from nearfield._search import knn, mutual, within
from nearfield.vision._dmatches import Grouped, group, make_dmatches, split

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

METRICS = {cv2.NORM_L2: "euclidean", cv2.NORM_L1: "l1", cv2.NORM_HAMMING: "hamming"}


class Added:
    """Stands for the descriptors that `add` was given: None is an image without features."""


ADDED: Final = Added()
Descriptors: TypeAlias = Union["Array", None]


class TrainSet:
    """The descriptors of several images, one below the other."""

    def __init__(self, images: list[Array]) -> None:
        with_rows = [rows for rows in images if len(rows)]
        self.rows = np.concatenate(with_rows) if with_rows else no_descriptors()
        self.ends = np.cumsum([len(rows) for rows in images], dtype=np.int64)

    def dmatches(self, found: Grouped) -> list[cv2.DMatch]:
        images = np.searchsorted(self.ends, found.rows, side="right")
        starts = np.concatenate([np.zeros(1, np.int64), self.ends])
        return make_dmatches(found.queries, found.rows - starts[images], found.distances, images)


class Matcher:
    """cv2.BFMatcher, with the searches of nearfield: the same matches, of equally near ones the
    first.

    >>> import cv2
    >>> import numpy as np
    >>> from nearfield.vision import Matcher
    >>> left = np.array([[0, 0], [9, 9]], dtype=np.uint8)
    >>> right = np.array([[9, 8], [0, 1]], dtype=np.uint8)
    >>> [match.trainIdx for match in Matcher(cv2.NORM_L2).match(left, right)]
    [1, 0]
    >>> [len(nearest) for nearest in Matcher().knnMatch(left, right, k=2)]
    [2, 2]

    normType: cv2.NORM_L2, cv2.NORM_L1, or cv2.NORM_HAMMING for binary descriptors such as ORB's.
    crossCheck: only pairs that are each other's nearest.

    None or an array without rows is an image without features, which has no matches. Without train
    descriptors, those that `add` was given are searched. Masks are not supported.
    """

    def __init__(self, normType: int = cv2.NORM_L2, crossCheck: bool = False) -> None:
        self._norm = integer("normType", normType)
        if self._norm not in METRICS:
            raise UnsupportedError(
                f"normType is {self._norm}, expected cv2.NORM_L2 ({cv2.NORM_L2}), "
                f"cv2.NORM_L1 ({cv2.NORM_L1}) or cv2.NORM_HAMMING ({cv2.NORM_HAMMING})"
            )
        self._cross_check = flag("crossCheck", crossCheck)
        self._images: list[Array] = []
        self._trained: TrainSet | None = None

    def match(
        self,
        queryDescriptors: Descriptors,
        trainDescriptors: Descriptors | Added = ADDED,
        mask: None = None,
    ) -> list[cv2.DMatch]:
        """The nearest train descriptor of each query."""
        refuse_mask(mask)
        train = self._train_set(trainDescriptors)
        return train.dmatches(self._nearest(queryDescriptors, train.rows, 1))

    @overload
    def knnMatch(
        self,
        queryDescriptors: Descriptors,
        trainDescriptors: Descriptors,
        k: int,
        mask: None = None,
        compactResult: bool = False,
    ) -> list[list[cv2.DMatch]]: ...
    @overload
    def knnMatch(
        self,
        queryDescriptors: Descriptors,
        trainDescriptors: int,  # it is k
        *,
        compactResult: bool = False,
    ) -> list[list[cv2.DMatch]]: ...
    @overload
    def knnMatch(
        self, queryDescriptors: Descriptors, *, k: int, compactResult: bool = False
    ) -> list[list[cv2.DMatch]]: ...
    def knnMatch(
        self,
        queryDescriptors: Descriptors,
        trainDescriptors: Descriptors | Added | int = ADDED,
        k: int | None = None,
        mask: None = None,
        compactResult: bool = False,
    ) -> list[list[cv2.DMatch]]:
        """The k nearest train descriptors, a list for each query: knnMatch(query, train, k), or
        knnMatch(query, k) to search what was added.

        compactResult: leaves out the queries without a match.
        """
        refuse_mask(mask)
        given, limit = train_and_limit("k", trainDescriptors, k)
        train = self._train_set(given)
        found = self._nearest(queryDescriptors, train.rows, integer("k", limit))
        return lists_of(train.dmatches(found), found, compactResult)

    @overload
    def radiusMatch(
        self,
        queryDescriptors: Descriptors,
        trainDescriptors: Descriptors,
        maxDistance: float,
        mask: None = None,
        compactResult: bool = False,
    ) -> list[list[cv2.DMatch]]: ...
    @overload
    def radiusMatch(
        self,
        queryDescriptors: Descriptors,
        trainDescriptors: float,  # it is maxDistance
        *,
        compactResult: bool = False,
    ) -> list[list[cv2.DMatch]]: ...
    @overload
    def radiusMatch(
        self, queryDescriptors: Descriptors, *, maxDistance: float, compactResult: bool = False
    ) -> list[list[cv2.DMatch]]: ...
    def radiusMatch(
        self,
        queryDescriptors: Descriptors,
        trainDescriptors: Descriptors | Added | float = ADDED,
        maxDistance: float | None = None,
        mask: None = None,
        compactResult: bool = False,
    ) -> list[list[cv2.DMatch]]:
        """All train descriptors at most `maxDistance` away, nearest first, a list for each query:
        radiusMatch(query, train, maxDistance), or radiusMatch(query, maxDistance) to search what
        was added.

        compactResult: leaves out the queries without a match.
        """
        refuse_mask(mask)
        if self._cross_check:
            raise InvalidArgumentError(
                "radiusMatch has no cross check: make a Matcher with crossCheck=False for it"
            )
        given, limit = train_and_limit("maxDistance", trainDescriptors, maxDistance)
        train = self._train_set(given)
        found = self._within(queryDescriptors, train.rows, real("maxDistance", limit))
        return lists_of(train.dmatches(found), found, compactResult)

    def add(self, descriptors: Iterable[Descriptors]) -> None:
        """Adds train images, an array of descriptors for each: the imgIdx of matches counts them
        from 0."""
        if isinstance(descriptors, np.ndarray):
            raise TypeError(
                "descriptors is one array, expected a list with an array for each image: write "
                "add([descriptors])"
            )
        added = [
            descriptors_of(f"descriptors[{number}]", given)
            for number, given in enumerate(descriptors)
        ]
        images = self._images + added
        widths = sorted({rows.shape[1] for rows in images if len(rows)})
        if len(widths) > 1:
            raise InvalidArgumentError(
                f"descriptors have {widths} columns, those already added included, expected as "
                "many for every image"
            )
        self._images = images
        self._trained = None

    def train(self) -> None:
        """Joins what was added. The first search does it otherwise."""
        self._train_set(ADDED)

    def clear(self) -> None:
        """Forgets what was added."""
        self._images = []
        self._trained = None

    def empty(self) -> bool:
        """Whether nothing was added."""
        return not self._images

    def getTrainDescriptors(self) -> list[Array]:
        """What was added, an array for each image."""
        return list(self._images)

    def isMaskSupported(self) -> bool:
        """False: `match` and the others take no mask."""
        return False

    @property
    def _metric(self) -> str:
        return METRICS[self._norm]

    def _train_set(self, given: Descriptors | Added) -> TrainSet:
        if not isinstance(given, Added):
            return TrainSet([descriptors_of("trainDescriptors", given)])
        if self._trained is None:
            self._trained = TrainSet(self._images)
        return self._trained

    def _nearest(self, given: Descriptors, train: Array, k: int) -> Grouped:
        if k < 1 or (self._cross_check and k > 1):
            expected = "1, for crossCheck" if self._cross_check else "at least 1"
            raise InvalidArgumentError(f"k is {k}, expected {expected}")
        queries = descriptors_of("queryDescriptors", given)
        if not len(queries) or not len(train):
            return nothing(len(queries))
        both = self._searchable(queries, train)
        if self._cross_check:
            return group_pairs(mutual(*both, self._metric), len(queries))
        # More than there are would only be padding.
        return group(knn(*both, min(k, len(train)), self._metric))

    def _within(self, given: Descriptors, train: Array, radius: float) -> Grouped:
        if not radius >= 0:
            raise InvalidArgumentError(f"maxDistance is {radius:g}, expected at least 0")
        queries = descriptors_of("queryDescriptors", given)
        if not len(queries) or not len(train):
            return nothing(len(queries))
        # OpenCV compares distances rounded to float32, `within` those of float64: look a little
        # farther, then compare as OpenCV does.
        with np.errstate(over="ignore"):
            farthest = np.float32(radius)
            farther = np.nextafter(farthest, np.float32(np.inf))
        both = self._searchable(queries, train)
        found = group(within(*both, float(farther), self._metric))
        return keep(found, found.distances <= farthest)

    def _searchable(self, queries: Array, train: Array) -> tuple[Array | Bits, Array | Bits]:
        if self._norm != cv2.NORM_HAMMING:
            return queries, train
        for name, rows in ("queryDescriptors", queries), ("trainDescriptors", train):
            if rows.dtype != np.uint8:
                raise InvalidArgumentError(
                    f"{name} has dtype {rows.dtype}, expected uint8, packed bits, for "
                    "cv2.NORM_HAMMING: descriptors of numbers are for cv2.NORM_L2 or cv2.NORM_L1"
                )
        return bits(queries, 8 * queries.shape[1]), bits(train, 8 * train.shape[1])


def no_descriptors() -> Array:
    return np.empty((0, 0), np.uint8)


def descriptors_of(name: str, given: Descriptors) -> Array:
    """OpenCV gives None, or an array without rows, for an image without features."""
    if given is None:
        return no_descriptors()
    rows = np.asarray(given)
    if rows.size == 0:
        return no_descriptors()
    if rows.ndim != 2:
        raise InvalidArgumentError(
            f"{name} has shape {rows.shape}, expected (descriptors, columns): for one descriptor, "
            f"write {name}.reshape(1, -1)"
        )
    return rows


def refuse_mask(mask: None) -> None:
    if mask is not None:
        raise UnsupportedError(
            "masks are not supported: leave out descriptors before matching, or matches after it"
        )


def train_and_limit(
    name: str, given: Descriptors | Added | float, limit: float | None
) -> tuple[Descriptors | Added, Any]:
    """OpenCV has two forms of these methods: in the one without train descriptors, the number of
    matches, or the distance, comes second."""
    if isinstance(given, (int, float, np.number)):
        if limit is not None:
            raise TypeError(f"trainDescriptors must be an array or None, got {given!r}")
        return ADDED, given
    if limit is None:
        raise TypeError(f"{name} is missing: it comes after the descriptors")
    return given, limit


def nothing(queries: int) -> Grouped:
    none = np.empty(0, np.int64)
    return Grouped(none, none, np.empty(0, np.float32), np.zeros(queries, np.int64))


def keep(found: Grouped, kept: NDArray[np.bool_]) -> Grouped:
    queries = found.queries[kept]
    counts = np.bincount(queries, minlength=len(found.counts))
    return Grouped(queries, found.rows[kept], found.distances[kept], counts)


def group_pairs(found: Pairs, queries: int) -> Grouped:
    """Each query is in at most one of the pairs, which come by distance and leave by query."""
    order = np.argsort(found.first)
    counts = np.bincount(found.first, minlength=queries)
    return Grouped(found.first[order], found.second[order], found.distances[order], counts)


def lists_of(matches: list[cv2.DMatch], found: Grouped, compact: bool) -> list[list[cv2.DMatch]]:
    lists = split(matches, found.counts)
    return [one for one in lists if one] if flag("compactResult", compact) else lists
