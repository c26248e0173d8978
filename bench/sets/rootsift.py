"""RootSIFT: the square root of each SIFT value over the sum of its row. Unit length, float32."""
import shutil
from pathlib import Path

import numpy as np

from sets.vector_files import read_rows, write_rows


def rootsift(descriptors: np.ndarray) -> np.ndarray:
    wide = descriptors.astype(np.float64)
    sums = wide.sum(axis=1, keepdims=True)
    return np.sqrt(wide / np.where(sums == 0, 1, sums)).astype(np.float32)


def make(folder: Path, sift: Path) -> dict[str, object]:
    for part in ("base", "learn", "queries"):
        write_rows(folder / f"{part}.fbin", rootsift(read_rows(sift / f"{part}.u8bin")))
    shutil.copy(sift / "correspondences.ibin", folder)
    return {"made_from": "sift-1m of the same size"}
