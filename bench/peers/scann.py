"""ScaNN: its brute force."""
import numpy as np
import scann

from peers.interface import Data, Way, as_float32


class BruteForce(Way):
    packages = ("scann",)

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        builder = scann.scann_ops_pybind.builder(as_float32(data.base), 10, "squared_l2")
        self.searcher = builder.score_brute_force().build()
        self.forget_base()
        self.searcher.set_num_threads(data.threads)
        self.queries = as_float32(data.queries)

    def knn(self, part: slice, k: int) -> np.ndarray:
        return self.searcher.search_batched_parallel(self.queries[part], final_num_neighbors=k)[0]


WAYS = {"brute_force": BruteForce}
