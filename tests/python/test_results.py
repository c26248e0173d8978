"""What results are made of."""

from __future__ import annotations

import gc
import pickle
import tracemalloc

import numpy as np

import nearfield as nf
from definition import integers

ROWS = integers(30, 3)


def test_types_and_shapes() -> None:
    found = nf.knn(ROWS[:4], ROWS, 5)
    assert (found.ids.dtype.name, found.ids.shape) == ("int64", (4, 5))
    assert (found.distances.dtype.name, found.distances.shape) == ("float32", (4, 5))
    assert (found.keys.dtype.name, found.keys.shape) == ("float64", (4, 5))
    assert (found.counts.dtype.name, found.counts.shape) == ("int64", (4,))
    assert found.ids.dtype.char == np.dtype(np.int64).char
    assert repr(found) == "Neighbors(queries=4, k=5, exact=True)"
    assert repr(nf.within(ROWS[:2], ROWS, -1)) == "Ranges(queries=2, found=0, exact=True)"
    assert repr(nf.pairs(ROWS, count=3)) == "Pairs(found=3, exact=True)"
    assert repr(nf.select_k(ROWS, 2)) == "Selected(rows=30, k=2)"


def test_unpacks_as_distances_and_ids() -> None:
    found = nf.knn(ROWS[:4], ROWS, 5)
    distances, ids = found
    assert distances is found.distances
    assert ids is found.ids
    for queries in 2, 3:  # and never the results of two queries
        ranges = nf.within(ROWS[:queries], ROWS, 2)
        distances, ids = ranges
        assert distances is ranges.distances
        assert ids is ranges.ids
    pairs = nf.pairs(ROWS, count=3)
    distances, first, second = pairs
    assert distances is pairs.distances
    assert (first is pairs.first, second is pairs.second) == (True, True)


def test_arrays_own_memory_that_is_not_copied_and_may_be_written() -> None:
    ids = nf.knn(ROWS[:4], ROWS, 5).ids
    gc.collect()
    nf.knn(ROWS[4:8], ROWS, 5)
    assert ids[:, 0].tolist() == nf.knn(ROWS[:4], ROWS, 5).ids[:, 0].tolist()
    assert ids.base is not None
    ids[:] = 7
    tracemalloc.start()
    found = nf.knn(ROWS[:4], ROWS, 100_000)
    assert found.keys.nbytes == 3_200_000
    assert tracemalloc.get_traced_memory()[1] < 100_000  # numpy's own arrays would be traced
    tracemalloc.stop()


def test_memory_is_given_back() -> None:
    def resident_bytes() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    nf.knn(ROWS[:10], ROWS, 100_000)
    before = resident_bytes()
    for _ in range(100):  # 20 MB each
        nf.knn(ROWS[:10], ROWS, 100_000)
    assert resident_bytes() - before < 200_000_000


def test_statistics() -> None:
    stats = nf.knn(ROWS[:4], ROWS, 5).stats
    assert stats.pairs_considered == stats.pairs_verified == stats.plan.pairs == 120
    assert stats.seconds > 0
    assert stats.plan.kernel == f"sqeuclidean/f32/{stats.plan.isa}"


def test_results_pickle() -> None:
    found = pickle.loads(pickle.dumps(nf.knn(ROWS[:4], ROWS, 5)))
    np.testing.assert_array_equal(found.ids, nf.knn(ROWS[:4], ROWS, 5).ids)
    assert found.stats.plan.threads >= 1
