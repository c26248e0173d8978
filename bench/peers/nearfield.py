"""Nearfield, through its Python package."""
from typing import Any

import nearfield
import numpy as np

from peers.interface import Data, Way


class Exact(Way):
    packages = ("nearfield",)

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self.base = self.rows(data.base)

    def rows(self, array: np.ndarray) -> Any:
        return nearfield.bits(array, 8 * array.shape[1]) if self.data.metric == "hamming" else array

    def knn(self, part: slice, k: int) -> np.ndarray:
        return nearfield.knn(self.rows(self.data.queries[part]), self.base, k=k,
                             metric=self.data.metric, threads=self.data.threads).ids

    def within(self, part: slice, radius: float) -> tuple[np.ndarray, np.ndarray]:
        found = nearfield.within(self.rows(self.data.queries[part]), self.base, radius,
                                 metric=self.data.metric, threads=self.data.threads)
        return found.offsets, found.ids

    def graph(self, k: int) -> np.ndarray:
        return nearfield.graph(self.base, k=k, metric=self.data.metric,
                               threads=self.data.threads).ids

    def select(self, k: int) -> np.ndarray:
        return nearfield.select_k(self.data.base, k=k, threads=self.data.threads).ids


WAYS = {"exact": Exact}
