"""A scikit-learn estimator on exact searches: the only module that imports scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

import nearfield
from nearfield._arguments import integer, real
from nearfield._sklearn_distances import distance_named

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    DistancesAndIds = tuple[NDArray[Any], NDArray[Any]]


class NearestNeighbors(BaseEstimator):  # type: ignore[misc]
    """scikit-learn's NearestNeighbors, exact, with ties in order of the row.

    >>> import numpy as np
    >>> from nearfield.sklearn import NearestNeighbors
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 3.0]])
    >>> distances, ids = NearestNeighbors(n_neighbors=2).fit(X).kneighbors([[0.9, 0.1]])
    >>> ids
    array([[1, 0]])

    algorithm: "auto" or "brute"; scikit-learn's trees are not here. `leaf_size`, which is theirs,
        is not looked at.
    metric: minkowski (with `p`), euclidean, l2, sqeuclidean, manhattan, cityblock, l1, chebyshev,
        infinity or cosine. Distances are float64, made of the exact keys.
    metric_params: None: `p` is an argument of its own.
    n_jobs: threads as joblib counts them; None is every core.

    float32 is searched as float32 and everything else as float64. A NaN is an error, and so are
    more neighbours than rows.
    """

    def __init__(
        self,
        *,
        n_neighbors: int | None = 5,
        radius: float | None = 1.0,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: str = "minkowski",
        p: float = 2,
        metric_params: None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: object = None) -> NearestNeighbors:
        """Keeps the rows to search. y is there for scikit-learn's pipelines, and not looked at."""
        self._check_parameters()
        rows = validate_data(self, X, dtype=[np.float64, np.float32], order="C")
        distance = distance_named(self.metric, self.p)
        self.effective_metric_ = distance.name
        self.effective_metric_params_ = {} if distance.p is None else {"p": distance.p}
        self._fit_X = rows
        self.n_samples_fit_ = rows.shape[0]
        return self

    @overload
    def kneighbors(
        self,
        X: ArrayLike | None = None,
        n_neighbors: int | None = None,
        return_distance: Literal[True] = True,
    ) -> DistancesAndIds: ...
    @overload
    def kneighbors(
        self,
        X: ArrayLike | None = None,
        n_neighbors: int | None = None,
        *,
        return_distance: Literal[False],
    ) -> NDArray[np.int64]: ...
    @overload
    def kneighbors(
        self, X: ArrayLike | None, n_neighbors: int | None, return_distance: bool
    ) -> NDArray[Any] | DistancesAndIds: ...
    def kneighbors(
        self,
        X: ArrayLike | None = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
    ) -> NDArray[Any] | DistancesAndIds:
        """`distances, ids` of the nearest rows; without X, of every fitted row among the others."""
        k = self._check_k(X, n_neighbors)
        distance = distance_named(self.metric, self.p)
        if X is None:
            found = nearfield.graph(self._fit_X, k, distance.metric, threads=self._threads())
        else:
            found = nearfield.knn(
                self._queries(X), self._fit_X, k, distance.metric, threads=self._threads()
            )
        return (distance.of_keys(found.keys), found.ids) if return_distance else found.ids

    @overload
    def radius_neighbors(
        self,
        X: ArrayLike | None = None,
        radius: float | None = None,
        return_distance: Literal[True] = True,
        sort_results: bool = False,
    ) -> DistancesAndIds: ...
    @overload
    def radius_neighbors(
        self,
        X: ArrayLike | None = None,
        radius: float | None = None,
        *,
        return_distance: Literal[False],
        sort_results: bool = False,
    ) -> NDArray[Any]: ...
    @overload
    def radius_neighbors(
        self,
        X: ArrayLike | None,
        radius: float | None,
        return_distance: bool,
        sort_results: bool = False,
    ) -> NDArray[Any] | DistancesAndIds: ...
    def radius_neighbors(
        self,
        X: ArrayLike | None = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = False,
    ) -> NDArray[Any] | DistancesAndIds:
        """`distances, ids` of all rows within the radius, an array for each query.

        They are sorted, whatever `sort_results` says.
        """
        distances, ids, offsets = self._within(X, radius)
        each = _arrays_of(ids, offsets)
        return (_arrays_of(distances, offsets), each) if return_distance else each

    def kneighbors_graph(
        self,
        X: ArrayLike | None = None,
        n_neighbors: int | None = None,
        mode: str = "connectivity",
    ) -> csr_matrix:
        """The nearest rows as a sparse matrix of ones, or of distances with mode="distance"."""
        _check_mode(mode)
        distances, ids = self.kneighbors(X, n_neighbors)
        offsets = np.arange(0, ids.size + 1, max(ids.shape[1], 1))
        return self._sparse(distances.ravel(), ids.ravel(), offsets, mode)

    def radius_neighbors_graph(
        self,
        X: ArrayLike | None = None,
        radius: float | None = None,
        mode: str = "connectivity",
        sort_results: bool = False,
    ) -> csr_matrix:
        """All rows within the radius, as `kneighbors_graph`. Sorted, as `radius_neighbors`."""
        _check_mode(mode)
        return self._sparse(*self._within(X, radius), mode)

    def _within(
        self, X: ArrayLike | None, radius: float | None
    ) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
        """Distances, ids and offsets."""
        check_is_fitted(self)
        distance = distance_named(self.metric, self.p)
        most = _checked_radius(self.radius if radius is None else radius)
        found = nearfield.within(
            self._fit_X if X is None else self._queries(X),
            self._fit_X,
            distance.wider_radius(most) if distance.wider_radius else most,
            distance.metric,
            exclude_self=X is None,
            threads=self._threads(),
        )
        distances = distance.of_keys(found.keys)
        if distance.wider_radius is None:
            return distances, found.ids, found.offsets
        inside = distances <= most
        kept_before = np.concatenate([[0], np.cumsum(inside)])
        return distances[inside], found.ids[inside], kept_before[found.offsets]

    def _check_parameters(self) -> None:
        if self.algorithm not in ("auto", "brute"):
            raise nearfield.InvalidArgumentError(
                f"algorithm is {self.algorithm!r}, expected 'auto' or 'brute': the search compares "
                "with every row, and builds no tree"
            )
        if self.metric_params is not None:
            raise nearfield.InvalidArgumentError(
                f"metric_params is {self.metric_params!r}, expected None: give p by itself, as in "
                "NearestNeighbors(p=3)"
            )
        if self.n_neighbors is not None and integer("n_neighbors", self.n_neighbors) < 1:
            raise nearfield.InvalidArgumentError(
                f"n_neighbors is {self.n_neighbors}, expected at least 1"
            )
        if self.radius is not None:
            _checked_radius(self.radius)

    def _queries(self, X: ArrayLike) -> NDArray[Any]:
        queries: NDArray[Any] = validate_data(
            self, X, dtype=[np.float64, np.float32], order="C", reset=False
        )
        return queries

    def _check_k(self, X: ArrayLike | None, n_neighbors: int | None) -> int:
        check_is_fitted(self)
        k = integer("n_neighbors", self.n_neighbors if n_neighbors is None else n_neighbors)  # type: ignore[arg-type]
        most = self.n_samples_fit_ - (X is None)
        if not 0 < k <= most:
            raise nearfield.InvalidArgumentError(
                f"n_neighbors is {k}, expected 1 to {most}: Expected n_neighbors <= n_samples_fit, "
                f"but n_neighbors = {k}, n_samples_fit = {self.n_samples_fit_}"
            )
        return k

    def _threads(self) -> int:
        return 0 if self.n_jobs is None else effective_n_jobs(self.n_jobs)

    def _sparse(
        self, distances: NDArray[Any], ids: NDArray[Any], offsets: NDArray[Any], mode: str
    ) -> csr_matrix:
        values = distances if mode == "distance" else np.ones(len(ids))
        return csr_matrix((values, ids, offsets), shape=(len(offsets) - 1, self.n_samples_fit_))


def _checked_radius(radius: float | None) -> float:
    number = real("radius", radius)  # type: ignore[arg-type]  # of None it speaks
    if not number >= 0:
        raise nearfield.InvalidArgumentError(f"radius is {number}, expected 0 or more")
    return number


def _check_mode(mode: str) -> None:
    if mode not in ("connectivity", "distance"):
        raise nearfield.InvalidArgumentError(
            f"mode is {mode!r}, expected 'connectivity' or 'distance'"
        )


def _arrays_of(values: NDArray[Any], offsets: NDArray[np.int64]) -> NDArray[Any]:
    """An array of arrays, one for each query."""
    parts = np.empty(len(offsets) - 1, dtype=object)
    for query in range(len(parts)):
        parts[query] = values[offsets[query] : offsets[query + 1]]
    return parts
