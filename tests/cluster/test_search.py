"""Search by actors: the answers of one index, whatever is asked and how."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfield as nf
from material import assert_same, colmap_database, one_index, vectors
from nearfield import cluster
from nearfield.cluster._actors import (
    NAMESPACE,
    ShardServer,
    actor_name,
    find_actors,
    write_question,
)
from nearfield.cluster._manifest import read_latest
from ray_nodes import Nodes, node_of, wait_for

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own

ROWS = vectors(2000)
QUERIES = vectors(100, seed=1)


def wait_until_dead(actor: Any) -> None:
    """After `ray.kill`, which does not wait."""
    import ray

    def is_dead() -> bool:
        try:
            ray.get(actor.__ray_ready__.remote(), timeout=30)
        except ray.exceptions.ActorDiedError:
            return True
        except ray.exceptions.ActorUnavailableError:
            return False
        return False

    wait_for(is_dead, 30)


@pytest.fixture(scope="module")
def url(nodes: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    url = str(tmp_path_factory.mktemp("search") / "index")
    assert cluster.build(url, ROWS, shards=3) == 1  # by tasks of Ray
    cluster.deploy(url, "search", replicas=2, timeout=300)  # six processes start on few cores
    yield url
    assert cluster.undeploy("search") == 6


def test_answers_are_those_of_one_index(url: str) -> None:
    single, router = one_index(ROWS), cluster.Router(url, "search", batch=30)
    for k in (1, 10, 2001):
        found = router.search(QUERIES, k)
        assert_same(found, single.search(QUERIES, k))
        assert (found.epoch, found.missing) == (1, ())
    assert_same(router.within(QUERIES, 6.0), single.within(QUERIES, 6.0))
    few = np.arange(0, 2000, 3)
    assert_same(router.search(QUERIES, 9, only=few), single.search(QUERIES, 9, only=few))
    assert_same(router.search(QUERIES, 9, without=few), single.search(QUERIES, 9, without=few))
    assert_same(router.search(QUERIES[:0], 4), single.search(QUERIES[:0], 4))
    distances, ids = router.search(QUERIES[:1], 2)
    assert distances.shape == ids.shape == (1, 2)


def test_replicas_are_on_different_nodes(url: str) -> None:
    where = {key: node_of(actor) for key, actor in find_actors("search").items()}
    assert len(where) == 6
    for shard in range(3):
        assert where[shard, 0] != where[shard, 1]


def test_wrong_questions_are_our_fault(url: str) -> None:
    router = cluster.Router(url, "search")
    with pytest.raises(nf.InvalidArgumentError, match="queries has 9 columns, the index 8"):
        router.search(vectors(1, cols=9), 2)
    with pytest.raises(nf.InvalidArgumentError, match=r"k is 0 to .*, got -1"):
        router.search(QUERIES, -1)
    with pytest.raises(nf.InvalidArgumentError, match="no actors of the name 'nobody'"):
        cluster.Router(url, "nobody")
    with pytest.raises(nf.InvalidArgumentError, match="letters, digits"):
        cluster.deploy(url, "a b")


def test_deploying_again_changes_nothing_and_mends(url: str, tmp_path: Path) -> None:
    import ray

    router = cluster.Router(url, "search")
    before = find_actors("search")
    cluster.deploy(url, "search", replicas=2)
    assert find_actors("search").keys() == before.keys()
    for replica in range(2):
        ray.kill(before[1, replica])
        wait_until_dead(before[1, replica])
    with pytest.raises(cluster.LostShardError, match=r"1 of 3 shards .* \[1\]") as raised:
        router.search(QUERIES, 3)
    assert raised.value.missing == (1,)
    cluster.deploy(url, "search", replicas=2)
    time.sleep(1.1)  # a router looks for actors once a second
    assert_same(router.search(QUERIES, 3), one_index(ROWS).search(QUERIES, 3))
    cluster.build(tmp_path, ROWS[:9], shards=1)
    with pytest.raises(nf.InvalidArgumentError, match=r"search-0-0 searches .*choose another name"):
        cluster.deploy(tmp_path, "search")


def test_what_is_deployed_in_the_place_of_another_is_found_at_once(
    nodes: Nodes, tmp_path: Path
) -> None:
    cluster.build(tmp_path, ROWS, shards=1)
    cluster.deploy(tmp_path, "twice")
    router = cluster.Router(tmp_path, "twice")
    before = find_actors("twice")[0, 0]
    cluster.undeploy("twice")
    wait_until_dead(before)
    cluster.deploy(tmp_path, "twice", threads=2)
    router._looked = time.monotonic()  # it would not look again before a second is over
    assert_same(router.search(QUERIES, 3), one_index(ROWS).search(QUERIES, 3))
    cluster.undeploy("twice")


def test_an_index_that_was_built_again_is_another(tmp_path: Path) -> None:
    deployed = {"threads": 1, "cpus": 0.0, "max_pending": 16, "cache": None}
    url = str(tmp_path / "index")
    cluster.build(url, ROWS, shards=1)
    old = cluster.open(url).manifest.identity
    server = ShardServer(url, 0, deployed)
    assert server.ready(old) == (old, 2000)
    shutil.rmtree(url)
    cluster.build(url, ROWS[:500], shards=1)
    new = cluster.open(url).manifest.identity
    assert (old[0], new[0]) == (1, 1)
    assert server.ready(new) == (new, 500)
    with pytest.raises(cluster.NoIndexError, match=f"is of commit {new[1]}, not {old[1]}"):
        ShardServer(url, 0, deployed).ready(old)


def test_a_router_stays_at_its_epoch_until_it_is_refreshed(nodes: Nodes, tmp_path: Path) -> None:
    single = one_index(ROWS[:500])
    cluster.build(tmp_path, ROWS[:500], shards=2)
    cluster.deploy(tmp_path, "epochs")
    router = cluster.Router(tmp_path, "epochs")
    first = single.search(QUERIES, 5)
    assert_same(router.search(QUERIES, 5), first)
    nearest = np.unique(first.ids)
    cluster.delete(tmp_path, nearest)
    assert_same(router.search(QUERIES, 5), first)
    assert router.refresh() == 2
    single.remove(nearest)
    assert_same(router.search(QUERIES, 5), single.search(QUERIES, 5))
    router.pin(1)
    assert_same(router.search(QUERIES, 5), first)
    # Epochs come and go while threads search: each answer is that of the epoch it says.
    expected = {1: first, 2: single.search(QUERIES, 5)}
    for epoch in range(3, 7):
        cluster.upsert(tmp_path, QUERIES[:1], np.array([1000 + epoch]))
        single.upsert(QUERIES[:1], [1000 + epoch])
        expected[epoch] = single.search(QUERIES, 5)
    failed: list[BaseException] = []
    stop = threading.Event()

    def search() -> None:
        try:
            while not stop.is_set():
                found = router.search(QUERIES, 5)
                assert_same(found, expected[found.epoch])
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    for epoch in (2, 5, 3, 6, 4):
        router.pin(epoch)
        time.sleep(0.1)
    assert router.refresh() == 6
    stop.set()
    for thread in threads:
        thread.join()
    assert not failed
    assert cluster.undeploy("epochs") == 2


def test_refresh_and_pin_do_not_meet(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.build(tmp_path, ROWS[:500], shards=1)
    cluster.deploy(tmp_path, "race")
    router = cluster.Router(tmp_path, "race")
    cluster.delete(tmp_path, np.arange(3))
    has_read, may_go = threading.Event(), threading.Event()

    def read_slowly(*arguments: Any) -> Any:
        manifest = read_latest(*arguments)
        has_read.set()
        assert may_go.wait(30)
        return manifest

    monkeypatch.setattr("nearfield.cluster._router.read_latest", read_slowly)
    first = threading.Thread(target=router.refresh)
    first.start()
    assert has_read.wait(30)
    second = threading.Thread(target=router.pin, args=(1,))
    second.start()
    second.join(0.2)  # it would be done by now
    may_go.set()
    first.join()
    second.join()
    assert router.epoch == 1
    cluster.undeploy("race")


def test_too_much_at_once_is_an_error(url: str) -> None:
    router = cluster.Router(url, "search", in_flight=1)
    with router._taking_slots(1), pytest.raises(cluster.BusyError, match="1 batches are under way"):
        router.search(QUERIES, 3)
    assert_same(router.search(QUERIES, 3), one_index(ROWS).search(QUERIES, 3))


def search_often(router: cluster.Router, times: int) -> None:
    for _ in range(times):
        router.search(QUERIES, 3)


class Stub:
    """In the place of a replica: slow, or of another time."""

    answer = ShardServer.answer

    def __init__(self, seconds: float, epoch: int) -> None:
        self._seconds, self._epoch = seconds, epoch
        self._begun: list[float] = []

    def calls(self) -> int:
        return len(self._begun)

    def search(self, asked: tuple[int, str], queries: Any, k: int, options: dict[str, Any]) -> Any:
        self._begun.append(time.monotonic())
        time.sleep(self._seconds)
        wrong = np.zeros((len(queries), k))
        ids = np.zeros((len(queries), k), np.int64)
        counts = np.full(len(queries), k)
        found = cluster.Nearest(ids, wrong.astype(np.float32), wrong, counts, True)
        return (self._epoch, asked[1]), found


def stub(name: str, shard: int, replica: int, seconds: float, epoch: int, pending: int = -1) -> Any:
    import ray

    with_name = {"name": actor_name(name, shard, replica), "namespace": NAMESPACE}
    as_deployed = {"num_cpus": 0, "max_concurrency": 2}
    options = {**with_name, **as_deployed, "max_pending_calls": pending}
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers have no tests
    actor = ray.remote(Stub).options(**options).remote(seconds, epoch)
    ray.get(actor.__ray_ready__.remote())  # a router finds who is there
    return actor


def test_a_slow_replica_is_overtaken(nodes: Nodes, tmp_path: Path) -> None:
    cluster.build(tmp_path, ROWS, shards=2)
    cluster.deploy(tmp_path, "slow")
    slow = stub("slow", 1, 1, seconds=3, epoch=1)
    router = cluster.Router(tmp_path, "slow")
    expected, longest = one_index(ROWS).search(QUERIES, 3), 0.0
    hedged = router.search(QUERIES, 3).hedged  # whose turn it is
    for _ in range(4):
        start = time.monotonic()
        found = router.search(QUERIES, 3)
        longest = max(longest, time.monotonic() - start)
        assert_same(found, expected)
        hedged += found.hedged
    print(f"slow replica: {hedged} of 5 hedged, the longest search {longest:.2f} s")
    assert hedged >= 1
    assert longest < 3
    del slow
    cluster.undeploy("slow")


def test_an_answer_of_another_epoch_is_not_taken(nodes: Nodes, tmp_path: Path) -> None:
    cluster.build(tmp_path, ROWS, shards=1)
    cluster.deploy(tmp_path, "stale")
    stale = stub("stale", 0, 1, seconds=0, epoch=0)
    router = cluster.Router(tmp_path, "stale")
    expected = one_index(ROWS).search(QUERIES, 3)
    for _ in range(4):
        assert_same(router.search(QUERIES, 3), expected)
    import ray

    killed = find_actors("stale")[0, 0]
    ray.kill(killed)
    wait_until_dead(killed)
    with pytest.raises(cluster.LostShardError, match=r"replica 1 answered for epoch 0, .*not 1, "):
        search_often(router, 2)
    del stale
    cluster.undeploy("stale")


def occupy(full: Any) -> Any:
    """Ray counts a call as ended a moment after its answer is there."""
    import ray

    calls: list[Any] = []

    def is_called() -> bool:
        with suppress(ray.exceptions.PendingCallsLimitExceeded):
            calls.append(full.search.remote((1, ""), QUERIES, 3, {}))
        return bool(calls)

    wait_for(is_called, 5)
    return calls[0]


def test_a_full_queue_is_an_error(nodes: Nodes, tmp_path: Path) -> None:
    cluster.build(tmp_path, ROWS, shards=1)
    import ray

    full = stub("full", 0, 1, seconds=5, epoch=1, pending=1)
    waiting = occupy(full)  # the limit is that of this process
    router = cluster.Router(tmp_path, "full")
    with pytest.raises(cluster.BusyError, match=r"no replica of shard 0 .*1 has max_pending"):
        router.search(QUERIES, 3)
    ray.get(waiting)
    dead = stub("full", 0, 0, seconds=0, epoch=1)
    router = cluster.Router(tmp_path, "full")
    ray.kill(dead)
    wait_until_dead(dead)
    waiting = occupy(full)
    with pytest.raises(cluster.BusyError, match=r"replica 1 has max_pending .*replica 0 is dead"):
        router.search(QUERIES, 3, partial=True)
    ray.get(waiting)
    cluster.undeploy("full")


def test_calls_that_nobody_waits_for_are_not_begun(nodes: Nodes, tmp_path: Path) -> None:
    import ray

    cluster.build(tmp_path, ROWS, shards=1)
    busy = stub("cancel", 0, 0, seconds=10, epoch=1)
    running = [busy.search.remote((1, ""), QUERIES, 3, {}) for _ in range(2)]  # all it takes
    router = cluster.Router(tmp_path, "cancel", timeout=0.5)
    for _ in range(4):
        with pytest.raises(cluster.LostShardError, match="no answer in time"):
            router.search(QUERIES, 3)
    ray.get(running)
    assert ray.get(busy.calls.remote()) == 2
    cluster.undeploy("cancel")


def test_a_search_that_nobody_waits_for_ends(nodes: Nodes, tmp_path: Path) -> None:
    """It would take minutes: powers, one at a time."""
    import ray

    cluster.build(tmp_path, vectors(40_000, cols=64), shards=1, metric="lp:1.7")
    cluster.deploy(tmp_path, "long")
    actor, identity = find_actors("long")[0, 0], cluster.open(tmp_path).manifest.identity
    queries = vectors(1000, cols=64, seed=1)
    call = actor.answer.remote(write_question("search", identity, queries, 5, {}))
    assert ray.wait([call], timeout=2)[0] == []
    ray.cancel(call)
    done, _ = ray.wait([call], timeout=20)
    assert done == [call]
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(call)
    cluster.undeploy("long")


def test_a_job_by_tasks(nodes: Nodes, tmp_path: Path) -> None:
    base = tmp_path / "base.fbin"
    nf.write(base, ROWS[:300])
    cluster.graph(tmp_path / "job", base, 3, block=50)
    assert_same(cluster.read_all_neighbors(tmp_path / "job"), nf.graph(ROWS[:300], 3))


def both_ways(
    monkeypatch: pytest.MonkeyPatch, folder: Path, work: Callable[[Path], object]
) -> tuple[Path, Path]:
    """Where work was done by tasks of Ray, and where in this process."""

    def not_here(*_: Any) -> None:
        raise AssertionError("this is not by tasks")

    by_tasks, here = folder / "by-tasks", folder / "here"
    with monkeypatch.context() as patched:
        patched.setattr("nearfield.cluster._tasks._here", not_here)
        work(by_tasks)
    with monkeypatch.context() as patched:
        patched.setattr("nearfield.cluster._tasks.ray_is_connected", lambda: False)
        work(here)
    return by_tasks, here


@pytest.mark.parametrize("operation", ["ground_truth", "dedup", "match_colmap"])
def test_jobs_by_tasks_leave_the_same_files(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    base, codes = tmp_path / "base.fbin", tmp_path / "codes.npy"
    nf.write(base, ROWS[:300])
    nf.write(codes, np.random.default_rng(0).integers(0, 4, (200, 4)).astype(np.uint8))
    database = colmap_database(tmp_path / "d.db")
    jobs: dict[str, Callable[[Path], int]] = {
        "ground_truth": lambda url: cluster.ground_truth(url, QUERIES, base, 5, block=30),
        "dedup": lambda url: cluster.dedup(url, codes, 32, radius=1, block=80),
        "match_colmap": lambda url: cluster.match_colmap(url, database, tile=2),
    }
    found, expected = (
        {path.name: path.read_bytes() for path in (url / "parts").glob("*.npz")}
        for url in both_ways(monkeypatch, tmp_path, jobs[operation])
    )
    assert len(found) >= 3
    assert found == expected


def test_compact_by_tasks(nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def change(url: Path) -> None:
        cluster.build(url, ROWS[:300], shards=3)
        cluster.append(url, ROWS[300:310])
        cluster.delete(url, [5, 105, 205])
        assert cluster.compact(url) == 4

    single = one_index(ROWS[:310])
    single.remove([5, 105, 205])
    opened = [cluster.open(url) for url in both_ways(monkeypatch, tmp_path, change)]
    for index in opened:
        assert_same(index.search(QUERIES, 7), single.search(QUERIES, 7))
        assert len(index.manifest.segments) == 3
    found, expected = ({file.sha256 for file in index.manifest.files} for index in opened)
    assert found == expected
