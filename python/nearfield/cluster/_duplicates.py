"""Near-duplicates among more codes than one machine joins: every two blocks of them as a task."""

from __future__ import annotations

import json
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

import nearfield as nf
from nearfield._arguments import byte_count, integer
from nearfield._run import Progress
from nearfield.cluster._jobs import (
    MOST_PLAN_BYTES,
    PLAN,
    FileName,
    about_file,
    begin_job,
    is_written,
    part_name,
    parts_left,
    read_arrays,
    write_arrays,
)
from nearfield.cluster._sources import FileSource, take_source
from nearfield.cluster._store import open_store
from nearfield.cluster._tasks import run_tasks
from nearfield.cluster._writing import Url

if TYPE_CHECKING:
    from numpy.typing import NDArray


def dedup(
    url: Url,
    codes: FileName,
    bits: int,
    radius: int = 31,
    *,
    block: int = 10_000_000,
    memory_limit: int | str | None = None,
    progress: Progress = None,
) -> int:
    """Groups of codes that differ in at most `radius` bits, as `nearfield.dedup` finds them; how
    many parts there are. `read_first_of` joins them.

    url: a folder or bucket for the parts, of this job alone.
    codes: a file of packed bits, `bits` a row, that all machines see.
    block: codes; a task joins two blocks.
    memory_limit: of each task, beside its codes.
    """
    store = open_store(url)
    source = take_source(codes, bits)
    if source.dtype != "bits":
        raise nf.InvalidArgumentError(f"bits is {bits}, expected how many there are a row")
    size = integer("block", block)
    if size < 1:
        raise nf.InvalidArgumentError(f"block is {size}, expected at least 1")
    blocks = max(1, -(-source.rows // size))
    # Two blocks that are joined are each joined with itself, too.
    both = list(combinations(range(blocks), 2)) or [(0, 0)]
    plan = {
        "operation": "dedup",
        **about_file(codes),
        "bits": bits,
        "radius": integer("radius", radius),
        "block": size,
        "rows": source.rows,
        "parts": len(both),
    }
    begin_job(store, plan)
    calls = [(store.url, part, *both[part]) for part in parts_left(store, len(both))]
    limit = None if memory_limit is None else byte_count("memory_limit", memory_limit)
    shared = (source, size, radius, limit)
    run_tasks(_join_blocks, shared, calls, progress=progress, take=is_written)
    return len(both)


def read_first_of(url: Url) -> NDArray[np.int64]:
    """Of each code the first of its group, itself where it has no duplicate: `first_of`, as of
    `nearfield.dedup`."""
    store = open_store(url)
    rows = int(json.loads(store.read(PLAN, MOST_PLAN_BYTES))["rows"])
    parts = list(read_arrays(store))
    return first_of_groups(
        rows,
        np.concatenate([part["rows"] for part in parts]),
        np.concatenate([part["first"] for part in parts]),
    )


def first_of_groups(
    rows: int, one: NDArray[np.int64], other: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The smallest row of each row's connected component."""
    first: NDArray[np.int64] = np.arange(rows)
    while True:
        before = first.copy()
        smaller = np.minimum(first[one], first[other])
        np.minimum.at(first, first[one], smaller)
        np.minimum.at(first, first[other], smaller)
        while not np.array_equal(first, further := first[first]):
            first = further
        if np.array_equal(first, before):
            return first


def _join_blocks(
    shared: tuple[FileSource, int, int, int | None], url: str, part: int, one: int, other: int
) -> None:
    """Runs as a task."""
    source, size, radius, limit = shared
    blocks = sorted({one, other})
    spans = [(block * size, min((block + 1) * size, source.rows)) for block in blocks]
    own = np.concatenate([np.arange(*span) for span in spans])
    found = nf.dedup(source.pieces(spans), radius, threads=1, memory_limit=limit)
    rows = found.duplicates
    write_arrays(open_store(url), part_name(part), rows=own[rows], first=own[found.first_of[rows]])
