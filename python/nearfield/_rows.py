"""Rows to search: arrays, packed bits, files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np

from nearfield import _core
from nearfield._arguments import file_name, integer
from nearfield._arrays import DLPackArray, HostArray, host_array
from nearfield._copies import Copies
from nearfield._errors import InvalidArgumentError, UnsupportedError
from nearfield._layout import is_in_place

if TYPE_CHECKING:
    from typing_extensions import Buffer

# The library's names of numpy's types.
DTYPES = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "uint8": "u8",
    "int8": "i8",
}


NUMPY_NAMES = {short: name for name, short in DTYPES.items()}


def numpy_dtype_of(dtype: str) -> np.dtype[Any]:
    """Of arrays of such values; of packed bits, of their bytes."""
    if dtype == "bits":
        return np.dtype(np.uint8)
    if dtype == "bf16":
        try:
            import ml_dtypes
        except ImportError:
            raise UnsupportedError(
                "numpy has no bfloat16 of its own: install ml_dtypes, whose type the vectors then "
                "have"
            ) from None
        bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return bfloat16
    return np.dtype(NUMPY_NAMES[dtype])


@dataclass(frozen=True, eq=False)
class Bits:
    """Packed bits, made by `bits`. `nbits` are used of each row of the array `packed`."""

    packed: np.ndarray[Any, np.dtype[np.uint8]]
    nbits: int

    def __post_init__(self) -> None:
        array = host_array("packed", self.packed, expected="an array of uint8")
        count = integer("nbits", self.nbits)
        if array.dtype != "uint8":
            raise InvalidArgumentError(
                f"packed has dtype {array.dtype}, expected uint8: pack an array of bool with "
                'numpy.packbits(packed, axis=-1, bitorder="little")'
            )
        shape = array.values.shape
        if len(shape) not in (1, 2) or count < 0 or shape[-1] != (count + 7) // 8:
            raise InvalidArgumentError(
                f"packed has shape {shape}, expected (rows, {max(count + 7, 0) // 8}), the bytes "
                f"of nbits={count}, or no first dimension for a filter"
            )
        object.__setattr__(self, "packed", array.values)
        object.__setattr__(self, "nbits", count)


def bits(packed: Buffer | DLPackArray, nbits: int) -> Bits:
    """Marks an array of uint8 as packed bits, `nbits` a row: bytes are never guessed to be bits.

    Bit j of a row is bit j % 8, the least significant first, of its byte j // 8. That is what
    `numpy.packbits` gives with bitorder="little". Unused bits of the last byte must be zero.

    >>> import numpy as np
    >>> import nearfield as nf
    >>> flags = np.array([[1, 0, 1, 1, 0, 0, 0, 0, 0, 1], [1, 0, 1, 1, 0, 0, 0, 0, 0, 0]], bool)
    >>> rows = nf.bits(np.packbits(flags, axis=1, bitorder="little"), nbits=10)
    >>> nf.knn(rows, rows, k=2, metric="hamming").distances
    array([[0., 1.],
           [0., 1.]], dtype=float32)

    An array of one dimension is a filter: see `knn`.
    """
    return Bits(packed, nbits)  # type: ignore[arg-type]  # which it becomes


class CoreRows:
    """Rows that the engine holds."""

    def __init__(self, core: _core.Rows) -> None:
        self._core = core

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns; of packed bits, rows and bits."""
        return self._core.rows, self._core.cols

    @property
    def dtype(self) -> str:
        """f64, f32, f16, bf16, u8, i8 or bits: names of the library's. To numpy "u8" is 8 bytes."""
        return self._core.dtype

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """Of an array of the rows: of packed bits uint8, of bf16 that of ml_dtypes."""
        return numpy_dtype_of(self._core.dtype)

    def __len__(self) -> int:
        return self._core.rows

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, dtype={self.dtype!r})"


class FileRows(CoreRows):
    """A vector file, made by `open_rows`: searched like an array, and read in pieces."""


def open_rows(path: str | os.PathLike[str], bits: int = 0) -> FileRows:
    """Opens a vector file to search it without reading all of it into memory.

    The ending says the format: .fbin, .f16bin, .u8bin, .i8bin, .fvecs, .bvecs or .npy. With
    `bits`, the bytes of a file of uint8 are packed bits, this many a row.
    """
    return FileRows(_core.open_rows(file_name("path", path), integer("bits", bits)))


RowsLike: TypeAlias = Union["Buffer", DLPackArray, Bits, CoreRows]


def take_rows(name: str, given: RowsLike, copies: Copies) -> _core.Rows:
    if isinstance(given, CoreRows):
        return given._core
    if isinstance(given, Bits):
        return _core_rows(name, given.packed, "bits", given.nbits, copies)
    if isinstance(given, (str, os.PathLike)):
        raise TypeError(
            f"{name} is a {type(given).__name__}, expected an array: for a file, pass "
            f"nearfield.open_rows({name})"
        )
    expected = (
        f"an array (buffer protocol or DLPack): write numpy.asarray({name}, dtype=numpy.float32)"
    )
    array = host_array(name, given, expected)
    dtype = _dtype_of(name, array)
    return _core_rows(name, array.values, dtype, array.values.shape[-1], copies)


def take_vectors(name: str, given: RowsLike, copies: Copies) -> _core.Rows:
    if isinstance(given, CoreRows):
        raise TypeError(
            f"{name} is a {type(given).__name__}, expected an array: read a file with "
            "nearfield.read"
        )
    return take_rows(name, given, copies)


def check_bits(name: str, rows: _core.Rows, dim: int) -> None:
    """Of rows that meet packed bits of an index."""
    if rows.dtype != "bits":
        raise InvalidArgumentError(
            f"the index holds packed bits, and {name} has dtype {NUMPY_NAMES[rows.dtype]}: pass "
            f"nearfield.bits({name}, {dim})"
        )


def check_type(name: str, rows: _core.Rows, dtype: str) -> None:
    """Of rows that an index of numbers is to hold."""
    if rows.dtype == "bits":
        raise InvalidArgumentError(
            f"the index holds {NUMPY_NAMES[dtype]}, and {name} are packed bits: make an index of "
            'dtype="bits"'
        )
    if rows.dtype != dtype:
        package = "ml_dtypes" if dtype == "bf16" else "numpy"
        raise InvalidArgumentError(
            f"the index holds {NUMPY_NAMES[dtype]}, and {name} has dtype "
            f"{NUMPY_NAMES[rows.dtype]}: convert with {name}.astype({package}.{NUMPY_NAMES[dtype]})"
        )


def _core_rows(
    name: str, array: np.ndarray[Any, Any], dtype: str, cols: int, copies: Copies
) -> _core.Rows:
    if is_in_place(name, array):
        return _core.Rows(array, dtype, cols)
    if copies.for_plan:
        copies.announce(name, array, array.dtype)
        return _core.planned_rows(dtype, array.shape[0], cols)
    return _core.Rows(copies.copy(name, array, array.dtype), dtype, cols)


def _dtype_of(name: str, array: HostArray) -> str:
    if dtype := DTYPES.get(array.dtype):
        return dtype
    if array.dtype == "bool":
        advice = (
            "search packed bits, as in nearfield.bits(numpy.packbits("
            f'{name}, axis=1, bitorder="little"), nbits={name}.shape[1])'
        )
    elif array.values.dtype.kind in "iu":
        advice = (
            f"convert with {name}.astype(numpy.float64), which holds every integer up to 2**53, "
            "or to float32, uint8 or int8 if they hold the values"
        )
    else:
        advice = f"convert with {name}.astype(numpy.float32)"
    raise InvalidArgumentError(
        f"{name} has dtype {array.dtype}, expected one of {', '.join(DTYPES)}: {advice}"
    )
