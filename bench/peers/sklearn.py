"""scikit-learn: NearestNeighbors by brute force, which is its fastest at these dimensions."""
import numpy as np
from sklearn.neighbors import NearestNeighbors

from peers.interface import Data, Way, as_float32


class BruteForce(Way):
    packages = ("scikit-learn", "scipy")
    uses_blas = True

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self.queries = as_float32(data.queries)
        # Its threads are those of OpenMP, whose number the referee has set.
        self.neighbors = NearestNeighbors(algorithm="brute", metric="sqeuclidean")
        self.neighbors.fit(as_float32(data.base))

    def knn(self, part: slice, k: int) -> np.ndarray:
        return self.neighbors.kneighbors(self.queries[part], k, return_distance=False)

    def within(self, part: slice, radius: float) -> np.ndarray:
        return self.neighbors.radius_neighbors(self.queries[part], radius, return_distance=False)

    def graph(self, k: int) -> np.ndarray:
        return self.neighbors.kneighbors(n_neighbors=k, return_distance=False)

    def ids(self, answer: np.ndarray) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        if answer.dtype != object:
            return answer
        # What is within a radius comes as an array for each query.
        return np.cumsum([0, *map(len, answer)]), np.concatenate(answer)


WAYS = {"brute_force": BruteForce}
