"""Files that were damaged, cut, replaced or forged: an error that names them, never an answer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfield as nf
from conftest import Place
from material import vectors
from nearfield import cluster
from nearfield.cluster._manifest import decode, encode, manifest_name, read_manifest
from nearfield.cluster._store import open_store


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (damage, "its SHA-256 is .*, the manifest says .*restore it from a copy"),
        (lambda path: path.write_bytes(path.read_bytes()[:-9]), "cut short or replaced"),
        (Path.unlink, "is in the manifest but not there"),
    ],
)
@pytest.mark.parametrize("kind", ["segments", "tombstones"])
def test_a_file_that_is_not_what_it_was(
    tmp_path: Path, spoil: Callable[[Path], None], message: str, kind: str
) -> None:
    cluster.build(tmp_path, vectors(50), shards=2)
    cluster.delete(tmp_path, [1])
    spoil(tmp_path / getattr(cluster.open(tmp_path).manifest, kind)[0].name)
    with pytest.raises(nf.CorruptFileError, match=message):
        cluster.open(tmp_path).search(vectors(1), 2)


def test_a_download_that_was_damaged_is_made_again(emulator: str, tmp_path: Path) -> None:
    url = f"s3://tests/{tmp_path.name}/cached"
    cluster.build(url, vectors(50), shards=1)
    cache = tmp_path / "cache"
    expected = cluster.open(url, cache=cache).search(vectors(1), 2)
    (kept,) = cache.rglob("*.nf")
    damage(kept)
    assert cluster.open(url, cache=cache).search(vectors(1), 2).ids.tolist() == (
        expected.ids.tolist()
    )


def test_an_object_that_was_replaced(emulator: str, tmp_path: Path) -> None:
    import obstore
    from obstore.store import from_url

    url = f"s3://tests/{tmp_path.name}/replaced"
    cluster.build(url, vectors(50), shards=1)
    (segment,) = cluster.open(url).manifest.segments
    obstore.put(from_url(url), segment.name, b"x" * segment.bytes)
    with pytest.raises(nf.CorruptFileError, match=rf"{segment.name}: its SHA-256 is"):
        cluster.open(url, cache=tmp_path).search(vectors(1), 2)


def forge(folder: Path, change: Callable[[dict[str, Any]], object], *, sum_too: bool) -> None:
    """Changes the manifest, and its sum with it: then only what it says can be found wrong."""
    import hashlib

    path = folder / manifest_name(1)
    fields = json.loads(path.read_bytes())
    change(fields)
    if sum_too:
        del fields["sha256"]
        text = json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()
        fields["sha256"] = hashlib.sha256(text).hexdigest()
    path.write_text(json.dumps(fields))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m["segments"][0].update(name="../../etc/passwd"), "name is '../../etc"),
        (lambda m: m["segments"][0].update(name="data/" + "0" * 32 + ".npy"), "name is"),
        (lambda m: m["segments"][0].update(shard=2), "shard is 2, expected 0 to 1"),
        (lambda m: m["segments"][0].update(bytes=-1), "bytes is -1"),
        (lambda m: m["segments"][0].update(epoch=2), "epoch is 2, expected 0 to 1"),
        (lambda m: m["segments"][0].update(sha256="0"), "sha256 is '0'"),
        (lambda m: m.update(segments={}), "segments is {}"),
        (lambda m: m.update(segments=[3]), "expected a list of objects"),
        (lambda m: m.update(shards=10**9), "shards is 1000000000"),
        (lambda m: m.update(shards=True), "shards is True"),
        (lambda m: m["spec"].update(dim=0), "dim is 0"),
        (lambda m: m.update(epoch=2), "it is that of epoch 2"),
        (lambda m: m.update(version=2), "its version is 2, this program knows 1"),
        (lambda m: m.update(format="x"), "its format is 'x'"),
        (lambda m: m.update(applied=[]), r"applied is \[\]"),
    ],
)
def test_a_manifest_that_lies(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    cluster.build(tmp_path, vectors(50), shards=2)
    forge(tmp_path, change, sum_too=True)
    with pytest.raises(nf.CorruptFileError, match=message):
        cluster.open(tmp_path)


def test_a_manifest_that_was_changed(tmp_path: Path) -> None:
    cluster.build(tmp_path, vectors(50), shards=2)
    forge(tmp_path, lambda fields: fields.update(next_id=3), sum_too=False)
    with pytest.raises(nf.CorruptFileError, match="its sum is not that of its text"):
        cluster.open(tmp_path)


@pytest.mark.parametrize("data", [b"", b"\xff", b"[]", b"3", b'{"a":', b"[" * 100_000])
def test_bytes_that_are_no_manifest(data: bytes) -> None:
    with pytest.raises(nf.CorruptFileError, match="not a manifest"):
        decode(data, "it")


def test_a_manifest_that_is_too_large(tmp_path: Path) -> None:
    cluster.build(tmp_path, vectors(50), shards=2)
    with open(tmp_path / manifest_name(1), "r+b") as file:
        file.truncate(1 << 40)  # without a byte of it on the disk
    with pytest.raises(nf.CorruptFileError, match="has 1099511627776 bytes, at most 67108864"):
        cluster.open(tmp_path)


def test_a_segment_of_another_index(tmp_path: Path) -> None:
    cluster.build(tmp_path / "a", vectors(50), shards=1)
    cluster.build(tmp_path / "b", vectors(50), shards=1, metric="l1")
    (segment,) = cluster.open(tmp_path / "a").manifest.segments
    (other,) = cluster.open(tmp_path / "b").manifest.segments
    shutil.copy(tmp_path / "b" / other.name, tmp_path / "a" / segment.name)
    forge(
        tmp_path / "a",
        lambda fields: fields["segments"][0].update(bytes=other.bytes, sha256=other.sha256),
        sum_too=True,
    )
    with pytest.raises(nf.CorruptFileError, match=r"metric='l1'.*the manifest says 50"):
        cluster.open(tmp_path / "a").search(vectors(1), 2)


def test_a_manifest_survives_its_text(tmp_path: Path) -> None:
    cluster.build(tmp_path, vectors(50), shards=2, ids=np.arange(50) - 25 + 100)
    cluster.delete(tmp_path, [80], key="a key with spaces, and ü")
    manifest = read_manifest(open_store(tmp_path), 2)
    assert decode(encode(manifest), "it") == manifest


def test_a_full_disk_leaves_the_index_as_it_was(tmp_path: Path) -> None:
    """Files larger than a limit cannot be written, as if there were no room for them."""
    import resource
    import signal

    cluster.build(tmp_path, vectors(50), shards=1)
    before = sorted(path.name for path in tmp_path.rglob("*"))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(nf.FileError, match="File too large"):
            cluster.append(tmp_path, vectors(5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert sorted(path.name for path in tmp_path.rglob("*")) == before
    assert len(cluster.open(tmp_path)) == 50


FULL = """
import sys
from pathlib import Path
import numpy as np
import nearfield as nf
from nearfield import cluster

folder = Path(sys.argv[1])
rows = np.random.default_rng(0).random((20_000, 8), np.float32)
base = folder / "base.fbin"
nf.write(base, rows[:2000])
cluster.build(folder / "index", rows[:50], shards=1)
filler = folder / "filler"
filler.write_bytes(bytes(16_000_000))
before = sorted(folder.rglob("*"))
for change in (
    lambda: cluster.append(folder / "index", rows, key="once"),
    lambda: cluster.graph(folder / "job", base, 40, block=1000),
):
    try:
        change()
    except nf.FileError as error:
        assert "No space left" in str(error), error
    else:
        raise AssertionError("there was room")
left = set(folder.rglob("*")) - set(before)
assert all((folder / "job") in (path, *path.parents) for path in left), left
assert len(cluster.open(folder / "index")) == 50
filler.unlink()
cluster.append(folder / "index", rows[:100], key="once")
assert len(cluster.open(folder / "index")) == 150
cluster.graph(folder / "job", base, 40, block=1000)
found = cluster.read_all_neighbors(folder / "job")
assert found.ids.tobytes() == nf.graph(rows[:2000], 40).ids.tobytes()
"""


def test_a_file_system_without_room(tmp_path: Path) -> None:
    """One of 16 MB: what fails leaves the index as it was, and goes on when there is room."""
    if os.geteuid() != 0:
        pytest.skip("not root, who may mount a file system")
    mounted = 'mount -t tmpfs -o size=16m none "$1"; exec "${@:2}"'
    program = [sys.executable, "-I", "-c", textwrap.dedent(FULL), str(tmp_path)]
    command = ["unshare", "--mount", "bash", "-euc", mounted, "_", str(tmp_path), *program]
    subprocess.run(command, check=True)


def test_an_unknown_kind_of_place() -> None:
    with pytest.raises(nf.InvalidArgumentError, match="expected a folder, or one of s3, gs, az"):
        cluster.open("ftp://somewhere/index")


def test_no_index(place: Place) -> None:
    with pytest.raises(cluster.NoIndexError, match="holds no sharded index"):
        cluster.open(place())
