"""Groups of images as one HTML file, which a person looks through."""

from __future__ import annotations

import base64
import html
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from nearfield._errors import FileError
from nearfield._results import DuplicateGroups

SIDE = 180  # pixels of the longer one of a small image

STYLE = """
body { font: 15px/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em;
       color: #222; background: #fafafa; }
section { background: #fff; border: 1px solid #ddd; border-radius: 6px; margin: 1em 0;
          padding: 0.6em 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.05em; margin: 0.2em 0 0.6em; }
.images { display: flex; flex-wrap: wrap; gap: 0.9em; }
figure { margin: 0; width: 190px; }
.frame { height: 186px; display: flex; align-items: center; justify-content: center;
         background: #eee; border-radius: 4px; }
.first .frame { outline: 3px solid #2a7; }
figcaption { font-size: 12px; overflow-wrap: anywhere; margin-top: 0.3em; }
.what { color: #666; }
"""


def write_page(
    path: Path,
    images: list[Path],
    groups: DuplicateGroups,
    unreadable: list[tuple[Path, str]],
    most_groups: int,
) -> None:
    sizes = np.diff(groups.offsets)
    shown = np.argsort(-sizes, kind="stable")[:most_groups]
    try:
        with path.open("w", encoding="utf-8") as page:
            page.write(_head(len(images), groups, len(shown)))
            for number, group in enumerate(shown.tolist(), 1):
                begin, end = groups.offsets[group], groups.offsets[group + 1]
                files = [images[row] for row in groups.rows[begin:end]]
                page.write(_section(number, files, groups.distances[begin:end].tolist()))
            page.write(_not_read(unreadable))
            page.write("</body></html>\n")
    except OSError as error:
        raise FileError(f"{path}: cannot write: {error.strerror}") from error


def _head(images: int, groups: DuplicateGroups, shown: int) -> str:
    count = len(groups)
    shown_text = f" The {shown} largest groups are shown." if shown < count else ""
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'>"
        f"<title>{count} groups of near-duplicates</title><style>{STYLE}</style></head><body>\n"
        f"<h1>{count} groups of near-duplicates</h1>\n"
        f"<p>{images} images, {len(groups.duplicates)} of them duplicates of an earlier one, which "
        f"is outlined.{shown_text}</p>\n"
    )


def _section(number: int, files: list[Path], distances: list[int]) -> str:
    figures = "".join(
        _figure(file, distance, first=at == 0)
        for at, (file, distance) in enumerate(zip(files, distances, strict=True))
    )
    return (
        f"<section><h2>Group {number}: {len(files)} images</h2>"
        f"<div class='images'>{figures}</div></section>\n"
    )


def _figure(file: Path, distance: int, *, first: bool) -> str:
    name = html.escape(str(file))
    picture, what = _small_picture(file)
    image = f"<img src='data:image/jpeg;base64,{picture}' alt=''>" if picture else ""
    differs = "first" if first else f"differs in {distance} bits"
    return (
        f"<figure{' class=first' if first else ''}><div class='frame'>{image}</div>"
        f"<figcaption>{name}<br><span class='what'>{what}, {differs}</span></figcaption></figure>"
    )


def _small_picture(file: Path) -> tuple[str, str]:
    """A JPEG in base64, and what the file is; nothing of a file that is gone."""
    try:
        content = file.read_bytes()
    except OSError as error:
        return "", html.escape(f"cannot be read: {error.strerror}")
    image: Any = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
    if image is None:
        return "", "cannot be read"
    height, width = image.shape[:2]
    scale = min(1.0, SIDE / max(height, width))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    _, small = cv2.imencode(".jpg", cv2.resize(image, size, None, 0, 0, cv2.INTER_AREA))
    text = base64.b64encode(small.tobytes()).decode()
    return text, f"{width} x {height}, {max(1, round(len(content) / 1024))} KiB"


def _not_read(unreadable: list[tuple[Path, str]]) -> str:
    if not unreadable:
        return ""
    lines = "".join(
        f"<li>{html.escape(str(path))}: {html.escape(why)}</li>" for path, why in unreadable
    )
    heading = f"<h2>{len(unreadable)} files that could not be read</h2>"
    return f"<section>{heading}<ul>{lines}</ul></section>\n"
