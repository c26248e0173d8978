"""RapidFuzz: edit distances of all pairs of strings. It makes the truth of `words`."""
from collections.abc import Iterator

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from peers.interface import Way

QUERIES_AT_A_TIME = 64  # distances of all words at once would be gigabytes


class BruteForce(Way):
    """`base` and `queries` are arrays of str."""
    packages = ("rapidfuzz",)

    def tables(self, part: slice, most: int | None = None
               ) -> Iterator[tuple[int, np.ndarray]]:
        """Distances of some queries at a time, and the number of the first of them.

        Above `most` RapidFuzz may give up, and says one more.
        """
        queries = self.data.queries[part]
        for first in range(0, len(queries), QUERIES_AT_A_TIME):
            yield first, cdist(queries[first:first + QUERIES_AT_A_TIME], self.data.base,
                               scorer=Levenshtein.distance, dtype=np.int32, score_cutoff=most,
                               workers=self.data.threads)

    def knn(self, part: slice, k: int) -> np.ndarray:
        ids = np.empty((len(self.data.queries[part]), k), dtype=np.int32)
        for first, distances in self.tables(part):
            for i, row in enumerate(distances):
                near = np.flatnonzero(row <= np.partition(row, k - 1)[k - 1])
                ids[first + i] = near[np.argsort(row[near], kind="stable")][:k]
        return ids

    def within(self, part: slice, radius: float) -> tuple[np.ndarray, np.ndarray]:
        counts, ids = [], []
        for _, distances in self.tables(part, int(radius)):
            near = distances <= radius
            counts.append(near.sum(axis=1))
            ids.append(np.nonzero(near)[1])
        return np.concatenate(([0], np.cumsum(np.concatenate(counts)))), np.concatenate(ids)


class Distances(BruteForce):
    """The distances alone, which nobody looks at: what any brute force by RapidFuzz takes."""
    is_limit = True

    def knn(self, part: slice, k: int) -> None:  # type: ignore[override]
        for _ in self.tables(part):
            pass

    def within(self, part: slice, radius: float) -> None:  # type: ignore[override]
        for _ in self.tables(part, int(radius)):
            pass


WAYS = {"brute_force": BruteForce, "distances": Distances}
