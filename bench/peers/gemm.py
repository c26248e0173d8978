"""The matrix product of queries and base, in tiles, and nothing else: the limit of float32."""
import ctypes

import numpy as np

from peers.cblas import sgemm
from peers.interface import Data, Way, as_float32

QUERIES_AT_A_TIME, ROWS_AT_A_TIME = 1_024, 16_384


class Gemm(Way):
    is_limit = True
    uses_blas = True

    @staticmethod
    def library() -> ctypes.CDLL:
        raise NotImplementedError

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self.product = sgemm(self.library())
        self.base, self.queries = as_float32(data.base), as_float32(data.queries)
        self.forget_base()
        self.tile = np.empty(QUERIES_AT_A_TIME * ROWS_AT_A_TIME, dtype=np.float32)

    def multiply(self, queries: np.ndarray) -> None:
        for first in range(0, len(queries), QUERIES_AT_A_TIME):
            left = queries[first:first + QUERIES_AT_A_TIME]
            for row in range(0, len(self.base), ROWS_AT_A_TIME):
                right = self.base[row:row + ROWS_AT_A_TIME]
                self.product(left, right, self.tile)

    def knn(self, part: slice, k: int) -> None:
        self.multiply(self.queries[part])

    def within(self, part: slice, radius: float) -> None:
        self.multiply(self.queries[part])

    def graph(self, k: int) -> None:
        self.multiply(self.base)

    def match(self, ratio: float) -> None:
        """Once: the same products serve both directions."""
        self.multiply(self.queries)
