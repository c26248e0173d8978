"""Results as OpenCV's matches, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar, overload

import cv2
import numpy as np

from nearfield._results import Neighbors, Pairs, Ranges

if TYPE_CHECKING:
    from numpy import float32, int64
    from numpy.typing import NDArray

Item = TypeVar("Item")


class MatchArrays(NamedTuple):
    """Matches as arrays, in the order of the list that they were in. Unpacks as `Pairs` does."""

    distances: NDArray[float32]
    first: NDArray[int64]  # queryIdx
    second: NDArray[int64]  # trainIdx


class Grouped(NamedTuple):
    """What was found for all queries, one after the other."""

    queries: NDArray[int64]
    rows: NDArray[int64]
    distances: NDArray[float32]
    counts: NDArray[int64]  # how many were found, a query


@overload
def to_dmatches(found: Pairs) -> list[cv2.DMatch]: ...
@overload
def to_dmatches(found: Neighbors | Ranges) -> list[list[cv2.DMatch]]: ...
def to_dmatches(
    found: Pairs | Neighbors | Ranges,
) -> list[cv2.DMatch] | list[list[cv2.DMatch]]:
    """The DMatch of each pair; of `Neighbors` and `Ranges` a list for each query, as knnMatch and
    radiusMatch give.

    >>> import numpy as np
    >>> import nearfield as nf
    >>> from nearfield.vision import to_dmatches
    >>> left = np.array([[0, 0], [9, 9]], dtype=np.uint8)
    >>> right = np.array([[9, 8], [0, 1]], dtype=np.uint8)
    >>> [(match.queryIdx, match.trainIdx) for match in to_dmatches(nf.match(left, right))]
    [(0, 1), (1, 0)]

    imgIdx is 0. Where fewer than k neighbours were found, the list is shorter.
    """
    if isinstance(found, Pairs):
        return make_dmatches(found.first, found.second, found.distances)
    if isinstance(found, (Neighbors, Ranges)):
        grouped = group(found)
        matches = make_dmatches(grouped.queries, grouped.rows, grouped.distances)
        return split(matches, grouped.counts)
    raise TypeError(
        f"found is a {type(found).__name__}, expected the Pairs of nearfield.match, the Neighbors "
        "of nearfield.knn or the Ranges of nearfield.within"
    )


def from_dmatches(matches: Sequence[cv2.DMatch]) -> MatchArrays:
    """distance, queryIdx and trainIdx of each match, as the arrays `distances, first, second`.

    imgIdx is not looked at: these are matches of one image with another.

    >>> import cv2
    >>> from nearfield.vision import from_dmatches
    >>> distances, first, second = from_dmatches([cv2.DMatch(3, 5, 0.5), cv2.DMatch(4, 1, 2)])
    >>> first, second
    (array([3, 4]), array([5, 1]))
    """
    for number, match in enumerate(matches):
        if not isinstance(match, cv2.DMatch):
            raise TypeError(
                f"matches[{number}] is a {type(match).__name__}, expected a cv2.DMatch: of what "
                "knnMatch gives, write [match for nearest in matches for match in nearest]"
            )
    return MatchArrays(
        np.array([match.distance for match in matches], np.float32),
        np.array([match.queryIdx for match in matches], np.int64),
        np.array([match.trainIdx for match in matches], np.int64),
    )


def group(found: Neighbors | Ranges) -> Grouped:
    queries = np.repeat(np.arange(len(found.counts)), found.counts)
    if isinstance(found, Ranges):
        return Grouped(queries, found.ids, found.distances, found.counts)
    is_found = np.arange(found.ids.shape[1]) < found.counts[:, np.newaxis]
    return Grouped(queries, found.ids[is_found], found.distances[is_found], found.counts)


def make_dmatches(
    queries: NDArray[int64],
    rows: NDArray[int64],
    distances: NDArray[float32],
    images: NDArray[int64] | None = None,
) -> list[cv2.DMatch]:
    if images is None:
        images = np.zeros_like(rows)
    fields = (queries, rows, images, distances)
    return list(map(cv2.DMatch, *(values.tolist() for values in fields)))


def split(items: list[Item], counts: NDArray[int64]) -> list[list[Item]]:
    ends = np.cumsum(counts).tolist()
    return [items[end - count : end] for end, count in zip(ends, counts.tolist(), strict=True)]
