"""Files of vectors as big-ann has them: rows and columns as two uint32, then the values."""
from pathlib import Path

import numpy as np

HEADER_BYTES = 8
TYPES = {".u8bin": np.dtype("uint8"), ".fbin": np.dtype("<f4"), ".ibin": np.dtype("<i4")}


def type_of(path: Path) -> np.dtype:
    if path.suffix not in TYPES:
        raise ValueError(f"{path.name}: the ending is none of {', '.join(TYPES)}")
    return TYPES[path.suffix]


def write_rows(path: Path, rows: np.ndarray) -> None:
    if rows.ndim != 2 or rows.dtype != type_of(path):
        raise ValueError(f"{path.name}: needs two dimensions of {type_of(path)}, "
                         f"got {rows.ndim} of {rows.dtype}")
    with open(path, "wb") as out:
        np.array(rows.shape, dtype="<u4").tofile(out)
        np.ascontiguousarray(rows).tofile(out)


def shape_of(path: Path) -> tuple[int, int]:
    header = np.fromfile(path, dtype="<u4", count=2)
    if len(header) < 2:
        raise ValueError(f"{path}: {path.stat().st_size} bytes hold no header of {HEADER_BYTES}")
    rows, columns = (int(number) for number in header)
    expected = HEADER_BYTES + rows * columns * type_of(path).itemsize
    if path.stat().st_size != expected:
        raise ValueError(f"{path}: {rows} x {columns} take {expected} bytes, "
                         f"the file has {path.stat().st_size}: delete its folder and make it again")
    return rows, columns


def read_rows(path: Path) -> np.ndarray:
    """Mapped, not read: several processes share one copy."""
    return np.memmap(path, dtype=type_of(path), mode="r", offset=HEADER_BYTES,
                     shape=shape_of(path))
