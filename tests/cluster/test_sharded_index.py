"""A sharded index, without Ray: its answers are those of one index, whatever was done to it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfield as nf
from conftest import Place
from material import Array, assert_same, ids_of, one_index, vectors
from nearfield import cluster

QUERIES = vectors(20, seed=1)


@pytest.mark.parametrize("shards", [1, 3, 7])
@pytest.mark.parametrize("metric", ["sqeuclidean", "inner_product", "cosine", "l1"])
def test_answers_are_those_of_one_index(tmp_path: Path, shards: int, metric: str) -> None:
    rows = vectors(500)
    assert cluster.build(tmp_path, rows, shards=shards, metric=metric) == 1
    opened, single = cluster.open(tmp_path), one_index(rows, metric=metric)
    for k in (1, 10, 499, 510):
        assert_same(opened.search(QUERIES, k), single.search(QUERIES, k))
    assert_same(opened.within(QUERIES, 8.0), single.within(QUERIES, 8.0))
    few = list(range(0, 500, 3))
    assert_same(opened.search(QUERIES, 9, only=few), single.search(QUERIES, 9, only=few))
    assert_same(opened.search(QUERIES, 9, without=few), single.search(QUERIES, 9, without=few))


@pytest.mark.parametrize(("method", "asked"), [("search", 5), ("within", 2.0)])
def test_progress_is_of_all_files(tmp_path: Path, method: str, asked: float) -> None:
    cluster.build(tmp_path, vectors(500), shards=3)
    cluster.append(tmp_path, vectors(40, seed=2))
    search = partial(getattr(cluster.open(tmp_path), method), QUERIES, asked)
    told: list[tuple[int, int]] = []
    search(progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (540, 540)
    assert {total for _, total in told} == {540}
    with pytest.raises(nf.DeadlineError):
        search(timeout=0)
    with pytest.raises(nf.InvalidArgumentError, match="timeout is -1"):
        search(timeout=-1)


class Counting:
    """A caller's own, for several searches."""

    calls = 0
    closed = False

    def __call__(self, done: int, total: int) -> None:
        self.calls += 1

    def close(self) -> None:
        self.closed = True


def test_progress_of_the_caller_stays_open(tmp_path: Path) -> None:
    cluster.build(tmp_path, vectors(500), shards=3)
    counting = Counting()
    cluster.open(tmp_path).search(QUERIES, 5, progress=counting)
    assert counting.calls > 0
    assert not counting.closed


def test_time_is_that_of_all_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.build(tmp_path, vectors(500), shards=3)
    given: list[float] = []
    usual = nf.Index.search

    def slow(part: nf.Index, *asked: Any, timeout: float, **options: Any) -> nf.Neighbors:
        given.append(timeout)
        time.sleep(0.02)
        return usual(part, *asked, timeout=timeout, **options)

    monkeypatch.setattr(nf.Index, "search", slow)
    cluster.open(tmp_path).search(QUERIES, 5, timeout=60)
    assert len(given) == 3
    assert given[0] <= 60
    assert all(later <= sooner - 0.02 for sooner, later in pairwise(given))


def test_infinitely_far_comes_before_none(tmp_path: Path) -> None:
    rows = np.array([[1e200], [0], [-1e200]])
    cluster.build(tmp_path, rows, shards=3, ids=np.array([7, 8, -9]))
    found = cluster.open(tmp_path).search(np.array([[1e200]]), 4)
    single = one_index(rows, np.array([7, 8, -9])).search(np.array([[1e200]]), 4)
    assert_same(found, single)
    assert np.isinf(found.keys[0, 1])
    assert found.ids[0].tolist() == [7, -9, 8, -1]


def test_empty_shards_and_no_queries(tmp_path: Path) -> None:
    rows = vectors(3)
    cluster.build(tmp_path, rows, shards=5)
    opened = cluster.open(tmp_path)
    assert_same(opened.search(QUERIES, 4), one_index(rows).search(QUERIES, 4))
    assert opened.search(QUERIES[:0], 4).ids.shape == (0, 4)
    cluster.delete(tmp_path, [0, 1, 2])
    assert cluster.open(tmp_path).search(QUERIES, 2).counts.tolist() == [0] * len(QUERIES)
    assert cluster.compact(tmp_path) == 3
    assert len(cluster.open(tmp_path)) == 0


def test_bits_and_their_family(tmp_path: Path) -> None:
    packed = np.random.default_rng(0).integers(0, 256, (300, 8)).astype(np.uint8)
    rows = nf.bits(packed, 64)
    cluster.build(tmp_path, rows, shards=3, family="mih", metric="hamming")
    single = nf.Index("flat", dim=64, dtype="bits", metric="hamming")
    single.add(rows)
    queries = nf.bits(packed[:9], 64)
    assert_same(cluster.open(tmp_path).search(queries, 6), single.search(queries, 6))


def test_bits_that_an_array_does_not_have_are_refused(tmp_path: Path) -> None:
    packed = np.random.default_rng(0).integers(0, 256, (40, 8)).astype(np.uint8)
    with pytest.raises(nf.InvalidArgumentError, match="bits is 64, but the array has uint8"):
        cluster.build(tmp_path, packed, shards=1, bits=64)
    rows = nf.bits(packed, 64)
    with pytest.raises(nf.InvalidArgumentError, match="bits is 32, but the array has 64 a row"):
        cluster.build(tmp_path, rows, shards=1, metric="hamming", bits=32)
    assert cluster.build(tmp_path, rows, shards=1, metric="hamming", bits=64) == 1
    with pytest.raises(nf.InvalidArgumentError, match="bits is 32, but the array has 64 a row"):
        cluster.append(tmp_path, rows, bits=32)


@pytest.mark.parametrize("ending", ["npy", "fbin", "fvecs"])
def test_files_are_read_in_pieces(tmp_path: Path, ending: str) -> None:
    rows = vectors(101)
    files = [tmp_path / f"{name}.{ending}" for name in ("a", "b", "c")]
    for file, piece in zip(files, np.split(rows, [30, 31]), strict=True):
        nf.write(file, piece)
    cluster.build(tmp_path / "index", files, shards=4)
    found = cluster.open(tmp_path / "index").search(QUERIES, 5)
    assert_same(found, one_index(rows).search(QUERIES, 5))


def test_a_life(place: Place, tmp_path: Path) -> None:
    """Everything that changes an index, beside one index that is changed likewise."""
    url = place()
    rows = vectors(60)
    single = one_index(rows)
    steps: list[nf.Neighbors] = []

    def check(epoch: int) -> None:
        assert epoch == len(steps) + 1
        steps.append(single.search(QUERIES, 12))
        assert_same(cluster.open(url).search(QUERIES, 12), steps[-1])

    check(cluster.build(url, rows, shards=3))
    more = vectors(10, seed=2)
    single.add(more)
    check(cluster.append(url, more))
    single.remove([5, 61, 62])
    check(cluster.delete(url, [5, 61, 62, 999]))
    single.upsert(more[:3], [5, 6, 1000])
    check(cluster.upsert(url, more[:3], np.array([5, 6, 1000])))
    single.add(more[:2])
    check(cluster.append(url, more[:2]))
    assert ids_of(url)[-3:] == [1000, 1001, 1002]
    check(cluster.compact(url))
    assert all(len(cluster.open(url).shard(number).parts) == 1 for number in range(3))
    assert cluster.open(url).manifest.tombstones == ()
    single.remove([1000])
    check(cluster.delete(url, [1000]))

    # Readers see the epoch they are pinned to.
    for epoch, expected in enumerate(steps, start=1):
        assert_same(cluster.open(url, epoch).search(QUERIES, 12), expected)
    cluster.open(url).verify()

    if not url.startswith("s3:"):  # as a writer that is killed leaves it
        (Path(url) / "data" / ".draft-abc").write_bytes(b"half")
    assert cluster.clean(url, keep=1) == 0  # all are young
    assert cluster.clean(url, keep=1, older_than=-60) > 0
    assert not list(tmp_path.rglob(".draft-*"))
    assert_same(cluster.open(url).search(QUERIES, 12), steps[-1])
    with pytest.raises(nf.CorruptFileError, match="is in the manifest but not there"):
        cluster.open(url, 1, cache=tmp_path / "new").search(QUERIES, 12)


def test_many_rows_are_dealt_to_all_shards(tmp_path: Path) -> None:
    cluster.build(tmp_path, vectors(3), shards=2)
    cluster.append(tmp_path, vectors(2 * 4096))
    segments = cluster.open(tmp_path).manifest.segments
    assert sorted(segment.rows for segment in segments) == [1, 2, 4096, 4096]


@pytest.mark.parametrize("change", ["append", "upsert", "delete", "compact", "build"])
def test_a_key_is_applied_once(place: Place, change: str) -> None:
    url = place()
    rows = vectors(8)
    cluster.build(url, rows, shards=2, key="first")
    cluster.delete(url, [1])

    def do(key: str) -> int:
        if change == "append":
            return cluster.append(url, rows, key=key)
        if change == "upsert":
            return cluster.upsert(url, rows[:1], np.array([7]), key=key)
        if change == "delete":
            return cluster.delete(url, [3], key=key)
        if change == "compact":
            return cluster.compact(url, key=key)
        return cluster.build(url, rows, shards=2, key=key)

    key = "first" if change == "build" else "once"
    epoch = do(key)
    assert do(key) == epoch
    cluster.delete(url, [2])
    before = ids_of(url)
    assert do(key) == epoch
    assert ids_of(url) == before
    if change == "build":
        with pytest.raises(cluster.ConflictError, match="holds an index already, at epoch 3"):
            do("another")


def test_keys_that_are_given_are_remembered_the_last_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And none of changes without: a manifest would have 42 bytes more for each."""
    monkeypatch.setattr("nearfield.cluster._manifest.MOST_REMEMBERED", 2)
    cluster.build(tmp_path, vectors(4), shards=1)
    for key in ("c", None, "b", "a", None):
        cluster.delete(tmp_path, [3], key=key)
    assert cluster.open(tmp_path).manifest.applied == {"b": 4, "a": 5}
    assert cluster.delete(tmp_path, [3], key="b") == 4
    assert cluster.delete(tmp_path, [3], key="c") == 7


def test_a_commit_whose_answer_was_lost_is_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nearfield.cluster._store import Folder

    cluster.build(tmp_path, vectors(4), shards=1)
    create = Folder.create

    def says_no(self: Folder, name: str, data: bytes) -> bool:
        create(self, name, data)
        return False

    monkeypatch.setattr(Folder, "create", says_no)
    assert cluster.append(tmp_path, vectors(2)) == 2
    assert cluster.open(tmp_path).epoch == 2
    assert ids_of(str(tmp_path)) == list(range(6))


def test_old_manifests_are_not_looked_at(tmp_path: Path) -> None:
    """Each would be a call to the file system."""
    from nearfield.cluster._manifest import latest_epoch
    from nearfield.cluster._store import open_store

    cluster.build(tmp_path, vectors(4), shards=1)
    cluster.delete(tmp_path, [1])
    first = tmp_path / "manifests" / f"{1:020d}.json"
    first.unlink()
    first.symlink_to(first)  # an error, if it is looked at
    assert latest_epoch(open_store(tmp_path), at_least=2) == 2


def test_writers_that_meet_all_succeed(place: Place) -> None:
    url = place()
    cluster.build(url, vectors(4), shards=2)
    failed: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for turn in range(3):
                cluster.append(url, vectors(2, seed=number), key=f"{number}-{turn}")
        except BaseException as error:
            failed.append(error)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert not failed
    assert cluster.open(url).epoch == 13
    assert ids_of(url) == list(range(28))  # each id once, none left out


def test_compaction_meets_a_delete_and_an_append(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nearfield.cluster import _writing

    cluster.build(tmp_path, vectors(10), shards=2)
    cluster.append(tmp_path, vectors(2))
    inner = vars(_writing)["run_tasks"]

    def meanwhile(*arguments: Any, **named: Any) -> Any:
        made = inner(*arguments, **named)
        monkeypatch.setattr(_writing, "run_tasks", inner)
        cluster.delete(tmp_path, [4])
        cluster.append(tmp_path, vectors(1))
        return made

    monkeypatch.setattr(_writing, "run_tasks", meanwhile)
    assert cluster.compact(tmp_path) == 5
    assert ids_of(tmp_path.as_posix()) == [i for i in range(13) if i != 4]


def test_of_two_compactions_one_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nearfield.cluster import _writing

    cluster.build(tmp_path, vectors(10), shards=2)
    cluster.delete(tmp_path, [1])
    inner = vars(_writing)["run_tasks"]

    def meanwhile(*arguments: Any, **named: Any) -> Any:
        made = inner(*arguments, **named)
        monkeypatch.setattr(_writing, "run_tasks", inner)
        cluster.compact(tmp_path)
        return made

    monkeypatch.setattr(_writing, "run_tasks", meanwhile)
    with pytest.raises(cluster.ConflictError, match="compacted by another writer, at epoch 3"):
        cluster.compact(tmp_path)
    assert len(cluster.open(tmp_path)) == 9


@pytest.mark.parametrize("change", ["append", "upsert", "compact"])
def test_a_change_whose_files_were_removed_is_not_committed(
    place: Place, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """By `clean`, for which it took too long; called again, it makes them again."""
    from nearfield.cluster import _writing

    url = place()
    cluster.build(url, vectors(10), shards=2)
    cluster.append(url, vectors(2))
    inner = vars(_writing)["run_tasks"]

    def meanwhile(*arguments: Any, **named: Any) -> Any:
        made = inner(*arguments, **named)
        if change == "compact":  # of its records, too: this is what a pause of a day leaves
            monkeypatch.setattr(_writing, "JOBS", "nothing")
        assert cluster.clean(url, keep=1, older_than=-60) > 0
        monkeypatch.undo()
        return made

    def do() -> int:
        if change == "append":
            return cluster.append(url, vectors(3), key="mine")
        if change == "upsert":
            return cluster.upsert(url, vectors(3), np.array([3, 4, 12]), key="mine")
        return cluster.compact(url, key="mine")

    monkeypatch.setattr(_writing, "run_tasks", meanwhile)
    with pytest.raises(cluster.ConflictError, match=r"of . files .* epoch 3 are gone.*call again"):
        do()
    assert cluster.open(url).epoch == 2
    assert do() == 3
    expected = {"append": 15, "upsert": 13, "compact": 12}
    assert ids_of(url) == list(range(expected[change]))


def test_a_manifest_that_grows_too_large_is_refused_and_compacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nearfield.cluster import _writing

    cluster.build(tmp_path, vectors(10), shards=2)
    cluster.append(tmp_path, vectors(3))
    monkeypatch.setattr(_writing, "MOST_GROWN_BYTES", 700)
    changes: list[Callable[[], int]] = [
        lambda: cluster.append(tmp_path, vectors(2)),
        lambda: cluster.upsert(tmp_path, vectors(1), np.array([4])),
        lambda: cluster.delete(tmp_path, [4]),
    ]
    for change in changes:
        with pytest.raises(nf.FileError, match=r"epoch 3 would have .* most 700 .*: compact first"):
            change()
    assert cluster.open(tmp_path).epoch == 2
    assert cluster.compact(tmp_path) == 3
    assert ids_of(str(tmp_path)) == list(range(13))
    monkeypatch.undo()
    assert cluster.append(tmp_path, vectors(2)) == 4


def test_a_task_uses_the_core_that_it_reserved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without Ray, a change has all of them."""
    used: list[tuple[str, int]] = []

    class Watched(nf.Index):
        def add(self, *arguments: Any, threads: int = 0, **named: Any) -> Any:
            used.append(("add", threads))
            return super().add(*arguments, threads=threads, **named)

        def compact(self, *, threads: int = 0, **named: Any) -> None:
            used.append(("compact", threads))
            super().compact(threads=threads, **named)

        def save(self, *arguments: Any, threads: int = 0, **named: Any) -> None:
            used.append(("save", threads))
            super().save(*arguments, threads=threads, **named)

    def change(url: Path) -> set[int]:
        used.clear()
        cluster.build(url, vectors(10), shards=1)
        cluster.append(url, vectors(2))
        cluster.compact(url)
        assert [what for what, _ in used] == [
            "add",
            "save",
            "add",
            "save",
            "add",
            "compact",
            "save",
        ]
        return {threads for _, threads in used}

    monkeypatch.setattr(nf, "Index", Watched)
    assert change(tmp_path / "here") == {0}
    monkeypatch.setattr("nearfield.cluster._writing.task_threads", lambda: 1)
    monkeypatch.setattr("nearfield.cluster._segments.task_threads", lambda: 1)
    assert change(tmp_path / "task") == {1}


def test_a_writer_that_slept_does_not_commit_over_others(tmp_path: Path) -> None:
    from nearfield.cluster._manifest import encode, manifest_name, read_manifest
    from nearfield.cluster._store import open_store

    cluster.build(tmp_path, vectors(4), shards=1)
    store = open_store(tmp_path)
    slept = read_manifest(store, 1).next("late")
    cluster.delete(tmp_path, [0])
    cluster.clean(tmp_path, keep=1, older_than=-60)
    assert not store.create(manifest_name(slept.epoch), encode(slept))


def test_a_build_that_was_ended_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nearfield.cluster import _writing

    rows, written = vectors(40), list[int]()
    inner = vars(_writing)["write_segment"]

    def dies(store: Any, index: nf.Index, shard: int, epoch: int) -> Any:
        if shard == 2 and len(written) < 3:
            written.append(-1)
            raise KeyboardInterrupt
        written.append(shard)
        return inner(store, index, shard, epoch)

    monkeypatch.setattr(_writing, "write_segment", dies)
    with pytest.raises(KeyboardInterrupt):
        cluster.build(tmp_path, rows, shards=4, key="mine")
    with pytest.raises(cluster.NoIndexError, match=r"cluster\.build"):
        cluster.open(tmp_path)
    cluster.build(tmp_path, rows, shards=4, key="mine")
    assert written == [0, 1, -1, 2, 3]
    assert_same(cluster.open(tmp_path).search(QUERIES, 3), one_index(rows).search(QUERIES, 3))


def test_a_build_whose_files_were_removed_makes_them_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nearfield.cluster import _writing

    rows = vectors(40)
    inner = vars(_writing)["run_tasks"]

    def meanwhile(*arguments: Any, **named: Any) -> Any:
        made = inner(*arguments, **named)
        (tmp_path / made[1].name).unlink()
        (tmp_path / made[2].name).write_bytes(b"cut")
        return made

    monkeypatch.setattr(_writing, "run_tasks", meanwhile)
    with pytest.raises(cluster.ConflictError, match=r"2 of 4 files .* epoch 1 are gone"):
        cluster.build(tmp_path, rows, shards=4, key="mine")
    kept = set((tmp_path / "data").iterdir())
    monkeypatch.undo()
    cluster.build(tmp_path, rows, shards=4, key="mine")
    assert len(kept & set((tmp_path / "data").iterdir())) == 3  # two, and what is left of one
    assert_same(cluster.open(tmp_path).search(QUERIES, 3), one_index(rows).search(QUERIES, 3))


def test_a_build_that_was_ended_does_not_go_on_with_other_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one shape, under one key: files of two would be mixed."""
    from nearfield.cluster import _writing

    rows, ids = vectors(40), np.arange(100, 140)
    inner = vars(_writing)["write_segment"]

    def dies(store: Any, index: nf.Index, shard: int, epoch: int) -> Any:
        if shard == 2:
            raise KeyboardInterrupt
        return inner(store, index, shard, epoch)

    others: list[tuple[Array, Array]] = [(vectors(40, seed=2), ids), (rows, ids[::-1])]
    for number, (other, other_ids) in enumerate(others):
        url = tmp_path / str(number)
        monkeypatch.setattr(_writing, "write_segment", dies)
        with pytest.raises(KeyboardInterrupt):
            cluster.build(url, rows, shards=4, ids=ids, key="mine")
        monkeypatch.setattr(_writing, "write_segment", inner)
        cluster.build(url, other, shards=4, ids=other_ids, key="mine")
        expected = one_index(other, other_ids).search(QUERIES, 3)
        assert_same(cluster.open(url).search(QUERIES, 3), expected)


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (vectors(4), {"shards": 0}, "shards is 0, expected 1 to 65536"),
        (vectors(4), {"ids": np.array([1, 2, 2, 3])}, "ids holds 2 more than once"),
        (vectors(4), {"ids": np.array([1, 2])}, "ids has 2 values for 4 rows"),
        (vectors(4), {"ids": np.array([1, 2, -1, 3])}, "which stands for none"),
        (vectors(4)[0], {}, r"shape \(8,\), expected \(rows, columns\)"),
        (vectors(4).astype(np.int64), {}, "dtype int64, expected one of"),
        (vectors(4), {"key": ""}, "key has 0 characters"),
    ],
)
def test_errors_say_what_is_wrong(
    tmp_path: Path, rows: Array, options: dict[str, object], message: str
) -> None:
    with pytest.raises(nf.InvalidArgumentError, match=message):
        cluster.build(tmp_path, rows, **{"shards": 2, **options})  # type: ignore[arg-type]


def test_rows_of_another_width_are_not_added(tmp_path: Path) -> None:
    cluster.build(tmp_path, vectors(4), shards=1)
    with pytest.raises(nf.InvalidArgumentError, match="9 columns of f32, the index 8 of f32"):
        cluster.append(tmp_path, vectors(4, cols=9))
