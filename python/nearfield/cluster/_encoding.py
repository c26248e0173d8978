"""Codes of more vectors than one machine encodes: each block of them as a task."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nearfield as nf
from nearfield._arguments import byte_count, integer
from nearfield._run import Progress
from nearfield.cluster._datasets import Dataset, is_dataset, vectors_in
from nearfield.cluster._jobs import (
    FileName,
    begin_job,
    is_written,
    part_name,
    parts_left,
    read_arrays,
    write_arrays,
)
from nearfield.cluster._sources import Source, SourceLike, take_source
from nearfield.cluster._store import open_store
from nearfield.cluster._tasks import run_tasks
from nearfield.cluster._writing import Url

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def encode(
    url: Url,
    rows: SourceLike | Any,
    quantizer: FileName,
    *,
    column: str | None = None,
    block: int = 1_000_000,
    memory_limit: int | str | None = None,
    progress: Progress = None,
) -> int:
    """The code of each row, as `nearfield.Quantizer.encode` has them, as parts of `block` rows
    each; how many parts there are. `read_codes` reads them.

    url: a folder or bucket for the parts, of this job alone.
    rows: as of `build`; or a `ray.data.Dataset`, whose rows are counted first. Begun again, all of
        it is read again, but what is encoded is not encoded again; it is known by its size and its
        first rows.
    quantizer: the file of a `nearfield.Quantizer`. Its content is sent to the tasks.
    column: of a dataset, the one that holds the vectors: tensors, or lists of numbers.
    memory_limit: of each task, beside its rows.
    """
    store = open_store(url)
    source = _take_rows(rows, column)
    size = integer("block", block)
    if size < 1:
        raise nf.InvalidArgumentError(f"block is {size}, expected at least 1")
    dim = nf.Quantizer.open(quantizer).dim
    if source.dim != dim:
        raise nf.InvalidArgumentError(f"rows has {source.dim} columns, the quantizer {dim}")
    saved = Path(quantizer).read_bytes()
    parts = -(-source.rows // size)
    plan = {
        "operation": "encode",
        "rows": source.describe(),
        "quantizer": hashlib.sha256(saved).hexdigest(),
        "block": size,
        "parts": parts,
    }
    begin_job(store, plan)
    left = parts_left(store, parts)
    limit = None if memory_limit is None else byte_count("memory_limit", memory_limit)
    if isinstance(source, Dataset):
        if left:
            wanted = set(left)
            blocks = enumerate(source.blocks(size))
            run_tasks(
                _encode_block,
                (source.column, saved, limit),
                ((store.url, part, block) for part, block in blocks if part in wanted),
                count=len(left),
                progress=progress,
                take=is_written,
                own_workers=False,  # Ray Data's tasks and these take turns
            )
        return parts
    calls = [(store.url, part, part * size, min((part + 1) * size, source.rows)) for part in left]
    run_tasks(_encode_part, (source, saved, limit), calls, progress=progress, take=is_written)
    return parts


def read_codes(url: Url) -> Iterator[NDArray[np.uint8]]:
    """The parts that `encode` has made, one after the other."""
    for arrays in read_arrays(open_store(url)):
        yield arrays["codes"]


def _take_rows(rows: SourceLike | Any, column: str | None) -> Source | Dataset:
    if is_dataset(rows):
        return Dataset(rows, column)
    if column is not None:
        raise nf.InvalidArgumentError(
            f"column is {column!r}, and rows is no dataset of Ray Data, which alone has columns"
        )
    return take_source(rows)


def _encode_part(
    shared: tuple[Source, bytes, int | None], url: str, part: int, begin: int, end: int
) -> None:
    """Runs as a task."""
    source, saved, limit = shared
    _write_codes(source.piece(begin, end), saved, limit, url, part)


def _encode_block(shared: tuple[str, bytes, int | None], url: str, part: int, block: Any) -> None:
    """Runs as a task; Ray gives it the block in the place of its reference."""
    column, saved, limit = shared
    _write_codes(vectors_in(block, column), saved, limit, url, part)


def _write_codes(rows: Any, saved: bytes, limit: int | None, url: str, part: int) -> None:
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        file.write(saved)
        file.flush()
        quantizer = nf.Quantizer.open(file.name)
    codes = quantizer.encode(rows, threads=1, memory_limit=limit)
    write_arrays(open_store(url), part_name(part), codes=codes)
