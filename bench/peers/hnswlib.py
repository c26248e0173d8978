"""hnswlib: its brute force, and its graph."""
import hnswlib
import numpy as np

from peers.interface import Data, Way, as_float32


class BruteForce(Way):
    packages = ("hnswlib",)

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self.index = hnswlib.BFIndex(space="l2", dim=data.base.shape[1])
        self.index.init_index(max_elements=len(data.base))
        self.index.set_num_threads(data.threads)
        self.index.add_items(as_float32(data.base))
        self.forget_base()
        self.queries = as_float32(data.queries)

    def knn(self, part: slice, k: int) -> np.ndarray:
        return self.index.knn_query(self.queries[part], k=k)[0]


class Hnsw(Way):
    """Approximate."""
    packages = ("hnswlib",)
    settings = tuple({"ef": ef} for ef in (16, 32, 64, 128, 256))

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self.index = hnswlib.Index(space="l2", dim=data.base.shape[1])
        self.index.init_index(max_elements=len(data.base), M=16, ef_construction=200,
                              random_seed=1)
        self.index.set_num_threads(data.threads)
        self.index.add_items(as_float32(data.base))
        self.forget_base()
        self.queries = as_float32(data.queries)

    def set(self, **setting: int) -> None:
        self.index.set_ef(setting["ef"])

    def knn(self, part: slice, k: int) -> np.ndarray:
        return self.index.knn_query(self.queries[part], k=k)[0]


WAYS = {"brute_force": BruteForce, "hnsw": Hnsw}
