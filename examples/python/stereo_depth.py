"""How far things are, from two pictures of them; and how wrong that is, since the truth is known.

A scene of textured planes and boxes is rendered as two cameras see it that stand side by side.
Features of both pictures are matched, each match is one point in space, and its depth follows from
how far apart the two places are: depth = focal length * baseline / disparity.

    python stereo_depth.py
    python stereo_depth.py --draw depth.png

It needs OpenCV: pip install 'nearfield[vision]'
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from nearfield.vision import match_images

Values = NDArray[np.float64]
Picture = NDArray[np.uint8]

# The cameras look along z, with x to the right and y down; lengths are in metres.
WIDTH, HEIGHT = 800, 600  # pixels
FOCAL_LENGTH = 800.0  # pixels
BASELINE = 0.25  # from the left camera to the right one
LEFT_EYE = np.array([0.0, 0.0, 0.0])
RIGHT_EYE = np.array([BASELINE, 0.0, 0.0])

TEXELS_PER_METRE = 400
GREY_LEVELS_OF_NOISE = 2.0
RAYS_PER_SIDE = 2  # of a pixel, whose grey is the mean of all its rays

# Rows of a rectified pair are epipolar lines: what is farther off them is no match.
MOST_PIXELS_OFF_THE_LINE = 1.0

# Of normal errors: the median of their sizes, as a part of the standard deviation.
MEDIAN_OF_NORMAL = 0.6745


# --- the scene ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rectangle:
    """A flat thing: a corner, and the two edges that leave it at a right angle."""

    corner: Values
    across: Values
    down: Values
    texture: NDArray[np.float32]

    def hit(self, eye: Values, x: Values, y: Values) -> tuple[Values, Values, Values]:
        """The depth at which rays meet it, infinite for none; and where, from 0 to 1 along both
        edges. x and y are where a ray is at a depth of 1."""

        def along(axis: Values) -> tuple[float, Values]:
            return float(axis @ (self.corner - eye)), x * axis[0] + y * axis[1] + axis[2]

        away, toward = along(np.cross(self.across, self.down))
        left, sideways = along(self.across / np.sum(self.across**2))
        top, downwards = along(self.down / np.sum(self.down**2))
        with np.errstate(divide="ignore", invalid="ignore"):
            depth = away / toward
            right, below = depth * sideways - left, depth * downwards - top
            met = (depth > 0) & (right >= 0) & (right <= 1) & (below >= 0) & (below <= 1)
        return np.where(met, depth, np.inf), right, below

    def greys(self, right: Values, below: Values) -> Values:
        """The texture there, between its texels linearly."""
        height, width = self.texture.shape
        x, y = right * (width - 1), below * (height - 1)
        column = np.minimum(x.astype(np.int64), width - 2)
        row = np.minimum(y.astype(np.int64), height - 2)
        x, y = x - column, y - row
        texture = self.texture
        above = (1 - x) * texture[row, column] + x * texture[row, column + 1]
        under = (1 - x) * texture[row + 1, column] + x * texture[row + 1, column + 1]
        greys: Values = (1 - y) * above + y * under
        return greys


def made_texture(
    across: float, down: float, tone: float, random: np.random.Generator
) -> NDArray[np.float32]:
    """Blots of all sizes, so that there is detail near and far; each of them is there once, so that
    no place looks like another."""
    width, height = (int(length * TEXELS_PER_METRE) + 2 for length in (across, down))
    total = np.full((height, width), tone, np.float32)
    for size in 4, 8, 16, 32, 64, 128:  # texels
        cells = random.normal(size=(height // size + 2, width // size + 2)).astype(np.float32)
        total += 10 * cv2.resize(cells, (width, height), interpolation=cv2.INTER_CUBIC)
    return total


def rectangle(
    corner: list[float],
    across: list[float],
    down: list[float],
    tone: float,
    random: np.random.Generator,
) -> Rectangle:
    lengths = float(np.linalg.norm(across)), float(np.linalg.norm(down))
    texture = made_texture(*lengths, tone, random)
    return Rectangle(np.array(corner), np.array(across), np.array(down), texture)


def box(
    corner: tuple[float, float, float],
    size: tuple[float, float, float],
    degrees: float,
    random: np.random.Generator,
) -> list[Rectangle]:
    """The lid of a box and the two sides that are seen of it. It is turned on the floor, and
    `corner` is the nearest of its lid."""
    turn = np.radians(degrees)
    wide = [size[0] * np.cos(turn), 0, size[0] * np.sin(turn)]
    deep = [-size[2] * np.sin(turn), 0, size[2] * np.cos(turn)]
    down = [0, size[1], 0]
    start = list(corner)
    return [
        rectangle(start, wide, down, 120, random),
        rectangle(start, deep, down, 90, random),
        rectangle(start, wide, deep, 190, random),
    ]


def make_scene(random: np.random.Generator) -> list[Rectangle]:
    """The corner of a room, a board that leans, and two boxes."""
    return [
        rectangle([-3.5, 1.4, 2.0], [7.5, 0, 0], [0, 0, 7.0], 110, random),  # the floor
        rectangle([-2.6, -3.5, 7.0], [7.0, 0, 1.2], [0, 4.9, 0], 160, random),
        rectangle([-2.6, -3.5, 7.0], [-0.4, 0, -5.0], [0, 4.9, 0], 130, random),
        rectangle([1.0, -1.0, 5.0], [1.5, 0, -0.5], [-0.15, 2.4, -0.45], 80, random),
        *box((-0.7, 0.35, 2.8), (0.9, 1.05, 0.8), 40, random),
        *box((-0.2, -0.2, 4.6), (0.9, 1.6, 0.9), 30, random),
    ]


def trace(scene: list[Rectangle], eye: Values, points: Values) -> tuple[Values, Values]:
    """Depth and grey of what a camera sees at points of its picture, x and y in pixels."""
    x = (points[:, 0] - (WIDTH - 1) / 2) / FOCAL_LENGTH
    y = (points[:, 1] - (HEIGHT - 1) / 2) / FOCAL_LENGTH
    depths, greys = np.full(len(points), np.inf), np.zeros(len(points))
    for thing in scene:
        depth, right, below = thing.hit(eye, x, y)
        nearer = depth < depths
        depths[nearer] = depth[nearer]
        greys[nearer] = thing.greys(right[nearer], below[nearer])
    return depths, greys


def pixels() -> Values:
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    return np.stack([x.ravel(), y.ravel()], axis=1).astype(np.float64)


def render(scene: list[Rectangle], eye: Values, random: np.random.Generator) -> Picture:
    shifts = (np.arange(RAYS_PER_SIDE) + 0.5) / RAYS_PER_SIDE - 0.5
    total = np.zeros(WIDTH * HEIGHT)
    for shift in np.stack(np.meshgrid(shifts, shifts), axis=-1).reshape(-1, 2):
        total += trace(scene, eye, pixels() + shift)[1]
    noisy = total / RAYS_PER_SIDE**2 + random.normal(0, GREY_LEVELS_OF_NOISE, total.shape)
    return np.clip(noisy.round(), 0, 255).astype(np.uint8).reshape(HEIGHT, WIDTH)


# --- the depth of what is matched --------------------------------------------------------------


class Points(NamedTuple):
    """Matches as points in space: where in the left picture, and how deep."""

    places: Values  # x and y in pixels
    off_the_line: Values  # pixels between the rows of both places; 0 without noise
    depths: Values


def depth_of(disparity: Values) -> Values:
    return FOCAL_LENGTH * BASELINE / disparity


def points_of(here: Values, there: Values) -> Points:
    """Of matches those that can be: on the same row, and farther left for the right camera."""
    off = here[:, 1] - there[:, 1]
    disparity = here[:, 0] - there[:, 0]
    kept = (np.abs(off) <= MOST_PIXELS_OFF_THE_LINE) & (disparity > 0)
    return Points(here[kept], off[kept], depth_of(disparity[kept]))


def noise_of(errors: Values) -> float:
    """The standard deviation, whatever a few large errors are."""
    return float(np.median(np.abs(errors - np.median(errors))) / MEDIAN_OF_NORMAL)


def depth_noise(depths: Values, noise: float) -> Values:
    """The derivative of depth by disparity, times the noise of the disparity."""
    spread: Values = depths**2 / (FOCAL_LENGTH * BASELINE) * noise
    return spread


def print_errors(points: Points, truth: Values) -> None:
    errors = np.abs(points.depths - truth)
    parts = errors / truth
    print(
        f"depth error, median     {1000 * np.median(errors):6.1f} mm,  "
        f"{100 * np.median(parts):.2f} % of the depth"
    )
    for most in 0.01, 0.05:
        print(f"within {100 * most:.0f} % of the truth {100 * np.mean(parts <= most):7.1f} %")

    # A feature is placed as well in x as in y, and in y its error shows: both rows should be one.
    seen = noise_of(points.off_the_line)
    disparity_errors = FOCAL_LENGTH * BASELINE * (1 / points.depths - 1 / truth)
    print(f"noise between the rows   {seen:.3f} pixels, which needs no truth")
    print(f"noise of the disparity   {noise_of(disparity_errors):.3f} pixels, by the truth")

    print("\n       depth  points  median error  expected of the noise between the rows")
    for quarter in np.array_split(np.argsort(truth), 4):
        depths = truth[quarter]
        expected = MEDIAN_OF_NORMAL * np.median(depth_noise(depths, seen))
        print(
            f"{depths[0]:4.1f} to {depths[-1]:3.1f} m {len(depths):7}  "
            f"{1000 * np.median(errors[quarter]):9.1f} mm {1000 * expected:9.1f} mm"
        )


# --- the picture -------------------------------------------------------------------------------


def coloured(depths: Values, nearest: float, farthest: float) -> Picture:
    """Near is red, far is blue."""
    shades = np.clip(255 * (farthest - depths) / (farthest - nearest), 0, 255).astype(np.uint8)
    return np.asarray(cv2.applyColorMap(shades.reshape(-1, 1), cv2.COLORMAP_TURBO), np.uint8)[:, 0]


def dots(panel: Picture, places: Values, colours: Picture, radius: int) -> None:
    for place, colour in zip(places.round().astype(int).tolist(), colours.tolist(), strict=True):
        cv2.circle(panel, place, radius, colour, cv2.FILLED, cv2.LINE_AA)


def write(panel: Picture, text: str, x: float, y: float) -> None:
    place = round(x), round(y)
    cv2.putText(panel, text, place, cv2.FONT_HERSHEY_SIMPLEX, 0.8, (0, 0, 0), 2, cv2.LINE_AA)


def chart(points: Points, truth: Values, colours: Picture) -> Picture:
    """The error of each point over its true depth, and the curves of one standard deviation that
    the noise between the rows predicts."""
    panel = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
    left, middle, most = 110, HEIGHT / 2, 0.2  # metres of error at the edges
    across, up = (WIDTH - left - 20) / np.ceil(truth.max()), (HEIGHT / 2 - 70) / most

    def at(depths: Values, errors: Values) -> Values:
        return np.stack([left + depths * across, middle - errors * up], axis=1)

    for metre in range(int(np.ceil(truth.max())) + 1):
        x = round(left + metre * across)
        cv2.line(panel, (x, 70), (x, HEIGHT - 70), (225, 225, 225), 1)
        write(panel, f"{metre}", x - 8, HEIGHT - 35)
    for error in -most, -most / 2, 0.0, most / 2, most:
        y = round(middle - error * up)
        cv2.line(panel, (left, y), (WIDTH - 20, y), (225, 225, 225), 1)
        write(panel, f"{1000 * error:+.0f}" if error else "0", left - 95, y + 8)
    shown = np.abs(points.depths - truth) <= most
    dots(panel, at(truth[shown], (points.depths - truth)[shown]), colours[shown], 2)
    depths = np.linspace(0, truth.max(), 100)
    spread = depth_noise(depths, noise_of(points.off_the_line))
    for curve in spread, -spread:
        line = at(depths, curve).round().astype(np.int32)
        cv2.polylines(panel, [line.reshape(-1, 1, 2)], False, (0, 0, 0), 2, cv2.LINE_AA)
    beyond = np.count_nonzero(~shown)
    write(panel, f"error in mm over true depth in m; {beyond} are larger", left, 45)
    return panel


def draw(path: str, image: Picture, scene: list[Rectangle], points: Points, truth: Values) -> None:
    """The points on the left picture, the true depth of every pixel, and the errors."""
    true_depths = trace(scene, LEFT_EYE, pixels())[0]
    span = float(true_depths.min()), float(true_depths.max())
    colours = coloured(points.depths, *span)
    seen = np.asarray(cv2.cvtColor(image // 4 + 150, cv2.COLOR_GRAY2BGR), np.uint8)
    dots(seen, points.places, colours, 3)
    depth_map = coloured(true_depths, *span).reshape(HEIGHT, WIDTH, 3)
    panels = [seen, depth_map, chart(points, truth, coloured(truth, *span))]
    small = [cv2.resize(one, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA) for one in panels]
    if not cv2.imwrite(path, np.hstack(small), [cv2.IMWRITE_PNG_COMPRESSION, 9]):
        raise SystemExit(f"{path}: cannot write this picture")


def main() -> None:
    parser = argparse.ArgumentParser(description="The depth of points from a rendered stereo pair.")
    parser.add_argument("--draw", metavar="FILE", help="write a picture of the points: .png, .jpg")
    options = parser.parse_args()

    random = np.random.default_rng(1)
    scene = make_scene(random)
    left, right = (render(scene, eye, random) for eye in (LEFT_EYE, RIGHT_EYE))

    found = match_images(left, right)
    here = found.first_points[found.matches.first].astype(np.float64)
    there = found.second_points[found.matches.second].astype(np.float64)
    points = points_of(here, there)
    truth, _ = trace(scene, LEFT_EYE, points.places)

    print(f"features of the left  {len(found.first_points):6}")
    print(f"features of the right {len(found.second_points):6}")
    print(f"matches               {len(here):6}")
    print(f"on the epipolar line  {len(truth):6}")
    print_errors(points, truth)
    if options.draw:
        draw(options.draw, left, scene, points, truth)
        print(f"\n{options.draw}: points, true depth of every pixel, and errors")


if __name__ == "__main__":
    main()
