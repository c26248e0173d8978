"""USearch: its exact search, and its graph."""
import numpy as np
from usearch.index import Index, MetricKind, search

from peers.interface import Data, Way, as_float32


class Exact(Way):
    packages = ("usearch",)

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        if data.metric == "hamming":
            self.metric = MetricKind.Hamming
            self.base, self.queries = np.array(data.base), np.array(data.queries)
        else:
            # Floats for bytes too: version 2.26.6 has no byte kernel here and answers NaN.
            self.metric = MetricKind.L2sq
            self.base, self.queries = as_float32(data.base), as_float32(data.queries)

    def knn(self, part: slice, k: int) -> np.ndarray:
        return search(self.base, self.queries[part], k, self.metric, exact=True,
                      threads=self.data.threads).keys

    def ids(self, answer: np.ndarray) -> np.ndarray:
        return np.atleast_2d(answer)


class Hnsw(Way):
    """Approximate."""
    packages = ("usearch",)
    settings = tuple({"expansion": expansion} for expansion in (16, 32, 64, 128, 256))

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self.index = Index(ndim=data.base.shape[1], metric=MetricKind.L2sq, dtype="f32",
                           connectivity=16, expansion_add=200)
        self.index.add(np.arange(len(data.base)), as_float32(data.base), threads=data.threads)
        self.queries = as_float32(data.queries)

    def set(self, **setting: int) -> None:
        self.index.expansion_search = setting["expansion"]

    def knn(self, part: slice, k: int) -> np.ndarray:
        return self.index.search(self.queries[part], k, threads=self.data.threads).keys

    def ids(self, answer: np.ndarray) -> np.ndarray:
        return np.atleast_2d(answer)


WAYS = {"exact": Exact, "hnsw": Hnsw}
