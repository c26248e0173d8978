"""NMSLIB: its sequential search, and its VP-tree of strings.

bench/setup builds it here, since its wheel has no AVX.
"""
import nmslib
import numpy as np

from peers.interface import Data, Way, as_float32


class Sequential(Way):
    packages = ("nmslib",)

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self.index = nmslib.init(method="seq_search", space="l2")
        self.index.addDataPointBatch(as_float32(data.base))
        self.index.createIndex()
        self.forget_base()
        self.queries = as_float32(data.queries)

    def knn(self, part: slice, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
        return self.index.knnQueryBatch(self.queries[part], k=k, num_threads=self.data.threads)

    def ids(self, answer: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        return np.stack([ids for ids, _ in answer])


class VpTree(Way):
    """Of strings under edit distance, searched exactly."""
    packages = ("nmslib",)

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self.index = nmslib.init(method="vptree", space="leven",
                                 data_type=nmslib.DataType.OBJECT_AS_STRING,
                                 dtype=nmslib.DistType.INT)
        self.index.addDataPointBatch(list(data.base))
        self.index.createIndex()
        self.forget_base()

    def knn(self, part: slice, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
        return self.index.knnQueryBatch(list(self.data.queries[part]), k=k,
                                        num_threads=self.data.threads)

    def ids(self, answer: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        return np.stack([ids for ids, _ in answer])


WAYS = {"sequential": Sequential, "vp_tree": VpTree}
