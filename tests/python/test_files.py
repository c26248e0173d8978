"""Files: read, written, and searched without reading all of them."""

from __future__ import annotations

import os
import signal
import struct
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import nearfield as nf
from definition import integers

ROWS = integers(100, 6)


@pytest.mark.parametrize(
    ("ending", "dtype"),
    [
        ("fbin", np.float32),
        ("f16bin", np.float16),
        ("u8bin", np.uint8),
        ("i8bin", np.int8),
        ("fvecs", np.float32),
        ("bvecs", np.uint8),
        ("npy", np.float64),
        ("npy", np.float16),
    ],
)
def test_what_is_written_is_read(tmp_path: Path, ending: str, dtype: type) -> None:
    path = tmp_path / f"rows.{ending}"
    rows: NDArray[Any] = ROWS.astype(dtype)
    nf.write(path, rows[::2])
    back = nf.read(str(path))
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, rows[::2])
    if ending == "npy":
        np.testing.assert_array_equal(np.load(path), rows[::2])


def test_bytes_of_a_file(tmp_path: Path) -> None:
    nf.write(tmp_path / "rows.fbin", np.array([[1, 2, 3]], np.float32))
    assert (tmp_path / "rows.fbin").read_bytes() == struct.pack("<IIfff", 1, 3, 1, 2, 3)


def test_open_rows_searches_in_pieces(tmp_path: Path) -> None:
    base = np.random.default_rng(1).random((20_000, 16), dtype=np.float32)
    nf.write(tmp_path / "base.fbin", base)
    file = nf.open_rows(tmp_path / "base.fbin")
    assert (file.shape, file.dtype, len(file)) == ((20_000, 16), "f32", 20_000)
    assert repr(file) == "FileRows(shape=(20000, 16), dtype='f32')"
    found = nf.knn(base[:5], file, 10, memory_limit="256K")
    assert found.stats.plan.base_chunk < 20_000
    expected = nf.knn(base[:5], base, 10)
    np.testing.assert_array_equal(found.ids, expected.ids)
    with ThreadPoolExecutor(4) as pool:
        for other in pool.map(lambda _: nf.knn(base[:5], file, 10, memory_limit="256K"), range(8)):
            np.testing.assert_array_equal(other.keys, expected.keys)


def test_packed_bits(tmp_path: Path) -> None:
    flags = np.random.default_rng(3).random((40, 13)) < 0.5
    rows = nf.bits(np.packbits(flags, axis=1, bitorder="little"), 13)
    nf.write(tmp_path / "rows.u8bin", rows)
    np.testing.assert_array_equal(nf.read(tmp_path / "rows.u8bin"), rows.packed)
    file = nf.open_rows(tmp_path / "rows.u8bin", bits=13)
    assert (file.shape, file.dtype) == ((40, 13), "bits")
    expected = nf.knn(rows, rows, 4, "hamming").ids
    np.testing.assert_array_equal(nf.knn(file, rows, 4, "hamming").ids, expected)


@pytest.mark.parametrize("ending", ["ibin", "ivecs", "npy"])
def test_ids(tmp_path: Path, ending: str) -> None:
    ids = nf.knn(ROWS[:7], ROWS[:3], 5).ids
    path = tmp_path / f"ids.{ending}"
    nf.write_ids(path, ids)
    np.testing.assert_array_equal(nf.read_ids(path), ids)
    unaligned = np.frombuffer(b"x" + ids.tobytes(), np.uint8)[1:].view(np.int64)
    nf.write_ids(path, unaligned.reshape(7, 5))
    np.testing.assert_array_equal(nf.read_ids(path), ids)
    nf.write_ids(path, ids[:, ::2].astype(np.int32))
    np.testing.assert_array_equal(nf.read_ids(path), ids[:, ::2])
    with pytest.raises(nf.InvalidArgumentError, match=r"ids has dtype float32 .*expected int64"):
        nf.write_ids(path, ROWS)


def test_truth(tmp_path: Path) -> None:
    found = nf.knn(ROWS[:7], ROWS[:3], 5)
    nf.write_truth(tmp_path / "truth", found.ids, found.distances)
    ids, distances = nf.read_truth(tmp_path / "truth")
    np.testing.assert_array_equal(ids, found.ids)
    np.testing.assert_array_equal(distances, found.distances)
    with pytest.raises(
        nf.InvalidArgumentError, match=r"float64.*expected float32 of shape \(7, 5\)"
    ):
        nf.write_truth(tmp_path / "truth", found.ids, found.keys)


def test_errors_of_files(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"missing\.fbin") as raised:
        nf.read(tmp_path / "missing.fbin")
    assert isinstance(raised.value, nf.FileError)
    (tmp_path / "cut.fbin").write_bytes(struct.pack("<II", 10, 10))
    with pytest.raises(nf.CorruptFileError, match=r"cut\.fbin"):
        nf.open_rows(tmp_path / "cut.fbin")
    with pytest.raises(nf.Error, match="xyz"):
        nf.write(tmp_path / "rows.xyz", ROWS)
    with pytest.raises(TypeError, match=r"FileRows.*nearfield\.read"):
        nf.write(tmp_path / "b.fbin", _written(tmp_path / "a.fbin"))


def test_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.fbin")
    with pytest.raises(nf.FileError, match=r"caf\\xe9"):
        nf.read(path)
    nf.write(path, ROWS)
    np.testing.assert_array_equal(nf.read(path), ROWS)


GIGABYTE = (1 << 14, 1 << 16)


@pytest.fixture
def large_file(tmp_path: Path) -> Path:
    """Of zeros that take no room on the disk."""
    path = tmp_path / "large.u8bin"
    path.write_bytes(struct.pack("<II", *GIGABYTE))
    os.truncate(path, 8 + GIGABYTE[0] * GIGABYTE[1])
    return path


def test_timeout(tmp_path: Path, large_file: Path) -> None:
    with pytest.raises(nf.DeadlineError, match=r"deadline.*large\.u8bin.*while it was read"):
        nf.read(large_file, timeout=0.05)
    with pytest.raises(nf.DeadlineError, match=r"deadline.*new\.u8bin.*while it was written"):
        nf.write(tmp_path / "new.u8bin", np.zeros(GIGABYTE, np.uint8), timeout=0.05)
    assert os.listdir(tmp_path) == ["large.u8bin"]
    nf.write(tmp_path / "small.npy", ROWS, timeout=60)
    np.testing.assert_array_equal(nf.read(tmp_path / "small.npy", timeout=60), ROWS)


def test_ctrl_c(tmp_path: Path, large_file: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    calls: tuple[Callable[[], object], ...] = (
        lambda: nf.read(large_file),
        lambda: nf.write(tmp_path / "new.u8bin", np.zeros(GIGABYTE, np.uint8)),
    )
    try:
        for call in calls:
            timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                call()
            timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert os.listdir(tmp_path) == ["large.u8bin"]


def test_an_empty_file(tmp_path: Path) -> None:
    nf.write(tmp_path / "none.npy", np.zeros((0, 4)))
    assert nf.read(tmp_path / "none.npy").shape == (0, 4)


def _written(path: Path) -> nf.FileRows:
    nf.write(path, ROWS)
    return nf.open_rows(path)
