"""What a machine keeps of a bucket's files: those of open epochs, and nothing that was left."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfield as nf
from conftest import Place
from material import assert_same, ids_of, one_index, vectors
from nearfield import cluster
from nearfield.cluster._actors import ShardServer
from nearfield.cluster._store import DAY, open_store

ROWS = vectors(60)
QUERIES = vectors(5, seed=1)


@pytest.fixture
def url(emulator: str, tmp_path: Path) -> str:
    return f"s3://tests/{tmp_path.name}/index"


def server_of(url: str, cache: Path) -> ShardServer:
    return ShardServer(url, 0, {"threads": 1, "cache": str(cache)})


def kept_in(cache: Path) -> set[str]:
    return {path.stem for path in cache.rglob("*.n*")}


def sums_of(url: str, *epochs: int) -> set[str]:
    return {file.sha256 for epoch in epochs for file in cluster.open(url, epoch).manifest.files}


def make_epochs(url: str) -> list[Callable[[], int]]:
    return [
        lambda: cluster.build(url, ROWS, shards=1),
        lambda: cluster.append(url, ROWS[:4]),
        lambda: cluster.delete(url, [1, 2]),
        lambda: cluster.compact(url),
        lambda: cluster.upsert(url, ROWS[:1], np.array([9])),
        lambda: cluster.compact(url),
    ]


def test_an_actor_keeps_the_files_of_open_epochs(url: str, tmp_path: Path) -> None:
    server = server_of(url, tmp_path / "cache")
    for number, change in enumerate(make_epochs(url), start=1):
        assert change() == number
        server.ready(cluster.open(url).manifest.identity)
        assert kept_in(tmp_path / "cache") == sums_of(url, *range(max(1, number - 1), number + 1))


def test_a_folder_loses_nothing(tmp_path: Path) -> None:
    """Its files are mapped where they lie."""
    url = str(tmp_path / "index")
    server = server_of(url, tmp_path / "cache")
    for number, change in enumerate(make_epochs(url), start=1):
        change()
        server.ready(cluster.open(url).manifest.identity)
        for epoch in range(1, number + 1):
            cluster.open(url, epoch).verify()
    assert not kept_in(tmp_path / "cache")


def test_actors_share_a_cache(url: str, tmp_path: Path) -> None:
    """What one has left, another has mapped, and gets again when it opens it anew."""
    one, other = (server_of(url, tmp_path / "cache") for _ in range(2))
    cluster.build(url, ROWS, shards=1)
    first = cluster.open(url).manifest.identity
    assert one.ready(first) == other.ready(first) == (first, 60)
    for change in make_epochs(url)[2:5]:
        change()
        one.ready(cluster.open(url).manifest.identity)
    assert not sums_of(url, 1) & kept_in(tmp_path / "cache")
    expected = one_index(ROWS).search(QUERIES, 3)
    assert_same(other.search(first, QUERIES, 3, {})[1], expected)
    assert_same(server_of(url, tmp_path / "cache").search(first, QUERIES, 3, {})[1], expected)


@pytest.mark.parametrize("what", ["segment", "tombstones"])
def test_a_file_that_vanishes_before_it_is_opened_is_downloaded_again(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    cluster.build(url, ROWS, shards=1)
    cluster.delete(url, [1, 2])
    owner, name = (nf.Index, "open") if what == "segment" else (nf, "read_ids")
    opening, removed = getattr(owner, name), list[Path]()

    def removed_before(path: Path, **options: Any) -> Any:
        if not removed:
            removed.append(path)
            path.unlink()
        return opening(path, **options)

    monkeypatch.setattr(owner, name, removed_before)
    opened = cluster.open(url, cache=tmp_path / "cache")
    assert len(opened) == 58
    assert removed[0].exists()


def test_compact_reads_by_a_cache_and_leaves_nothing(place: Place, tmp_path: Path) -> None:
    url = place()
    cluster.build(url, ROWS, shards=2)
    cluster.delete(url, [1, 40])
    assert cluster.compact(url, cache=tmp_path / "cache") == 3
    assert (tmp_path / "cache").exists() == url.startswith("s3:")
    assert not kept_in(tmp_path / "cache")
    assert ids_of(url) == [i for i in range(60) if i not in (1, 40)]


def test_downloads_that_were_killed_go_after_a_day(url: str, tmp_path: Path) -> None:
    cluster.build(url, ROWS, shards=1)
    cluster.open(url, cache=tmp_path).search(QUERIES, 1)
    (folder,) = {path.parent for path in tmp_path.rglob("*.nf")}
    old, young = folder / ".draft-old", folder / ".draft-young"
    for draft in (old, young):
        draft.write_bytes(b"half")
    os.utime(old, times=(0, time.time() - DAY - 60))
    open_store(url, tmp_path)
    assert (old.exists(), young.exists()) == (False, True)
