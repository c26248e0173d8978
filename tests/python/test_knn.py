"""knn against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from ml_dtypes import bfloat16

import definition
import nearfield as nf
from definition import integers

DTYPES = [np.float64, np.float32, np.float16, bfloat16, np.uint8, np.int8]
METRICS = ["sqeuclidean", "euclidean", "inner_product", "l1", "linf"]


def check(found: nf.Neighbors, expected: tuple[definition.Array, ...], metric: str) -> None:
    ids, keys, counts = expected
    np.testing.assert_array_equal(found.ids, ids)
    np.testing.assert_array_equal(found.keys, keys)
    np.testing.assert_array_equal(found.counts, counts)
    expected_distances = definition.reported(keys, metric).astype(np.float32)
    np.testing.assert_array_equal(found.distances, expected_distances)
    assert found.exact


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("metric", METRICS)
def test_every_type_and_metric(dtype: object, metric: str) -> None:
    queries, base = integers(5, 7, dtype, seed=2), integers(60, 7, dtype)
    found = nf.knn(queries, base, 9, metric)
    check(found, definition.knn(queries, base, 9, metric), metric)


def test_more_neighbours_than_rows() -> None:
    queries, base = integers(3, 4, seed=2), integers(5, 4)
    found = nf.knn(queries, base, k=8)
    check(found, definition.knn(queries, base, 8), "sqeuclidean")
    assert found.counts.tolist() == [5, 5, 5]
    assert found.ids[:, 5:].tolist() == [[-1] * 3] * 3
    assert np.isposinf(found.distances[:, 5:]).all()
    similar = nf.knn(queries, base, k=8, metric="inner_product")
    assert np.isneginf(similar.distances[:, 5:]).all()


def test_ties_go_to_the_smaller_id() -> None:
    base = np.ones((50, 3), np.float32)
    assert nf.knn(base[:1], base, k=50).ids.tolist() == [list(range(50))]


def test_nan_and_infinite_rows_are_never_returned() -> None:
    base = integers(20, 3)
    base[4, 1], base[7, 0], base[9, 2] = np.nan, np.inf, -np.inf
    queries = np.concatenate([base[:3], base[4:5]])
    found = nf.knn(queries, base, k=20)
    check(found, definition.knn(queries, base, 20), "sqeuclidean")
    assert found.counts.tolist() == [17, 17, 17, 0]
    assert not np.isin(found.ids, [4, 7, 9]).any()


def test_empty_inputs() -> None:
    rows = integers(4, 3)
    assert nf.knn(rows[:0], rows, k=2).ids.shape == (0, 2)
    assert nf.knn(rows, rows[:0], k=2).counts.tolist() == [0] * 4
    assert nf.knn(rows, rows, k=0).distances.shape == (4, 0)
    assert nf.knn(np.zeros((2, 0)), np.zeros((3, 0)), k=2).ids.tolist() == [[0, 1], [0, 1]]


def test_types_that_hold_each_other_mix() -> None:
    queries, base = integers(4, 5, np.uint8, seed=2), integers(30, 5, np.float32)
    check(nf.knn(queries, base, 5), definition.knn(queries, base, 5), "sqeuclidean")
    with pytest.raises(nf.InvalidArgumentError, match=r"u8.*i8|i8.*u8"):
        nf.knn(queries, base.astype(np.int8), 5)


def test_float64_is_not_rounded() -> None:
    base = np.array([[1 + 2e-12], [1 + 1e-12], [1.0]])
    assert nf.knn(np.ones((1, 1)), base, k=3).ids.tolist() == [[2, 1, 0]]


def test_lp_takes_an_exponent() -> None:
    base = np.array([[3.0, 4.0], [5.0, 0.0]])
    found = nf.knn(np.zeros((1, 2)), base, k=2, metric="lp:0.5")
    assert found.ids.tolist() == [[1, 0]]
    np.testing.assert_allclose(found.distances, [[5, (3**0.5 + 4**0.5) ** 2]], rtol=1e-6)


def test_hamming_and_jaccard_on_bits() -> None:
    flags = np.random.default_rng(3).random((40, 19)) < 0.5
    rows = nf.bits(np.packbits(flags, axis=1, bitorder="little"), 19)
    found = nf.knn(rows, rows, 40, "hamming")
    check(found, definition.knn(flags, flags, 40, "hamming"), "hamming")
    jaccard = nf.knn(rows, rows, 1, "jaccard", exclude_self=True)
    near = flags[jaccard.ids[:, 0]]
    expected = (flags ^ near).sum(axis=1) / (flags | near).sum(axis=1)
    np.testing.assert_array_equal(jaccard.keys[:, 0], expected)


def test_exclude_self() -> None:
    rows = integers(30, 2)
    found = nf.knn(rows, rows, 30, exclude_self=True)
    assert not (found.ids == np.arange(30)[:, None]).any()
    assert found.counts.tolist() == [29] * 30


@pytest.mark.parametrize("isa", nf.isas())
def test_every_isa_runs_and_agrees(isa: str) -> None:
    queries, base = integers(5, 33, seed=2), integers(100, 33)
    found = nf.knn(queries, base, 10, isa=isa)
    assert found.stats.plan.isa == isa
    check(found, definition.knn(queries, base, 10), "sqeuclidean")
