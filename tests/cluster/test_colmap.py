"""Matches of the images of a COLMAP database: those of the command line, to the byte."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import nearfield as nf
from material import colmap_database
from nearfield import cluster


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return colmap_database(tmp_path / "d.db")


def matches_of(path: Path) -> list[Any]:
    with closing(sqlite3.connect(path)) as opened:
        return opened.execute("SELECT * FROM matches ORDER BY pair_id").fetchall()


@pytest.mark.parametrize("tile", [1, 2, 32])
def test_as_the_command_line(database: Path, tmp_path: Path, tile: int) -> None:
    expected = Path(shutil.copy(database, tmp_path / "expected.db"))
    command = [sys.executable, "-m", "nearfield", "match", "--colmap", str(expected)]
    subprocess.run(command, check=True, capture_output=True)
    before = database.read_bytes()
    cluster.match_colmap(tmp_path / "job", database, tile=tile)
    assert database.read_bytes() == before
    assert cluster.write_colmap_matches(tmp_path / "job", database) == 10
    assert matches_of(database) == matches_of(expected)
    assert sum(rows for _, rows, _, _ in matches_of(database)) > 50
    assert cluster.write_colmap_matches(tmp_path / "job", database) == 0


def test_pairs_by_names_and_what_is_there_stays(database: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(database)) as opened:
        opened.execute("INSERT INTO matches VALUES(?, 0, 2, NULL)", (2_147_483_647 * 2 + 3,))
        opened.commit()
    cluster.match_colmap(tmp_path / "job", database, ("sequential", 1))
    assert cluster.write_colmap_matches(tmp_path / "job", database) == 3
    found = [divmod(row[0], 2_147_483_647) for row in matches_of(database)]
    assert found == [(2, 3), (3, 5), (5, 9), (9, 11)]


def test_databases_that_cannot_be_matched(database: Path, tmp_path: Path) -> None:
    with pytest.raises(nf.FileError, match="not a database of COLMAP"):
        cluster.match_colmap(tmp_path / "a", tmp_path / "none.db")
    for change, error, message in (
        ("UPDATE descriptors SET type = 1", nf.UnsupportedError, "are of type 1, and only SIFT"),
        ("UPDATE descriptors SET type = 0, rows = 41", nf.CorruptFileError, "41 rows x 16 columns"),
    ):
        with closing(sqlite3.connect(database)) as opened:
            opened.execute(change)
            opened.commit()
        with pytest.raises(error, match=message):
            cluster.match_colmap(tmp_path / error.__name__, database)


def test_other_descriptors_are_another_job(database: Path, tmp_path: Path) -> None:
    """Of the same images: matches of two extractions would be mixed."""
    cluster.match_colmap(tmp_path / "job", database)
    cluster.match_colmap(tmp_path / "job", database)
    with closing(sqlite3.connect(database)) as opened:
        few = "UPDATE descriptors SET rows = 30, data = substr(data, 1, 480) WHERE image_id = 3"
        opened.execute(few)
        opened.commit()
    with pytest.raises(cluster.ConflictError, match="holds another job"):
        cluster.match_colmap(tmp_path / "job", database)


def test_matches_go_into_the_database_they_are_of(database: Path, tmp_path: Path) -> None:
    """A copy elsewhere is that; one of other images or descriptors is not."""
    cluster.match_colmap(tmp_path / "job", database)
    copy = Path(shutil.copy(database, tmp_path / "copy.db"))
    for name, change, differs in (
        ("images.db", "UPDATE images SET name = 'other.jpg' WHERE image_id = 2", "images"),
        ("sizes.db", "DELETE FROM descriptors WHERE image_id = 3", "descriptors"),
    ):
        other = Path(shutil.copy(database, tmp_path / name))
        with closing(sqlite3.connect(other)) as opened:
            opened.execute(change)
            opened.commit()
        with pytest.raises(cluster.ConflictError, match=f"its {differs} are not .*/d.db: name"):
            cluster.write_colmap_matches(tmp_path / "job", other)
        assert not matches_of(other)
    with pytest.raises(nf.FileError, match="not a database of COLMAP"):
        cluster.write_colmap_matches(tmp_path / "job", tmp_path / "none.db")
    assert not (tmp_path / "none.db").exists()
    assert cluster.write_colmap_matches(tmp_path / "job", copy) == 10
    assert len(matches_of(copy)) == 10
