"""Objects under any metric."""

from __future__ import annotations

import ctypes
import gc
import pickle
import random
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfield as nf


def _edits(a: str, b: str) -> int:
    above = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (x != y)))
        above = row
    return above[-1]


def _words(count: int, seed: int) -> list[str]:
    numbers = random.Random(seed)
    return ["".join(numbers.choices("abcé字", k=numbers.randint(0, 7))) for _ in range(count)]


def _ranked(query: str, words: list[str]) -> list[tuple[int, int]]:
    return sorted((_edits(query, word), i) for i, word in enumerate(words))


def test_words_by_name() -> None:
    words, queries = _words(200, 1), _words(9, 2)
    index = nf.MetricIndex(words, "edit")
    found = index.search(queries, k=5)
    within = index.within(queries, 2)
    assert found.exact
    assert within.exact
    assert index.stats.signatures
    for i, query in enumerate(queries):
        ranked = _ranked(query, words)
        assert found.ids[i].tolist() == [one for _, one in ranked[:5]]
        assert found.keys[i].tolist() == [distance for distance, _ in ranked[:5]]
        assert within[i][1].tolist() == [one for distance, one in ranked if distance <= 2]
    assert found.stats.pairs_verified < len(queries) * len(words)
    assert index.get(7) == words[7]


@pytest.mark.parametrize("batched", [True, False])
def test_callables(batched: bool) -> None:
    """Objects are anything; the callable is asked for a block at a time."""
    places = [complex(a, b) for a in range(20) for b in range(20)]
    calls = []

    def one(a: complex, b: complex) -> float:
        return abs(a - b)

    def many(a: complex, others: list[complex]) -> list[float]:
        calls.append(len(others))
        return [abs(a - b) for b in others]

    metric: Any = many if batched else one
    index = nf.MetricIndex(places, metric, batched=batched, pivots=6)
    queries = [complex(3.2, 7.9), complex(-4, 11)]
    found = index.search(queries, k=4)
    for i, query in enumerate(queries):
        ranked = sorted((abs(query - place), j) for j, place in enumerate(places))
        assert found.ids[i].tolist() == [j for _, j in ranked[:4]]
    assert found.stats.pairs_verified < 0.5 * len(queries) * len(places)
    assert not batched or len(calls) < 0.2 * sum(calls)
    assert index.get(5) is places[5]
    index.remove([5])
    assert 5 not in index
    assert len(index) == 399
    index.rebuild()
    again = index.search(queries, k=4)
    assert (again.ids == found.ids).all() == (5 not in found.ids)


def _apart(a: bytes, b: bytes) -> float:
    """Of points of two small whole numbers: many distances are equal."""
    return float(abs(a[0] - b[0]) + abs(a[1] - b[1]))


def _all_apart(a: bytes, others: list[bytes]) -> list[float]:
    return [_apart(a, b) for b in others]


SIGNATURE = ctypes.CFUNCTYPE(
    ctypes.c_double, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64
)


def _apart_in_memory(a: int, a_bytes: int, b: int, b_bytes: int) -> float:
    return _apart(ctypes.string_at(a, a_bytes), ctypes.string_at(b, b_bytes))


COMPILED = SIGNATURE(_apart_in_memory)


def _c_metric() -> nf.CMetric:
    address = ctypes.cast(COMPILED, ctypes.c_void_p).value
    assert address is not None
    return nf.CMetric(address, whole_numbers=True)


class _Model:
    """An index, and a dict that is searched by every distance."""

    def __init__(self, metric: Any, options: dict[str, Any]) -> None:
        self.numbers = random.Random(12)
        self.index = nf.MetricIndex([], metric, **options)
        self.objects: dict[int, bytes] = {}

    def some(self, count: int) -> list[bytes]:
        return [bytes(self.numbers.choices(range(12), k=2)) for _ in range(count)]

    def change(self) -> None:
        added = self.some(self.numbers.randint(1, 50))
        if self.numbers.random() < 0.5:
            ids = self.index.add(added).tolist()
        else:
            fresh = [one for one in range(2000) if one not in self.objects]
            ids = self.numbers.sample(fresh, len(added))
            self.index.add(added, ids)
        self.objects.update(zip(ids, added, strict=True))
        gone = self.numbers.choices([*self.objects, -5], k=self.numbers.randint(1, 25))
        there = [one for one in set(gone) if one in self.objects]
        assert self.index.remove(gone) == len(there)
        for one in there:
            del self.objects[one]
        if self.numbers.random() < 0.2:
            self.index.rebuild()
        assert sorted(self.index.ids.tolist()) == sorted(self.objects)

    def ranked(self, query: bytes) -> list[tuple[float, int]]:
        return sorted((_apart(query, other), one) for one, other in self.objects.items())

    def compare_searches(self) -> None:
        queries = self.some(3)
        k, radius = self.numbers.randint(0, 9), self.numbers.randint(0, 6)
        found = self.index.search(queries, k)
        near = self.index.within(queries, radius)
        for i, query in enumerate(queries):
            ranked = self.ranked(query)
            count = int(found.counts[i])
            got = zip(found.keys[i, :count].tolist(), found.ids[i, :count].tolist(), strict=True)
            assert list(got) == ranked[:k]
            assert near[i][1].tolist() == [one for by, one in ranked if by <= radius]
            assert near[i][0].tolist() == [by for by, _ in ranked if by <= radius]

    def compare_pairs(self) -> None:
        others = self.some(4)
        for given in (None, others):
            firsts = self.objects if given is None else dict(enumerate(others))
            want = sorted(
                (_apart(a, b), i, j)
                for i, a in firsts.items()
                for j, b in self.objects.items()
                if given is not None or i < j
            )
            radius, count = self.numbers.randint(0, 2), self.numbers.randint(0, 40)
            within = self.index.pairs(given, radius=radius)
            assert _listed(within) == [one for one in want if one[0] <= radius]
            assert _listed(self.index.pairs(given, count=count)) == want[:count]


def _listed(pairs: nf.Pairs) -> list[tuple[float, int, int]]:
    ones = zip(pairs.keys.tolist(), pairs.first.tolist(), pairs.second.tolist(), strict=True)
    return list(ones)


KINDS_OF_PIVOTS: list[dict[str, Any]] = [{"pivots": 0}, {"pivots": 5}, {"pivots": 12, "kept": 3}]


@pytest.mark.parametrize("options", KINDS_OF_PIVOTS, ids=str)
@pytest.mark.parametrize("kind", ["one at a time", "batched", "C"])
def test_callables_agree_with_every_distance(kind: str, options: dict[str, Any]) -> None:
    metric: Any = {"one at a time": _apart, "batched": _all_apart, "C": _c_metric()}[kind]
    model = _Model(metric, options if kind != "one at a time" else options | {"batched": False})
    for _ in range(12):
        model.change()
        model.compare_searches()
    model.compare_pairs()


def test_an_index_that_nobody_has_is_gone() -> None:
    class Thing:
        pass

    things = [Thing() for _ in range(3)]
    gone = weakref.ref(things[0])
    index = nf.MetricIndex(things, lambda a, others: [float(a is not b) for b in others])
    assert index.search(things, k=1).ids[:, 0].tolist() == [0, 1, 2]
    del things, index
    gc.collect()
    assert gone() is None


def test_removed_objects_are_let_go_by_rebuild() -> None:
    class Thing:
        def __init__(self, at: float) -> None:
            self.at = at

    def metric(a: Thing, others: list[Thing]) -> list[float]:
        return [abs(a.at - b.at) for b in others]

    things = [Thing(at) for at in range(40)]
    left = [weakref.ref(thing) for thing in things]
    index = nf.MetricIndex(things, metric, pivots=8)
    refused = Thing(7)
    gone = weakref.ref(refused)
    no_ids: Any = ["a"]
    with pytest.raises(TypeError, match="ids must be"):
        index.add([refused], no_ids)
    del things, refused
    gc.collect()
    assert gone() is None
    assert index.remove([*range(0, 40, 2), 2, 99]) == 20
    assert index.search([Thing(6)], k=2).ids.tolist() == [[5, 7]]  # removed ones may be pivots
    index.rebuild()
    gc.collect()
    assert [thing() is None for thing in left] == [True, False] * 20
    assert index.search([Thing(6)], k=2).ids.tolist() == [[5, 7]]
    index.add([Thing(6)], [6])
    assert index.search([Thing(6)], k=1).ids.tolist() == [[6]]


def test_what_a_callable_raises_is_raised() -> None:
    def broken(a: object, others: list[object]) -> list[float]:
        raise ZeroDivisionError("of the metric")

    index = nf.MetricIndex([], broken)
    with pytest.raises(ZeroDivisionError, match="of the metric"):
        index.add(range(50))
    assert len(index) == 0

    def short(a: object, others: list[object]) -> list[float]:
        return [0.0]

    with pytest.raises(nf.InvalidArgumentError, match="1 distances for"):
        nf.MetricIndex(range(50), short)
    with pytest.raises(nf.InvalidArgumentError, match="no distance"):
        nf.MetricIndex(range(50), lambda a, others: [float("nan")] * len(others))


def test_time_is_that_of_the_distances() -> None:
    """The search itself takes little beside a slow metric, in time of the CPU."""
    cost = 1e-3

    def slow(a: float, others: list[float]) -> list[float]:
        end = time.thread_time() + cost * len(others)
        while time.thread_time() < end:
            pass
        return [abs(a - b) for b in others]

    index = nf.MetricIndex([float(i) for i in range(200)], slow, pivots=2)
    start = time.process_time()
    found = index.search([float(i) + 0.3 for i in range(0, 200, 5)], k=3)
    taken = time.process_time() - start
    assert taken < 1.2 * cost * found.stats.pairs_verified


def test_c_functions(tmp_path: Path) -> None:
    def lengths(a: int, a_bytes: int, b: int, b_bytes: int) -> float:
        return float(abs(a_bytes - b_bytes))

    compiled = SIGNATURE(lengths)
    address = ctypes.cast(compiled, ctypes.c_void_p).value
    assert address is not None
    metric = nf.CMetric(address, name="lengths", whole_numbers=True)
    index = nf.MetricIndex([b"", b"a", b"bbb", b"cccccc"], metric)
    assert index.search([b"xx"], k=2).ids.tolist() == [[1, 2]]

    # For devices: the CPU does not look at it.
    elsewhere = nf.CMetric(address, device_source="double nearfield_distance(")
    index = nf.MetricIndex([b"", b"a", b"bbb", b"cccccc"], elsewhere)
    assert index.search([b"xx"], k=2).ids.tolist() == [[1, 2]]

    class Compiled:
        address = metric.address

    assert nf.CMetric(Compiled()).address == address

    # What has the code is there for as long as the index is.
    function = Compiled()
    kept = weakref.ref(function)
    index = nf.MetricIndex([b"", b"a"], nf.CMetric(function))
    del function
    gc.collect()
    assert kept() is not None
    assert index.search([b"xx"], k=1).ids.tolist() == [[1]]
    del index
    gc.collect()
    assert kept() is None

    # Of two without a name, by what they say of the first objects.
    nf.MetricIndex([b"", b"a", b"bbb"], nf.CMetric(address)).save(tmp_path / "lengths")
    assert len(nf.MetricIndex.open(tmp_path / "lengths", nf.CMetric(address))) == 3
    nf.MetricIndex.verify(tmp_path / "lengths", nf.CMetric(address))
    with pytest.raises(nf.UnsupportedError, match=r"none of the library's.*MetricIndex\.verify"):
        nf.verify_index(tmp_path / "lengths")

    def squares(a: int, a_bytes: int, b: int, b_bytes: int) -> float:
        return float((a_bytes - b_bytes) ** 2)

    another = SIGNATURE(squares)
    other_address = ctypes.cast(another, ctypes.c_void_p).value
    assert other_address is not None
    with pytest.raises(nf.InvalidArgumentError, match="another metric of the name 'a C function'"):
        nf.MetricIndex.open(tmp_path / "lengths", nf.CMetric(other_address))


def test_numbers_and_sets() -> None:
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(60, 4))
    index = nf.MetricIndex(vectors, "lp:2", pivots=5)
    want = nf.knn(vectors[:5], vectors, 6, "euclidean")
    np.testing.assert_array_equal(index.search(vectors[:5], k=6).ids, want.ids)
    np.testing.assert_array_equal(index.get(3), vectors[3])
    sets = nf.MetricIndex([[1, 2, 3], [2, 3], [9]], "jaccard")
    found = sets.search([[2, 3, 4]], k=3)
    assert found.ids.tolist() == [[1, 0, 2]]
    assert found.keys[0].tolist() == [1 / 3, 0.5, 1.0]
    large = [[1, 2**64 - 1], np.array([1.0, 2.0]), np.array([1, 2], np.uint8), []]
    kept = nf.MetricIndex(large, "jaccard")
    assert [kept.get(i).tolist() for i in range(4)] == [[1, 2**64 - 1], [1, 2], [1, 2], []]


@pytest.mark.parametrize("member", [1.5, -1, 2**64, float("nan"), float("inf"), "1"])
def test_members_are_whole_numbers(member: Any) -> None:
    with pytest.raises(nf.InvalidArgumentError, match="whole number"):
        nf.MetricIndex([[0, member]], "jaccard")


@pytest.mark.parametrize("metric", ["lp:2", "angular", "jaccard"])
def test_texts_are_no_numbers(metric: str) -> None:
    with pytest.raises(TypeError, match="must be numbers, got '12345678'"):
        nf.MetricIndex(["12345678"], metric)


@pytest.mark.parametrize("one", [np.zeros(3), bytearray(b"ab"), memoryview(b"ab"), 3])
def test_texts_are_str_or_bytes(one: Any) -> None:
    for metric in "edit", "damerau":
        with pytest.raises(TypeError, match=r'object is a .* str or bytes: .* metric="lp:2"'):
            nf.MetricIndex([one], metric)
    index = nf.MetricIndex([b"ab", "abc"])
    with pytest.raises(TypeError, match="str or bytes"):
        index.search([one])
    assert index.search(["ab"], k=1).distances.tolist() == [[0]]


def test_sets_have_no_order() -> None:
    unsorted = [{2**40, 3, 2**33 + 1}, frozenset([9, 2**61 + 5, 1])]
    index = nf.MetricIndex(unsorted, "jaccard")
    assert [index.get(i).tolist() for i in range(2)] == [sorted(one) for one in unsorted]
    assert index.search([[3, 2**33 + 1, 2**40]], k=1).distances.tolist() == [[0]]
    with pytest.raises(nf.InvalidArgumentError, match="rise"):
        nf.MetricIndex([[3, 1], [1, 3]], "jaccard")


def test_pairs() -> None:
    words = _words(60, 4)
    index = nf.MetricIndex(words, "edit")
    pairs = index.pairs(radius=1)
    want = sorted(
        (_edits(a, b), i, j) for i, a in enumerate(words) for j, b in enumerate(words) if i < j
    )
    got = zip(pairs.keys, pairs.first, pairs.second, strict=True)
    assert list(got) == [one for one in want if one[0] <= 1]
    others = _words(10, 5)
    for few in (
        nf.MetricIndex(words, "edit", pivots=6).pairs(radius=1, pivots=2, isa="scalar"),
        index.pairs(radius=1, pivots=0),
    ):
        np.testing.assert_array_equal(few.second, pairs.second)
    closest = index.pairs(others, count=7)
    want = sorted((_edits(a, b), i, j) for i, a in enumerate(others) for j, b in enumerate(words))
    assert list(zip(closest.keys, closest.first, closest.second, strict=True)) == want[:7]


def test_ids_only() -> None:
    places = np.random.default_rng(9).uniform(size=(500, 1))
    index = nf.MetricIndex(places, "lp:1", pivots=4)
    whole = index.within(places[:5], 0.2)
    bare = index.within(places[:5], 0.2, ids_only=True)
    assert len(bare.distances) == len(bare.keys) == 0
    assert bare.stats.pairs_verified < whole.stats.pairs_verified
    for query in range(5):
        np.testing.assert_array_equal(bare[query][1], np.sort(whole[query][1]))


def test_a_budget() -> None:
    index = nf.MetricIndex(_words(300, 6), "edit", pivots=4)
    found = index.search(["abcab"], k=3, budget=9)
    assert not found.exact
    assert found.stats.pairs_verified <= 9
    found = index.search(["abcab"], k=3, budget=4)  # no more than there are pivots
    assert found.counts.tolist() == [3]
    assert found.stats.pairs_verified <= 4
    assert index.search(["abcab"], k=3, budget=400).exact


def test_files(tmp_path: Path) -> None:
    words = _words(100, 7)
    index = nf.MetricIndex(words, "edit", pivots=8, kept=3)
    index.remove([4, 5])
    index.save(tmp_path / "words.nf")
    opened = nf.MetricIndex.open(tmp_path / "words.nf", "edit")
    assert len(opened) == 98
    assert opened.get(6) == words[6]
    opened.add(["new"], [1000])
    index.add(["new"], [1000])
    np.testing.assert_array_equal(opened.search(["ab"], k=9).ids, index.search(["ab"], k=9).ids)
    with pytest.raises(nf.InvalidArgumentError, match="'edit', not 'damerau'"):
        nf.MetricIndex.open(tmp_path / "words.nf", "damerau")
    with pytest.raises(nf.UnsupportedError, match="callable"):
        nf.MetricIndex(range(3), lambda a, others: [0.0] * len(others)).save(tmp_path / "none")


def test_files_are_verified(tmp_path: Path) -> None:
    path = tmp_path / "words.nf"
    nf.MetricIndex(_words(50, 11), "edit", pivots=4).save(path)
    nf.verify_index(path)
    nf.MetricIndex.verify(path)
    with pytest.raises(nf.InvalidArgumentError, match="'edit', not 'damerau'"):
        nf.MetricIndex.verify(path, "damerau")
    with pytest.raises(nf.InvalidArgumentError, match="open it as MetricIndex"):
        nf.Index.open(path)
    changed = bytearray(path.read_bytes())
    changed[-1] ^= 1
    path.write_bytes(changed)
    with pytest.raises(nf.CorruptFileError):
        nf.verify_index(path)
    with pytest.raises(nf.CorruptFileError):
        nf.MetricIndex.verify(path)
    with pytest.raises(nf.UnsupportedError, match="cannot be verified"):
        nf.MetricIndex.verify(path, lambda a, others: [0.0] * len(others))

    index = nf.Index(dim=2)
    index.add(np.zeros((3, 2), np.float32))
    index.save(path)
    with pytest.raises(nf.InvalidArgumentError, match="open it as Index"):
        nf.MetricIndex.open(path)


@pytest.mark.parametrize("metric", ["edit", "lp:2"])
def test_pickled(metric: str) -> None:
    rng = np.random.default_rng(17)
    objects: Any = _words(90, 17) if metric == "edit" else rng.normal(size=(90, 3))
    index = nf.MetricIndex(objects, metric, ids=range(5, 95), pivots=8, seed=4)
    copy = pickle.loads(pickle.dumps(index))
    found = index.search(objects[:9], k=5)
    np.testing.assert_array_equal(copy.search(objects[:9], k=5).ids, found.ids)
    np.testing.assert_array_equal(copy.get(7), index.get(7))
    assert copy.stats.pivots == index.stats.pivots == 8
    copy.remove([5])
    assert 5 in index
    assert pickle.loads(pickle.dumps(copy)).ids.tolist() == list(range(6, 95))


def test_no_function_is_pickled() -> None:
    with pytest.raises(nf.UnsupportedError, match="save it, and open it there under the metric"):
        pickle.dumps(nf.MetricIndex([], _c_metric()))
    with pytest.raises(nf.UnsupportedError, match="pickle the objects, and add them there"):
        pickle.dumps(nf.MetricIndex([], _all_apart))


def test_opening_may_be_limited(tmp_path: Path) -> None:
    path = tmp_path / "words.nf"
    nf.MetricIndex(_words(50, 13), "edit").save(path)
    opened = nf.MetricIndex.open(path, read_only=True, max_bytes=path.stat().st_size)
    assert opened.search(["ab"], k=1).counts.tolist() == [1]
    changes: list[Callable[[], object]] = [
        lambda: opened.add(["new"]),
        lambda: opened.remove([3]),
        opened.rebuild,
    ]
    for change in changes:
        with pytest.raises(nf.InvalidArgumentError, match="read-only"):
            change()
    with pytest.raises(nf.UnsupportedError, match="more than the limit of 100"):
        nf.MetricIndex.open(path, max_bytes=100)


def test_a_seed_is_of_what_is_random(tmp_path: Path) -> None:
    words = _words(200, 14)

    def file_of(seed: int) -> bytes:
        index = nf.MetricIndex(words[:100], "edit", choice="random", seed=seed)
        index.add(words[100:])
        index.rebuild()
        index.save(tmp_path / "words.nf")
        return (tmp_path / "words.nf").read_bytes()

    assert file_of(1) == file_of(1)
    assert file_of(1) != file_of(2)
    with pytest.raises(nf.InvalidArgumentError, match="seed is -1"):
        nf.MetricIndex([], seed=-1)

    def square(a: Any, b: Any) -> float:
        return float((a - b) ** 2)

    numbers = np.random.default_rng(15).normal(size=40)
    worst = [
        nf.check_metric(numbers, square, batched=False, triples=9, seed=seed).triangle.objects
        for seed in range(5)
    ]
    assert len(set(worst)) > 1


def test_an_index_is_made_as_objects_are_added() -> None:
    def slow(a: int, others: list[int]) -> list[float]:
        time.sleep(1e-3 * len(others))
        return [float(abs(a - b)) for b in others]

    with pytest.raises(nf.DeadlineError):
        nf.MetricIndex(range(200), slow, pivots=4, timeout=0.05)
    made = nf.MetricIndex(_words(50, 16), "edit", threads=1, progress=lambda *done: None)
    assert len(made) == 50
    with pytest.raises(TypeError, match="threads must be"):
        nf.MetricIndex(["ab"], "edit", threads=1.5)  # type: ignore[arg-type]


def test_check_metric() -> None:
    numbers = np.random.default_rng(8).normal(size=40)
    line = nf.check_metric(numbers, lambda a, others: [abs(a - b) for b in others], triples=300)
    assert line.holds
    assert str(line) == "a metric on 300 triples"
    square = nf.check_metric(numbers, lambda a, b: (a - b) ** 2, batched=False, triples=300)
    assert not square.holds
    assert square.triangle.by > 0
    a, b, c = (numbers[i] for i in square.triangle.objects)
    assert square.triangle.by == pytest.approx((a - c) ** 2 - (a - b) ** 2 - (b - c) ** 2)


def test_check_metric_looks_at_what_a_metric_says_of_itself() -> None:
    def halves(a: int, a_bytes: int, b: int, b_bytes: int) -> float:
        return abs(a_bytes - b_bytes) / 2

    compiled = SIGNATURE(halves)
    address = ctypes.cast(compiled, ctypes.c_void_p).value
    assert address is not None
    objects = [b"x" * length for length in range(9)]
    assert nf.check_metric(objects, nf.CMetric(address), triples=50).holds
    whole = nf.check_metric(objects, nf.CMetric(address, whole_numbers=True), triples=50)
    assert not whole.holds
    assert whole.whole_numbers.by == 0.5
    assert whole.triangle.by == 0


def test_what_is_said_of_pivots_makes_some() -> None:
    words = _words(100, 10)
    assert nf.MetricIndex(words, "edit").stats.pivots == 0
    options: list[dict[str, Any]] = [{"kept": 3}, {"bits": 5}, {"choice": "random"}]
    for said in options:
        assert nf.MetricIndex(words, "edit", **said).stats.pivots == 16
        with pytest.raises(nf.InvalidArgumentError, match="0 pivots"):
            nf.MetricIndex(words, "edit", pivots=0, **said)
    with pytest.raises(nf.InvalidArgumentError, match=r"2 pivots .* without any"):
        nf.MetricIndex(words, "edit").search(words[:1], pivots=2)


def test_options_of_callables_are_of_no_other() -> None:
    compiled = nf.CMetric(1)  # never called
    metrics: list[Any] = ["edit", compiled]
    for metric in metrics:
        with pytest.raises(nf.InvalidArgumentError, match="batched=False is for a Python callable"):
            nf.MetricIndex([], metric, batched=False)
        with pytest.raises(nf.InvalidArgumentError, match="batched=False is for a Python callable"):
            nf.check_metric([], metric, batched=False)
    with pytest.raises(nf.InvalidArgumentError, match="the metric 'edit' has its own"):
        nf.MetricIndex([], "edit", slack=1e-6)
    with pytest.raises(nf.InvalidArgumentError, match="give it to the CMetric, as slack=1e-06"):
        nf.check_metric([], compiled, slack=1e-6)


@pytest.mark.parametrize("slack", [-1e-9, float("nan"), float("inf")])
def test_slack_is_a_part_of_a_distance(slack: float) -> None:
    def line(a: float, others: list[float]) -> list[float]:
        return [abs(a - b) for b in others]

    with pytest.raises(nf.InvalidArgumentError, match=f"slack .* is {slack}"):
        nf.MetricIndex([1.0], line, slack=slack)
    with pytest.raises(nf.InvalidArgumentError, match=f"slack .* is {slack}"):
        nf.check_metric([1.0], line, slack=slack)
    with pytest.raises(nf.InvalidArgumentError, match=f"slack .* is {slack}"):
        nf.MetricIndex([], nf.CMetric(1, slack=slack))


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"function": 0}, nf.InvalidArgumentError, r"function is 0, expected the address .* numba"),
        ({"function": -1}, nf.InvalidArgumentError, "function is -1"),
        ({"function": "f"}, TypeError, "function must be an integer, got 'f'"),
        ({"slack": "x"}, TypeError, "slack must be a number, got 'x'"),
        ({"whole_numbers": 1}, TypeError, "whole_numbers must be True or False, got 1"),
        ({"alignment": 1.5}, TypeError, "alignment must be an integer, got 1.5"),
        ({"name": 3}, TypeError, "name must be a str, got 3"),
        ({"device_source": b""}, TypeError, "device_source must be a str, got b''"),
    ],
)
def test_a_c_metric_names_what_is_wrong(
    options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        nf.CMetric(**{"function": 1, **options})


def test_mistakes() -> None:
    with pytest.raises(nf.InvalidArgumentError, match=f"bits is {2**40}, expected at most"):
        nf.MetricIndex([], bits=2**40)
    with pytest.raises(nf.InvalidArgumentError, match="unknown metric 'edits'"):
        nf.MetricIndex([], "edits")
    with pytest.raises(TypeError, match="list of objects"):
        nf.MetricIndex("words")
    with pytest.raises(TypeError, match="an object is a int, and this metric compares texts"):
        nf.MetricIndex([3], "edit")
    with pytest.raises(nf.InvalidArgumentError, match="choice"):
        nf.MetricIndex([], choice="best")
    assert ("edit", "symbols added, dropped or replaced") in nf.object_metrics()
