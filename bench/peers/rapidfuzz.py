"""RapidFuzz: edit distances of all pairs of strings, then a sort. It makes the truth of `words`."""
import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from peers.interface import Way

QUERIES_AT_A_TIME = 64  # distances of all words at once would be gigabytes


class BruteForce(Way):
    """`base` and `queries` are arrays of str."""
    packages = ("rapidfuzz",)

    def knn(self, part: slice, k: int) -> np.ndarray:
        queries = self.data.queries[part]
        ids = np.empty((len(queries), k), dtype=np.int32)
        for first in range(0, len(queries), QUERIES_AT_A_TIME):
            some = queries[first:first + QUERIES_AT_A_TIME]
            distances = cdist(some, self.data.base, scorer=Levenshtein.distance, dtype=np.int32,
                              workers=self.data.threads)
            ids[first:first + len(some)] = np.argsort(distances, axis=1, kind="stable")[:, :k]
        return ids


WAYS = {"brute_force": BruteForce}
