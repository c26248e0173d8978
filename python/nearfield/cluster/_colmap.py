"""Matches of the images of a COLMAP database, by many machines.

The database is read by all and written by nobody, until `write_colmap_matches` puts what was found
into it, from one process: a file of SQLite has one writer.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import nearfield as nf
from nearfield._arguments import byte_count, integer
from nearfield._match_pairs import PairsLike, take_pairs
from nearfield._run import Progress
from nearfield.cluster._errors import ConflictError
from nearfield.cluster._jobs import (
    begin_job,
    is_written,
    part_name,
    parts_left,
    read_arrays,
    read_plan,
    write_arrays,
)
from nearfield.cluster._store import Store, open_store
from nearfield.cluster._tasks import run_tasks
from nearfield.cluster._writing import Url

if TYPE_CHECKING:
    from numpy.typing import NDArray

IMAGE_IDS = 2_147_483_647  # COLMAP's: a pair is this times the smaller id, and the larger
SIFT = 0  # the only type of descriptors that is known here


def match_colmap(
    url: Url,
    database: str | os.PathLike[str],
    pairs: PairsLike = "exhaustive",
    *,
    ratio: float | None = 0.8,
    max_distance: float | None = 0.7,
    cross_check: str = "tested",
    tile: int = 32,
    memory_limit: int | str = "1G",
    progress: Progress = None,
) -> int:
    """Matches pairs of images by COLMAP's rules; how many parts there are.

    url: a folder or bucket for the parts, of this job alone.
    database: COLMAP's, a file that all machines see and that you trust. Nobody may write to it
        meanwhile. It is known by its images and the sizes of their descriptors: of others the job
        is a `ConflictError`.
    pairs: as of `nearfield.match_pairs`, by the places of images in the order of their names.
    tile: a task matches images of two groups of so many, and reads each of them once.
    memory_limit: of each task.

    The matches are those of `nearfield match --colmap`. `write_colmap_matches` writes them.
    """
    store = open_store(url)
    path = Path(database).absolute()
    with closing(_connect(path)) as opened:
        images, known_by = _images(opened), _known_by(opened)
    wanted = take_pairs(pairs, len(images))
    size = integer("tile", tile)
    if size < 1:
        raise nf.InvalidArgumentError(f"tile is {size}, expected at least 1")
    options = {"ratio": ratio, "max_distance": max_distance, "cross_check": cross_check}
    groups = _tiles(wanted, size)
    plan = {
        "operation": "match_colmap",
        "database": str(path),
        **known_by,
        "pairs": hashlib.sha256(wanted.tobytes()).hexdigest(),
        "tile": size,
        "options": options,
        "parts": len(groups),
    }
    begin_job(store, plan)
    ids = np.array([image for image, _ in images], np.int64)
    calls = [(store.url, part, ids[groups[part]]) for part in parts_left(store, len(groups))]
    shared = (str(path), options, byte_count("memory_limit", memory_limit))
    run_tasks(_match_part, shared, calls, progress=progress, take=is_written)
    return len(groups)


def write_colmap_matches(url: Url, database: str | os.PathLike[str]) -> int:
    """Writes what `match_colmap` has found into the database; of how many pairs.

    Those that have matches already keep them, so that it may be called again. A part is written
    whole or not at all. A copy of the database that was matched will do; one of other images, or
    other sizes of their descriptors, is a `ConflictError`.
    """
    store = open_store(url)
    _check_matched(store, Path(database).absolute())
    written = 0
    with closing(sqlite3.connect(Path(database), isolation_level=None)) as opened:
        for arrays in read_arrays(store):
            opened.execute("BEGIN IMMEDIATE")
            for pair, rows in _rows_of(arrays):
                there = opened.execute("SELECT 1 FROM matches WHERE pair_id = ?", (pair,))
                if there.fetchone():
                    continue
                opened.execute("DELETE FROM two_view_geometries WHERE pair_id = ?", (pair,))
                opened.execute(
                    "INSERT INTO matches(pair_id, rows, cols, data) VALUES(?, ?, 2, ?)",
                    (pair, len(rows), rows.tobytes() or None),  # as COLMAP: no data of no rows
                )
                written += 1
            opened.execute("COMMIT")
    return written


def _check_matched(store: Store, path: Path) -> None:
    """Its matches are numbers of descriptors, which of another database say nothing."""
    plan = read_plan(store)
    with closing(_connect(path)) as opened:
        known_by = _known_by(opened)
    differ = [what for what, sum_of in known_by.items() if plan.get(what) != sum_of]
    if differ:
        raise ConflictError(
            f"{path}: its {' and '.join(differ)} are not those that {store.url} has matches of, "
            f"from {plan.get('database', 'another job')}: name that database or a copy of it, or "
            "match this one in a place of its own"
        )


def _match_part(
    shared: tuple[str, dict[str, Any], int], url: str, part: int, pairs: NDArray[np.int64]
) -> None:
    """Runs as a task: pairs of ids of images."""
    path, options, limit = shared
    ids, places = np.unique(pairs, return_inverse=True)
    with closing(_connect(Path(path))) as opened:
        features = _features(opened, path, ids)
    found = nf.match_pairs(
        features,
        places.reshape(-1, 2),
        metric="sift_angle",
        memory_limit=limit,
        threads=1,
        **options,
    )
    counts = [len(matches) for matches in found]
    empty = np.empty(0, np.int64)
    write_arrays(
        open_store(url),
        part_name(part),
        pairs=pairs,
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        first=np.concatenate([empty, *(matches.first for matches in found)]),
        second=np.concatenate([empty, *(matches.second for matches in found)]),
    )


def _rows_of(arrays: dict[str, NDArray[Any]]) -> Iterator[tuple[int, NDArray[np.uint32]]]:
    """Each pair's number, and its matches as COLMAP has them: of the smaller id first, sorted."""
    for place, (one, other) in enumerate(arrays["pairs"].tolist()):
        part = slice(arrays["offsets"][place], arrays["offsets"][place + 1])
        rows = np.stack([arrays["first"][part], arrays["second"][part]], axis=1)
        if one > other:
            rows = rows[:, ::-1]
        rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        pair = IMAGE_IDS * min(one, other) + max(one, other)
        yield pair, np.ascontiguousarray(rows, np.uint32)


def _tiles(pairs: NDArray[np.int64], tile: int) -> list[NDArray[np.int64]]:
    """The pairs, by the groups that their images are in, and in each as they came."""
    groups = np.sort(pairs // tile, axis=1)
    order = np.lexsort((groups[:, 1], groups[:, 0]))
    changes = (np.diff(groups[order], axis=0) != 0).any(axis=1)
    return np.split(pairs[order], np.flatnonzero(changes) + 1) if len(pairs) else []


def _connect(path: Path) -> sqlite3.Connection:
    try:
        opened = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
        opened.execute("PRAGMA trusted_schema = OFF")
        opened.execute("SELECT 1 FROM images, descriptors, matches LIMIT 1")
    except sqlite3.Error as error:
        raise nf.FileError(f"{path}: not a database of COLMAP that can be read: {error}") from error
    return opened


def _images(opened: sqlite3.Connection) -> list[tuple[int, str]]:
    return sorted(opened.execute("SELECT image_id, name FROM images"), key=lambda image: image[1])


def _known_by(opened: sqlite3.Connection) -> dict[str, str]:
    """By what a database is told from another: sums of its images and of the sizes of their
    descriptors, which themselves would all have to be read."""
    asked = "SELECT image_id, rows, cols, length(data) FROM descriptors ORDER BY image_id"
    about = {"images": _images(opened), "descriptors": opened.execute(asked).fetchall()}
    return {name: hashlib.sha256(repr(rows).encode()).hexdigest() for name, rows in about.items()}


def _features(
    opened: sqlite3.Connection, path: str, ids: NDArray[np.int64]
) -> list[NDArray[np.uint8]]:
    """The descriptors of each image; none of one that has none."""
    columns = {row[1] for row in opened.execute("PRAGMA table_info(descriptors)")}
    kind = "type" if "type" in columns else str(SIFT)
    found: dict[int, NDArray[np.uint8]] = {}
    for image in ids.tolist():
        row = opened.execute(
            f"SELECT rows, cols, data, {kind} FROM descriptors WHERE image_id = ?", (image,)
        ).fetchone()
        if row is None:
            continue
        rows, cols, data, type_of = row
        if type_of != SIFT:
            raise nf.UnsupportedError(
                f"{path}: the descriptors of image {image} are of type {type_of}, and only SIFT "
                f"({SIFT}) is known"
            )
        if len(data or b"") != rows * cols:
            raise nf.CorruptFileError(
                f"{path}: the descriptors of image {image} are {rows} rows x {cols} columns in "
                f"{len(data or b'')} bytes"
            )
        if rows:
            found[image] = np.frombuffer(data, np.uint8).reshape(rows, cols)
    width = next((array.shape[1] for array in found.values()), 128)
    none = np.empty((0, width), np.uint8)
    return [found.get(image, none) for image in ids.tolist()]
