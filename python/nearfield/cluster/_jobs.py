"""Batch jobs: work that is cut into parts, each of which is a task that leaves one file.

A job is known by what it is asked. Begun again after any failure, in the same folder or bucket, it
does the parts that are not there, and the files are the same bytes as if nothing had happened.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np

import nearfield as nf
from nearfield._arguments import byte_count, integer, text
from nearfield._run import Progress
from nearfield.cluster._answers import Nearest, join_nearest
from nearfield.cluster._errors import ConflictError
from nearfield.cluster._sources import Source, SourceLike, take_source
from nearfield.cluster._store import Store, open_store
from nearfield.cluster._tasks import run_tasks
from nearfield.cluster._writing import Url

if TYPE_CHECKING:
    from numpy.typing import NDArray

PLAN = "job.json"
PARTS = "parts"
MOST_PLAN_BYTES = 1 << 20
MOST_PART_BYTES = 1 << 36
ARRAYS = ("ids", "distances", "keys", "counts")

FileName: TypeAlias = Union[str, "os.PathLike[str]"]


def ground_truth(
    url: Url,
    queries: SourceLike,
    base: FileName,
    k: int = 10,
    metric: str = "sqeuclidean",
    *,
    block: int = 10_000,
    bits: int = 0,
    memory_limit: int | str = "1G",
    progress: Progress = None,
) -> int:
    """The k nearest rows of a file for each query, exactly, as parts of `block` queries each; how
    many parts there are. `read_neighbors` reads them.

    url: a folder or bucket for the parts, of this job alone.
    queries: as the rows of `build`.
    base: a vector file that all machines see. Each task reads it once, in pieces.
    bits: of packed bits, how many there are a row: of the base, and of queries in files.
    memory_limit: of each task, beside its queries.

    The answers are those of `nearfield.knn`, to the bit.
    """
    store = open_store(url)
    source = take_source(queries, bits)
    size = integer("block", block)
    if size < 1:
        raise nf.InvalidArgumentError(f"block is {size}, expected at least 1")
    parts = -(-source.rows // size)
    asked = {"operation": "ground_truth", "queries": source.describe(), **about_file(base)}
    plan = {**asked, "k": integer("k", k), "metric": text("metric", metric), "block": size}
    begin_job(store, {**plan, "parts": parts})
    calls = [
        (store.url, part, part * size, min((part + 1) * size, source.rows))
        for part in parts_left(store, parts)
    ]
    limit = byte_count("memory_limit", memory_limit)
    shared = (source, str(Path(base).absolute()), bits, k, metric, limit)
    run_tasks(_search_part, shared, calls, progress=progress, take=is_written)
    return parts


def read_neighbors(url: Url) -> Iterator[Nearest]:
    """The parts that `ground_truth` or `graph` has made, one after the other."""
    for arrays in read_arrays(open_store(url)):
        yield Nearest(**arrays, exact=True)


def read_all_neighbors(url: Url) -> Nearest:
    """All parts, in memory."""
    return join_nearest(list(read_neighbors(url)))


def begin_job(store: Store, plan: dict[str, Any]) -> None:
    """Claims the place for this job; another may not have it."""
    data = json.dumps(plan, sort_keys=True).encode()
    if store.create(PLAN, data):
        return
    there = store.read(PLAN, MOST_PLAN_BYTES)
    if there != data:
        raise ConflictError(
            f"{store.url}: holds another job, {there.decode(errors='replace')[:300]}: give this "
            "one a place of its own"
        )


def read_plan(store: Store) -> dict[str, Any]:
    """What the job of a place was asked."""
    plan: dict[str, Any] = json.loads(store.read(PLAN, MOST_PLAN_BYTES))
    return plan


def _search_part(
    shared: tuple[Source, str, int, int, str, int], url: str, part: int, begin: int, end: int
) -> None:
    """Runs as a task."""
    source, path, bits, k, metric, limit = shared
    base = nf.open_rows(path, bits)
    found = nf.knn(source.piece(begin, end), base, k, metric, memory_limit=limit, threads=1)
    arrays = {name: getattr(found, name) for name in ARRAYS}
    write_arrays(open_store(url), part_name(part), **arrays)


def parts_left(store: Store, parts: int) -> list[int]:
    """Those that are not there yet."""
    done = {listed.name for listed in store.files(PARTS)}
    return [part for part in range(parts) if part_name(part) not in done]


def is_written(number: int, result: None) -> None:
    """What a task of a job leaves is files: of its result there is nothing to take."""


def write_arrays(store: Store, name: str, **arrays: NDArray[Any]) -> None:
    with store.writing(name) as draft, open(draft, "wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # of allow_pickle, which is no array


def read_arrays(store: Store) -> Iterator[dict[str, NDArray[Any]]]:
    """What each part of a job holds, one after the other."""
    for part in range(read_plan(store)["parts"]):
        yield read_npz(store, part_name(part))


def read_npz(store: Store, name: str) -> dict[str, NDArray[Any]]:
    """What `write_arrays` has written."""
    try:
        data = store.read(name, MOST_PART_BYTES)
    except FileNotFoundError:
        raise nf.FileError(
            f"{store.url}/{name}: is not there yet: call again what makes it"
        ) from None
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return dict(arrays)


def part_name(part: int) -> str:
    return f"{PARTS}/{part:08d}.npz"


def about_file(base: FileName) -> dict[str, Any]:
    path = Path(base).absolute()
    about = path.stat()
    return {"base": str(path), "bytes": about.st_size, "written": about.st_mtime_ns}
