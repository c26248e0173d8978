"""scikit-learn's distances, by metrics of ours."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nearfield._arguments import real, text
from nearfield._errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Of our lp.
LEAST_P, MOST_P = 0.01, 1000.0


class Distance(NamedTuple):
    name: str  # scikit-learn's
    metric: str  # ours
    of_keys: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    # Ours that misses none of theirs, where the two are not the same number.
    wider_radius: Callable[[float], float] | None = None
    p: float | None = None  # of minkowski


def _cosine_of_keys(keys: NDArray[np.float64]) -> NDArray[np.float64]:
    """Our key is the similarity, negated. Of collinear rows it may round to a last bit past -1."""
    return np.clip(1 + keys, 0, 2)


def _cosine_wider_radius(radius: float) -> float:
    """As a similarity, less the two roundings of `1 - radius` and of `1 + key`."""
    return 1 - radius - 2 * sys.float_info.epsilon * max(1.0, abs(radius))


_EUCLIDEAN = Distance("euclidean", "euclidean", np.sqrt)
_MANHATTAN = Distance("manhattan", "l1", np.array)
_CHEBYSHEV = Distance("chebyshev", "linf", np.array)
_DISTANCES = {
    "euclidean": _EUCLIDEAN,
    "l2": _EUCLIDEAN,
    "sqeuclidean": Distance("sqeuclidean", "sqeuclidean", np.array),
    "manhattan": _MANHATTAN,
    "cityblock": _MANHATTAN,
    "l1": _MANHATTAN,
    "chebyshev": _CHEBYSHEV,
    "infinity": _CHEBYSHEV,
    "cosine": Distance("cosine", "cosine", _cosine_of_keys, _cosine_wider_radius),
}


def distance_named(metric: str, p: float) -> Distance:
    """p is looked at for minkowski only."""
    if text("metric", metric) == "minkowski":
        return _minkowski(real("p", p))
    if metric not in _DISTANCES:
        raise InvalidArgumentError(
            f"metric is {metric!r}, expected one of minkowski, {', '.join(_DISTANCES)}"
        )
    return _DISTANCES[metric]


def _minkowski(p: float) -> Distance:
    if special := {1.0: _MANHATTAN, 2.0: _EUCLIDEAN, np.inf: _CHEBYSHEV}.get(p):
        return special
    if not LEAST_P <= p <= MOST_P:
        raise InvalidArgumentError(f"p is {p}, expected {LEAST_P} to {MOST_P:.0f}, or infinity")
    return Distance("minkowski", f"lp:{p!r}", lambda keys: keys ** (1 / p), p=p)
