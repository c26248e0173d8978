"""A base that is prepared once and searched often."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

import nearfield as nf


def _rows(rows: int, cols: int = 24, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, cols)).astype(np.float32)


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean", "cosine", "inner_product"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "uint8"])
def test_answers_are_those_of_the_rows(metric: str, dtype: str) -> None:
    scale = 20 if dtype in ("int8", "uint8") else 1
    base = (np.abs(_rows(3000)) * scale).astype(dtype)
    prepared = nf.prepare(base, metric)
    for count in 1, 40:
        found = nf.knn(base[:count], prepared, 5, metric)
        expected = nf.knn(base[:count], base, 5, metric)
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.keys, expected.keys)
        assert found.exact
        assert found.stats.plan.filter.endswith(", prepared")
        # Of bytes as they are, what is verified is what was found.
        assert found.stats.pairs_verified < count * 3000 / 2


def test_it_says_what_it_is() -> None:
    prepared = nf.prepare(_rows(1000), "cosine")
    assert prepared.shape == (1000, 24)
    assert prepared.dtype == "f32"
    assert prepared.metric == "cosine"
    assert len(prepared) == 1000
    assert 1000 * 24 <= prepared.nbytes <= 1000 * (24 + 8)
    assert repr(prepared) == "PreparedRows(shape=(1000, 24), dtype='f32')"


def test_it_keeps_its_rows() -> None:
    prepared = nf.prepare(_rows(2000))
    gc.collect()
    assert nf.knn(_rows(2000)[9:10], prepared, 1).ids.item() == 9
    copied = nf.prepare(np.asfortranarray(_rows(2000)))
    gc.collect()
    assert nf.knn(_rows(2000)[9:10], copied, 1).ids.item() == 9


def test_other_searches_take_it() -> None:
    base = _rows(500)
    prepared = nf.prepare(base)
    np.testing.assert_array_equal(
        nf.within(base[:3], prepared, 20).ids, nf.within(base[:3], base, 20).ids
    )
    np.testing.assert_array_equal(nf.graph(prepared, 3).ids, nf.graph(base, 3).ids)
    assert nf.plan_knn(base[:1], prepared, 3).filter.endswith(", prepared")


def test_it_says_why_not(tmp_path: Path) -> None:
    base = _rows(100)
    with pytest.raises(nf.UnsupportedError, match="24 columns of f32 for l1"):
        nf.prepare(base, "l1")
    with pytest.raises(nf.InvalidArgumentError, match=r"prepared for cosine.*sqeuclidean"):
        nf.knn(base, nf.prepare(base, "cosine"), 1)
    with pytest.raises(nf.MemoryLimitError, match="preparing 100 rows"):
        nf.prepare(base, memory_limit=1000)
    nf.write(tmp_path / "base.fbin", base)
    with pytest.raises(nf.InvalidArgumentError, match=r"nearfield\.read"):
        nf.prepare(nf.open_rows(tmp_path / "base.fbin"))


def test_progress_counts_rows() -> None:
    seen: list[tuple[int, int]] = []
    nf.prepare(_rows(4000), progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (4000, 4000)
