"""Two images: their features, and which of them belong together."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, Union

import cv2
import numpy as np

from nearfield._arguments import integer, text
from nearfield._errors import CorruptFileError, FileError, InvalidArgumentError
from nearfield._results import Pairs
from nearfield._rows import Bits, bits
from nearfield._search import match
from nearfield.vision._drawing import draw_matches, write_picture

if TYPE_CHECKING:
    from numpy import float32, uint8
    from numpy.typing import NDArray

ImageLike: TypeAlias = Union["NDArray[uint8]", str, "os.PathLike[str]"]

MOST_FEATURES = 8192  # a photograph of any size is described well by so many
LINES = 40  # more are hard to follow with the eye


class Detector(NamedTuple):
    create: Callable[[int], Any]  # given the most features
    prepare: Callable[[NDArray[Any]], NDArray[Any] | Bits]  # descriptors, as they are matched
    metric: str


def as_bytes(descriptors: NDArray[Any]) -> NDArray[uint8]:
    """SIFT's floats are whole numbers up to 255: bytes hold them, and are matched faster."""
    return descriptors.astype(np.uint8)


def as_roots(descriptors: NDArray[Any]) -> NDArray[float32]:
    """The Euclidean distance of these is the Hellinger distance of the histograms."""
    sums = descriptors.sum(axis=1, keepdims=True)
    shares: NDArray[float32] = descriptors / np.maximum(sums, 1)
    return np.sqrt(shares)


def as_bits(descriptors: NDArray[Any]) -> Bits:
    return bits(descriptors.astype(np.uint8, copy=False), 8 * descriptors.shape[1])


DETECTORS = {
    "sift": Detector(cv2.SIFT.create, as_bytes, "euclidean"),
    "rootsift": Detector(cv2.SIFT.create, as_roots, "euclidean"),
    "orb": Detector(cv2.ORB.create, as_bits, "hamming"),
}


@dataclass(frozen=True, eq=False, repr=False)
class ImageMatches:
    """The features of two images, and which of them belong together."""

    first_points: NDArray[float32]  # features x 2: x and y, in pixels
    second_points: NDArray[float32]
    matches: Pairs  # row numbers of the points, closest pair first
    first_image: NDArray[uint8]  # grey, as the features were detected in it
    second_image: NDArray[uint8]
    detect_seconds: float
    match_seconds: float

    def draw(
        self, path: str | os.PathLike[str] | None = None, *, lines: int = LINES
    ) -> NDArray[uint8]:
        """Both images side by side, with a line for each match, as an image of OpenCV's; with a
        path, also written there.

        lines: at most so many are drawn, evenly chosen from the closest to the farthest.
        """
        most = integer("lines", lines)
        if most < 0:
            raise InvalidArgumentError(f"lines is {most}, expected at least 0")
        found = len(self.matches)
        shown = np.linspace(0, found - 1, min(most, found)).round().astype(np.int64)
        picture = draw_matches(
            self.first_image,
            self.second_image,
            self.first_points[self.matches.first[shown]],
            self.second_points[self.matches.second[shown]],
        )
        if path is not None:
            write_picture(Path(path), picture)
        return picture

    def __repr__(self) -> str:
        features = f"{len(self.first_points)} and {len(self.second_points)}"
        return f"ImageMatches(features={features}, matches={len(self.matches)})"


def match_images(
    first: ImageLike,
    second: ImageLike,
    *,
    detector: str = "sift",
    ratio: float | None = 0.8,
    max_features: int = MOST_FEATURES,
) -> ImageMatches:
    """Detects features in two images and matches them, with the ratio test and the cross check of
    `nearfield.match`.

    >>> import cv2
    >>> import numpy as np
    >>> from nearfield.vision import match_images
    >>> noise = np.random.default_rng(1).integers(0, 256, (240, 320), dtype=np.uint8)
    >>> image = cv2.GaussianBlur(noise, (0, 0), 2)
    >>> found = match_images(image, image[:, 50:])
    >>> moved = found.first_points[found.matches.first] - found.second_points[found.matches.second]
    >>> np.median(moved, axis=0).round()
    array([50.,  0.], dtype=float32)

    first, second: files, or arrays of uint8: grey, or blue, green and red, as OpenCV reads them.
    detector: "sift", "rootsift" (square roots of SIFT's shares, which often match better), or
        "orb" (binary, and faster to detect).
    ratio: the nearest must be nearer than so many times the second nearest. None: any.
    max_features: about how many are kept of each image, the most distinct ones.
    """
    if text("detector", detector) not in DETECTORS:
        raise InvalidArgumentError(
            f"detector is {detector!r}, expected one of {', '.join(DETECTORS)}"
        )
    most = integer("max_features", max_features)
    if most < 1:
        raise InvalidArgumentError(f"max_features is {most}, expected at least 1")
    images = grey_image("first", first), grey_image("second", second)
    used = DETECTORS[detector]
    start = time.perf_counter()
    (first_points, first_rows), (second_points, second_rows) = (
        detect(used, image, most) for image in images
    )
    detected = time.perf_counter()
    found = match(first_rows, second_rows, ratio=ratio, metric=used.metric)
    matched = time.perf_counter()
    return ImageMatches(
        first_points, second_points, found, *images, detected - start, matched - detected
    )


def grey_image(name: str, given: ImageLike) -> NDArray[uint8]:
    if isinstance(given, (str, os.PathLike)):
        return read_grey(Path(given))
    if not isinstance(given, np.ndarray):
        raise TypeError(f"{name} is a {type(given).__name__}, expected an array or a path")
    if given.dtype != np.uint8 or not (given.ndim == 2 or given.shape[2:] == (3,)):
        raise InvalidArgumentError(
            f"{name} has shape {given.shape} and dtype {given.dtype}, expected uint8 and "
            "(height, width) or (height, width, 3), as cv2.imread gives"
        )
    if given.size == 0:
        raise InvalidArgumentError(f"{name} has shape {given.shape}, and so no pixels")
    grey = given if given.ndim == 2 else cv2.cvtColor(given, cv2.COLOR_BGR2GRAY)
    return np.ascontiguousarray(grey, np.uint8)


def read_grey(path: Path) -> NDArray[uint8]:
    # cv2.imread does not say why it cannot read a file.
    try:
        content = np.frombuffer(path.read_bytes(), np.uint8)
    except OSError as error:
        raise FileError(f"{path}: cannot open for reading: {error.strerror}") from error
    try:
        image = cv2.imdecode(content, cv2.IMREAD_GRAYSCALE) if content.size else None
    except cv2.error as error:  # more pixels than it reads, for one
        raise CorruptFileError(f"{path}: not an image that OpenCV can read: {error.err}") from error
    if image is None:
        raise CorruptFileError(f"{path}: not an image that OpenCV can read")
    return np.asarray(image, np.uint8)


def detect(
    detector: Detector, image: NDArray[uint8], most: int
) -> tuple[NDArray[float32], NDArray[Any] | Bits]:
    made = detector.create(most)
    try:
        keypoints, descriptors = made.detectAndCompute(image, None)
    except cv2.error as error:
        height, width = image.shape
        raise InvalidArgumentError(
            f"OpenCV finds no features in an image of {width} x {height} pixels: {error.err}"
        ) from error
    if descriptors is None:
        descriptors = np.empty((0, made.descriptorSize()), np.float32)
    points = np.array([keypoint.pt for keypoint in keypoints], np.float32)
    return points.reshape(-1, 2), detector.prepare(descriptors)
