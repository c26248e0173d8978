"""Rows that an index is made of: an array, or files that every machine sees under the same name."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, Union

import numpy as np

import nearfield as nf
from nearfield._arguments import integer
from nearfield._rows import DTYPES

NUMPY_TYPES = {short: name for name, short in DTYPES.items()}
SUM_BYTES = 1 << 20  # of an array that are copied at a time, to be summed

FileName: TypeAlias = Union[str, "os.PathLike[str]"]
SourceLike: TypeAlias = np.ndarray[Any, Any] | nf.Bits | FileName | Sequence[FileName]


class Source(ABC):
    rows: int
    dim: int
    dtype: str  # the library's name

    @abstractmethod
    def piece(self, begin: int, end: int) -> np.ndarray[Any, Any] | nf.Bits:
        """Rows begin to end."""

    def pieces(self, spans: Sequence[tuple[int, int]]) -> np.ndarray[Any, Any] | nf.Bits:
        """Rows of several spans, one after the other."""
        taken = [self.piece(*span) for span in spans]
        if len(taken) == 1:
            return taken[0]
        joined = np.concatenate(
            [piece.packed if isinstance(piece, nf.Bits) else piece for piece in taken]
        )
        return nf.Bits(joined, self.dim) if self.dtype == "bits" else joined

    @abstractmethod
    def describe(self) -> str:
        """The same for the same rows: what a job is known by when it is begun again."""


class ArraySource(Source):
    def __init__(self, array: np.ndarray[Any, Any] | nf.Bits) -> None:
        self._array = array
        values = array.packed if isinstance(array, nf.Bits) else array
        if values.ndim != 2:
            raise nf.InvalidArgumentError(
                f"rows has shape {values.shape}, expected (rows, columns)"
            )
        self.rows = len(values)
        self.dim = array.nbits if isinstance(array, nf.Bits) else values.shape[1]
        if isinstance(array, nf.Bits):
            self.dtype = "bits"
        elif values.dtype.name in DTYPES:
            self.dtype = DTYPES[values.dtype.name]
        else:
            raise nf.InvalidArgumentError(
                f"rows has dtype {values.dtype}, expected one of {', '.join(DTYPES)}, or packed "
                "bits by nearfield.bits"
            )

    def piece(self, begin: int, end: int) -> np.ndarray[Any, Any] | nf.Bits:
        if isinstance(self._array, nf.Bits):
            return nf.Bits(self._array.packed[begin:end], self._array.nbits)
        return self._array[begin:end]

    def describe(self) -> str:
        return f"array {self.rows} x {self.dim} {self.dtype}, SHA-256 {self._sum}"

    @cached_property
    def _sum(self) -> str:
        """Made for jobs alone: a router makes a source of each question."""
        return sum_array(self._array.packed if isinstance(self._array, nf.Bits) else self._array)


class FileSource(Source):
    """Files of one type and width, one after the other."""

    def __init__(self, paths: Sequence[FileName], bits: int) -> None:
        if not paths:
            raise nf.InvalidArgumentError("rows is an empty list, expected files")
        self._paths = [Path(path).absolute() for path in paths]
        # The library's reader checks the header against the size of the file.
        opened = [nf.open_rows(path, bits) for path in self._paths]
        self.dim, self.dtype = opened[0].shape[1], opened[0].dtype
        for path, file in zip(self._paths, opened, strict=True):
            if (file.shape[1], file.dtype) != (self.dim, self.dtype):
                raise nf.InvalidArgumentError(
                    f"{path}: has {file.shape[1]} columns of {file.dtype}, but {self._paths[0]} "
                    f"has {self.dim} of {self.dtype}: all must have the same"
                )
        self._ends = np.cumsum([len(file) for file in opened])
        self.rows = int(self._ends[-1])

    def piece(self, begin: int, end: int) -> np.ndarray[Any, Any] | nf.Bits:
        pieces, start = [], 0
        for path, stop in zip(self._paths, map(int, self._ends), strict=True):
            low, high = max(begin, start), min(end, stop)
            if low < high:
                pieces.append(self._read(path, low - start, high - start, stop - start))
            start = stop
        empty = np.empty((0, self._width), self._type)
        rows = pieces[0] if len(pieces) == 1 else np.concatenate([empty, *pieces])
        return nf.Bits(rows, self.dim) if self.dtype == "bits" else rows

    def describe(self) -> str:
        stats = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in self._paths]
        return f"files {stats} {self.dim} {self.dtype}"

    @property
    def _type(self) -> np.dtype[Any]:
        return np.dtype(np.uint8 if self.dtype == "bits" else NUMPY_TYPES[self.dtype])

    @property
    def _width(self) -> int:
        return (self.dim + 7) // 8 if self.dtype == "bits" else self.dim

    def _read(self, path: Path, begin: int, end: int, rows: int) -> np.ndarray[Any, Any]:
        width = self._width
        if path.suffix == ".npy":
            mapped = np.load(path, mmap_mode="r", allow_pickle=False)
            return np.array(mapped[begin:end])
        if path.suffix.endswith("vecs"):  # each row behind its width
            row_bytes = 4 + width * self._type.itemsize
            raw = np.memmap(path, np.uint8, "r", shape=(rows, row_bytes))
            return np.ascontiguousarray(raw[begin:end, 4:]).view(self._type)
        return np.array(np.memmap(path, self._type, "r", 8, (rows, width))[begin:end])


def sum_array(values: np.ndarray[Any, Any]) -> str:
    """SHA-256 of an array by rows, also where it lies otherwise in memory, piece by piece."""
    digest = hashlib.sha256()
    step = max(1, SUM_BYTES * len(values) // max(1, values.nbytes))
    for begin in range(0, len(values), step):
        digest.update(values[begin : begin + step].tobytes())
    return digest.hexdigest()


def take_source(rows: SourceLike, bits: int = 0) -> Source:
    """bits: of files of packed bits, how many there are a row; 0 if they are none."""
    if isinstance(rows, (np.ndarray, nf.Bits)):
        _check_bits(rows, integer("bits", bits))
        return ArraySource(rows)
    if isinstance(rows, (str, os.PathLike)):
        return FileSource([rows], bits)
    if isinstance(rows, Sequence) and all(isinstance(path, (str, os.PathLike)) for path in rows):
        return FileSource(rows, bits)
    raise TypeError(
        f"rows is a {type(rows).__name__}, expected an array of numpy, nearfield.bits, the name of "
        "a vector file, or a list of such names"
    )


def _check_bits(array: np.ndarray[Any, Any] | nf.Bits, bits: int) -> None:
    """An array says itself what it holds: where `bits` says otherwise, one of the two is wrong."""
    if isinstance(array, nf.Bits):
        if bits not in (0, array.nbits):
            raise nf.InvalidArgumentError(f"bits is {bits}, but the array has {array.nbits} a row")
    elif bits:
        raise nf.InvalidArgumentError(
            f"bits is {bits}, but the array has {array.dtype}: bits is for files; mark an array of "
            f"packed bits by nearfield.bits(array, {bits})"
        )
