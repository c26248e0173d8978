"""Images that are nearly the same: hashes, groups, and a page to look through them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import cv2
import numpy as np

from nearfield._arguments import integer
from nearfield._dedup import dedup
from nearfield._errors import CorruptFileError, FileError, InvalidArgumentError
from nearfield._results import DuplicateGroups
from nearfield._rows import bits as packed_bits
from nearfield.vision._duplicates_page import write_page
from nearfield.vision._images import ImageLike, grey_image

if TYPE_CHECKING:
    from numpy import uint8
    from numpy.typing import NDArray

# Bits of a hash, and in how many near-duplicates usually differ at most.
USUAL_RADIUS = {64: 10, 256: 31}

ENDINGS = {".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"}

Images: TypeAlias = Union[str, "os.PathLike[str]", Iterable["str | os.PathLike[str]"]]


@dataclass(frozen=True, eq=False, repr=False)
class ImageGroups:
    """Which images of some files are nearly the same."""

    paths: list[Path]  # those that could be read; groups hold their numbers
    hashes: NDArray[uint8]  # images x bits / 8
    groups: DuplicateGroups
    unreadable: list[tuple[Path, str]]  # and why

    def names(self) -> list[list[Path]]:
        """Of each group the files, the first of them first."""
        return [[self.paths[row] for row in rows] for rows in self.groups]

    def write_html(self, path: str | os.PathLike[str], *, most_groups: int = 500) -> None:
        """One file that needs no other: of each group its images, small, with their names.

        most_groups: the largest are shown, and how many are not.
        """
        most = integer("most_groups", most_groups)
        if most < 1:
            raise InvalidArgumentError(f"most_groups is {most}, expected at least 1")
        write_page(Path(path), self.paths, self.groups, self.unreadable, most)

    def __repr__(self) -> str:
        duplicates = len(self.groups.duplicates)
        return (
            f"ImageGroups(images={len(self.paths)}, groups={len(self.groups)}, "
            f"duplicates={duplicates}, unreadable={len(self.unreadable)})"
        )


def image_hash(image: ImageLike, bits: int = 256) -> NDArray[uint8]:
    """A perceptual hash: packed bits that change little when an image is scaled or compressed.

    >>> import cv2
    >>> import numpy as np
    >>> from nearfield.vision import image_hash
    >>> noise = np.random.default_rng(1).integers(0, 256, (240, 320), dtype=np.uint8)
    >>> image = cv2.GaussianBlur(noise, (0, 0), 20)
    >>> image_hash(image, bits=64).shape
    (8,)
    >>> half = cv2.resize(image, (160, 120))
    >>> int(np.unpackbits(image_hash(image) ^ image_hash(half)).sum()) <= 31
    True

    image: a file, or an array as cv2.imread gives. bits: 64 or 256.

    Grey, scaled to 32 x 32 or 64 x 64 pixels; of its discrete cosine transform the 8 x 8 or 16 x 16
    lowest frequencies, and of each whether it is above their median. It is made like pHash and
    PDQ, but is not bit for bit the hash of either. Images with hardly anything on them are all near
    to each other.
    """
    width = _width(bits)
    size = 4 * width, 4 * width
    small = cv2.resize(grey_image("image", image), size, None, 0, 0, cv2.INTER_AREA)
    frequencies = cv2.dct(small.astype(np.float32))[:width, :width]
    frequencies[0, 0] = 0  # the mean says nothing
    whole = np.rint(frequencies)  # what is less is noise of rounding
    return np.packbits(whole > np.median(whole), bitorder="little")


def find_duplicates(
    images: Images, *, bits: int = 256, radius: int | None = None, threads: int = 0
) -> ImageGroups:
    """Groups of images that are nearly the same.

    images: a folder, with all folders in it, or files. Those that cannot be read are listed.
    bits: of the hash, 64 or 256: see `image_hash`. More of them mistake fewer images.
    radius: in how many bits near-duplicates differ at most; None: 10 of 64, 31 of 256.
    threads: 0: as many as there are cores.
    """
    width = _width(bits)
    most = USUAL_RADIUS[width * width] if radius is None else integer("radius", radius)
    workers = integer("threads", threads) or os.cpu_count()
    paths: list[Path] = []
    hashes: list[NDArray[uint8]] = []
    unreadable: list[tuple[Path, str]] = []
    with ThreadPoolExecutor(workers) as pool:
        for path, found in pool.map(lambda path: (path, _try_hash(path, bits)), _files(images)):
            if isinstance(found, str):
                unreadable.append((path, found))
            else:
                paths.append(path)
                hashes.append(found)
    table = np.array(hashes, np.uint8).reshape(-1, width * width // 8)
    groups = dedup(packed_bits(table, width * width), most, threads=threads)
    return ImageGroups(paths, table, groups, unreadable)


def _width(bits: int) -> int:
    if integer("bits", bits) not in USUAL_RADIUS:
        raise InvalidArgumentError(f"bits is {bits}, expected 64 or 256")
    return 8 if bits == 64 else 16


def _files(images: Images) -> list[Path]:
    if not isinstance(images, (str, os.PathLike)):
        return [Path(path) for path in images]
    folder = Path(images)
    if not folder.is_dir():
        raise FileError(f"{folder}: is no folder")
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in ENDINGS)


def _try_hash(path: Path, bits: int) -> NDArray[Any] | str:
    """Or why there is none."""
    try:
        return image_hash(path, bits)
    except (CorruptFileError, FileError) as error:
        return str(error).removeprefix(f"{path}: ")
