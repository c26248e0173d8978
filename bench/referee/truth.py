"""Where the truth of a question comes from: the definition in numpy, and the data set's file.

The file has the truth of all queries, but is Nearfield's. So the definition has the last word: on
all queries at quick size, on a sample at full size, where all pairs in numpy would take hours.
Matches are the exception: see `matches.py`.
"""
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from referee.answers import KeysOf, Truth
from referee.cases import CODING, Question
from referee.matches import matches
from referee.material import Material
from sets.definition import KEYS
from sets.random_streams import stream

SAMPLED = {"quick": None, "full": 200}   # None: all
ROWS_AT_A_TIME = 8_192                   # whose temporary values stay in a cache


def keys_of(material: Material, operation: str) -> KeysOf:
    if operation == "select":
        return lambda query, ids: material.base[query, ids]
    key = KEYS[material.metric]
    asked = material.base if operation == "graph" else material.queries
    return lambda query, ids: key(asked[query], material.base[ids])


def smallest(values: np.ndarray, k: int) -> np.ndarray:
    """Ids of the k smallest by (value, smaller id)."""
    kept = np.arange(len(values))
    if k < len(values):
        kept = np.flatnonzero(values <= np.partition(values, k - 1)[k - 1])
    return kept[np.argsort(values[kept], kind="stable")][:k]


class Oracle:
    """The truth of the questions of a group."""

    def __init__(self, material: Material, operation: str, questions: tuple[Question, ...],
                 size: str, first: int = 0) -> None:
        """first: so many of the first queries are in the sample, whatever else is."""
        self.material, self.operation = material, operation
        self.keys = keys_of(material, operation)
        asked = len(material.queries) if len(material.queries) else len(material.base)
        drawn = stream("checked queries").permutation(asked)[:SAMPLED[size]]
        self.sample = np.union1d(drawn, np.arange(first))
        self.largest_k = max(question.k for question in questions)
        self.nearest: list[np.ndarray] = []   # of the sample, once somebody asks

    def all_keys(self, query: int) -> np.ndarray:
        """To every row of the base, or of select every value of the row."""
        if self.operation == "select":
            return np.asarray(self.material.base[query])
        rows = len(self.material.base)
        return np.concatenate([
            self.keys(query, slice(first, first + ROWS_AT_A_TIME))
            for first in range(0, rows, ROWS_AT_A_TIME)])

    def nearest_of(self, query: int) -> np.ndarray:
        if self.operation != "graph":
            return smallest(self.all_keys(query), self.largest_k)
        found = smallest(self.all_keys(query), self.largest_k + 1)
        return found[found != query][:self.largest_k]

    def of_sample(self, find: Callable[[int], np.ndarray]) -> list[np.ndarray]:
        """numpy lets other threads run while it computes."""
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
            return list(threads.map(find, self.sample))

    def truth_of(self, question: Question) -> Truth:
        if self.operation == "match":
            return self.truth_of_matches(question.ratio)
        if self.operation in CODING:   # there is none
            return Truth(np.arange(0), [], self.keys, len(self.material.base))
        columns = self.material.base.shape[1 if self.operation == "select" else 0]
        if self.operation == "within":
            ids = self.of_sample(
                lambda query: np.flatnonzero(self.all_keys(query) <= question.radius))
            return Truth(self.sample, ids, self.keys, columns, len(self.sample))
        self.nearest = self.nearest or self.of_sample(self.nearest_of)
        ids = [found[:question.k] for found in self.nearest]
        recorded = self.material.truth if self.operation == "knn" else None
        if recorded is None or recorded.shape[1] < question.k:
            return Truth(self.sample, ids, self.keys, columns, len(self.sample))
        everything = recorded[:len(self.material.queries), :question.k]
        check(everything, self.sample, ids)
        return Truth(np.arange(len(everything)), everything, self.keys, columns, len(self.sample))

    def truth_of_matches(self, ratio: float) -> Truth:
        """Of all queries: which are matched depends on all of them."""
        queries = np.arange(len(self.material.queries))
        first, second = matches(self.material.queries, self.material.base, ratio)
        ids = np.split(second, np.searchsorted(first, queries[1:]))
        shown = self.material.correspondences
        return Truth(queries, ids, self.keys, len(self.material.base), len(queries),
                     None if shown is None else shown[:len(queries)])


def check(recorded: np.ndarray, sample: np.ndarray, ids: list[np.ndarray]) -> None:
    wrong = [query for query, right in zip(sample, ids, strict=True)
             if not np.array_equal(recorded[query], right)]
    if wrong:
        raise ValueError(f"truth.ibin: {len(wrong)} of {len(sample)} queries differ from the "
                         f"definition, first query {wrong[0]}: the set must be made again")
