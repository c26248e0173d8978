"""What is taken as rows, how, and what is refused."""

from __future__ import annotations

import array
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfield as nf
from definition import integers
from dlpack_arrays import BFloat16Tensor, CudaArray, DeviceTensor, Tensor

ROWS = integers(20, 6)
EXPECTED = nf.knn(ROWS, ROWS, 5).ids


def ids_of(rows: Any, **arguments: Any) -> Any:
    return nf.knn(rows, rows, 5, **arguments).ids


def spaced_rows() -> Any:
    wide = np.full((40, 9), 99, np.float32)
    wide[::2, 2:8] = ROWS
    return wide[::2, 2:8]


def read_only() -> Any:
    rows = ROWS.copy()
    rows.flags.writeable = False
    return rows


@pytest.mark.parametrize(
    "rows",
    [
        spaced_rows(),
        read_only(),
        ROWS.data,
        memoryview(array.array("f", ROWS.ravel())).cast("B").cast("f", (20, 6)),
        Tensor(ROWS),
        Tensor(spaced_rows()),
        BFloat16Tensor(ROWS),
        BFloat16Tensor(ROWS, device=3),
    ],
    ids=[
        "spaced",
        "read only",
        "memoryview",
        "array.array",
        "DLPack",
        "strided DLPack",
        "bf16",
        "pinned bf16",
    ],
)
def test_searched_in_place(rows: Any) -> None:
    np.testing.assert_array_equal(ids_of(rows, copy=False), EXPECTED)


def unaligned() -> Any:
    rows = np.frombuffer(b"x" + ROWS.tobytes(), np.uint8)[1:].view(np.float32).reshape(20, 6)
    assert not rows.flags.aligned
    return rows


@pytest.mark.parametrize(
    ("rows", "same"),
    [
        (np.asfortranarray(ROWS), ROWS),
        (np.repeat(ROWS, 2, axis=1)[:, ::2], ROWS),
        (np.array(ROWS[::-1])[::-1], ROWS),
        (unaligned(), ROWS),
        (np.broadcast_to(ROWS[:1], (20, 6)), np.repeat(ROWS[:1], 20, axis=0)),
        (
            np.lib.stride_tricks.sliding_window_view(ROWS.ravel(), 6),
            np.array(np.lib.stride_tricks.sliding_window_view(ROWS.ravel(), 6)),
        ),
    ],
    ids=["Fortran", "columns", "reversed", "unaligned", "broadcast", "windows"],
)
def test_copied_once_unless_forbidden(rows: Any, same: Any) -> None:
    np.testing.assert_array_equal(ids_of(rows), ids_of(same, copy=False))
    with pytest.raises(nf.InvalidArgumentError, match=r"queries .*strides .* copy=False forbids"):
        ids_of(rows, copy=False)


def test_copies_count_against_the_memory_limit() -> None:
    rows = np.asfortranarray(np.zeros((1000, 100)))
    with pytest.raises(nf.MemoryLimitError, match=r"800000 bytes.*copies.*take 1600000.*C order"):
        ids_of(rows, memory_limit=800_000)
    ids_of(np.ascontiguousarray(rows), memory_limit=800_000)
    tracemalloc.start()
    with pytest.raises(nf.MemoryLimitError, match=r"100000 bytes.*take 800000"):
        nf.knn(rows, rows, memory_limit=100_000)
    assert tracemalloc.get_traced_memory()[1] < 100_000  # asked before, not after
    tracemalloc.stop()
    with pytest.raises(nf.MemoryLimitError, match=r"memory_limit is 801000 bytes.*take 800000"):
        nf.graph(rows, memory_limit=801_000)


def test_filters_count_against_the_memory_limit() -> None:
    rows = np.zeros((80_000, 1), np.float32)
    for given, size in (
        (np.ones(80_000, bool), 10_000),
        (np.arange(80_000, dtype=np.int32), 640_000),
        (range(80_000), 640_000),
    ):
        with pytest.raises(nf.MemoryLimitError, match=f"9999 bytes.*take {size}"):
            nf.knn(rows[:1], rows, 1, filter=given, memory_limit=9_999)


def test_a_single_row_or_column_has_any_stride() -> None:
    assert nf.knn(ROWS[::7][:1], ROWS, 1, copy=False).ids.shape == (1, 1)
    assert nf.knn(ROWS[:, :1], ROWS[:, 1:2], 1, copy=False).counts.tolist() == [1] * 20


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (ROWS.astype(np.int64), r"queries has dtype int64, .*astype\(numpy.float64\)"),
        (ROWS.astype(np.uint16), r"queries has dtype uint16, expected one of float64, .*int8"),
        (ROWS.astype(bool), r"dtype bool.*nearfield\.bits\(numpy\.packbits\(queries, axis=1"),
        (ROWS.astype(complex), r"dtype complex128.*astype\(numpy.float32\)"),
        (ROWS.astype(object), "dtype object"),
        (ROWS.astype(">f4"), r"dtype '>f4'.*byte order.*newbyteorder"),
        (ROWS[0], r"queries has shape \(6,\), expected .*queries\.reshape\(1, -1\)"),
        (ROWS[None], r"queries has shape \(1, 20, 6\), expected \(rows, columns\)$"),
        (np.ma.masked_less(ROWS, 1), r"masked array.*queries\.filled\(numpy\.nan\)"),
        (array.array("f", [1, 2]), r"queries has shape \(2,\)"),
        (Tensor(ROWS.astype(np.int32)), "dtype int32"),
    ],
)
def test_refused(rows: Any, message: str) -> None:
    with pytest.raises(nf.InvalidArgumentError, match=message) as raised:
        nf.knn(rows, ROWS)
    assert isinstance(raised.value, ValueError)
    with pytest.raises(nf.InvalidArgumentError, match=message.replace("queries", "base")):
        nf.knn(ROWS, rows)


def test_what_is_no_array() -> None:
    for rows in [[1.0, 2.0]], None:
        with pytest.raises(
            TypeError,
            match=rf"queries is a {type(rows).__name__}, .*numpy\.asarray\(queries",
        ):
            nf.knn(rows, ROWS)  # type: ignore[arg-type]
    for path in "rows.fbin", Path("rows.fbin"):
        with pytest.raises(TypeError, match=r"base is a \w+, .*nearfield\.open_rows\(base\)"):
            nf.knn(ROWS, path)  # type: ignore[arg-type]


def test_what_is_no_array_but_should_be_ids() -> None:
    with pytest.raises(TypeError, match="ids is a list, expected an array of int64"):
        nf.write_ids("ids.npy", [[1]])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="values is a list, expected an array of float32 or"):
        nf.select_k([[1.0]])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="packed is a list, expected an array of uint8"):
        nf.bits([1], 8)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"filter is a set, expected a mask of bool .*\(20,\)"):
        nf.knn(ROWS, ROWS, filter={1})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"path must be a str or an os.PathLike, got 5"):
        nf.read(5)  # type: ignore[arg-type]


def test_arrays_on_a_device() -> None:
    for rows in DeviceTensor(), CudaArray():
        with pytest.raises(nf.UnsupportedError, match=r"queries is in .*device.*queries\.cpu\(\)"):
            nf.knn(rows, ROWS)  # type: ignore[arg-type]


def test_a_producer_that_refuses_is_quoted() -> None:
    class NeedsGradient(Tensor):
        def __dlpack__(self, **arguments: Any) -> object:
            raise BufferError("use tensor.detach()")

    with pytest.raises(nf.InvalidArgumentError, match=r"queries cannot be read.*tensor\.detach"):
        nf.knn(NeedsGradient(ROWS), ROWS)


def test_columns_must_agree() -> None:
    with pytest.raises(nf.InvalidArgumentError, match=r"6.*5|5.*6"):
        nf.knn(ROWS, ROWS[:, :5])


def test_bits_are_never_guessed() -> None:
    packed = np.zeros((3, 2), np.uint8)
    with pytest.raises(nf.InvalidArgumentError, match=r"hamming .* in Python by nearfield\.bits"):
        nf.knn(packed, packed, metric="hamming")
    with pytest.raises(nf.InvalidArgumentError, match=r"shape \(3, 2\), expected \(rows, 3\)"):
        nf.bits(packed, 17)
    with pytest.raises(nf.InvalidArgumentError, match=r"dtype bool, expected uint8.*packbits"):
        nf.bits(packed.astype(bool), 16)
    big = nf.bits(np.packbits(np.ones((3, 9), bool), axis=1), 9)  # bitorder="big"
    with pytest.raises(nf.InvalidArgumentError, match="bit"):
        nf.knn(big, big, metric="hamming")


def test_bits_are_checked_however_they_are_made() -> None:
    packed = np.zeros((3, 2), np.uint8)
    with pytest.raises(nf.InvalidArgumentError, match=r"shape \(3, 2\), expected \(rows, 8192\)"):
        nf.Bits(packed, 65_536)
    with pytest.raises(nf.InvalidArgumentError, match="dtype float32, expected uint8"):
        nf.Bits(packed.astype(np.float32), 16)
    with pytest.raises(TypeError, match="nbits must be an integer"):
        nf.Bits(packed, 16.0)  # type: ignore[arg-type]
    rows = nf.bits(packed, 16)
    object.__setattr__(rows, "nbits", 65_536)
    with pytest.raises(nf.InvalidArgumentError, match=r"2 bytes a row.*65536 columns.*8192 bytes"):
        nf.knn(rows, rows, metric="hamming")


def test_bits_in_fortran_order() -> None:
    flags = np.random.default_rng(3).random((40, 30)) < 0.5
    packed = np.packbits(flags, axis=1, bitorder="little")
    expected = ids_of(nf.bits(packed, 30), metric="hamming")
    found = ids_of(nf.bits(np.asfortranarray(packed), 30), metric="hamming")
    np.testing.assert_array_equal(found, expected)
