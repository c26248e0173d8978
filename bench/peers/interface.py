"""What the referee asks of everybody."""
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np

# Of local search: of training, and for a vector that is encoded.
LSQ_ITERATIONS, LSQ_ROUNDS = 5, 16


@dataclass(frozen=True)
class Data:
    base: np.ndarray
    queries: np.ndarray   # empty where rows of the base are asked about
    metric: str
    threads: int
    one_by_one: bool = False   # a call for each query
    index: str = ""            # a family of Nearfield's indexes: that is what it searches


class Way:
    """One way to use one library.

    What is built or copied before the first query belongs in `__init__`, whose time is reported
    apart. Then a method for each operation that it can do:

    - `knn(part, k)`: ids of the k nearest base rows of `queries[part]`;
    - `within(part, radius)`: offsets and ids, as CSR;
    - `graph(k)`: ids of the k nearest others of each base row;
    - `match(ratio)`: rows of the queries and those of the base that belong to them: nearest to
      each other, and the first nearer than `ratio` times the second nearest;
    - `select(k)`: columns of the k smallest values of each base row;
    - `train(codebooks)`: a quantizer by local search, of the base;
    - `encode(codebooks)`: the codes of `queries` by that. It is trained the first time, which
      is not timed.

    A limit does the same amount of bare work, `times_done` times, and returns None.
    """
    packages: ClassVar[tuple[str, ...]] = ()          # of PyPI, for their versions
    uses_blas: ClassVar[bool] = False                 # then the referee calls that BLAS bare
    is_limit: ClassVar[bool] = False
    times_done: int = 1                               # of limits: their time is divided by it
    settings: ClassVar[tuple[dict[str, int], ...]] = ()  # of approximate ways, for `set`

    def __init__(self, data: Data) -> None:
        self.data = data

    def forget_base(self) -> None:
        """For who has a copy of its own, or needs none: many hold a large base at once."""
        self.data = replace(self.data, base=np.empty((0, 0), self.data.base.dtype))

    def ids(self, answer: Any) -> Any:
        """What the library returned as an array of ids, two for a radius or matches; not timed."""
        return answer

    def decoded(self, answer: Any) -> np.ndarray:
        """Of `train` and `encode`: what the codes of `queries` stand for; not timed."""
        raise NotImplementedError

    def plan(self, answer: Any) -> dict[str, Any]:
        """What the library says it did for this answer, if it does."""
        return {}

    def set(self, **setting: int) -> None:
        """Choose how approximate the next answers are."""
        raise NotImplementedError


def as_float32(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows, dtype=np.float32)


@cache
def pool(threads: int) -> ThreadPoolExecutor:
    """Kept, since starting threads takes as long as a small search."""
    return ThreadPoolExecutor(threads)


def on_threads(threads: int, work: Callable[[int], Any]) -> None:
    """Calls work(0) to work(threads - 1) side by side, for libraries that have no threads."""
    list(pool(threads).map(work, range(threads)))


def without_self(ids: np.ndarray) -> np.ndarray:
    """k + 1 nearest of each row to k nearest others: its own id, else the last, is left out."""
    own = ids == np.arange(len(ids))[:, None]
    own[~own.any(axis=1), -1] = True
    return ids[~own].reshape(len(ids), -1)


def tested_matches(keys: np.ndarray, nearest: np.ndarray, back: np.ndarray, ratio: float
                   ) -> tuple[np.ndarray, np.ndarray]:
    """What `match` returns, for who finds nearest rows only.

    `keys`: squared distances to the two nearest; `nearest`, `back`: the nearest row of the base of
    each query, and the other way round.
    """
    distances = np.sqrt(keys, dtype=np.float64)
    mutual = back[nearest] == np.arange(len(nearest))
    first = np.flatnonzero(mutual & (distances[:, 0] < ratio * distances[:, 1]))
    return first, nearest[first]
