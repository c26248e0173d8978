"""nearfield.vision: images that are nearly the same, and the page that shows them."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import nearfield as nf
from nearfield.vision import find_duplicates, image_hash

Image = np.ndarray[Any, Any]


def scene(seed: int, width: int = 320, height: int = 240) -> Image:
    noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    image = cv2.GaussianBlur(noise, (0, 0), 15)
    return np.asarray(cv2.normalize(image, image, 0, 255, cv2.NORM_MINMAX), np.uint8)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Three scenes: once; again and smaller; and again compressed, brighter, in a folder."""
    folder = tmp_path / "photos"
    (folder / "more").mkdir(parents=True)
    for seed, name in enumerate(["a.png", "b.png", "c.png"]):
        cv2.imwrite(str(folder / name), scene(seed))
    cv2.imwrite(str(folder / "b small <1>.png"), cv2.resize(scene(1), (160, 120)))
    cv2.imwrite(str(folder / "c low.JPG"), scene(2), [cv2.IMWRITE_JPEG_QUALITY, 20])
    cv2.imwrite(str(folder / "more" / "c.png"), np.clip(scene(2) * 0.8 + 50, 0, 255))
    (folder / "text.jpg").write_text("no image")
    (folder / "notes.txt").write_text("not looked at")
    return folder


@pytest.mark.parametrize("bits", [64, 256])
def test_finds_what_is_nearly_the_same(photos: Path, bits: int) -> None:
    found = find_duplicates(photos, bits=bits)
    names = [[str(path.relative_to(photos)) for path in group] for group in found.names()]
    assert names == [["b small <1>.png", "b.png"], ["c low.JPG", "c.png", "more/c.png"]]
    assert [path.name for path, _ in found.unreadable] == ["text.jpg"]
    assert found.hashes.shape == (6, bits // 8)
    assert repr(found) == "ImageGroups(images=6, groups=2, duplicates=3, unreadable=1)"


def png_of(width: int, height: int) -> bytes:
    """Its header says so; there is one row of pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        sum_of = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", sum_of)

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress(bytes(1 + width))
    parts = (b"IHDR", header), (b"IDAT", pixels), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def test_an_image_of_too_many_pixels_is_listed(photos: Path) -> None:
    (photos / "large.png").write_bytes(png_of(60_000, 60_000))
    found = find_duplicates(photos)
    assert [path.name for path, _ in found.unreadable] == ["large.png", "text.jpg"]
    assert found.unreadable[0][1].startswith("not an image that OpenCV can read: ")
    assert len(found.paths) == 6
    with pytest.raises(nf.CorruptFileError, match=r"large\.png: not an image"):
        image_hash(photos / "large.png")


def test_hashes_of_other_scenes_are_far() -> None:
    hashes = np.array([image_hash(scene(seed)) for seed in range(20)])
    differing = nf.pairs(nf.bits(hashes, 256), count=1, metric="hamming").distances
    assert differing[0] > 60


def test_blank_images_have_one_hash() -> None:
    for bits in 64, 256:
        assert not image_hash(np.full((50, 70), 200, np.uint8), bits).any()


def test_a_page_that_needs_no_other_file(photos: Path, tmp_path: Path) -> None:
    found = find_duplicates([*photos.glob("*.png"), photos / "text.jpg"])
    found.write_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    pictures = re.findall("src='data:image/jpeg;base64,([^']+)'", page)
    assert len(pictures) == 2
    assert "b small &lt;1&gt;.png" in page
    assert "160 x 120" in page
    assert "text.jpg: not an image" in page
    assert page.count("<section>") == 2
    assert "http" not in page
    with pytest.raises(nf.InvalidArgumentError, match="most_groups"):
        found.write_html(tmp_path / "page.html", most_groups=0)
    with pytest.raises(nf.FileError, match="cannot write"):
        found.write_html(tmp_path / "none" / "page.html")


def test_shows_the_largest_groups(photos: Path, tmp_path: Path) -> None:
    find_duplicates(photos).write_html(tmp_path / "page.html", most_groups=1)
    page = (tmp_path / "page.html").read_text()
    assert "The 1 largest groups are shown" in page
    assert "Group 1: 3 images" in page
    assert "Group 2" not in page


def test_the_command(photos: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "nearfield.vision.dedup"]
    page = tmp_path / "page.html"
    done = subprocess.run(
        [*command, str(photos), "--html", str(page)], capture_output=True, text=True, check=True
    )
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert [line[0] for line in lines] == ["0", "0", "1", "1", "1"]
    assert "6 images, 2 groups, 3 duplicates" in done.stderr
    assert "text.jpg" in done.stderr
    assert page.exists()
    done = subprocess.run([*command, str(tmp_path / "none")], capture_output=True, text=True)
    assert done.returncode == 1
    assert "is no folder" in done.stderr


def test_errors() -> None:
    with pytest.raises(nf.InvalidArgumentError, match="64 or 256"):
        image_hash(scene(1), bits=128)
    with pytest.raises(nf.FileError, match="no folder"):
        find_duplicates("nowhere")
