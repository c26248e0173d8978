"""The other searches, the cursor and selection, against their definitions."""

from __future__ import annotations

import tracemalloc
from inspect import signature

import numpy as np
import pytest

import definition
import nearfield as nf
from definition import integers


@pytest.mark.parametrize(("metric", "radius"), [("euclidean", 2.0), ("inner_product", 9.0)])
def test_within(metric: str, radius: float) -> None:
    queries, base = integers(6, 3, seed=2), integers(50, 3)
    found = nf.within(queries, base, radius, metric)
    assert len(found) == 6
    assert found.offsets[-1] == len(found.ids) == len(found.keys)
    ids, keys, _ = definition.knn(queries, base, 50, metric)
    similar = metric in definition.SIMILARITIES
    for query in range(len(found)):
        distances, found_ids = found[query]
        values = definition.reported(keys[query], metric)
        inside = values >= radius if similar else values <= radius
        np.testing.assert_array_equal(found_ids, ids[query][inside])
        np.testing.assert_array_equal(distances, values[inside].astype(np.float32))
        assert found.counts[query] == inside.sum()
    assert found[-1][1].tolist() == found[np.int64(5)][1].tolist()
    for missing in 6, -7:
        with pytest.raises(IndexError, match=f"query is {missing}, expected -6 to 5"):
            found[missing]
    with pytest.raises(TypeError, match=r"query must be an integer, got slice\(None, 2"):
        found[:2]  # type: ignore[index]


def test_graph_is_knn_without_the_row_itself() -> None:
    rows = integers(40, 3)
    found = nf.graph(rows, 7)
    expected = nf.knn(rows, rows, 7, exclude_self=True)
    np.testing.assert_array_equal(found.ids, expected.ids)
    every, _, _ = definition.knn(rows, rows, 40)
    for row in range(40):
        assert found.ids[row].tolist() == [other for other in every[row] if other != row][:7]


def test_pairs_of_one_set_and_of_two() -> None:
    rows, other = integers(12, 3), integers(9, 3, seed=2)
    keys = definition.keys(rows, rows, "sqeuclidean")
    expected = sorted((keys[i, j], i, j) for i in range(12) for j in range(i + 1, 12))
    found = nf.pairs(rows, count=20)
    assert list(zip(found.keys, found.first, found.second, strict=True)) == expected[:20]
    within = nf.pairs(rows, radius=3)
    assert len(within) == sum(key <= 3 for key, _, _ in expected)
    between = definition.keys(rows, other, "sqeuclidean")
    found = nf.pairs(rows, other, count=10, radius=4)
    expected = sorted((between[i, j], i, j) for i in range(12) for j in range(9))
    expected = [pair for pair in expected if pair[0] <= 4][:10]
    assert list(zip(found.keys, found.first, found.second, strict=True)) == expected
    with pytest.raises(nf.InvalidArgumentError, match=r"radius.*count|count.*radius"):
        nf.pairs(rows)


def test_mutual_of_one_set_and_of_two() -> None:
    rows, other = integers(40, 3), integers(30, 3, seed=2)
    of_rows, of_other = nf.knn(rows, other, 1).ids.ravel(), nf.knn(other, rows, 1).ids.ravel()
    found = nf.mutual(rows, other)
    agreed = {(i, j) for i, j in enumerate(of_rows) if of_other[j] == i}
    assert agreed == set(zip(found.first, found.second, strict=True))
    assert (np.diff(found.keys) >= 0).all()
    assert found.exact
    nearest = nf.graph(rows, 1).ids.ravel()
    found = nf.mutual(rows, metric="sqeuclidean")
    agreed = {(i, j) for i, j in enumerate(nearest) if nearest[j] == i and i < j}
    assert agreed == set(zip(found.first, found.second, strict=True))


def test_cursor_goes_on_where_it_was() -> None:
    queries, base = integers(4, 3, seed=2), integers(100, 3)
    cursor = nf.KnnCursor(queries, base, "l1", filter=np.arange(100) % 2 == 0)
    steps = [cursor.next(k) for k in (1, 10, 39, 10)]
    whole = nf.knn(queries, base, 60, "l1", filter=np.arange(100) % 2 == 0)
    np.testing.assert_array_equal(np.hstack([step.ids for step in steps]), whole.ids)
    np.testing.assert_array_equal(np.hstack([step.keys for step in steps]), whole.keys)
    assert steps[-1].counts.tolist() == [0] * 4


def test_cursor_keeps_its_arrays() -> None:
    base = integers(50, 3)
    cursor = nf.KnnCursor(base[:3].copy(), np.array(base, order="F"), filter=list(range(40)))
    junk = [np.full((50, 3), 7, np.float32) for _ in range(20)]
    assert cursor.next(40).ids.tolist() == nf.knn(base[:3], base, 40, filter=range(40)).ids.tolist()
    assert len(junk) == 20


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("largest", [False, True])
def test_select_k(dtype: type, largest: bool) -> None:
    values = integers(5, 30, dtype)
    values[2, 3] = np.nan
    found = nf.select_k(values, 31, largest=largest)
    for row in range(5):
        sign = -1 if largest else 1
        order = sorted((sign * v, i) for i, v in enumerate(values[row]) if not np.isnan(v))
        assert found.ids[row, : len(order)].tolist() == [i for _, i in order]
        assert found.values[row, : len(order)].tolist() == [sign * v for v, _ in order]
        assert found.counts[row] == len(order)
    some_values, some_ids = nf.select_k(values, 4, largest, sorted=False)
    np.testing.assert_array_equal(np.sort(some_ids), np.sort(found.ids[:, :4]))
    np.testing.assert_array_equal(np.sort(some_values), np.sort(found.values[:, :4]))


def test_select_k_with_ids() -> None:
    values = np.array([[3.0, 1.0, 2.0], [1.0, 1.0, 1.0]])
    columns = np.array([30, 20, 10])
    assert nf.select_k(values, 2, ids=columns).ids.tolist() == [[20, 10], [10, 20]]
    each = np.arange(6).reshape(2, 3) + 100
    assert nf.select_k(values, 1, ids=each).ids.tolist() == [[101], [103]]
    for wrong in columns[:2], columns.astype(np.int16), each.T:
        with pytest.raises(
            nf.InvalidArgumentError, match=r"ids .* int64 or int32 of shape \(3,\) or \(2, 3\)"
        ):
            nf.select_k(values, 1, ids=wrong)
    with pytest.raises(nf.InvalidArgumentError, match="dtype int64, expected float32 or float64"):
        nf.select_k(values.astype(int), 1)
    with pytest.raises(nf.InvalidArgumentError, match=r"values has shape \(3,\).*reshape"):
        nf.select_k(values[0], 1)
    np.testing.assert_array_equal(nf.select_k(np.asfortranarray(values), 1).ids, [[1], [0]])
    with pytest.raises(nf.InvalidArgumentError, match="copy=False forbids"):
        nf.select_k(np.asfortranarray(values), 1, copy=False)


def test_select_k_copies_ids_unless_forbidden() -> None:
    values = np.array([[3.0, 1.0, 2.0], [1.0, 1.0, 1.0]])
    each = np.arange(6).reshape(2, 3)
    unaligned = np.frombuffer(b"x" + each.tobytes(), np.uint8)[1:].view(np.int64).reshape(2, 3)
    assert not unaligned.flags.aligned
    for ids in np.asfortranarray(each), each.astype(np.int32), unaligned:
        assert nf.select_k(values, 1, ids=ids).ids.tolist() == [[1], [3]]
        with pytest.raises(nf.InvalidArgumentError, match=r"ids of .*copy=False.*array\(ids"):
            nf.select_k(values, 1, ids=ids, copy=False)
    assert nf.select_k(values, 1, ids=each, copy=False).ids.tolist() == [[1], [3]]
    with pytest.raises(nf.MemoryLimitError, match=r"40 bytes.*take 48"):
        nf.select_k(values, 1, ids=unaligned, memory_limit=40)


def test_plans_say_what_runs() -> None:
    rows = integers(30, 4)
    assert nf.plan_knn(rows[:5], rows, 3).pairs == 150
    assert nf.plan_within(rows[:5], rows, 1.0, "l1", threads=1).threads == 1
    assert nf.plan_graph(rows, 3, isa=nf.isas()[0]).isa == nf.isas()[0]
    assert nf.plan_pairs(rows, count=2).result_bytes > nf.plan_pairs(rows, radius=1).result_bytes
    plan = nf.plan_knn(rows[:5], rows, 3)
    assert nf.knn(rows[:5], rows, 3).stats.plan == plan
    assert plan.kernel in str(plan)
    with pytest.raises(nf.MemoryLimitError):
        nf.plan_knn(rows, rows, 3, memory_limit=10)


def test_plans_take_the_arguments_of_their_searches() -> None:
    for plan, search in (
        (nf.plan_knn, nf.knn),
        (nf.plan_within, nf.within),
        (nf.plan_graph, nf.graph),
        (nf.plan_pairs, nf.pairs),
        (nf.plan_mutual, nf.mutual),
        (nf.plan_match, nf.match),
    ):
        assert signature(plan).parameters == signature(search).parameters


def test_plans_copy_no_rows() -> None:
    rows = np.asfortranarray(np.zeros((10_000, 100)))
    same = np.ascontiguousarray(rows)
    tracemalloc.start()
    plan = nf.plan_knn(rows[:5], rows, 3)
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()
    assert plan == nf.plan_knn(same[:5], same, 3)
    with pytest.raises(nf.MemoryLimitError, match="take 8000000"):
        nf.plan_graph(rows, memory_limit="1M")
    with pytest.raises(nf.InvalidArgumentError, match="copy=False"):
        nf.plan_graph(rows, copy=False)
    with pytest.raises(nf.InvalidArgumentError, match="65536"):
        nf.plan_graph(np.zeros((70_000, 2)).T)
