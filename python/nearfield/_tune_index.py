"""Parameters of an index that answers approximately."""

from __future__ import annotations

from dataclasses import dataclass

from nearfield import _core
from nearfield._arguments import integer, real, text
from nearfield._copies import Copies
from nearfield._rows import RowsLike, take_rows
from nearfield._run import Progress, running


@dataclass(frozen=True)
class TunedIndex:
    """What `tune_index` has chosen."""

    family: str  # with its parameters, for `Index`
    recall: float  # expected, by the sample
    looked_at: float  # part of the vectors that a query is compared with, likewise


def tune_index(
    vectors: RowsLike,
    family: str = "lsh",
    *,
    recall: float = 0.8,
    k: int = 1,
    metric: str = "sqeuclidean",
    queries: RowsLike | None = None,
    copy: bool = True,
    threads: int = 0,
    timeout: float | None = None,
    progress: Progress = None,
) -> TunedIndex:
    """Parameters with which an index of these vectors finds enough, at the least cost.

    >>> import numpy as np
    >>> import nearfield as nf
    >>> vectors = np.random.default_rng(0).normal(size=(5000, 16)).astype(np.float32)
    >>> tuned = nf.tune_index(vectors, "lsh", recall=0.8, k=1)
    >>> tuned.recall > 0.8
    True
    >>> index = nf.Index(tuned.family, dim=16)

    By a sample of the vectors, and of queries; the same vectors, the same parameters.

    family: "lsh", with parameters that are to stay.
    recall: the part of the k nearest that is to be found, on average.
    queries: like those that will be asked; without, the vectors stand for them.

    The other arguments are those of `knn`.
    """
    copies = Copies(copy)
    rows = take_rows("vectors", vectors, copies)
    asked = None if queries is None else take_rows("queries", queries, copies)
    with running(copies, threads=threads, timeout=timeout, progress=progress) as run:
        return TunedIndex(
            *_core.tune_index(
                rows,
                asked,
                text("family", family),
                text("metric", metric),
                real("recall", recall),
                integer("k", k),
                run,
            )
        )
