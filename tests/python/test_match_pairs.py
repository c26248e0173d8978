"""nf.match_pairs: every pair is what nf.match finds; order, callback, limits, mistakes."""

from __future__ import annotations

import itertools
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfield as nf

Rows = np.ndarray[Any, Any]


def images(count: int = 6, kind: type = np.uint8) -> list[Rows]:
    """Of one scene, each with noise of its own; the third has nothing on it."""
    random = np.random.default_rng(1)
    scene = random.integers(0, 100, (150, 16))
    seen = [
        scene[random.permutation(150)[: 100 + number]] + random.integers(0, 12, (100 + number, 16))
        for number in range(count)
    ]
    seen[2] = seen[2][:0]
    return [rows.astype(kind) for rows in seen]


def assert_same(found: nf.Pairs, expected: nf.Pairs) -> None:
    np.testing.assert_array_equal(found.first, expected.first)
    np.testing.assert_array_equal(found.second, expected.second)
    np.testing.assert_array_equal(found.distances, expected.distances)
    np.testing.assert_array_equal(found.keys, expected.keys)
    assert found.exact


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_every_pair_is_what_match_finds(kind: type, threads: int) -> None:
    features = images(kind=kind)
    options: dict[str, Any] = {"ratio": 0.9, "max_distance": 60, "cross_check": "tested"}
    found = nf.match_pairs(features, threads=threads, **options)
    assert found.pairs.tolist() == [list(pair) for pair in itertools.combinations(range(6), 2)]
    assert len(found) == 15
    for (first, second), matches in zip(found.pairs, found, strict=True):
        assert_same(matches, nf.match(features[first], features[second], **options))
    assert found.stats.pairs == 15
    assert found.stats.matches == sum(map(len, found)) > 300
    assert len(found[0]) > 20
    assert [len(matches) for matches in found[1:3]] == [0, len(found[2])]
    assert repr(found) == f"PairMatches(pairs=15, matches={found.stats.matches})"


def test_pairs_in_the_order_they_were_given() -> None:
    features = images()
    wanted = [(5, 0), (0, 5), (3, 1), (5, 0)]
    for given in wanted, np.array(wanted, np.int32), np.array(wanted, order="F"):
        found = nf.match_pairs(features, given)
        assert found.pairs.tolist() == [list(pair) for pair in wanted]
        for (first, second), matches in zip(wanted, found, strict=True):
            assert_same(matches, nf.match(features[first], features[second]))
    assert len(nf.match_pairs(features, [])) == 0
    assert len(nf.match_pairs(features[:1])) == 0


def test_frames_of_a_video() -> None:
    found = nf.match_pairs(images(), ("sequential", 2))
    assert found.pairs.tolist() == [
        [first, second] for first in range(6) for second in (first + 1, first + 2) if second < 6
    ]
    assert nf.match_pairs(images(), ("sequential", 0)).pairs.shape == (0, 2)


def test_binary_descriptors() -> None:
    features = [nf.bits(rows, 128) for rows in images()]
    found = nf.match_pairs(features, [(0, 1)], ratio=None, margin=3, metric="hamming")
    expected = nf.match(features[0], features[1], ratio=None, margin=3, metric="hamming")
    assert_same(found[0], expected)
    assert len(found[0]) > 0


def test_files_are_read_when_they_are_needed(tmp_path: Path) -> None:
    features = [rows for rows in images() if len(rows)]
    opened = []
    for number, rows in enumerate(features):
        nf.write(tmp_path / f"{number}.npy", rows)
        opened.append(nf.open_rows(tmp_path / f"{number}.npy"))
    found = nf.match_pairs(opened)
    for (first, second), matches in zip(found.pairs, found, strict=True):
        assert_same(matches, nf.match(features[first], features[second]))
    assert found.stats.images_read == 5
    assert 0 < found.stats.reading_seconds < found.stats.seconds


def test_take_is_called_once_a_pair_in_this_thread() -> None:
    features = images()
    kept = nf.match_pairs(features)
    taken: dict[int, nf.Pairs] = {}

    def take(pair: int, matches: nf.Pairs) -> None:
        assert threading.current_thread() is threading.main_thread()
        assert pair not in taken
        taken[pair] = matches

    found = nf.match_pairs(features, take=take)
    assert list(found) == []
    assert len(found.pairs) == found.stats.pairs == len(taken) == 15
    for pair, matches in taken.items():
        assert_same(matches, kept[pair])


def test_what_take_raises_ends_the_call() -> None:
    taken: list[int] = []

    def take(pair: int, matches: nf.Pairs) -> None:
        taken.append(pair)
        if len(taken) == 3:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        nf.match_pairs(images(), take=take)
    assert len(taken) == 3
    # To go on, leave out what was taken.
    every = list(itertools.combinations(range(6), 2))
    rest = [pair for place, pair in enumerate(every) if place not in taken[:2]]
    assert len(nf.match_pairs(images(), rest)) == 13


def test_a_long_call_can_be_ended_by_time_and_progress() -> None:
    features = [np.random.default_rng(n).integers(0, 256, (4000, 128), np.uint8) for n in range(40)]

    def stop(*_: object) -> None:
        raise KeyError("enough")

    begin = time.perf_counter()
    with pytest.raises(KeyError, match="enough"):
        nf.match_pairs(features, progress=stop)
    with pytest.raises(nf.DeadlineError):
        nf.match_pairs(features, timeout=0.02)
    # All of it would take 12 billion pairs of descriptors.
    assert time.perf_counter() - begin < 5


def test_progress_counts_pairs_of_descriptors() -> None:
    features = images()
    heard: list[tuple[int, int]] = []
    nf.match_pairs(features, progress=lambda done, total: heard.append((done, total)))
    sizes = [len(rows) for rows in features]
    total = sum(first * second for first, second in itertools.combinations(sizes, 2))
    assert heard[-1] == (total, total)


def test_memory_limit() -> None:
    features = [np.random.default_rng(n).integers(0, 256, (2000, 128), np.uint8) for n in range(8)]
    free = nf.match_pairs(features)
    tight = nf.match_pairs(features, memory_limit="3M")
    assert tight.stats.most_bytes_kept < free.stats.most_bytes_kept
    for matches, expected in zip(tight, free, strict=True):
        assert_same(matches, expected)
    with pytest.raises(nf.MemoryLimitError, match="images 0 and 1"):
        nf.match_pairs(features, memory_limit="300K")
    fortran = [np.asfortranarray(rows) for rows in features]
    with pytest.raises(nf.MemoryLimitError, match="copies of arrays"):
        nf.match_pairs(fortran, memory_limit="300K")


def test_the_rules_of_colmap() -> None:
    """In float32, of vectors that are taken to have length 512."""
    random = np.random.default_rng(5)
    scene = random.gamma(0.5, 1, (300, 128))

    def sift(values: np.ndarray[Any, Any]) -> Rows:
        lengths = np.linalg.norm(values, axis=1, keepdims=True)
        return np.asarray(np.minimum(512 * values / lengths, 255).round(), np.uint8)

    left, right = (sift(scene * random.uniform(0.6, 1.4, scene.shape)) for _ in range(2))
    products = left.astype(np.int64) @ right.astype(np.int64).T
    angles = np.arccos(np.minimum(products.astype(np.float32) / np.float32(512**2), np.float32(1)))

    def tested(table: np.ndarray[Any, Any]) -> tuple[Rows, Rows]:
        two = np.sort(table, axis=1)[:, :2]
        passes = (two[:, 0] <= np.float32(0.7)) & (two[:, 0] < np.float32(0.8) * two[:, 1])
        return table.argmin(axis=1), passes

    (forward, passes), (backward, passes_back) = tested(angles), tested(angles.T)
    expected = {
        (i, int(j))
        for i, j in enumerate(forward)
        if passes[i] and backward[j] == i and passes_back[j]
    }
    rules: dict[str, Any] = {
        "metric": "sift_angle",
        "max_distance": 0.7,
        "cross_check": "tested",
    }
    found = nf.match(left, right, **rules)
    assert set(zip(found.first.tolist(), found.second.tolist(), strict=True)) == expected
    assert 50 < len(expected) <= 300
    np.testing.assert_allclose(found.distances, angles[found.first, found.second], rtol=1e-6)
    assert_same(nf.match_pairs([left, right], **rules)[0], found)
    with pytest.raises(nf.InvalidArgumentError, match="u8"):
        nf.match(left.astype(np.float32), right.astype(np.float32), **rules)
    assert nf.plan_match(left, right, **rules).kernel.startswith("inner_product/u8")


def test_mistakes() -> None:
    features = images()
    untyped: Any = nf.match_pairs
    with pytest.raises(nf.InvalidArgumentError, match=r"features\[1\] has 16 columns of f32"):
        nf.match_pairs([features[0], features[1].astype(np.float32)])
    with pytest.raises(nf.InvalidArgumentError, match=r"features\[1\] has 8 columns of u8"):
        nf.match_pairs([features[0], features[1][:, :8]])
    with pytest.raises(nf.InvalidArgumentError, match="features is empty"):
        nf.match_pairs([])
    with pytest.raises(TypeError, match=r"write \[features\]"):
        untyped(features[0])
    for wrong in "all", ("sequential",), ("every", 2):
        with pytest.raises(nf.InvalidArgumentError, match="expected 'exhaustive'"):
            untyped(features, wrong)
    for numbers in [(0, 6)], [(-1, 2)]:
        with pytest.raises(nf.InvalidArgumentError, match="there are 6 images"):
            nf.match_pairs(features, numbers)
    with pytest.raises(nf.InvalidArgumentError, match="overlap must be 0 or more"):
        nf.match_pairs(features, ("sequential", -1))
    with pytest.raises(nf.InvalidArgumentError, match="image 3 and itself"):
        nf.match_pairs(features, [(0, 1), (3, 3)])
    with pytest.raises(nf.InvalidArgumentError, match=r"shape \(2,\)"):
        untyped(features, [0, 1])
    with pytest.raises(nf.InvalidArgumentError, match="float64"):
        untyped(features, [(0.0, 1.0)])
    with pytest.raises(TypeError, match=r"callable\(pair, matches\)"):
        untyped(features, take=3)
    with pytest.raises(nf.InvalidArgumentError, match="ratio"):
        nf.match_pairs(features, ratio=0)
