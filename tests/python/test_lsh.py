"""Locality-sensitive hashing, and its parameters."""

from __future__ import annotations

import numpy as np
import pytest

import nearfield as nf


def _clustered(rows: int, seed: int, cols: int = 24) -> np.ndarray:
    centres = np.random.default_rng(99).integers(20, 200, size=(100, cols))
    random = np.random.default_rng(seed)
    near = centres[random.integers(0, 100, rows)] + random.normal(0, 10, (rows, cols))
    return near.clip(0, 255).astype(np.uint8)


def test_tuned_finds_as_much_as_asked() -> None:
    base = _clustered(20_000, 0)
    queries = _clustered(1_000, 1)
    for k in (1, 10):
        tuned = nf.tune_index(base, "lsh", recall=0.8, k=k)
        assert tuned == nf.tune_index(base, "lsh", recall=0.8, k=k, threads=1)
        assert 0.8 < tuned.recall <= 1
        assert 0 < tuned.looked_at < 0.5
        index = nf.Index(tuned.family, dim=24, dtype="u8")
        index.add(base)
        found = index.search(queries, k=k)
        truth = nf.knn(queries, base, k)
        # The same distance is as good.
        reached = (found.keys <= truth.keys[:, -1:]).mean()
        assert reached > 0.78
        assert not found.exact
        assert found.stats.pairs_verified < 0.6 * 1_000 * 20_000


def test_queries_of_another_kind_are_tuned_for() -> None:
    base = _clustered(5_000, 2)
    queries = np.random.default_rng(3).integers(0, 255, (300, 24)).astype(np.uint8)
    own = nf.tune_index(base, recall=0.9)
    asked = nf.tune_index(base, recall=0.9, queries=queries)
    assert asked.family != own.family
    assert asked.looked_at > own.looked_at


def test_what_cannot_be_tuned_is_an_error() -> None:
    base = _clustered(3_000, 4)
    for family in "flat", "coded":
        with pytest.raises(nf.UnsupportedError, match=r"lsh alone .* 'ewh,recall=0\.9', .* rerank"):
            nf.tune_index(base, family)
    with pytest.raises(nf.UnsupportedError, match="one bit a projection"):
        nf.tune_index(base, "lsh,hash=e8")
    apart = np.random.default_rng(4).standard_normal((3_000, 64)).astype(np.float32)
    with pytest.raises(nf.UnsupportedError, match="looking at all of the rows: use flat"):
        nf.tune_index(apart, "lsh", recall=0.9999)
    for recall in (0.0, 1.0, float("nan")):
        with pytest.raises(nf.InvalidArgumentError, match="between 0 and 1"):
            nf.tune_index(base, recall=recall)
    with pytest.raises(nf.InvalidArgumentError, match="1 to 2999"):
        nf.tune_index(base, k=3_000)
