"""What a client of the service sends, and what it gets: JSON, or arrays as numpy writes them.

Whatever bytes come, they are a question or refused: what they say of their size is compared
with their size before anything is made of it, and nothing is unpickled. Of what is refused an
error tells a little (`reprlib`): a body may be megabytes, in lists within lists.
"""

from __future__ import annotations

import io
import itertools
import json
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import nearfield as nf
from nearfield._rows import DTYPES
from nearfield.cluster._errors import BusyError, LostShardError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearfield.cluster._manifest import Spec
    from nearfield.cluster._router import Found

JSON = "application/json"
NPY = "application/x-npy"
NPZ = "application/x-npz"

INTEGERS: dict[str, type[np.integer[Any]]] = {"u8": np.uint8, "i8": np.int8}
HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
# Asking again may help, or it may not: what HTTP has for each.
STATUS: dict[type[nf.Error], int] = {
    nf.InvalidArgumentError: 400,
    nf.NotFiniteError: 400,
    nf.UnsupportedError: 400,
    nf.MemoryLimitError: 413,
    nf.DeadlineError: 504,
    BusyError: 503,
    LostShardError: 503,
}


@dataclass(frozen=True)
class Limits:
    """Of one request; more is refused."""

    body: int = 16 << 20  # bytes; JSON takes up to 30 times as many while it is read
    k: int = 1000
    queries: int = 4096
    results: int = 1 << 20  # queries x k; as JSON, about 32 bytes each


@dataclass(frozen=True, eq=False)
class Question:
    queries: np.ndarray[Any, Any] | nf.Bits
    k: int = 10
    partial: bool = False
    only: NDArray[np.int64] | None = None
    without: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        values = self.queries.packed if isinstance(self.queries, nf.Bits) else self.queries
        return len(values)

    @property
    def kind(self) -> tuple[str, int, bool]:
        """Questions of one kind may be asked as one."""
        queries = self.queries
        name = "bits" if isinstance(queries, nf.Bits) else queries.dtype.name
        return name, self.k, self.partial


class RefusedError(Exception):
    """A request that is not answered, and why."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = json.dumps({"error": {"code": code, "message": message}}).encode()

    @classmethod
    def of(cls, error: Exception) -> RefusedError:
        """An error of the library, for a client; of any other it learns nothing."""
        if isinstance(error, cls):
            return error
        for kind, status in STATUS.items():
            if isinstance(error, kind):
                return cls(status, kind.code, str(error))
        return cls(500, "internal", "the search failed: the log of the service says why")


def read_json(body: bytes, spec: Spec, limits: Limits) -> Question:
    try:
        asked = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise _wrong(f"the body is not JSON: {error}") from None
    if not isinstance(asked, dict):
        raise _wrong('the body is JSON, but not an object: {"queries": [[...], ...], "k": 10}')
    known = {"queries", "k", "partial", "only", "without"}
    if not asked.keys() <= known:
        unknown = reprlib.repr(sorted(asked.keys() - known))
        raise _wrong(f"unknown {unknown}, expected some of {sorted(known)}")
    rows = asked.get("queries")
    if not isinstance(rows, list):
        raise _wrong("queries is not a list of vectors")
    k = _take_k(asked.get("k", 10), limits)
    _check_count(len(rows), k, limits)
    queries = _bits_of(rows, spec.dim) if spec.dtype == "bits" else _numbers_of(rows, spec)
    partial = asked.get("partial", False)
    if not isinstance(partial, bool):
        raise _wrong(f"partial is {reprlib.repr(partial)}, expected true or false")
    return Question(
        queries,
        k,
        partial,
        _ids_of("only", asked.get("only")),
        _ids_of("without", asked.get("without")),
    )


def read_npy(body: bytes, parameters: Mapping[str, str], spec: Spec, limits: Limits) -> Question:
    """parameters: those of the URL, `k` and `partial`."""
    unknown = parameters.keys() - {"k", "partial"}
    if unknown:
        raise _wrong(f"unknown parameters {reprlib.repr(sorted(unknown))}, expected k and partial")
    partial = parameters.get("partial", "false")
    if partial not in ("true", "false"):
        raise _wrong(f"partial is {reprlib.repr(partial)}, expected true or false")
    digits = parameters.get("k", "10")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise _wrong(f"k is {reprlib.repr(digits)}, expected a number")
    k = _take_k(int(digits), limits)
    is_bits = spec.dtype == "bits"
    rows = _array_of(body, (spec.dim + 7) // 8 if is_bits else spec.dim, k, limits)
    if is_bits and rows.dtype != np.uint8:
        raise _wrong(f"the array has {rows.dtype}, expected packed bits, of uint8")
    queries = _checked_bits(rows, spec.dim) if is_bits else rows
    return Question(queries, k, partial == "true")


def write_json(found: Found) -> bytes:
    """Where there are fewer than k the id is -1, and the distance null.

    Query by query: `json` lets no other thread run until it returns.
    """
    there = np.arange(found.ids.shape[1]) < found.counts[:, None]
    there &= np.isfinite(found.distances)  # JSON has no infinity
    ids = [json.dumps(row.tolist()) for row in found.ids]
    distances = found.distances.astype(object)
    distances[~there] = None
    written = [json.dumps(row.tolist(), allow_nan=False) for row in distances]
    rest = json.dumps({"counts": found.counts.tolist(), **_about(found)})
    return (
        f'{{"ids": [{", ".join(ids)}], "distances": [{", ".join(written)}], {rest[1:]}'
    ).encode()


def write_npz(found: Found) -> bytes:
    arrays = {name: getattr(found, name) for name in ("ids", "distances", "keys", "counts")}
    about = np.frombuffer(json.dumps(_about(found)).encode(), np.uint8)
    file = io.BytesIO()
    np.savez(file, **arrays, about=about)
    return file.getvalue()


def _about(found: Found) -> dict[str, Any]:
    return {"exact": found.exact, "epoch": found.epoch, "missing": list(found.missing)}


def _array_of(body: bytes, columns: int, k: int, limits: Limits) -> np.ndarray[Any, Any]:
    file = io.BytesIO(body)
    try:
        shape, by_columns, dtype = HEADERS[np.lib.format.read_magic(file)](file)
    except Exception as error:  # of many types, by what numpy reads the header with
        raise _wrong(f"the body is not a .npy: {type(error).__name__} {error}"[:300]) from None
    # Of bool, or so large that Python may refuse to write it.
    if any(type(side) is not int or abs(side) >= 1 << 63 for side in shape):
        raise _wrong("the header says a shape that no array has")
    if (
        dtype.name not in DTYPES
        or not dtype.isnative
        or by_columns
        or len(shape) != 2
        or shape[0] < 0
        or shape[1] != columns
    ):
        raise _wrong(
            f"the array has shape {shape} of {dtype}{' by columns' * by_columns}, expected (rows, "
            f"{columns}) by rows, of one of {', '.join(DTYPES)}"
        )
    _check_count(shape[0], k, limits)
    expected, actual = shape[0] * shape[1] * dtype.itemsize, len(body) - file.tell()
    if expected != actual:
        raise _wrong(f"the header says {shape} of {dtype}, {expected} bytes; {actual} follow it")
    array = np.frombuffer(body, dtype, offset=file.tell()).reshape(int(shape[0]), columns)
    return array if array.flags.aligned else array.copy()


def _numbers_of(rows: list[Any], spec: Spec) -> np.ndarray[Any, Any]:
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != spec.dim:
            length = f"has {len(row)}" if isinstance(row, list) else "is no list of"
            raise _wrong(f"query {number} {length} values, expected {spec.dim}")
    if not set(map(type, itertools.chain.from_iterable(rows))) <= {int, float}:
        raise _wrong("queries holds something that is not a number")
    try:
        exact = np.array(rows, np.float64).reshape(len(rows), spec.dim)
    except OverflowError:
        raise _wrong("queries holds a number that no float64 holds") from None
    numbers = _as_type(exact, spec.dtype)
    if not np.isfinite(numbers).all():
        raise _wrong(f"queries holds a number that no {numbers.dtype} holds")
    return numbers


def _as_type(exact: NDArray[np.float64], dtype: str) -> np.ndarray[Any, Any]:
    """As float32, which the library takes for all types but float64; bytes where they are."""
    if dtype == "f64":
        return exact
    with np.errstate(over="ignore", invalid="ignore"):
        whole = exact.astype(INTEGERS[dtype]) if dtype in INTEGERS else None
        if whole is not None and (whole == exact).all():
            return whole
        return exact.astype(np.float32)


def _bits_of(rows: list[Any], bits: int) -> nf.Bits:
    width = (bits + 7) // 8
    packed = np.empty((len(rows), width), np.uint8)
    for number, row in enumerate(rows):
        try:
            code = bytes.fromhex(row)
        except (TypeError, ValueError):
            raise _wrong(f"query {number} is not a text of hexadecimal digits") from None
        if len(code) != width:
            raise _wrong(f"query {number} has {len(code)} bytes, expected {width}, {bits} bits")
        packed[number] = np.frombuffer(code, np.uint8)
    return _checked_bits(packed, bits)


def _checked_bits(packed: np.ndarray[Any, Any], bits: int) -> nf.Bits:
    if bits % 8 and (packed[:, -1] >> bits % 8).any():
        raise _wrong(f"a query has bits beyond its {bits}, which must be zero")
    return nf.Bits(packed, bits)


def _ids_of(name: str, ids: Any) -> NDArray[np.int64] | None:
    if ids is None:
        return None
    if not isinstance(ids, list) or not set(map(type, ids)) <= {int}:
        raise _wrong(f"{name} is not a list of ids")
    try:
        return np.array(ids, np.int64)
    except OverflowError:
        raise _wrong(f"{name} holds a number that no int64 holds") from None


def _take_k(k: Any, limits: Limits) -> int:
    if type(k) is not int or k < 0:
        raise _wrong(f"k is {reprlib.repr(k)}, expected 0 to {limits.k}")
    if k > limits.k:
        raise RefusedError(
            400, "limit", f"k is {reprlib.repr(k)}, the service allows at most {limits.k}"
        )
    return k


def _check_count(queries: int, k: int, limits: Limits) -> None:
    if queries > limits.queries:
        raise RefusedError(
            413, "limit", f"{queries} queries, the service allows at most {limits.queries} at once"
        )
    if queries * k > limits.results:
        raise RefusedError(
            413, "limit", f"{queries} queries of k = {k} have {queries * k} results, the service "
            f"allows at most {limits.results} at once: ask for fewer at a time",
        )  # fmt: skip


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")


def _wrong(message: str) -> RefusedError:
    return RefusedError(400, "invalid_argument", message)
