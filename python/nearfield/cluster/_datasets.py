"""Rows of a dataset of Ray Data, in blocks of a size of ours, whatever blocks it has itself."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

import nearfield as nf
from nearfield._arguments import text
from nearfield._rows import DTYPES

FIRST_ROWS = 16  # by which a dataset is told from others of its size


def is_dataset(rows: object) -> bool:
    """Without importing Ray Data: whoever has a dataset has done so."""
    data = sys.modules.get("ray.data")
    return data is not None and isinstance(rows, data.Dataset)


class Dataset:
    """One column of a dataset. Its rows must come in the same order each time it is read: as of
    files, and not of a shuffle without a seed."""

    def __init__(self, dataset: Any, column: str | None) -> None:
        self.rows = int(dataset.count())
        if self.rows == 0:
            raise nf.InvalidArgumentError("the dataset has no rows")
        if column is None or column not in dataset.columns():
            raise nf.InvalidArgumentError(
                f"column is {column!r}, expected one of {dataset.columns()}, that holds the vectors"
            )
        self.column = text("column", column)
        self._chosen = dataset.select_columns([column])
        self._chosen.context.execution_options.preserve_order = True
        batch = self._chosen.take_batch(FIRST_ROWS, batch_format="numpy")
        first = vectors_of(batch[column], column)
        self.dim, self.dtype = first.shape[1], DTYPES[first.dtype.name]
        self._first = hashlib.sha256(first.tobytes()).hexdigest()

    def describe(self) -> str:
        about = f"dataset {self.rows} x {self.dim} {self.dtype} of {self.column}"
        return f"{about}, first rows {self._first}"

    def blocks(self, size: int) -> Iterator[Any]:
        """References to blocks of so many rows each, but for the last, as they come to be."""
        blocks = self._chosen.repartition(target_num_rows_per_block=size, strict=True)
        begin = 0
        for bundle in blocks.iter_internal_ref_bundles():
            for entry in bundle.blocks:
                count = entry.metadata.num_rows
                if count == 0:
                    continue
                if count != min(size, self.rows - begin):
                    raise self._changed(count, begin, size)
                begin += count
                yield entry.ref
        if begin != self.rows:
            raise self._changed(0, begin, size)

    def _changed(self, count: int, begin: int, size: int) -> nf.InvalidArgumentError:
        return nf.InvalidArgumentError(
            f"the dataset gave {count} rows at row {begin} of {self.rows}, expected "
            f"{min(size, self.rows - begin)}: it does not hold what it held when its rows were "
            "counted"
        )


def vectors_in(block: Any, column: str) -> np.ndarray[Any, Any]:
    """Of a block that a reference of `blocks` stands for."""
    from ray.data.block import BlockAccessor

    return vectors_of(BlockAccessor.for_block(block).to_numpy(column), column)


def vectors_of(values: np.ndarray[Any, Any], column: str) -> np.ndarray[Any, Any]:
    """A column of tensors, or of lists: then each value is an array."""
    if values.dtype == object:
        widths = {np.shape(value) for value in values}
        if len(widths) != 1:
            raise nf.InvalidArgumentError(
                f"{column} holds vectors of different shapes, {sorted(map(str, widths))[:3]}"
            )
        values = np.stack(list(values))
    if values.ndim != 2 or values.dtype.name not in DTYPES:
        raise nf.InvalidArgumentError(
            f"{column} has values of {values.dtype} and shape {values.shape[1:]}, expected vectors "
            f"of one of {', '.join(DTYPES)}"
        )
    return values
