"""A BK-tree of strings: children by their distance to the parent. Distances are RapidFuzz's.

In Python, as the packages of it are, and on one thread: most of the time goes into the tree itself.
"""
import heapq
from typing import Any

import numpy as np
from rapidfuzz.distance import Levenshtein

from peers.interface import Data, Way

Node = tuple[int, dict[int, "Node"]]


class ByRapidFuzz(Way):
    packages = ("rapidfuzz",)

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self.computed = 0   # distances of the last answer
        self.root: Node = (0, {})
        for number in range(1, len(data.base)):
            self.insert(number)

    def insert(self, number: int) -> None:
        word, node = self.data.base[number], self.root
        while True:
            distance = Levenshtein.distance(word, self.data.base[node[0]])
            if distance not in node[1]:
                node[1][distance] = (number, {})
                return
            node = node[1][distance]

    def near(self, query: str, radius: int) -> list[int]:
        found, left = [], [self.root]
        while left:
            number, children = left.pop()
            distance = Levenshtein.distance(query, self.data.base[number])
            self.computed += 1
            if distance <= radius:
                found.append(number)
            left += (child for edge, child in children.items() if abs(edge - distance) <= radius)
        return found

    def nearest(self, query: str, k: int) -> list[int]:
        best: list[tuple[int, int]] = []   # of the k first, the last in front: both negated
        left = [self.root]
        while left:
            number, children = left.pop()
            distance = Levenshtein.distance(query, self.data.base[number])
            self.computed += 1
            candidate = (-distance, -number)
            if len(best) < k:
                heapq.heappush(best, candidate)
            elif candidate > best[0]:
                heapq.heapreplace(best, candidate)
            reach = -best[0][0] if len(best) == k else len(query) + max(children, default=0)
            left += (child for edge, child in children.items() if abs(edge - distance) <= reach)
        return [-number for _, number in sorted(best, reverse=True)]

    def knn(self, part: slice, k: int) -> np.ndarray:
        self.computed = 0
        return np.array([self.nearest(query, k) for query in self.data.queries[part]])

    def within(self, part: slice, radius: float) -> tuple[np.ndarray, np.ndarray]:
        self.computed = 0
        found = [self.near(query, int(radius)) for query in self.data.queries[part]]
        offsets = np.cumsum([0, *map(len, found)])
        return offsets, np.array([number for ones in found for number in ones], dtype=np.int64)

    def plan(self, answer: Any) -> dict[str, Any]:
        return {"pairs": len(self.data.queries) * len(self.data.base),
                "pairs_verified": self.computed}


WAYS = {"by_rapidfuzz": ByRapidFuzz}
