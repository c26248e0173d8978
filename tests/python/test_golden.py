"""Files that an earlier version wrote are opened, and hold what it put in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import definition
import nearfield as nf
from golden_indexes import ALL, FOLDER, NEXT_ID, REMOVED, Golden, make
from golden_objects import COUNT, OBJECTS, GoldenObjects


def test_each_is_there() -> None:
    paths = [golden.path for golden in ALL] + [golden.path for golden in OBJECTS]
    assert set(paths) == set(FOLDER.iterdir())


@pytest.mark.parametrize("golden", ALL, ids=lambda golden: golden.path.stem)
def test_opens_and_answers(golden: Golden) -> None:
    nf.verify_index(golden.path)
    rows = golden.rows()
    ids = golden.ids()
    left = golden.left()
    with nf.Index.open(golden.path) as index:
        assert (index.dim, index.metric) == (golden.cols, golden.metric)
        assert len(index) == len(left)
        assert np.array_equal(index.ids, ids[left])
        assert index.stats.not_finite == int((~np.isfinite(rows.astype(np.float64))).any(1).sum())
        queries = rows[:5]
        asked = golden.as_vectors(queries)
        found = index.search(asked, k=6)
        # Where keys are equal, the smaller id is first: rows in the order of their ids.
        order = left[np.argsort(ids[left])]
        expected, keys, _ = definition.knn(queries, rows[order], 6, golden.metric)
        assert np.array_equal(found.ids, ids[order][expected])
        assert np.array_equal(found.keys, keys)
        assert index.add(asked)[0] == golden.next_id


@pytest.mark.parametrize(
    "golden",
    [golden for golden in ALL if golden.is_written_today and not golden.is_rounded],
    ids=lambda golden: golden.path.stem,
)
def test_the_same_is_written_today(golden: Golden, tmp_path: Path) -> None:
    """Not a promise, but a change of what is written should not go unnoticed: it may need a new
    version of the format, and golden files of that."""
    make(golden).save(tmp_path / "index.nf")
    assert (tmp_path / "index.nf").read_bytes() == golden.path.read_bytes()


@pytest.mark.parametrize("golden", OBJECTS, ids=lambda golden: golden.path.stem)
def test_objects_open_and_answer(golden: GoldenObjects) -> None:
    nf.verify_index(golden.path)
    nf.MetricIndex.verify(golden.path, golden.metric)
    every_distance = golden.made(pivots=0, signatures=False)
    asked = golden.objects()[:5]
    index = nf.MetricIndex.open(golden.path, golden.metric)
    assert len(index) == COUNT - 1
    assert np.array_equal(index.ids, np.delete(golden.ids(), REMOVED))
    for row in (0, COUNT - 1):
        assert np.array_equal(index.get(golden.ids()[row]), golden.objects()[row])
    found, expected = index.search(asked, k=6), every_distance.search(asked, k=6)
    assert np.array_equal(found.ids, expected.ids)
    assert np.array_equal(found.distances, expected.distances)
    assert found.stats.pairs_verified < expected.stats.pairs_verified  # the filter is used
    assert index.add(asked)[0] == NEXT_ID


@pytest.mark.parametrize("golden", OBJECTS, ids=lambda golden: golden.path.stem)
def test_the_same_objects_are_written_today(golden: GoldenObjects, tmp_path: Path) -> None:
    golden.made(**golden.options).save(tmp_path / "index.nf")
    assert (tmp_path / "index.nf").read_bytes() == golden.path.read_bytes()
