"""Matches as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from nearfield._errors import FileError, InvalidArgumentError

if TYPE_CHECKING:
    from numpy import float32, uint8
    from numpy.typing import NDArray

WIDTH_OF_THIN_LINES = 1200  # pixels; in wider pictures lines are thicker
GOLDEN = 0.618034  # of a turn: hues that follow one another are far apart, however many there are


def draw_matches(
    first: NDArray[uint8],
    second: NDArray[uint8],
    first_points: NDArray[float32],
    second_points: NDArray[float32],
) -> NDArray[uint8]:
    """The images side by side, and a line from each of the points to its partner.

    The images are grey and pale, so that the colours of the lines are told apart.
    """
    width = first.shape[1] + second.shape[1]
    thickness = max(1, round(width / WIDTH_OF_THIN_LINES))
    gap = 8 * thickness
    height = max(len(first), len(second))
    picture = np.full((height, width + gap, 3), 255, np.uint8)
    right = first.shape[1] + gap
    picture[: len(first), : first.shape[1]] = paled(first)
    picture[: len(second), right:] = paled(second)
    # Neighbours on the picture get colours that differ.
    order = np.argsort(first_points[:, 1])
    ends = zip(first_points[order], second_points[order] + (right, 0), strict=True)
    for number, (start, end) in enumerate(ends):
        draw_match(picture, start, end, colour(number), thickness)
    return picture


def paled(image: NDArray[uint8]) -> NDArray[Any]:
    return (image // 2 + 120)[..., np.newaxis]


def colour(number: int) -> tuple[float, float, float]:
    hue = round(180 * (number * GOLDEN % 1)) % 180  # OpenCV counts hues to 180
    # Yellow and green are light: taken as dark as the others, they stand out as much.
    value = 170 if 20 <= hue <= 95 else 220
    pixel = cv2.cvtColor(np.array([[[hue, 255, value]]], np.uint8), cv2.COLOR_HSV2BGR)
    blue, green, red = pixel.ravel().tolist()
    return blue, green, red


def draw_match(
    picture: NDArray[uint8],
    start: NDArray[Any],
    end: NDArray[Any],
    line_colour: tuple[float, float, float],
    thickness: int,
) -> None:
    start_pixel, end_pixel = (point.round().astype(int).tolist() for point in (start, end))
    cv2.line(picture, start_pixel, end_pixel, line_colour, thickness, cv2.LINE_AA)
    for point in start_pixel, end_pixel:
        cv2.circle(picture, point, 4 * thickness, line_colour, cv2.FILLED, cv2.LINE_AA)


def write_picture(path: Path, picture: NDArray[uint8]) -> None:
    if not cv2.haveImageWriter(path.name):
        raise InvalidArgumentError(
            f"{path}: OpenCV writes no files of the ending {path.suffix!r}: take .png or .jpg"
        )
    _, content = cv2.imencode(path.suffix, picture)
    try:
        path.write_bytes(content.tobytes())
    except OSError as error:
        raise FileError(f"{path}: cannot write: {error.strerror}") from error
