"""Vectors that are kept: added, removed, searched, saved and opened again, under ids of yours."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias, Union

import numpy as np

from nearfield import _core
from nearfield._arguments import MOST_INT64, file_name, flag, integer, real, text
from nearfield._arrays import DLPackArray, host_array
from nearfield._copies import Copies
from nearfield._errors import InvalidArgumentError
from nearfield._pickled import file_bytes, from_bytes
from nearfield._results import Neighbors, Ranges, make_neighbors, make_ranges
from nearfield._rows import (
    DTYPES,
    Bits,
    RowsLike,
    check_bits,
    check_type,
    numpy_dtype_of,
    take_vectors,
)
from nearfield._run import Progress, running

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Buffer, Self

ID_BYTES = 8

KeysLike: TypeAlias = Iterable[str | bytes]
IdsLike: TypeAlias = Union["Buffer", DLPackArray, list[int], tuple[int, ...], range]


@dataclass(frozen=True)
class IndexStats:
    """What an index holds."""

    size: int  # vectors that may be found
    removed: int  # that still take room, until compact
    not_finite: int  # of these vectors, with a NaN or an infinity: no search returns them
    parts: int  # pieces of memory or files
    nbytes: int  # of vectors, ids and what is made of them
    mapped: int  # of these, in a file


class Index:
    """Vectors under ids.

    >>> import numpy as np
    >>> import nearfield as nf
    >>> index = nf.Index("flat", dim=2, dtype="float32")
    >>> index.add(np.array([[0, 0], [1, 0], [0, 2]], dtype=np.float32), ids=[10, 20, 30])
    array([10, 20, 30])
    >>> distances, ids = index.search(np.array([[1, 1]], dtype=np.float32), k=2)
    >>> ids
    array([[20, 10]])
    >>> index.remove([20])
    1
    >>> 20 in index, len(index)
    (False, 2)

    family: how it searches: "flat" looks at every vector, "mih" looks near ones up in tables
            (packed bits under hamming), both exact; "auto" is "mih" for these and "flat" for all
            else; "ewh" scores near ones in tables (packed bits under hamming), and may miss some;
            "lsh" looks up what is likely to be near (floats and bytes), and may miss some: see
            `tune_index`; "coded" finds near ones by codes of a few bytes (floats and bytes), and
            may miss some. Parameters follow the name, as in "mih,tables=16": docs/indexes.md.
    dim: columns of a vector; of packed bits, bits.
    dtype: what its vectors are made of: "float32" or numpy.float32, or the library's names f64,
        f32, f16, bf16, u8, i8 and bits.
    metric: a name of `metrics`, as in `knn`.
    keys: whether each vector has a key beside its id: a str or bytes, no two the same.

    Any number of threads may search it while one writes: a search sees whole calls of the writer,
    or nothing of them. A second writer waits. Used in a `with`, it is closed at the end.
    """

    def __init__(
        self,
        family: str = "flat",
        *,
        dim: int,
        dtype: Any = "float32",
        metric: str = "sqeuclidean",
        keys: bool = False,
    ) -> None:
        self._core = _core.Index(
            text("family", family),
            _dtype_name(dtype),
            integer("dim", dim),
            text("metric", metric),
            flag("keys", keys),
        )

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        max_bytes: int | None = None,
        max_dim: int | None = None,
    ) -> Self:
        """An index that was saved. The file is mapped: that takes milliseconds, whatever its size.

        Processes that open the same file share its memory. What is added or removed then is in this
        process alone, until it is saved. Only the header is checked; `verify_index` reads it all.

        read_only: what would change the index is an error.
        max_bytes, max_dim: a file that is larger, or has more columns, is an error. For files that
            come from others.
        """
        most_bytes = MOST_INT64 if max_bytes is None else integer("max_bytes", max_bytes)
        most_dim = MOST_INT64 if max_dim is None else integer("max_dim", max_dim)
        name, closed = file_name("path", path), flag("read_only", read_only)
        return cls._of(_core.Index.open(name, closed, most_bytes, most_dim))

    @classmethod
    def _of(cls, core: _core.Index) -> Self:
        index = cls.__new__(cls)
        index._core = core
        return index

    def add(
        self,
        vectors: RowsLike,
        ids: IdsLike | None = None,
        *,
        keys: KeysLike | None = None,
        copy: bool = True,
        threads: int = 0,
        memory_limit: int | str | None = None,
        timeout: float | None = None,
        device: str | None = None,
        device_memory_limit: int | str | None = None,
    ) -> NDArray[np.int64]:
        """Adds vectors, and returns their ids.

        ids: one for each vector: any integers of 64 bits but -1. One that is in the index already
            is an error, and nothing is added. Without, they get the next numbers that were never
            used.
        keys: one for each vector, of an index that has them; likewise.
        threads: 0 for every core.
        memory_limit: what the call may allocate, as of `knn`; an error leaves the index as it was.
        device: where the tables of packed bits are made, of "ewh", "mih" and "auto": several names
            with commas share the work. They are the same tables.
        """
        copies = Copies(copy, memory_limit)
        rows = self._take_added(vectors, copies)
        given = None if ids is None else _take_ids(ids, copies)
        with running(
            copies,
            threads=threads,
            timeout=timeout,
            device=device,
            device_memory_limit=device_memory_limit,
        ) as run:
            if keys is not None:
                return self._core.add_keyed(rows, _take_keys(keys), given, run)
            first = self._core.add(rows, given, run)
        return np.arange(first, first + rows.rows) if given is None else given.copy()

    def upsert(
        self,
        vectors: RowsLike,
        ids: IdsLike | None = None,
        *,
        keys: KeysLike | None = None,
        copy: bool = True,
        threads: int = 0,
        memory_limit: int | str | None = None,
        timeout: float | None = None,
        device: str | None = None,
        device_memory_limit: int | str | None = None,
    ) -> int:
        """Adds vectors, and replaces those that are there. How many it replaced.

        By ids or by keys: a vector under a key that is there takes its id too. The other
        arguments are those of `add`.
        """
        if (ids is None) == (keys is None):
            raise InvalidArgumentError("ids or keys are expected, one of the two")
        copies = Copies(copy, memory_limit)
        rows = self._take_added(vectors, copies)
        given = None if ids is None else _take_ids(ids, copies)
        with running(
            copies,
            threads=threads,
            timeout=timeout,
            device=device,
            device_memory_limit=device_memory_limit,
        ) as run:
            if keys is not None:
                return self._core.upsert_keyed(rows, _take_keys(keys), run)
            assert given is not None
            return self._core.upsert(rows, given, run)

    def remove(self, ids: IdsLike | None = None, *, keys: KeysLike | None = None) -> int:
        """Removes what is there under these ids, or these keys. How many there were."""
        if (ids is None) == (keys is None):
            raise InvalidArgumentError("ids or keys are expected, one of the two")
        if keys is not None:
            return self._core.remove_keyed(_take_keys(keys))
        assert ids is not None
        return self._core.remove(_take_ids(ids, Copies(True)))

    def ids_of(self, keys: KeysLike) -> NDArray[np.int64]:
        """The id of each key, -1 of one that is not there."""
        return self._core.ids_of(_take_keys(keys))

    def keys_of(self, ids: IdsLike) -> list[bytes]:
        """The key of each id, b"" of one that is not there, such as -1."""
        return self._core.keys_of(_take_ids(ids, Copies(True)))

    def compact(
        self,
        *,
        threads: int = 0,
        memory_limit: int | str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Gives back the room of what was removed, by a copy of the rest.

        memory_limit: what the call may allocate, that copy included.
        """
        with running(Copies(True, memory_limit), threads=threads, timeout=timeout) as run:
            self._core.compact(run)

    def search(
        self,
        queries: RowsLike,
        k: int = 10,
        *,
        only: IdsLike | None = None,
        without: IdsLike | None = None,
        copy: bool = True,
        threads: int = 0,
        memory_limit: int | str | None = None,
        timeout: float | None = None,
        progress: Progress = None,
        isa: str | None = None,
        device: str | None = None,
        device_memory_limit: int | str | None = None,
    ) -> Neighbors:
        """The k nearest vectors of each query, under their ids.

        only, without: ids that alone may be returned, or that may not. Unknown ones are of no use.

        The other arguments are those of `knn`; a device is for the families "ewh" and "lsh".
        """
        copies = Copies(copy, memory_limit)
        rows = self._take_queries(queries, copies)
        filters = _take_filters(only, without, copies)
        count = integer("k", k)
        with running(
            copies,
            threads=threads,
            isa=isa,
            timeout=timeout,
            progress=progress,
            device=device,
            device_memory_limit=device_memory_limit,
        ) as run:
            return make_neighbors(self._core.search(rows, count, *filters, run))

    def within(
        self,
        queries: RowsLike,
        radius: float,
        *,
        only: IdsLike | None = None,
        without: IdsLike | None = None,
        copy: bool = True,
        threads: int = 0,
        memory_limit: int | str | None = None,
        timeout: float | None = None,
        progress: Progress = None,
        isa: str | None = None,
        device: str | None = None,
        device_memory_limit: int | str | None = None,
    ) -> Ranges:
        """All vectors within a radius of each query, the radius included, under their ids."""
        copies = Copies(copy, memory_limit)
        rows = self._take_queries(queries, copies)
        filters = _take_filters(only, without, copies)
        bound = real("radius", radius)
        with running(
            copies,
            threads=threads,
            isa=isa,
            timeout=timeout,
            progress=progress,
            device=device,
            device_memory_limit=device_memory_limit,
        ) as run:
            return make_ranges(self._core.within(rows, bound, *filters, run))

    def _take_added(self, vectors: RowsLike, copies: Copies) -> _core.Rows:
        rows = take_vectors("vectors", vectors, copies)
        if self.dtype == "bits":
            check_bits("vectors", rows, self.dim)
        else:
            check_type("vectors", rows, self.dtype)
        return rows

    def _take_queries(self, queries: RowsLike, copies: Copies) -> _core.Rows:
        rows = take_vectors("queries", queries, copies)
        if self.dtype == "bits":
            check_bits("queries", rows, self.dim)
        return rows

    def get(self, ids: IdsLike) -> NDArray[Any] | Bits:
        """The vectors under these ids, one a row. An id that is not there is an error."""
        rows = self._core.get(_take_ids(ids, Copies(True)))
        if self.dtype == "bits":
            return Bits(rows, self.dim)
        return rows.view(self.numpy_dtype) if self.dtype == "bf16" else rows

    @property
    def ids(self) -> NDArray[np.int64]:
        """All of them."""
        return self._core.ids()

    def __contains__(self, id: SupportsIndex | str | bytes) -> bool:
        """Of an id, or of a key."""
        if isinstance(id, (str, bytes)):
            return bool(self._core.ids_of(_take_keys([id]))[0] != -1)
        return self._core.contains(integer("id", id))

    def __len__(self) -> int:
        return self._core.size()

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        threads: int = 0,
        memory_limit: int | str | None = None,
        timeout: float | None = None,
        progress: Progress = None,
    ) -> None:
        """Writes it to a file, a safetensors file that any reader of those opens.

        The file is written beside the target and renamed: a reader sees the old one or the new one.
        """
        copies = Copies(True, memory_limit)
        with running(copies, threads=threads, timeout=timeout, progress=progress) as run:
            self._core.save(file_name("path", path), run)

    def close(self) -> None:
        """Gives its memory and its file back. It cannot be used any more."""
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def family(self) -> str:
        return self._core.spec()[0]

    @property
    def has_keys(self) -> bool:
        return self._core.spec()[4]

    @property
    def dtype(self) -> str:
        """f64, f32, f16, bf16, u8, i8 or bits: names of the library's. To numpy "u8" is 8 bytes."""
        return self._core.spec()[1]

    @property
    def numpy_dtype(self) -> np.dtype[Any]:
        """Of an array of its vectors: of packed bits uint8, of bf16 that of ml_dtypes."""
        return numpy_dtype_of(self.dtype)

    @property
    def dim(self) -> int:
        return self._core.spec()[2]

    @property
    def metric(self) -> str:
        return self._core.spec()[3]

    @property
    def stats(self) -> IndexStats:
        return IndexStats(**self._core.stats())

    def __repr__(self) -> str:
        return (
            f"Index({self.family!r}, size={len(self)}, dim={self.dim}, dtype={self.dtype!r}, "
            f"metric={self.metric!r})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """As the bytes of its file."""
        return _from_bytes, (file_bytes(self.save),)


def verify_index(
    path: str | os.PathLike[str],
    *,
    threads: int = 0,
    memory_limit: int | str | None = None,
    timeout: float | None = None,
    progress: Progress = None,
) -> None:
    """Reads all of an index file and compares its sums: `CorruptFileError` if it was changed.

    One of objects too, where its metric is the library's; under a `CMetric` there is
    `MetricIndex.verify`.

    threads, memory_limit: of an index of codes, whose vectors are encoded again.
    """
    copies = Copies(True, memory_limit)
    with running(copies, threads=threads, timeout=timeout, progress=progress) as run:
        _core.verify_index(file_name("path", path), run)


def _dtype_name(dtype: Any) -> str:
    """The library's name of a type."""
    if isinstance(dtype, str) and dtype in (*DTYPES.values(), "bits"):
        return dtype
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = str(dtype)
    if name not in DTYPES:
        known = ", ".join((*DTYPES, "bits"))
        raise InvalidArgumentError(f"dtype is {dtype!r}, expected one of {known}")
    return DTYPES[name]


def _take_ids(given: IdsLike, copies: Copies, name: str = "ids") -> NDArray[np.int64]:
    """As int64, side by side."""
    if isinstance(given, (list, tuple, range)):
        copies.count(ID_BYTES * len(given))
        return np.array([integer(name, number) for number in given], dtype=np.int64)
    values, dtype = host_array(name, given, expected="integers: a list or an array of int64")
    if not dtype.startswith(("int", "uint")) or values.ndim != 1:
        raise InvalidArgumentError(
            f"{name} has dtype {dtype} and shape {values.shape}, expected integers of one dimension"
        )
    if dtype == "uint64" and values.size and values.max() > MOST_INT64:
        raise InvalidArgumentError(f"{name} holds {values.max()}, expected at most {MOST_INT64}")
    return copies.contiguous(name, values, np.dtype(np.int64))


def _take_keys(given: KeysLike) -> list[bytes]:
    if isinstance(given, (str, bytes)):
        raise TypeError(f"keys must be a list of them, got {given!r}")
    keys = []
    for key in given:
        if not isinstance(key, (str, bytes)):
            raise TypeError(f"keys must be str or bytes, got {key!r}")
        keys.append(key.encode() if isinstance(key, str) else bytes(key))
    return keys


def _take_filters(
    only: IdsLike | None, without: IdsLike | None, copies: Copies
) -> tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]:
    if only is not None and without is not None:
        raise InvalidArgumentError("only and without are both given: leave out of only what is not")
    return (
        None if only is None else _take_ids(only, copies, "only"),
        None if without is None else _take_ids(without, copies, "without"),
    )


def _from_bytes(saved: bytes) -> Index:
    return from_bytes(Index.open, saved)
