"""Groups of near-duplicates among binary codes."""

from __future__ import annotations

from nearfield import _core
from nearfield._arguments import integer
from nearfield._copies import Copies
from nearfield._results import DuplicateGroups, make_groups
from nearfield._rows import RowsLike, take_rows
from nearfield._run import Progress, running


def dedup(
    codes: RowsLike,
    radius: int = 31,
    *,
    copy: bool = True,
    threads: int = 0,
    memory_limit: int | str | None = None,
    timeout: float | None = None,
    progress: Progress = None,
    isa: str | None = None,
) -> DuplicateGroups:
    """Groups of codes that differ in at most `radius` bits.

    >>> import numpy as np
    >>> import nearfield as nf
    >>> codes = np.array([[0], [255], [1], [254], [60]], dtype=np.uint8)
    >>> groups = nf.dedup(nf.bits(codes, 8), radius=1)
    >>> [rows.tolist() for rows in groups]
    [[0, 2], [1, 3]]
    >>> groups.kept
    array([0, 1, 4])

    codes: packed bits, `bits(array, 256)`, or a file of them, `open_rows(path, bits=256)`.
    radius: 31 of 256 bits is what PDQ recommends; of 64-bit perceptual hashes 10 is usual, and
        a few million of them need less.

    Near-duplicates of near-duplicates are in one group too: each code is near to some code of its
    group, not to every one. Exact, and the same for any number of threads. The other arguments are
    those of `knn`.
    """
    copies = Copies(copy, memory_limit)
    rows = take_rows("codes", codes, copies)
    most = integer("radius", radius)
    with running(copies, threads=threads, isa=isa, timeout=timeout, progress=progress) as run:
        return make_groups(_core.dedup(rows, most, run))
