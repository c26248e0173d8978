"""The searches."""

from __future__ import annotations

from nearfield import _core
from nearfield._copies import Copies
from nearfield._filters import FilterLike
from nearfield._questions import (
    ask_graph,
    ask_knn,
    ask_match,
    ask_mutual,
    ask_pairs,
    ask_within,
)
from nearfield._results import Neighbors, Pairs, Ranges, make_neighbors, make_pairs, make_ranges
from nearfield._rows import RowsLike
from nearfield._run import Progress, running


def knn(
    queries: RowsLike,
    base: RowsLike,
    k: int = 10,
    metric: str = "sqeuclidean",
    *,
    filter: FilterLike = None,
    exclude_self: bool = False,
    check_finite: bool = False,
    copy: bool = True,
    threads: int = 0,
    memory_limit: int | str | None = None,
    timeout: float | None = None,
    progress: Progress = None,
    isa: str | None = None,
    device: str | None = None,
    device_memory_limit: int | str | None = None,
) -> Neighbors:
    """The k nearest rows of the base, for each query.

    >>> import numpy as np
    >>> import nearfield as nf
    >>> base = np.array([[0, 0], [1, 0], [0, 2], [3, 3], [1, 0]], dtype=np.float32)
    >>> queries = np.array([[1, 1], [3, 2]], dtype=np.float32)
    >>> distances, ids = nf.knn(queries, base, k=3, metric="euclidean")
    >>> ids
    array([[1, 4, 0],
           [3, 1, 4]])
    >>> distances
    array([[1.       , 1.       , 1.4142135],
           [1.       , 2.828427 , 2.828427 ]], dtype=float32)

    Rows are arrays of numpy, torch or anything else with the buffer protocol or DLPack, on the
    host: float64, float32, float16, bfloat16, uint8 or int8, searched as they are; or packed bits
    by `bits`, or a file by `open_rows`. Queries and base may differ in type if one holds every
    value of the other.

    metric: a name of `metrics`, or "lp:1.5" for another exponent. For a similarity (inner_product,
        cosine) the largest comes first.
    filter: which rows may be returned: a mask of bool, one for each row; ids of rows, as integers;
        or packed bits of one dimension, by `bits`.
    exclude_self: query i is row i of the base, and is not its own neighbour.
    check_finite: a NaN or an infinity is an error, instead of a row that is never returned.
    copy: rows of an array must lie at a stride, each with its values side by side, as they do in C
        order. Another array, such as one in Fortran order, is copied once; False forbids it. A
        filter is converted all the same.
    threads: 0 is every core that this process may use.
    memory_limit: most bytes to allocate, results and copies included: a number, or "512M". Work is
        cut to fit.
    timeout: seconds, after which `DeadlineError` is raised.
    progress: True for a bar on stderr, or a callable(done, total), called in this thread a few
        times a second. What it raises ends the search.
    isa: one of `isas`; the best one if None. Results are the same bits on all of them.
    device: one of `devices`, such as "opencl", or several, "opencl:0,opencl:1,cpu", which share the
        search; the CPU if None. Results are the same bits.
    device_memory_limit: most bytes to allocate there; what it has if None. Work is cut to fit.

    The search runs without the GIL, and Ctrl-C ends it.
    """
    copies = Copies(copy, memory_limit)
    question = ask_knn(queries, base, k, metric, filter, exclude_self, check_finite, copies)
    with running(
        copies,
        threads=threads,
        isa=isa,
        timeout=timeout,
        progress=progress,
        device=device,
        device_memory_limit=device_memory_limit,
    ) as run:
        return make_neighbors(_core.knn(*question, run))


def within(
    queries: RowsLike,
    base: RowsLike,
    radius: float,
    metric: str = "sqeuclidean",
    *,
    filter: FilterLike = None,
    exclude_self: bool = False,
    check_finite: bool = False,
    copy: bool = True,
    threads: int = 0,
    memory_limit: int | str | None = None,
    timeout: float | None = None,
    progress: Progress = None,
    isa: str | None = None,
    device: str | None = None,
    device_memory_limit: int | str | None = None,
) -> Ranges:
    """All rows of the base within a radius of each query, the radius included.

    >>> import numpy as np
    >>> import nearfield as nf
    >>> base = np.array([[0, 0], [1, 0], [0, 2], [3, 3], [1, 0]], dtype=np.float32)
    >>> found = nf.within(base[:1], base, radius=1, metric="euclidean")
    >>> distances, ids = found[0]
    >>> ids
    array([0, 1, 4])

    radius: in what the metric reports; for a similarity, rows at least this similar are found. It
        is compared in float64, before `distances` are rounded to float32: those may lie a last bit
        beyond it, and `keys` do not.

    The other arguments are those of `knn`.
    """
    copies = Copies(copy, memory_limit)
    question = ask_within(queries, base, radius, metric, filter, exclude_self, check_finite, copies)
    with running(
        copies,
        threads=threads,
        isa=isa,
        timeout=timeout,
        progress=progress,
        device=device,
        device_memory_limit=device_memory_limit,
    ) as run:
        return make_ranges(_core.within(*question, run))


def graph(
    rows: RowsLike,
    k: int = 10,
    metric: str = "sqeuclidean",
    *,
    filter: FilterLike = None,
    check_finite: bool = False,
    copy: bool = True,
    threads: int = 0,
    memory_limit: int | str | None = None,
    timeout: float | None = None,
    progress: Progress = None,
    isa: str | None = None,
    device: str | None = None,
    device_memory_limit: int | str | None = None,
) -> Neighbors:
    """The k nearest other rows, for each row: a copy of a row is a neighbour, the row itself not.

    >>> import numpy as np
    >>> import nearfield as nf
    >>> rows = np.array([[0, 0], [1, 0], [0, 2], [3, 3], [1, 0]], dtype=np.float32)
    >>> nf.graph(rows, k=1).ids.ravel()
    array([1, 4, 0, 2, 1])

    The other arguments are those of `knn`.
    """
    copies = Copies(copy, memory_limit)
    question = ask_graph(rows, k, metric, filter, check_finite, copies)
    with running(
        copies,
        threads=threads,
        isa=isa,
        timeout=timeout,
        progress=progress,
        device=device,
        device_memory_limit=device_memory_limit,
    ) as run:
        return make_neighbors(_core.graph(*question, run))


def pairs(
    rows: RowsLike,
    other: RowsLike | None = None,
    *,
    radius: float | None = None,
    count: int | None = None,
    metric: str = "sqeuclidean",
    check_finite: bool = False,
    copy: bool = True,
    threads: int = 0,
    memory_limit: int | str | None = None,
    timeout: float | None = None,
    progress: Progress = None,
    isa: str | None = None,
    device: str | None = None,
    device_memory_limit: int | str | None = None,
) -> Pairs:
    """The closest pairs of two different rows; with `other`, of a row and a row of the other set.

    All within `radius`, the `count` closest, or both: at least one of them is given.

    >>> import numpy as np
    >>> import nearfield as nf
    >>> rows = np.array([[0, 0], [1, 0], [0, 2], [3, 3], [1, 0]], dtype=np.float32)
    >>> distances, first, second = nf.pairs(rows, count=2)
    >>> first, second
    (array([1, 0]), array([4, 1]))

    The other arguments are those of `knn`.
    """
    copies = Copies(copy, memory_limit)
    question = ask_pairs(rows, other, radius, count, metric, check_finite, copies)
    with running(
        copies,
        threads=threads,
        isa=isa,
        timeout=timeout,
        progress=progress,
        device=device,
        device_memory_limit=device_memory_limit,
    ) as run:
        return make_pairs(_core.pairs(*question, run))


def mutual(
    rows: RowsLike,
    other: RowsLike | None = None,
    metric: str = "sqeuclidean",
    *,
    check_finite: bool = False,
    copy: bool = True,
    threads: int = 0,
    memory_limit: int | str | None = None,
    timeout: float | None = None,
    progress: Progress = None,
    isa: str | None = None,
    device: str | None = None,
    device_memory_limit: int | str | None = None,
) -> Pairs:
    """The pairs of two different rows that are each other's nearest, closest pair first; with
    `other`, of a row and a row of the other set. It is what matchers call a cross check.

    >>> import numpy as np
    >>> import nearfield as nf
    >>> left = np.array([[0, 0], [1, 0], [9, 9]], dtype=np.float32)
    >>> right = np.array([[9, 8], [0, 1], [5, 5]], dtype=np.float32)
    >>> distances, first, second = nf.mutual(left, right, metric="euclidean")
    >>> first, second
    (array([0, 2]), array([1, 0]))

    Of rows that are equally near, the nearest is the one with the smaller id, so that a row is in
    at most one pair. The other arguments are those of `knn`.
    """
    copies = Copies(copy, memory_limit)
    question = ask_mutual(rows, other, metric, check_finite, copies)
    with running(
        copies,
        threads=threads,
        isa=isa,
        timeout=timeout,
        progress=progress,
        device=device,
        device_memory_limit=device_memory_limit,
    ) as run:
        return make_pairs(_core.mutual(*question, run))


def match(
    first: RowsLike,
    second: RowsLike,
    *,
    ratio: float | None = 0.8,
    margin: float | None = None,
    max_distance: float | None = None,
    cross_check: str = "nearest",
    metric: str = "euclidean",
    check_finite: bool = False,
    copy: bool = True,
    threads: int = 0,
    memory_limit: int | str | None = None,
    timeout: float | None = None,
    progress: Progress = None,
    isa: str | None = None,
    device: str | None = None,
    device_memory_limit: int | str | None = None,
) -> Pairs:
    """Descriptors of two images that belong together, closest pair first: of each row of `first`
    its nearest of `second`, if it passes the tests.

    ratio         the nearest must be nearer than `ratio` times the second nearest: true distances,
                  and strictly, so that 1 rejects ties. None: any
    margin        the nearest must be at least so much nearer than the second nearest: rather this
                  for binary descriptors
    max_distance  the nearest must be at most so far
    cross_check   "nearest": it has the row of `first` for its own nearest; "tested": and that one
                  passes the tests too; "none"
    metric        a distance of `metrics`; or "sift_angle", the angle between SIFT bytes as COLMAP
                  has it: with max_distance=0.7 and cross_check="tested" these are its rules

    >>> import numpy as np
    >>> import nearfield as nf
    >>> left = np.array([[0, 0], [9, 9], [50, 50]], dtype=np.uint8)
    >>> right = np.array([[9, 8], [0, 1], [30, 40], [40, 30]], dtype=np.uint8)
    >>> distances, first, second = nf.match(left, right)
    >>> first, second
    (array([0, 1]), array([1, 0]))

    The third row has two that are as near, and so none. Bytes are matched exactly; of floats the
    answer is that of float64. An image without descriptors has no matches. The other arguments are
    those of `knn`.
    """
    copies = Copies(copy, memory_limit)
    question = ask_match(
        first, second, ratio, margin, max_distance, cross_check, metric, check_finite, copies
    )
    with running(
        copies,
        threads=threads,
        isa=isa,
        timeout=timeout,
        progress=progress,
        device=device,
        device_memory_limit=device_memory_limit,
    ) as run:
        return make_pairs(_core.match(*question, run))
