"""Intel SVS: its flat index, on bytes and floats as they are."""
import numpy as np
import svs

from peers.interface import Data, Way


class Flat(Way):
    packages = ("scalable-vs",)

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self.index = svs.Flat(np.array(data.base), svs.DistanceType.L2, num_threads=data.threads)
        self.forget_base()
        self.queries = np.array(data.queries)

    def knn(self, part: slice, k: int) -> np.ndarray:
        return self.index.search(self.queries[part], k)[0]


WAYS = {"flat": Flat}
