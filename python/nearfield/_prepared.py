"""Rows that are searched again and again."""

from __future__ import annotations

from nearfield import _core
from nearfield._arguments import text
from nearfield._copies import Copies
from nearfield._rows import CoreRows, RowsLike, take_rows
from nearfield._run import Progress, running


class PreparedRows(CoreRows):
    """Rows made ready for many searches of few queries each, by `prepare`."""

    def __init__(self, core: _core.Rows, metric: str) -> None:
        super().__init__(core)
        self._metric = metric

    @property
    def metric(self) -> str:
        """What they are prepared for."""
        return self._metric

    @property
    def nbytes(self) -> int:
        """What is held beside the rows: at most 8 bytes and one for each column, a row."""
        return _core.prepared_nbytes(self._core)


def prepare(
    rows: RowsLike,
    metric: str = "sqeuclidean",
    *,
    copy: bool = True,
    threads: int = 0,
    memory_limit: int | str | None = None,
    timeout: float | None = None,
    progress: Progress = None,
    isa: str | None = None,
) -> PreparedRows:
    """Rounds rows to a byte a value, once: a search of them reads those bytes instead.

    >>> import numpy as np
    >>> import nearfield as nf
    >>> base = np.random.default_rng(0).normal(size=(5000, 32)).astype(np.float32)
    >>> prepared = nf.prepare(base)
    >>> nf.knn(base[7:8], prepared, k=1).ids
    array([[7]])

    Answers are those of the rows themselves, to the bit; a query alone is answered up to four times
    as fast from float32, whose bytes need not all be read. A search of many queries does the same
    for itself.

    The result looks at the rows, which must stay as they are, and is for searches under this metric
    (sqeuclidean, euclidean, cosine or inner_product) on the same `isa`. The other arguments are
    those of `knn`; progress counts rows.
    """
    copies = Copies(copy, memory_limit)
    taken = take_rows("rows", rows, copies)
    name = text("metric", metric)
    with running(copies, threads=threads, isa=isa, timeout=timeout, progress=progress) as run:
        return PreparedRows(_core.prepare(taken, name, run), name)
