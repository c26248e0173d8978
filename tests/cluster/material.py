"""Vectors with many ties, and what one index says about them."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import nearfield as nf
from nearfield import cluster

Array: TypeAlias = np.ndarray[Any, Any]

COLMAP_TABLES = """
CREATE TABLE images(image_id INTEGER PRIMARY KEY NOT NULL, name TEXT NOT NULL UNIQUE);
CREATE TABLE matches(pair_id INTEGER PRIMARY KEY NOT NULL, rows INTEGER NOT NULL,
                     cols INTEGER NOT NULL, data BLOB);
CREATE TABLE two_view_geometries(pair_id INTEGER PRIMARY KEY NOT NULL);
CREATE TABLE descriptors(image_id INTEGER PRIMARY KEY NOT NULL, type INTEGER NOT NULL,
                         rows INTEGER NOT NULL, cols INTEGER NOT NULL, data BLOB);
PRAGMA user_version = 4020100;
"""
IMAGE_IDS = (2, 3, 5, 9, 11)  # names go the other way
DESCRIPTOR_DIMS = 16

ANSWER_ARRAYS = ("ids", "keys", "distances", "counts")


def vectors(rows: int, cols: int = 8, seed: int = 0, most: int = 4) -> Array:
    """Of few values, so that many distances are equal and ids decide."""
    return np.random.default_rng(seed).integers(0, most, (rows, cols)).astype(np.float32)


def one_index(rows: Array, ids: Array | None = None, metric: str = "sqeuclidean") -> nf.Index:
    index = nf.Index("flat", dim=rows.shape[1], dtype=rows.dtype, metric=metric)
    index.add(rows, ids)
    return index


def colmap_database(path: Path) -> Path:
    """Of five images of one scene, the last of them without features."""
    draw = np.random.default_rng(5)
    scene = draw.random((60, DESCRIPTOR_DIMS)) ** 4
    with closing(sqlite3.connect(path)) as opened:
        opened.executescript(COLMAP_TABLES)
        for place, image in enumerate(IMAGE_IDS):
            noise = draw.normal(0, 0.005, (40, DESCRIPTOR_DIMS))
            seen = scene[draw.permutation(60)[:40]] + noise
            rows = 512 * seen / np.linalg.norm(seen, axis=1, keepdims=True)
            data = np.clip(np.round(rows), 0, 255).astype(np.uint8)
            opened.execute("INSERT INTO images VALUES(?, ?)", (image, f"{9 - place}.jpg"))
            if image != IMAGE_IDS[-1]:
                about = (image, DESCRIPTOR_DIMS, data.tobytes())
                opened.execute("INSERT INTO descriptors VALUES(?, 0, 40, ?, ?)", about)
        opened.commit()
    return path


def assert_same(found: Any, expected: Any) -> None:
    """To the bit."""
    names = ("offsets", *ANSWER_ARRAYS[:3]) if hasattr(found, "offsets") else ANSWER_ARRAYS
    for name in names:
        actual, wanted = getattr(found, name), getattr(expected, name)
        assert actual.dtype == wanted.dtype, name
        assert actual.tobytes() == wanted.tobytes(), name
    assert found.exact == expected.exact


def ids_of(url: str, epoch: int | None = None) -> list[int]:
    opened = cluster.open(url, epoch)
    return sorted(
        int(i)
        for number in range(opened.manifest.shards)
        for part in opened.shard(number).parts
        for i in part.ids
    )


def run_killed(program: str, *arguments: Path) -> int:
    """Runs a program that prints how many parts it has done, with kill -9 after each four, until it
    is through or was run 20 times. How often it was killed."""
    command = [sys.executable, "-I", "-c", textwrap.dedent(program), *map(str, arguments)]
    kills = 0
    for _ in range(20):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
            assert driver.stdout is not None
            for line in driver.stdout:
                if int(line) == 4:
                    kills += 1
                    driver.kill()
                    break
        if driver.returncode == 0:
            break
    return kills
