"""Things that die: actors, workers, whole nodes, the driver. Nothing is lost, answered twice or
stale, and no answer is wrong."""

from __future__ import annotations

import random
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfield as nf
from material import assert_same, ids_of, one_index, vectors
from nearfield import cluster
from nearfield.cluster._actors import find_actors
from ray_nodes import Nodes, kill_process, node_of, pid_of, wait_for, workers_on

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own

ROWS = vectors(3000)
QUERIES = vectors(20, seed=1)
KILLS = 5  # 50 in tests/show/cluster_kills.py
SEARCHES_A_KILL = 10  # of 20 queries each


def test_a_killed_actor_answers_again(nodes: Nodes, tmp_path: Path) -> None:
    """Without a replica: the search waits for it."""
    cluster.build(tmp_path, ROWS, shards=2)
    cluster.deploy(tmp_path, "alone")
    router = cluster.Router(tmp_path, "alone")
    expected = one_index(ROWS).search(QUERIES, 5)
    assert_same(router.search(QUERIES, 5), expected)
    kill_process(pid_of(find_actors("alone")[0, 0]))
    start = time.monotonic()
    assert_same(router.search(QUERIES, 5), expected)
    print(f"recovery after an actor's kill -9, no replica: {time.monotonic() - start:.2f} s")
    cluster.undeploy("alone")


def test_actors_over_a_bucket(nodes: Nodes, emulator: str, tmp_path: Path) -> None:
    """Which they know from their machine's environment; one that is killed maps what is cached."""
    url, cache = f"s3://tests/{tmp_path.name}/index", tmp_path / "cache"
    single = one_index(ROWS)
    cluster.build(url, ROWS, shards=2)  # by tasks
    cluster.deploy(url, "bucket", cache=cache)
    router = cluster.Router(url, "bucket")
    assert_same(router.search(QUERIES, 5), single.search(QUERIES, 5))
    kept = {path: path.stat().st_ino for path in cache.rglob("*.nf")}
    assert {path.stem for path in kept} == {s.sha256 for s in cluster.open(url).manifest.segments}
    kill_process(pid_of(find_actors("bucket")[0, 0]))
    assert_same(router.search(QUERIES, 5), single.search(QUERIES, 5))
    more = vectors(40, seed=2)
    single.add(more)
    assert cluster.append(url, more) == 2
    assert router.refresh() == 2
    assert_same(router.search(QUERIES, 5), single.search(QUERIES, 5))
    assert {path: path.stat().st_ino for path in kept} == kept  # none was downloaded again
    assert len(list(cache.rglob("*.nf"))) == 3
    cluster.undeploy("bucket")


def test_no_wrong_answer_under_random_kills(nodes: Nodes, tmp_path: Path) -> None:
    cluster.build(tmp_path, ROWS, shards=2)
    cluster.deploy(tmp_path, "kills", replicas=2)
    router = cluster.Router(tmp_path, "kills")
    expected = one_index(ROWS).search(QUERIES, 5)
    actors = find_actors("kills")
    draw = random.Random(0)
    done, longest, hedged, killed = 0, 0.0, 0, list[int]()

    def kill(actor: Any) -> None:
        killed.append(pid_of(actor))
        kill_process(killed[-1])

    for number in range(KILLS):
        victim = actors[draw.choice(sorted(actors))]
        killer = threading.Thread(target=kill, args=(victim,))
        killer.start()
        for _ in range(SEARCHES_A_KILL):
            start = time.monotonic()
            found = router.search(QUERIES, 5)
            longest = max(longest, time.monotonic() - start)
            assert_same(found, expected)
            done += len(QUERIES)
            hedged += found.hedged
        killer.join()
        assert len(killed) == number + 1, "a kill failed"
    print(f"{done} queries under {KILLS} kills of actors: 0 wrong, the longest {longest:.2f} s, "
          f"{hedged} calls hedged")  # fmt: skip
    cluster.undeploy("kills")


def test_a_killed_node(nodes: Nodes, tmp_path: Path) -> None:
    """With a replica on another node searches go on; what was there is started again elsewhere."""
    cluster.build(tmp_path, ROWS, shards=2)
    cluster.deploy(tmp_path, "node", replicas=2)
    router = cluster.Router(tmp_path, "node")
    expected = one_index(ROWS).search(QUERIES, 5)
    assert_same(router.search(QUERIES, 5), expected)
    home = node_of(find_actors("node")[0, 0])
    nodes.kill(nodes.of_id(home))
    start, longest = time.monotonic(), 0.0
    for _ in range(20):
        begin = time.monotonic()
        assert_same(router.search(QUERIES, 5), expected)
        longest = max(longest, time.monotonic() - begin)
    print(f"a node's kill -9, with replicas: the longest search {longest:.2f} s")
    actors = find_actors("node")
    assert len(actors) == 4
    for actor in actors.values():
        assert node_of(actor) != home
    print(f"all actors again after {time.monotonic() - start:.2f} s")
    nodes.add()
    cluster.undeploy("node")


def test_a_killed_node_without_replicas(nodes: Nodes, tmp_path: Path) -> None:
    cluster.build(tmp_path, ROWS, shards=3)
    cluster.deploy(tmp_path, "bare")
    router = cluster.Router(tmp_path, "bare")
    nodes.kill(nodes.of_id(node_of(find_actors("bare")[0, 0])))
    start = time.monotonic()
    assert_same(router.search(QUERIES, 5), one_index(ROWS).search(QUERIES, 5))
    print(f"recovery after a node's kill -9, no replica: {time.monotonic() - start:.2f} s")
    nodes.add()
    cluster.undeploy("bare")


def test_a_lost_shard_is_an_error_or_a_partial_answer(nodes: Nodes, tmp_path: Path) -> None:
    cluster.build(tmp_path, ROWS, shards=3)
    cluster.deploy(tmp_path, "lost")
    (segment,) = cluster.open(tmp_path).manifest.of_shard(1)
    path = tmp_path / segment.name
    damaged = bytearray(path.read_bytes())
    damaged[-100] ^= 1
    path.unlink()  # what the actor has mapped stays whole
    path.write_bytes(damaged)
    kill_process(pid_of(find_actors("lost")[1, 0]))

    router = cluster.Router(tmp_path, "lost")
    with pytest.raises(cluster.LostShardError, match=r"\[1\]; of shard 1: .*SHA-256") as raised:
        router.search(QUERIES, 5)
    assert raised.value.missing == (1,)
    found = router.search(QUERIES, 5, partial=True)
    assert found.missing == (1,)
    assert not found.exact
    rest = list(range(1000)) + list(range(2000, 3000))
    expected = one_index(ROWS).search(QUERIES, 5, only=rest)
    assert found.ids.tolist() == expected.ids.tolist()
    assert found.keys.tobytes() == expected.keys.tobytes()
    cluster.undeploy("lost")


@contextmanager
def killing(nodes: Nodes, task: str) -> Iterator[list[str]]:
    """Meanwhile, kill -9 of two workers that run the task, then of a node on which one does, in
    whose place another comes at the end."""
    stop = threading.Event()
    killed: list[str] = []

    def kill_one(node: Any, worker: int) -> None:
        if len(killed) < 2:
            kill_process(worker)
            killed.append("worker")
        else:
            nodes.kill(node)
            killed.append("node")

    def kill_some() -> None:
        while not stop.wait(0.1) and len(killed) < 3:
            found = [(node, w) for node in nodes.nodes for w in workers_on(node, task)]
            if found:
                kill_one(*found[0])

    killer = threading.Thread(target=kill_some)
    killer.start()
    try:
        yield killed
    finally:
        stop.set()
        killer.join()
        if "node" in killed:
            nodes.add()


def slow_build_segment(*arguments: Any) -> Any:
    """In a worker: long enough to be killed meanwhile."""
    from nearfield.cluster._writing import _build_segment

    time.sleep(0.5)
    return _build_segment(*arguments)


def test_a_build_survives_its_workers_and_a_node(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they did not end is run again, and nothing is there twice."""
    import ray

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers have no tests
    monkeypatch.setattr("nearfield.cluster._writing._build_segment", slow_build_segment)
    rows = vectors(60_000, cols=64)
    with killing(nodes, "slow_build_segment") as killed:
        cluster.build(tmp_path, rows, shards=12)
    assert killed == ["worker", "worker", "node"]
    assert ids_of(str(tmp_path)) == list(range(60_000))
    some = rows[::3000]
    assert_same(cluster.open(tmp_path).search(some, 3), one_index(rows).search(some, 3))


def slow_encode_part(*arguments: Any) -> Any:
    from nearfield.cluster._encoding import _encode_part

    time.sleep(0.5)
    return _encode_part(*arguments)


def test_an_encode_survives_its_workers_and_a_node(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    monkeypatch.setattr("nearfield.cluster._encoding._encode_part", slow_encode_part)
    saved = tmp_path / "pq.safetensors"
    quantizer = nf.Quantizer.train(ROWS, kind="pq", codebooks=4, bits=4, iterations=3)
    quantizer.save(saved)
    with killing(nodes, "slow_encode_part") as killed:
        assert cluster.encode(tmp_path / "job", ROWS, saved, block=250) == 12
    assert killed == ["worker", "worker", "node"]
    parts = list(cluster.read_codes(tmp_path / "job"))
    assert [len(part) for part in parts] == [250] * 12
    assert np.concatenate(parts).tobytes() == quantizer.encode(ROWS).tobytes()


BUILD = """
import sys
import time
import numpy as np
from nearfield import cluster


def report(done, total):
    print(done, flush=True)
    if done == int(sys.argv[3]):
        time.sleep(600)  # until it is killed


rows = np.load(sys.argv[2])
cluster.build(sys.argv[1], rows, shards=40, key="nightly", progress=report)
"""


def test_a_build_survives_its_driver(tmp_path: Path) -> None:
    """kill -9 of the process that builds, then again: what was written is not written again."""
    rows = vectors(40_000, cols=32)
    np_file = tmp_path / "rows.npy"
    nf.write(np_file, rows)
    url = str(tmp_path / "index")
    command = [sys.executable, "-I", "-c", textwrap.dedent(BUILD), url, str(np_file)]
    with subprocess.Popen([*command, "10"], stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        for line in driver.stdout:
            if int(line) == 10:
                break
        driver.kill()
    with pytest.raises(cluster.NoIndexError):
        cluster.open(url)
    before = set((tmp_path / "index" / "data").glob("*.nf"))
    assert 10 <= len(before) < 40
    subprocess.run([*command, "-1"], stdout=subprocess.PIPE, check=True)
    assert before & set((tmp_path / "index" / "data").glob("*.nf"))
    named = {segment.name for segment in cluster.open(url).manifest.segments}
    assert sum(f"data/{path.name}" in named for path in before) >= 10
    assert ids_of(url) == list(range(40_000))
    wait_for(lambda: not list((tmp_path / "index" / "jobs").glob("*")), 1)
