"""Pictures of a scene that needs no download: textured boxes on a floor, by a moving camera."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

WIDTH, HEIGHT, FOCAL = 800, 600, 900.0
SHARP = 2  # rays a pixel in each direction: fewer would let far texture flicker


@dataclass
class Rectangle:
    corner: Array
    side: Array  # from the corner, as long as the rectangle
    other: Array
    texture: Array


def noise(draw: np.random.Generator, size: int) -> Array:
    """Blobs of all sizes, where SIFT finds features near and far: octaves of smooth noise."""
    at = np.arange(size)
    texture = np.zeros((size, size))
    for cells in 8, 16, 32, 64, 128, 256:
        grid = draw.random((cells + 1, cells + 1))
        place = at * cells / size
        low = place.astype(int)
        part = place - low
        rows = grid[low] * (1 - part)[:, None] + grid[low + 1] * part[:, None]
        texture += rows[:, low] * (1 - part) + rows[:, low + 1] * part
    texture -= texture.min()
    texture /= texture.max()
    return texture


def box(center: tuple[float, float], size: Array, draw: np.random.Generator) -> list[Rectangle]:
    """Its four walls and its roof, on the floor z = 0."""
    x, y, z = np.diag(size)
    low = np.array([*center, 0.0]) - (x + y) / 2
    faces = [(low, x, z), (low + y, x, z), (low, y, z), (low + x, y, z), (low + z, x, y)]
    return [Rectangle(corner, side, other, noise(draw, 512)) for corner, side, other in faces]


def make_scene(seed: int) -> list[Rectangle]:
    draw = np.random.default_rng(seed)
    floor = Rectangle(
        np.array([-6.0, -6.0, 0.0]),
        np.array([12.0, 0, 0]),
        np.array([0, 12.0, 0]),
        noise(draw, 1024),
    )
    scene = [floor]
    for center in (-2.0, -1.0), (0.5, 1.5), (1.8, -1.2), (-0.6, -2.6), (-2.4, 2.2):
        scene += box(center, draw.uniform([0.8, 0.8, 0.6], [1.6, 1.6, 2.0]), draw)
    return scene


def sample(texture: Array, u: Array, v: Array) -> Array:
    """Bilinear, u and v from 0 to 1."""
    x, y = u * (texture.shape[1] - 1), v * (texture.shape[0] - 1)
    left = np.minimum(x.astype(int), texture.shape[1] - 2)
    top = np.minimum(y.astype(int), texture.shape[0] - 2)
    dx, dy = x - left, y - top
    upper = texture[top, left] * (1 - dx) + texture[top, left + 1] * dx
    lower = texture[top + 1, left] * (1 - dx) + texture[top + 1, left + 1] * dx
    between: Array = upper * (1 - dy) + lower * dy
    return between


def rays(eye: Array, target: Array) -> Array:
    forward = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    down = np.cross(forward, right)
    x = (np.arange(WIDTH * SHARP) + 0.5) / SHARP - WIDTH / 2
    y = (np.arange(HEIGHT * SHARP) + 0.5) / SHARP - HEIGHT / 2
    through: Array = forward * FOCAL + x[None, :, None] * right + y[:, None, None] * down
    return through.reshape(-1, 3)


def render(scene: list[Rectangle], eye: Array, target: Array) -> NDArray[np.uint8]:
    """Gray, as the camera at `eye` sees it: of each ray the nearest rectangle."""
    ray = rays(eye, target)
    nearest = np.full(len(ray), np.inf)
    shade = np.full(len(ray), 0.5)
    for each in scene:
        normal = np.cross(each.side, each.other)
        with np.errstate(divide="ignore", invalid="ignore"):
            depth = ((each.corner - eye) @ normal) / (ray @ normal)
        hit = np.flatnonzero((depth > 0) & (depth < nearest))
        place = eye + depth[hit, None] * ray[hit] - each.corner
        u = place @ each.side / (each.side @ each.side)
        v = place @ each.other / (each.other @ each.other)
        inside = (u >= 0) & (u <= 1) & (v >= 0) & (v <= 1)
        hit = hit[inside]
        nearest[hit] = depth[hit]
        shade[hit] = sample(each.texture, u[inside], v[inside])
    pixels: Array = shade.reshape(HEIGHT, SHARP, WIDTH, SHARP).mean(axis=(1, 3))
    return np.round(pixels * 255).astype(np.uint8)


def views(count: int, seed: int = 1) -> list[NDArray[np.uint8]]:
    """From an arc of 120 degrees around the scene, now higher, now lower."""
    scene = make_scene(seed)
    pictures = []
    for i, angle in enumerate(np.radians(np.linspace(-60, 60, count))):
        eye = np.array([8 * np.sin(angle), -8 * np.cos(angle), 3 + 0.5 * (i % 3)])
        pictures.append(render(scene, eye, np.array([0.0, 0.0, 0.5])))
    return pictures
