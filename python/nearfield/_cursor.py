"""Neighbours without saying beforehand how many."""

from __future__ import annotations

from nearfield import _core
from nearfield._arguments import integer
from nearfield._copies import Copies
from nearfield._filters import FilterLike
from nearfield._questions import ask_knn
from nearfield._results import Neighbors, make_neighbors
from nearfield._rows import RowsLike
from nearfield._run import Progress, running


class KnnCursor:
    """The nearest rows of each query first, then more as they are asked for.

    `next(10)` and `next(90)` together are `knn` with k=100, bit for bit.

    >>> import numpy as np
    >>> import nearfield as nf
    >>> base = np.arange(10, dtype=np.float32).reshape(10, 1)
    >>> cursor = nf.KnnCursor(base[:1], base)
    >>> cursor.next(3).ids, cursor.next(2).ids
    (array([[0, 1, 2]]), array([[3, 4]]))

    The arguments are those of `knn`. The arrays are looked at in each step: leave them as they are.
    Steps follow each other: a second thread that asks for one meanwhile gets `UnsupportedError`.
    """

    def __init__(
        self,
        queries: RowsLike,
        base: RowsLike,
        metric: str = "sqeuclidean",
        *,
        filter: FilterLike = None,
        exclude_self: bool = False,
        check_finite: bool = False,
        copy: bool = True,
    ) -> None:
        no_k = 0  # next says how many
        self._copies = Copies(copy)
        question = ask_knn(
            queries, base, no_k, metric, filter, exclude_self, check_finite, self._copies
        )
        self._core = _core.KnnCursor(*question)

    def next(
        self,
        k: int,
        *,
        threads: int = 0,
        memory_limit: int | str | None = None,
        timeout: float | None = None,
        progress: Progress = None,
        isa: str | None = None,
        device: str | None = None,
        device_memory_limit: int | str | None = None,
    ) -> Neighbors:
        """The next k of each query; fewer where the rows come to an end.

        A step that raises changes nothing and can be asked for again.
        """
        count = integer("k", k)
        copies = Copies(True, memory_limit)
        copies.count(self._copies.nbytes)
        with running(
            copies,
            threads=threads,
            isa=isa,
            timeout=timeout,
            progress=progress,
            device=device,
            device_memory_limit=device_memory_limit,
        ) as run:
            return make_neighbors(self._core.next(count, run))
