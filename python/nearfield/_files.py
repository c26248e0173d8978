"""Vector files, read whole and written. The ending of the name says the format."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, Union

import numpy as np

from nearfield import _core
from nearfield._arguments import file_name
from nearfield._arrays import DLPackArray, host_array
from nearfield._copies import Copies
from nearfield._errors import InvalidArgumentError
from nearfield._ids import take_ids
from nearfield._rows import FileRows, RowsLike, take_rows
from nearfield._run import running

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Buffer

Path: TypeAlias = Union[str, "os.PathLike[str]"]


class Truth(NamedTuple):
    """big-ann's ground truth."""

    ids: NDArray[np.int64]  # rows x k; -1 where a row had fewer
    distances: NDArray[np.float32]  # rows x k


def read(path: Path, *, timeout: float | None = None) -> NDArray[Any]:
    """All rows of a .fbin, .f16bin, .u8bin, .i8bin, .fvecs, .bvecs or .npy, in the file's type.

    Packed bits are read as uint8, and `bits` says how many there are. `open_rows` is for files
    that do not fit into memory.

    timeout: seconds, after which `DeadlineError` is raised, as in all functions of files. Ctrl-C
        ends them too.
    """
    with running(Copies(True), timeout=timeout) as run:
        return _core.read(file_name("path", path), run)


def write(path: Path, rows: RowsLike, *, timeout: float | None = None) -> None:
    """Writes rows in the format that the ending of the name says, which must hold their type.

    The file is written beside the target and renamed: a reader sees the old file or the new one,
    also if the writing is ended by Ctrl-C or `timeout`.

    >>> import os, tempfile
    >>> import numpy as np
    >>> import nearfield as nf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "rows.fbin")
    ...     nf.write(path, np.eye(2, dtype=np.float32))
    ...     nf.read(path)
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    if isinstance(rows, FileRows):
        raise TypeError("rows is a FileRows, expected an array: read the file with nearfield.read")
    copies = Copies(True)
    taken = take_rows("rows", rows, copies)
    with running(copies, timeout=timeout) as run:
        _core.write(file_name("path", path), taken, run)


def read_ids(path: Path, *, timeout: float | None = None) -> NDArray[np.int64]:
    """The ids of a .ibin, .ivecs or .npy: rows x columns, -1 where a row had fewer."""
    with running(Copies(True), timeout=timeout) as run:
        return _core.read_ids(file_name("path", path), run)


def write_ids(path: Path, ids: Buffer | DLPackArray, *, timeout: float | None = None) -> None:
    """Writes ids, such as `Neighbors.ids`: int64 in a .npy, int32 in a .ibin or .ivecs."""
    copies = Copies(True)
    table = take_ids(ids, copies)
    with running(copies, timeout=timeout) as run:
        _core.write_ids(file_name("path", path), table, run)


def read_truth(path: Path, *, timeout: float | None = None) -> Truth:
    """Ids and distances of a ground-truth file of big-ann, whatever its name."""
    with running(Copies(True), timeout=timeout) as run:
        return Truth(*_core.read_truth(file_name("path", path), run))


def write_truth(
    path: Path,
    ids: Buffer | DLPackArray,
    distances: Buffer | DLPackArray,
    *,
    timeout: float | None = None,
) -> None:
    """Writes a ground-truth file of big-ann: ids as uint32, then distances as float32."""
    copies = Copies(True)
    table = take_ids(ids, copies)
    values, dtype = host_array("distances", distances, expected="an array of float32")
    if dtype != "float32" or values.shape != table.shape:
        raise InvalidArgumentError(
            f"distances has dtype {dtype} and shape {values.shape}, expected float32 of shape "
            f"{table.shape}, that of the ids"
        )
    close = copies.contiguous("distances", values, values.dtype)
    with running(copies, timeout=timeout) as run:
        _core.write_truth(file_name("path", path), table, close, run)
