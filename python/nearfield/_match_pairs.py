"""Matches of many pairs of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np

from nearfield import _core
from nearfield._arguments import integer
from nearfield._copies import Copies
from nearfield._errors import InvalidArgumentError
from nearfield._questions import match_options
from nearfield._results import MatchPairsStats, PairMatches, Pairs, make_pairs
from nearfield._rows import RowsLike, take_rows
from nearfield._run import Progress, running

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

    from nearfield._core import FoundPairs

PairsLike: TypeAlias = Union[str, tuple[str, int], "NDArray[Any]", Sequence[Sequence[int]]]


def match_pairs(
    features: Sequence[RowsLike],
    pairs: PairsLike = "exhaustive",
    *,
    take: Callable[[int, Pairs], object] | None = None,
    ratio: float | None = 0.8,
    margin: float | None = None,
    max_distance: float | None = None,
    cross_check: str = "nearest",
    metric: str = "euclidean",
    check_finite: bool = False,
    copy: bool = True,
    threads: int = 0,
    memory_limit: int | str | None = None,
    timeout: float | None = None,
    progress: Progress = None,
    isa: str | None = None,
    device: str | None = None,
    device_memory_limit: int | str | None = None,
) -> PairMatches:
    """What `match` finds for each of many pairs of images; every image is read and made ready once,
    as far as memory goes.

    features: the descriptors of each image, of one type and width: arrays, or files by `open_rows`,
        which are read when they are needed.
    pairs: "exhaustive" for every two images, the smaller number first; ("sequential", n) for every
        image with the n that follow it, as of a video; or pairs of numbers of images, from 0.
    take: is given the matches instead, so that they need not all be kept: take(i, found) is called
        once for each pair, `pairs[i]`, in this thread, and in an order that suits the images that
        are kept. What it raises ends the call; to go on later, leave out the pairs it has had.
    memory_limit: most bytes for images and searches together; matches that are returned come on
        top. Where it is None, 1 GiB of images is kept.

    >>> import numpy as np
    >>> import nearfield as nf
    >>> first = np.array([[0, 0], [9, 9], [50, 50]], dtype=np.uint8)
    >>> found = nf.match_pairs([first, first + 1, first[::-1]])
    >>> for (left, right), matches in zip(found.pairs, found):
    ...     print(left, right, matches.first, matches.second)
    0 1 [0 1 2] [0 1 2]
    0 2 [0 1 2] [2 1 0]
    1 2 [0 1 2] [2 1 0]

    Progress counts pairs of descriptors. The other arguments are those of `match`.
    """
    options = match_options(ratio, margin, max_distance, cross_check, metric, check_finite)
    copies = Copies(copy, memory_limit)
    images = take_images(features, copies)
    wanted = take_pairs(pairs, len(images))
    if take is not None and not callable(take):
        raise TypeError(f"take must be a callable(pair, matches), got {take!r}")
    kept: dict[int, Pairs] = {}

    def hand_over(pair: int, found: FoundPairs) -> None:
        if take is None:
            kept[pair] = make_pairs(found)
        else:
            take(pair, make_pairs(found))

    with running(
        copies,
        threads=threads,
        isa=isa,
        timeout=timeout,
        progress=progress,
        device=device,
        device_memory_limit=device_memory_limit,
    ) as run:
        stats = MatchPairsStats(**_core.match_pairs(images, wanted, options, run, hand_over))
    return PairMatches(wanted, [kept[pair] for pair in range(len(kept))], stats)


def take_images(features: Sequence[RowsLike], copies: Copies) -> list[_core.Rows]:
    if isinstance(features, np.ndarray) and features.ndim == 2:
        raise TypeError(
            "features is one array, expected a list with an array for each image: write [features]"
        )
    images = [take_rows(f"features[{i}]", rows, copies) for i, rows in enumerate(features)]
    if not images:
        raise InvalidArgumentError("features is empty: there must be an image, to say the type")
    first = images[0]
    for number, image in enumerate(images):
        if (image.dtype, image.cols) != (first.dtype, first.cols):
            raise InvalidArgumentError(
                f"features[{number}] has {image.cols} columns of {image.dtype} but features[0] has "
                f"{first.cols} of {first.dtype}: all must have the same"
            )
    return images


def take_pairs(given: PairsLike, images: int) -> NDArray[int64]:
    if isinstance(given, str) and given == "exhaustive":
        return _core.exhaustive_pairs(images)
    if isinstance(given, tuple) and len(given) == 2 and given[0] == "sequential":
        return _core.sequential_pairs(images, integer("overlap", given[1]))
    if isinstance(given, str) or (isinstance(given, tuple) and given and isinstance(given[0], str)):
        raise InvalidArgumentError(
            f"pairs is {given!r}, expected 'exhaustive', ('sequential', 10) for every image with "
            "the 10 that follow it, or pairs of numbers of images"
        )
    array = np.asarray(given)
    if array.size == 0:
        return np.empty((0, 2), np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise InvalidArgumentError(
            f"pairs has shape {array.shape} and dtype {array.dtype}, expected (pairs, 2) and "
            "integers: the numbers of two images in each row"
        )
    if array.max() >= images or array.min() < 0:
        raise InvalidArgumentError(
            f"pairs has numbers from {array.min()} to {array.max()}, but there are {images} "
            "images, numbered from 0"
        )
    return np.ascontiguousarray(array, np.int64)
