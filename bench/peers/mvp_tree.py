"""An MVP-tree of strings (T. Bozkaya and M. Ozsoyoglu, 1997). Distances are RapidFuzz's.

A node has two vantage points, and its strings are split by the distances to both; a leaf knows of
each string the distances to its own vantage points and to all on the way. The tree is Python;
what it does with a leaf is NumPy, and leaves are large: most of the time goes into distances. It
answers on one thread.
"""
import heapq
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from peers.interface import Data, Way

PARTS = 3     # by each vantage point: 9 children
LEAF = 8192   # strings, at most: RapidFuzz takes half a millisecond to begin
FAR = 1 << 30


@dataclass
class Node:
    vantage: list[int]                 # two strings; of a leaf of one string, one
    # Of a leaf: its strings, and their distances to the vantage points on the way and its own.
    numbers: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    known: np.ndarray = field(default_factory=lambda: np.empty((0, 0), np.int32))
    # Of others: children, and of each the least and the largest distance to both vantage points.
    children: list["Node"] = field(default_factory=list)
    ranges: np.ndarray = field(default_factory=lambda: np.empty((0, 2, 2), np.int32))


class ByRapidFuzz(Way):
    packages = ("rapidfuzz",)

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self.computed = 0   # distances of the last answer
        self.words = np.asarray(data.base, dtype=object)
        count = len(self.words)
        self.root = self.made(np.arange(count), np.empty((count, 0), np.int32))

    def distances(self, word: str, numbers: np.ndarray, most: int | None = None) -> np.ndarray:
        """Above `most`, one more."""
        self.computed += len(numbers)
        return cdist([word], self.words[numbers], scorer=Levenshtein.distance, dtype=np.int32,
                     score_cutoff=most, workers=1)[0]

    def made(self, numbers: np.ndarray, known: np.ndarray) -> Node:
        """`known`: of each string, the distances to the vantage points above."""
        first, numbers, known = int(numbers[0]), numbers[1:], known[1:]
        if not len(numbers):
            return Node([first])
        to_first = self.distances(self.words[first], numbers)
        farthest = int(np.argmax(to_first))
        second = int(numbers[farthest])
        to_second = self.distances(self.words[second], numbers)
        known = np.column_stack((known, to_first, to_second))
        others = np.arange(len(numbers)) != farthest
        numbers, known = numbers[others], known[others]
        if len(numbers) <= LEAF:
            return Node([first, second], numbers, known)
        parts = [part for half in np.array_split(np.argsort(known[:, -2], kind="stable"), PARTS)
                 for part in np.array_split(half[np.argsort(known[half, -1], kind="stable")],
                                            PARTS)]
        ranges = np.array([[(known[part, at].min(), known[part, at].max()) for at in (-2, -1)]
                           for part in parts])
        return Node([first, second], ranges=ranges,
                    children=[self.made(numbers[part], known[part]) for part in parts])

    def visit(self, query: str, found: "Found") -> None:
        """Nodes by growing bound: what of a node is nearer, nobody can say."""
        left: list[tuple[int, int, Node, tuple[int, ...]]] = [(0, 0, self.root, ())]
        pushed = 0
        while left and left[0][0] <= found.reach:
            bound, _, node, way = heapq.heappop(left)
            for number in node.vantage:
                distance = Levenshtein.distance(query, self.words[number])
                self.computed += 1
                found.offer(np.array([number]), np.array([distance]))
                way = (*way, distance)
            if len(node.numbers):
                near = np.abs(node.known - way).max(axis=1) <= found.reach
                numbers = node.numbers[near]
                found.offer(numbers, self.distances(query, numbers, min(found.reach, FAR)))
            if not node.children:
                continue
            here = np.array(way[-2:])
            bounds = np.maximum(node.ranges[:, :, 0] - here, here - node.ranges[:, :, 1]).max(1)
            for child, least in zip(node.children, np.maximum(bounds, bound), strict=True):
                if least <= found.reach:
                    pushed += 1
                    heapq.heappush(left, (int(least), pushed, child, way))

    def knn(self, part: slice, k: int) -> np.ndarray:
        answers = []
        self.computed = 0
        for query in self.data.queries[part]:
            nearest = Nearest(k)
            self.visit(query, nearest)
            answers.append(nearest.numbers)
        return np.array(answers)

    def within(self, part: slice, radius: float) -> tuple[np.ndarray, np.ndarray]:
        answers = []
        self.computed = 0
        for query in self.data.queries[part]:
            near = Near(int(radius))
            self.visit(query, near)
            answers.append(np.sort(np.concatenate(near.parts)))
        return np.cumsum([0, *map(len, answers)]), np.concatenate(answers)

    def plan(self, answer: Any) -> dict[str, Any]:
        return {"pairs": len(self.data.queries) * len(self.data.base),
                "pairs_verified": self.computed}


class Found:
    """What is looked for. `reach`: what is farther is of no use."""
    reach: int

    def offer(self, numbers: np.ndarray, distances: np.ndarray) -> None:
        raise NotImplementedError


class Nearest(Found):
    def __init__(self, k: int) -> None:
        self.k, self.reach = k, FAR
        self.numbers = self.distances = np.empty(0, np.int64)

    def offer(self, numbers: np.ndarray, distances: np.ndarray) -> None:
        near = distances <= self.reach
        numbers = np.concatenate((self.numbers, numbers[near]))
        distances = np.concatenate((self.distances, distances[near]))
        first = np.lexsort((numbers, distances))[:self.k]
        self.numbers, self.distances = numbers[first], distances[first]
        if len(first) == self.k:
            self.reach = int(self.distances[-1])


class Near(Found):
    def __init__(self, radius: int) -> None:
        self.reach = radius
        self.parts: list[np.ndarray] = []

    def offer(self, numbers: np.ndarray, distances: np.ndarray) -> None:
        self.parts.append(numbers[distances <= self.reach])


WAYS = {"by_rapidfuzz": ByRapidFuzz}
