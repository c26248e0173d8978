"""Indexes that find vectors by their codes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nearfield as nf


def _clustered(rows: int, seed: int) -> np.ndarray:
    centres = np.random.default_rng(99).integers(20, 200, size=(100, 24))
    random = np.random.default_rng(seed)
    near = centres[random.integers(0, 100, rows)] + random.normal(0, 10, (rows, 24))
    return near.clip(0, 255).astype(np.uint8)


@pytest.mark.parametrize(
    "family",
    [
        "coded,codebooks=8,iterations=5,train=4000",
        "coded,kind=opq,codebooks=12,bits=4,iterations=5,train=4000",
        "coded,kind=lsq,codebooks=12,bits=4,iterations=4,rounds=4,train=4000,norms=byte",
    ],
)
def test_finds_most_of_the_nearest(family: str, tmp_path: Path) -> None:
    base = _clustered(12_000, 0)
    queries = _clustered(100, 1)
    truth = nf.knn(queries, base, 10)
    index = nf.Index(family, dim=24, dtype="u8")
    index.add(base)
    found = index.search(queries, k=10)
    assert not found.exact
    assert "bytes a vector" in found.stats.plan.filter
    assert (found.keys <= truth.keys[:, -1:]).mean() > 0.9
    index.save(tmp_path / "coded.nf")
    with nf.Index.open(tmp_path / "coded.nf") as opened:
        assert np.array_equal(opened.search(queries, k=10).ids, found.ids)


def test_codes_decide_alone() -> None:
    base = _clustered(6_000, 2)
    queries = _clustered(50, 3).astype(np.float32)
    index = nf.Index("coded,codebooks=6,iterations=5,train=6000,rerank=0", dim=24, dtype="u8")
    index.add(base)
    quantizer = nf.Quantizer.train(base, kind="pq", codebooks=6, iterations=5)
    about = quantizer.decode(quantizer.encode(base))
    expected = nf.knn(queries, about, 5)
    found = index.search(queries, k=5)
    # float32 tables, and rows of equal codes in the order of their ids.
    assert np.allclose(found.keys, expected.keys, rtol=1e-4)
