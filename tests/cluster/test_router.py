"""What `deploy` and a router do with actors; in the place of Ray, calls that are run at once."""

from __future__ import annotations

import pickle
import shutil
import time
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import nearfield as nf
from material import assert_same, one_index, vectors
from nearfield import cluster
from nearfield.cluster._actors import ShardServer
from nearfield.cluster._manifest import manifest_name
from nearfield.cluster._router import WINDOW

ROWS = vectors(200)
QUERIES = vectors(100, seed=1)


class Actor:
    def __init__(self, server: Any) -> None:
        self._server = server
        self.hangs = self.is_full = False

    def __getattr__(self, method: str) -> Any:
        return SimpleNamespace(remote=lambda *arguments: self.call(method, arguments))

    def call(self, method: str, arguments: tuple[Any, ...]) -> Call:
        if self.is_full:
            from ray.exceptions import PendingCallsLimitExceeded

            raise PendingCallsLimitExceeded("it has as many calls as it takes")
        return Call(self, method, arguments)

    def run(self, method: str, arguments: tuple[Any, ...]) -> Any:
        values = [given.data if isinstance(given, Put) else given for given in arguments]
        return getattr(self._server, method)(*values)


class Put:
    """What is in shared memory, as long as somebody holds it."""

    def __init__(self, data: bytes) -> None:
        self.data = data


class Call:
    def __init__(self, actor: Actor, method: str, arguments: tuple[Any, ...]) -> None:
        self.actor = actor
        self.hangs = actor.hangs
        self.answer = None if self.hangs else actor.run(method, arguments)


class NoRay:
    def __init__(self) -> None:
        import ray

        self.exceptions = ray.exceptions
        self.actors: dict[str, Actor] = {}
        self.cancelled: list[Call] = []
        self.fetched: list[str] = []
        self.looks = 0
        self.held: weakref.WeakSet[Put] = weakref.WeakSet()
        self.most_held = 0
        self.util = SimpleNamespace(list_named_actors=self._listed)

    def remote(self, server: Callable[..., Any]) -> Any:
        def start(name: str, arguments: tuple[Any, ...]) -> Actor:
            if name not in self.actors:
                self.actors[name] = Actor(server(*arguments))
            return self.actors[name]

        def options(name: str, **_: Any) -> Any:
            return SimpleNamespace(remote=lambda *arguments: start(name, arguments))

        return SimpleNamespace(options=options)

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": {"CPU": 1}, "NodeID": "0" * 56}]

    def get_actor(self, name: str, namespace: str) -> Actor:
        self.fetched.append(name)
        return self.actors[name]

    def wait(
        self, calls: list[Call], num_returns: int, timeout: float
    ) -> tuple[list[Call], list[Call]]:
        done = [call for call in calls if not call.hangs][:num_returns]
        if len(done) < num_returns:
            time.sleep(timeout)
        return done, [call for call in calls if call not in done]

    def get(self, call: Call) -> Any:
        return call.answer

    def put(self, data: bytes) -> Put:
        put = Put(data)
        self.held.add(put)
        self.most_held = max(self.most_held, len(self.held))
        return put

    def cancel(self, call: Call) -> None:
        self.cancelled.append(call)

    def _listed(self, all_namespaces: bool) -> Iterable[dict[str, str]]:
        self.looks += 1
        return [{"name": name, "namespace": "nearfield"} for name in self.actors]


@pytest.fixture
def no_ray(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> NoRay:
    """With an index of two shards in the folder of the test, and actors for it."""
    cluster.build(tmp_path, ROWS, shards=2)
    ray = NoRay()
    monkeypatch.setattr("nearfield.cluster._actors.connected_ray", lambda: ray)
    monkeypatch.setattr("nearfield.cluster._router.connected_ray", lambda: ray)
    cluster.deploy(tmp_path, "here")
    return ray


def test_questions_leave_shared_memory_when_they_are_answered(
    no_ray: NoRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not when the whole search ends: of a million queries that would be all of them."""
    monkeypatch.setattr("nearfield.cluster._router.PUT_BYTES", 0)
    router = cluster.Router(tmp_path, "here", batch=10)
    assert_same(router.search(QUERIES, 3), one_index(ROWS).search(QUERIES, 3))
    assert no_ray.most_held == WINDOW
    assert not no_ray.held


def test_answers_arrive_as_they_were_and_are_small() -> None:
    """Of 512 queries and k = 10, less than the 100 KiB that Ray sends with its reply."""
    draw = np.random.default_rng(0)
    keys = np.sort(draw.random((512, 10)), axis=1)
    counts = np.full(512, 10)
    for ids, found, most in (
        (draw.integers(-5, 1 << 31, (512, 10)), counts, 84_000),
        (draw.integers(0, 1 << 40, (512, 10)), counts, 105_000),
        (draw.integers(0, 1 << 31, (512, 10)), draw.integers(0, 11, 512), 88_000),
    ):
        sent = cluster.Found(ids, keys.astype(np.float32), keys, found, True, 7, (), 1)
        data = pickle.dumps(sent, protocol=5)
        assert len(data) < most
        received = pickle.loads(data)
        assert_same(received, sent)
        assert (received.epoch, received.missing, received.hedged) == (7, (), 1)


def test_other_options_of_actors_that_are_there_are_an_error(no_ray: NoRay, tmp_path: Path) -> None:
    cluster.deploy(tmp_path, "here")
    others: list[dict[str, Any]] = [
        {"threads": 3},
        {"cpus": 3},
        {"max_pending": 3},
        {"cache": "/elsewhere"},
    ]
    for other in others:
        ((option, value),) = other.items()
        expected = f"here-0-0 was started with .*not .*'{option}': {value!r}.*undeploy it first"
        with pytest.raises(nf.InvalidArgumentError, match=expected):
            cluster.deploy(tmp_path, "here", **other)


def test_batches_that_nobody_was_asked_in_time_are_an_error(no_ray: NoRay, tmp_path: Path) -> None:
    router = cluster.Router(tmp_path, "here", batch=30)
    assert_same(router.search(QUERIES, 3), one_index(ROWS).search(QUERIES, 3))
    assert no_ray.cancelled == []
    late = no_ray.actors["nearfield-here-1-0"]
    late.hangs = True
    for partial in (False, True):
        with pytest.raises(
            nf.DeadlineError, match=r"0 of 4 batches .* 0.1 s, shards \[1\] had not"
        ):
            router.search(QUERIES, 3, partial=partial, timeout=0.1)
    found = router.search(QUERIES[:60], 3, partial=True, timeout=0.1)  # all are under way
    assert (len(found.ids), found.missing) == (60, (1,))
    assert [call.actor for call in no_ray.cancelled] == [late] * 6  # two of each search


@pytest.mark.parametrize("epochs", [1, 3, 5])
def test_refresh_goes_to_an_index_that_was_built_again(
    no_ray: NoRay, tmp_path: Path, epochs: int
) -> None:
    """Also if it has fewer epochs than the router has seen."""
    cluster.delete(tmp_path, [1])
    cluster.delete(tmp_path, [2])
    router = cluster.Router(tmp_path, "here")
    assert router.epoch == 3
    for folder in ("manifests", "data"):
        shutil.rmtree(tmp_path / folder)
    with pytest.raises(cluster.NoIndexError, match="has no epoch 3"):
        router.refresh()
    cluster.build(tmp_path, ROWS[:50], shards=2)
    single = one_index(ROWS[:50])
    for number in range(epochs - 1):
        cluster.delete(tmp_path, [number])
        single.remove([number])
    assert router.refresh() == epochs
    assert_same(router.search(QUERIES, 3), single.search(QUERIES, 3))


def test_refresh_does_not_go_back_in_one_index(no_ray: NoRay, tmp_path: Path) -> None:
    """A store may not show for a while what it has shown."""
    cluster.delete(tmp_path, [1])
    router = cluster.Router(tmp_path, "here")
    newest = tmp_path / manifest_name(2)
    hidden = newest.rename(tmp_path / "hidden")
    with pytest.raises(cluster.NoIndexError, match="has no epoch 2"):
        router.refresh()
    assert router.epoch == 2
    hidden.rename(newest)
    assert router.refresh() == 2


def test_an_actor_knows_the_files_of_what_it_has_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are read once, to check them, and those of old epochs are forgotten."""
    cluster.build(tmp_path, ROWS, shards=1)
    server = ShardServer(str(tmp_path), 0, {"threads": 1, "cache": None})
    server.ready(cluster.open(tmp_path).manifest.identity)
    local, read = server._store.local, list[str]()

    def counted(name: str, size: int, sha256: str) -> Path:
        read.append(name)
        return local(name, size, sha256)

    monkeypatch.setattr(server._store, "local", counted)
    last: set[str] = set()
    for number in range(4):
        cluster.upsert(tmp_path, ROWS[:1], np.array([number]))
        if number == 2:
            cluster.compact(tmp_path)
        manifest = cluster.open(tmp_path).manifest
        server.ready(manifest.identity)
        before, last = last, {file.name for file in manifest.files}
    assert len(read) == len(set(read)) == 7  # a segment and tombstones each time, or a whole shard
    assert server._files().keys() == before | last


def replicas_of(router: cluster.Router, shard: int) -> list[int]:
    return sorted(replica for replica, _ in router.replicas(shard))


def test_replicas_that_are_deployed_later_are_found_by_refresh(
    no_ray: NoRay, tmp_path: Path
) -> None:
    router = cluster.Router(tmp_path, "here")
    assert replicas_of(router, 0) == [0]
    cluster.deploy(tmp_path, "here", replicas=2)
    no_ray.fetched.clear()
    assert router.refresh() == 1
    assert [replicas_of(router, shard) for shard in (0, 1)] == [[0, 1], [0, 1]]
    assert sorted(no_ray.fetched) == ["nearfield-here-0-1", "nearfield-here-1-1"]
    del no_ray.actors["nearfield-here-0-0"]
    router.refresh()
    assert replicas_of(router, 0) == [1]


def test_a_search_that_nobody_takes_looks_for_others_once_a_second(
    no_ray: NoRay, tmp_path: Path
) -> None:
    router = cluster.Router(tmp_path, "here")
    first = no_ray.actors["nearfield-here-0-0"]
    first.is_full = True
    no_ray.looks = 0
    for looked in (False, True):
        if looked:
            router._looked -= 1
        for _ in range(3):
            with pytest.raises(cluster.BusyError, match="0 has max_pending calls waiting"):
                router.search(QUERIES, 3)
        assert no_ray.looks == looked
    first.is_full = False
    cluster.deploy(tmp_path, "here", replicas=2)
    first.is_full = True
    router._looked -= 1
    assert_same(router.search(QUERIES, 3), one_index(ROWS).search(QUERIES, 3))


def test_one_that_died_is_not_looked_for_again_and_again(
    no_ray: NoRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does anybody wait for Ray who asks the others."""
    monkeypatch.setattr("nearfield.cluster._router.LOOK_AGAIN", 0.0)
    cluster.deploy(tmp_path, "two", replicas=2)
    router = cluster.Router(tmp_path, "two")
    name = "nearfield-two-0-0"
    router.forget(0, 0, no_ray.actors.pop(name))
    no_ray.looks = 0
    expected = one_index(ROWS).search(QUERIES, 3)
    for _ in range(3):
        assert_same(router.search(QUERIES, 3), expected)
    assert no_ray.looks == 0
    cluster.deploy(tmp_path, "two", replicas=2)
    listed = no_ray._listed

    def listed_without_lock(**options: Any) -> Any:
        assert not router._lock.locked()
        return listed(**options)

    no_ray.util.list_named_actors = listed_without_lock
    router.refresh()
    assert dict(router.replicas(0))[0] is no_ray.actors[name]


@pytest.mark.parametrize(("seconds", "hedged"), [(60.0, 1), (0.0, 3)])
def test_a_replica_that_was_overtaken_is_asked_last(
    no_ray: NoRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, hedged: int
) -> None:
    monkeypatch.setattr("nearfield.cluster._router.OVERTAKEN", seconds)
    cluster.deploy(tmp_path, "two", replicas=2)
    no_ray.actors["nearfield-two-0-1"].hangs = True
    router = cluster.Router(tmp_path, "two", hedge_after=0.05)
    expected = one_index(ROWS).search(QUERIES, 3)
    searches = [router.search(QUERIES, 3) for _ in range(6)]
    for found in searches:
        assert_same(found, expected)
    assert sum(found.hedged for found in searches) == hedged
