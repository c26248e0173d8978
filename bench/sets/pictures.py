"""The photographs and paintings that Debian ships as wallpapers."""
import re
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from sets import debian
from sets.store import sha256

PACKAGES = ("gnome-backgrounds", "lomiri-wallpapers-16.04", "lomiri-wallpapers-20.04",
            "mate-backgrounds", "plasma-workspace-wallpapers", "sway-backgrounds",
            "ukui-wallpapers")
ENDINGS = {".jpg", ".jpeg", ".png", ".webp"}
SHORTER_SIDE = 700  # what is smaller is an icon or a preview


@dataclass(frozen=True)
class Picture:
    path: Path
    width: int
    height: int


def looks_the_same(path: Path) -> str:
    """Plasma has a folder for each painting, in which files differ in size only."""
    return str(path.parent if re.fullmatch(r"\d+x\d+", path.stem) else path)


def pictures_of(folder: Path) -> list[Picture]:
    """In the order of their paths; of several sizes of one painting the largest."""
    largest: dict[str, Picture] = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() not in ENDINGS or path.is_symlink() or path.stem == "screenshot":
            continue
        with Image.open(path) as header:
            width, height = header.size
        key = looks_the_same(path)
        known = largest.get(key)
        if min(height, width) >= SHORTER_SIDE and (
                known is None or height * width > known.height * known.width):
            largest[key] = Picture(path, width, height)
    return list(largest.values())


def all_pictures(cache: Path, packages: tuple[str, ...]) -> tuple[list[Picture], dict[str, object]]:
    """The pictures, and what to record about where they are from."""
    pictures: list[Picture] = []
    versions: dict[str, str] = {}
    sums: dict[str, str] = {}
    for name in packages:
        package = debian.unpack(name, cache)
        versions[name] = package.version
        for picture in pictures_of(package.folder):
            pictures.append(picture)
            sums[f"{name}/{picture.path.relative_to(package.folder)}"] = sha256(picture.path)
    return pictures, {"packages": versions, "pictures": sums}


def read_grey(picture: Picture, longer_side: int) -> np.ndarray:
    pixels = cv2.imread(str(picture.path), cv2.IMREAD_GRAYSCALE)
    if pixels is None:
        raise RuntimeError(f"{picture.path}: OpenCV cannot read this picture")
    scale = longer_side / max(pixels.shape)
    if scale >= 1:
        return pixels
    return cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
