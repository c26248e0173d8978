"""The nearest others of each row of a file, each pair of rows looked at by one task.

Rows are cut into blocks, which are the points of an affine plane of order q: a prime, with q^2 at
least as many as there are blocks. It has q^2 + q lines of q points, and any two points have exactly
one line in common. A task joins the blocks of a line by `nearfield.graph`, which looks at each pair
once: all tasks together at n^2 / 2 pairs, and q times more often at those within a block, 1/q more
in all. Each block then has q + 1 answers, which are merged; if every two blocks were a task of
their own, it would have q^2.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np

import nearfield as nf
from nearfield._arguments import byte_count, integer, text
from nearfield._run import Progress
from nearfield.cluster._answers import Nearest, merge_overlapping
from nearfield.cluster._jobs import (
    ARRAYS,
    FileName,
    about_file,
    begin_job,
    is_written,
    part_name,
    parts_left,
    read_npz,
    write_arrays,
)
from nearfield.cluster._sources import Source, take_source
from nearfield.cluster._store import Store, open_store
from nearfield.cluster._tasks import run_tasks
from nearfield.cluster._writing import Url

LINES = "lines"


def graph(
    url: Url,
    rows: FileName,
    k: int = 10,
    metric: str = "sqeuclidean",
    *,
    block: int = 10_000,
    bits: int = 0,
    memory_limit: int | str = "1G",
    progress: Progress = None,
) -> int:
    """The k nearest other rows of each row of a file, as `nearfield.graph` finds them, to the bit,
    as parts of `block` rows each; how many parts there are. `read_neighbors` reads them.

    url: a folder or bucket for the parts, of this job alone; until it is through, also for about
        sqrt(rows / block) answers of each row.
    rows: a vector file that all machines see. A task has about sqrt(rows * block) of them.
    memory_limit: of each task, beside its rows.
    progress: counts the tasks that look at pairs, then those that merge what they found.
    """
    store = open_store(url)
    source = take_source(rows, bits)
    size = integer("block", block)
    if size < 1:
        raise nf.InvalidArgumentError(f"block is {size}, expected at least 1")
    parts = -(-source.rows // size)
    plan = {"operation": "graph", **about_file(rows), "k": integer("k", k)}
    plan |= {"metric": text("metric", metric), "block": size, "parts": parts}
    plan |= {"dim": source.dim, "dtype": source.dtype}  # what the file is read as, by `bits`
    begin_job(store, plan)
    left = set(parts_left(store, parts))
    lines = lines_of(parts)
    limit = byte_count("memory_limit", memory_limit)
    shared = (source, size, k, metric, limit, left)
    calls = [(store.url, number, lines[number]) for number in _lines_left(store, lines, left)]
    run_tasks(_join_line, shared, calls, progress=progress, take=is_written)
    through: dict[int, list[int]] = {part: [] for part in sorted(left)}
    for number, line in enumerate(lines):
        for part in left.intersection(line):
            through[part].append(number)
    merges = [(store.url, part, numbers) for part, numbers in through.items()]
    run_tasks(_merge_block, None, merges, progress=progress, take=is_written)
    for listed in store.files(LINES):
        store.remove(listed.name)
    return parts


def lines_of(blocks: int) -> list[list[int]]:
    """Numbers of blocks, rising in each line. Lines of no use, on which a block is alone that has
    others elsewhere, are left out."""
    if blocks == 1:
        return [[0]]
    order = next(q for q in count(2) if q * q >= blocks and _is_prime(q))
    upright = [[order * x + y for y in range(order)] for x in range(order)]
    others = [
        [order * x + (slope * x + start) % order for x in range(order)]
        for slope in range(order)
        for start in range(order)
    ]
    real = [[block for block in line if block < blocks] for line in upright + others]
    return [line for line in real if len(line) > 1]


def _is_prime(number: int) -> bool:
    return all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def _lines_left(store: Store, lines: list[list[int]], left: set[int]) -> list[int]:
    done = {listed.name for listed in store.files(LINES)}
    return [
        number
        for number, line in enumerate(lines)
        if any(_name(number, block) not in done for block in line if block in left)
    ]


def _name(line: int, block: int) -> str:
    return f"{LINES}/{line:08d}-{block:08d}.npz"


def _join_line(
    shared: tuple[Source, int, int, str, int, set[int]], url: str, number: int, line: list[int]
) -> None:
    """Runs as a task."""
    source, size, k, metric, limit, left = shared
    spans = [(block * size, min((block + 1) * size, source.rows)) for block in line]
    own = np.concatenate([np.arange(*span) for span in spans])
    found = nf.graph(source.pieces(spans), k, metric, memory_limit=limit, threads=1)
    # Numbers of the line rise as those of the file: equal keys stay in their order.
    ids = np.where(found.ids < 0, -1, own[found.ids])
    arrays = {"ids": ids, **{name: getattr(found, name) for name in ARRAYS[1:]}}
    store, begin = open_store(url), 0
    for block, (first, last) in zip(line, spans, strict=True):
        end = begin + last - first
        if block in left:
            own_arrays = {name: values[begin:end] for name, values in arrays.items()}
            write_arrays(store, _name(number, block), **own_arrays)
        begin = end


def _merge_block(shared: Any, url: str, part: int, lines: list[int]) -> None:
    """Runs as a task."""
    store = open_store(url)
    answers = [Nearest(**read_npz(store, _name(line, part)), exact=True) for line in lines]
    found = merge_overlapping(answers)
    write_arrays(store, part_name(part), **{name: getattr(found, name) for name in ARRAYS})
