"""Nearfield, through its Python package."""
import dataclasses
import functools
from typing import Any

import nearfield
import numpy as np

from peers.interface import LSQ_ITERATIONS, LSQ_ROUNDS, Data, Way

Found = nearfield.Neighbors | nearfield.Pairs | nearfield.Ranges | nearfield.Selected


class Exact(Way):
    packages = ("nearfield",)
    signatures = True   # of texts

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self.trained = functools.cache(self.train)
        if data.metric == "edit":
            self.texts = nearfield.MetricIndex(data.base, "edit", signatures=self.signatures,
                                               pivots=0)
            return
        self.base = self.rows(data.base)
        self.index = self.index_of(data)
        # One call for all queries does this for itself, in its own time. Bits have nothing to
        # prepare.
        if data.one_by_one and data.metric != "hamming" and not data.index:
            self.base = nearfield.prepare(self.base, data.metric, threads=data.threads)

    def index_of(self, data: Data) -> nearfield.Index | None:
        if not data.index:
            return None
        bits = data.metric == "hamming"
        index = nearfield.Index(data.index, dim=(8 if bits else 1) * data.base.shape[1],
                                dtype="bits" if bits else data.base.dtype, metric=data.metric)
        index.add(self.base)
        return index

    def rows(self, array: np.ndarray) -> Any:
        return nearfield.bits(array, 8 * array.shape[1]) if self.data.metric == "hamming" else array

    def knn(self, part: slice, k: int) -> nearfield.Neighbors:
        if self.data.metric == "edit":
            return self.texts.search(self.data.queries[part], k=k, threads=self.data.threads)
        if self.index is not None:
            return self.index.search(self.rows(self.data.queries[part]), k=k,
                                     threads=self.data.threads)
        return nearfield.knn(self.rows(self.data.queries[part]), self.base, k=k,
                             metric=self.data.metric, threads=self.data.threads)

    def within(self, part: slice, radius: float) -> nearfield.Ranges:
        if self.data.metric == "edit":
            return self.texts.within(self.data.queries[part], radius, threads=self.data.threads)
        if self.index is not None:
            return self.index.within(self.rows(self.data.queries[part]), radius,
                                     threads=self.data.threads)
        return nearfield.within(self.rows(self.data.queries[part]), self.base, radius,
                                metric=self.data.metric, threads=self.data.threads)

    def graph(self, k: int) -> nearfield.Neighbors:
        return nearfield.graph(self.base, k=k, metric=self.data.metric, threads=self.data.threads)

    def match(self, ratio: float) -> nearfield.Pairs:
        return nearfield.match(self.data.queries, self.base, ratio=ratio, cross_check="nearest",
                               threads=self.data.threads)

    def select(self, k: int) -> nearfield.Selected:
        return nearfield.select_k(self.data.base, k=k, threads=self.data.threads)

    def train(self, codebooks: int) -> nearfield.Quantizer:
        return nearfield.Quantizer.train(
            self.data.base, kind="lsq", codebooks=codebooks, iterations=LSQ_ITERATIONS,
            rounds=LSQ_ROUNDS, threads=self.data.threads)

    def encode(self, codebooks: int) -> tuple[nearfield.Quantizer, np.ndarray]:
        quantizer = self.trained(codebooks)
        return quantizer, quantizer.encode(self.data.queries, threads=self.data.threads)

    def decoded(self, answer: Any) -> np.ndarray:
        quantizer, codes = answer if isinstance(answer, tuple) else (
            answer, answer.encode(self.data.queries))
        return quantizer.decode(codes)

    def ids(self, answer: Found) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        if isinstance(answer, nearfield.Pairs):
            return answer.first, answer.second
        return (answer.offsets, answer.ids) if isinstance(answer, nearfield.Ranges) else answer.ids

    def plan(self, answer: Any) -> dict[str, Any]:
        if not hasattr(answer, "stats"):
            return {}   # of codes
        return dataclasses.asdict(answer.stats.plan) | {
            "pairs_verified": answer.stats.pairs_verified}


class Scan(Exact):
    """Without an index, where a case has one."""

    def index_of(self, data: Data) -> None:
        return None


class EveryText(Exact):
    """Strings under edit distance by brute force: every distance is computed."""
    signatures = False


WAYS = {"exact": Exact, "scan": Scan, "every_text": EveryText}
