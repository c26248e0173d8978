"""The estimator against scikit-learn's checks, and against scikit-learn's own."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
import pytest
import sklearn.neighbors
from sklearn.utils.estimator_checks import parametrize_with_checks

import nearfield as nf
from nearfield.sklearn import NearestNeighbors

RANDOM = np.random.default_rng(1)
ROWS, QUERIES = RANDOM.random((80, 4)), RANDOM.random((15, 4))


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [NearestNeighbors(), NearestNeighbors(metric="cosine", n_jobs=1)]
)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


METRICS = [
    {"metric": "euclidean"},
    {"metric": "sqeuclidean"},
    {"metric": "manhattan"},
    {"metric": "chebyshev"},
    {"metric": "cosine"},
    {"metric": "minkowski", "p": 1},
    {"metric": "minkowski", "p": 1.5},
    {"metric": "minkowski", "p": 2},
]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("queries", [QUERIES, None])
def test_the_same_as_scikit_learns(metric: dict[str, Any], queries: Any) -> None:
    ours = NearestNeighbors(n_neighbors=6, radius=0.4, **metric).fit(ROWS)
    theirs = sklearn.neighbors.NearestNeighbors(
        n_neighbors=6, radius=0.4, algorithm="brute", **metric
    ).fit(ROWS)
    for found, expected in zip(ours.kneighbors(queries), theirs.kneighbors(queries), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_array_equal(
        ours.kneighbors(queries, 3, return_distance=False),
        theirs.kneighbors(queries, 3, return_distance=False),
    )
    within = ours.radius_neighbors(queries)
    expected = theirs.radius_neighbors(queries, sort_results=True)
    assert sum(map(len, within[1])) > 0
    for part in range(2):
        for one, other in zip(within[part], expected[part], strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)
    for mode in "connectivity", "distance":
        for method in "kneighbors_graph", "radius_neighbors_graph":
            one = getattr(ours, method)(queries, mode=mode).toarray()
            other = getattr(theirs, method)(queries, mode=mode).toarray()
            np.testing.assert_allclose(one, other, atol=1e-12)


def test_cosine_of_collinear_rows_is_a_distance() -> None:
    row = RANDOM.random((1, 7))
    rows = np.concatenate([row * scale for scale in (1.0, 3.0, 0.1, 7e5, -1.0, -0.3)])
    model = NearestNeighbors(n_neighbors=6, metric="cosine").fit(rows)
    distances, _ = model.kneighbors(rows)
    assert distances.min() >= 0
    assert distances.max() <= 2
    assert [len(ids) for ids in model.radius_neighbors(rows, 2, return_distance=False)] == [6] * 6


def test_cosine_radius_is_inclusive() -> None:
    model = NearestNeighbors(metric="cosine").fit(ROWS)
    every, ids = model.kneighbors(QUERIES, 80)
    for radius in np.unique(every)[::7]:
        distances, found = model.radius_neighbors(QUERIES, radius)
        for query in range(len(QUERIES)):
            inside = every[query] <= radius
            np.testing.assert_array_equal(found[query], ids[query][inside])
            np.testing.assert_array_equal(distances[query], every[query][inside])
    assert model.radius_neighbors_graph(QUERIES, radius).nnz == sum(map(len, found))


def test_float32_stays_float32() -> None:
    model = NearestNeighbors().fit(ROWS.astype(np.float32))
    assert model._fit_X.dtype == np.float32
    assert model.kneighbors(QUERIES)[1].shape == (15, 5)


def test_the_parameters_are_scikit_learns() -> None:
    ours = NearestNeighbors().get_params()
    assert ours == sklearn.neighbors.NearestNeighbors().get_params()
    assert list(signature(NearestNeighbors).parameters) == list(
        signature(sklearn.neighbors.NearestNeighbors).parameters
    )
    NearestNeighbors(algorithm="brute", leaf_size=5, n_neighbors=None, radius=None).fit(ROWS)


@pytest.mark.parametrize("metric", [*METRICS, {"metric": "l1"}, {"p": np.inf}])
def test_effective_metric(metric: dict[str, Any]) -> None:
    ours = NearestNeighbors(**metric).fit(ROWS)
    if metric == {"metric": "l1"}:
        assert ours.effective_metric_ == "manhattan"
        return
    theirs = sklearn.neighbors.NearestNeighbors(**metric).fit(ROWS)
    assert ours.effective_metric_ == theirs.effective_metric_
    assert ours.effective_metric_params_.get("p") == theirs.effective_metric_params_.get("p")


@pytest.mark.parametrize(
    ("parameters", "kind", "message"),
    [
        (
            {"algorithm": "kd_tree"},
            ValueError,
            "algorithm is 'kd_tree', expected 'auto' or",
        ),
        ({"metric_params": {"w": 1}}, ValueError, "metric_params is .*expected None"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors is 0, expected at least 1"),
        ({"n_neighbors": 2.5}, TypeError, r"n_neighbors must be an integer, got 2\.5"),
        ({"radius": -1}, ValueError, r"radius is -1\.0, expected 0 or more"),
        ({"radius": "far"}, TypeError, "radius must be a number"),
        ({"p": 0}, ValueError, r"p is 0\.0, expected 0\.01 to 1000, or infinity"),
        ({"p": None}, TypeError, "p must be a number, got None"),
    ],
)
def test_fit_checks_parameters(
    parameters: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        NearestNeighbors(**parameters).fit(ROWS)


def test_errors() -> None:
    model = NearestNeighbors().fit(ROWS)
    with pytest.raises(ValueError, match="n_neighbors is 81, expected 1 to 80"):
        model.kneighbors(QUERIES, 81)
    with pytest.raises(ValueError, match="n_neighbors is 80, expected 1 to 79"):
        model.kneighbors(None, 80)
    with pytest.raises(ValueError, match="NaN"):
        model.kneighbors(np.full((1, 4), np.nan))
    with pytest.raises(nf.InvalidArgumentError, match=r"metric is 'hamming', expected .*cosine"):
        NearestNeighbors(metric="hamming").fit(ROWS)
    with pytest.raises(nf.InvalidArgumentError, match="mode is 'x'"):
        model.kneighbors_graph(QUERIES, mode="x")
