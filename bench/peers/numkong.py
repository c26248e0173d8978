"""NumKong: all distances, and nobody selected. A limit: the fastest public kernels of a matrix."""
import math

import numkong
import numpy as np

from peers.interface import Data, Way, on_threads

MOST_ROWS_AT_A_TIME = 16_384
PARTS_A_THREAD = 4  # else one thread waits for another at the end of a small base


def rows_at_a_time(rows: int, threads: int) -> int:
    return min(MOST_ROWS_AT_A_TIME, math.ceil(rows / (PARTS_A_THREAD * threads)))


def as_bits(rows: np.ndarray) -> numkong.Tensor:
    """Bytes that NumKong takes for eight bits each; a plain array has no kernel."""
    return numkong.from_pointer(rows.ctypes.data, rows.shape, "u1", owner=rows)


class Distances(Way):
    packages = ("numkong",)
    is_limit = True

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        bits = data.metric == "hamming"
        self.distances = numkong.hammings_packed if bits else numkong.euclideans_packed
        pack = numkong.hammings_pack if bits else numkong.dots_pack
        self.rows = as_bits if bits else np.asarray
        step = rows_at_a_time(len(data.base), data.threads)
        self.packed = [pack(self.rows(data.base[first:first + step]))
                       for first in range(0, len(data.base), step)]
        self.forget_base()

    def knn(self, part: slice, k: int) -> None:
        queries, threads = self.rows(self.data.queries[part]), self.data.threads

        def work(thread: int) -> None:
            for packed in self.packed[thread::threads]:
                self.distances(queries, packed)

        on_threads(threads, work)


WAYS = {"distances": Distances}
