"""10,000 queries to actors of Ray, 50 of which are killed meanwhile: no wrong answer, and how soon
a killed actor and a killed node answer again. About five minutes on two idle cores.

    unshare --net bash -c 'ip link set lo up; python tests/show/cluster_kills.py [KILLS]'

As root: Ray listens on every interface, so that it gets a network that has the loopback alone.
Needs nearfield with its extra `cluster`. Four nodes of one core, two shards, each with two
replicas; every tenth kill is of a whole node, with all that runs there, and another comes in its
place; the other kills are of actors. All are kill -9, each while 200 queries are asked in calls of
20. Then, seven times each without replicas, from the kill of an actor and of a node until all
shards have answered. Fails if an answer differs in a bit from that of one index, if a call fails,
if a kill did, or if a recovery takes more than 2 s for an actor or 5 s for a node.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "cluster"))
import nearfield as nf
from figures import Figures
from material import ANSWER_ARRAYS, assert_same, one_index, vectors
from nearfield import cluster
from nearfield.cluster._actors import find_actors
from ray_nodes import SETTINGS, Nodes, kill_process, node_of, only_loopback, pid_of

ROWS = vectors(3000)
QUERIES = vectors(20, seed=1)
K = 5
CALLS_A_KILL = 10
RECOVERIES = 7
MOST_SECONDS = {"actor": 2.0, "node": 5.0}


def kill(nodes: Nodes, actor: Any, with_node: bool, killed: list[str]) -> None:
    """Waits for the actor first, if it was killed before."""
    if with_node:
        nodes.kill(nodes.of_id(node_of(actor)))
        killed.append("node")
    else:
        kill_process(pid_of(actor))
        killed.append("actor")


def count_wrong(found: Any, expected: Any) -> int:
    """Queries whose answer is not the same bits."""
    wrong = np.zeros(len(QUERIES), bool)
    for name in ANSWER_ARRAYS:
        actual, wanted = (
            getattr(of, name).reshape(len(QUERIES), -1).view(np.uint8) for of in (found, expected)
        )
        wrong |= (actual != wanted).any(axis=1)
    return int(wrong.sum())


def search_under_kills(nodes: Nodes, url: str, kills: int, figures: Figures) -> None:
    cluster.deploy(url, "kills", replicas=2, timeout=300)
    router = cluster.Router(url, "kills", timeout=60)
    expected = one_index(ROWS).search(QUERIES, K)
    draw = random.Random(0)
    seconds, hedged, wrong = list[float](), 0, 0
    failed, killed = list[str](), list[str]()
    for number in range(kills):
        actors = find_actors("kills")
        victim = actors[draw.choice(sorted(actors))]
        before = len(killed)
        killer = threading.Thread(target=kill, args=(nodes, victim, number % 10 == 9, killed))
        killer.start()
        for _ in range(CALLS_A_KILL):
            start = time.monotonic()
            try:
                found = router.search(QUERIES, K)
            except nf.Error as error:
                failed.append(f"kill {number}: {error}")
                continue
            seconds.append(time.monotonic() - start)
            wrong += count_wrong(found, expected)
            hedged += found.hedged
        killer.join()
        if killed[before:] == ["node"]:
            nodes.add()  # by the main thread: it sets signals
    for message in failed:
        print(message, flush=True)
    print(f"a call took {statistics.median(seconds):.3f} s, the longest {max(seconds):.2f} s; "
          f"{hedged} calls were hedged", flush=True)  # fmt: skip
    nodes_killed = killed.count("node")
    figures.exactly(kills, len(killed), f"kills, {nodes_killed} of them of nodes")
    asked = kills * CALLS_A_KILL * len(QUERIES)
    figures.exactly(asked, len(seconds) * len(QUERIES), "queries that were answered")
    figures.exactly(0, wrong, "wrong answers")
    cluster.undeploy("kills")


def recovery(nodes: Nodes, url: str, what: str, figures: Figures) -> None:
    """Without replicas: from the kill until all shards have answered."""
    cluster.deploy(url, "alone", timeout=300)
    router = cluster.Router(url, "alone", timeout=60)
    expected = one_index(ROWS).search(QUERIES, K)
    seconds = []
    for _ in range(RECOVERIES):
        assert_same(router.search(QUERIES, K), expected)
        actor = find_actors("alone")[0, 0]
        node, pid = nodes.of_id(node_of(actor)), pid_of(actor)
        start = time.monotonic()
        if what == "node":
            nodes.kill(node)
        else:
            kill_process(pid)
        assert_same(router.search(QUERIES, K), expected)
        seconds.append(time.monotonic() - start)
        if what == "node":
            nodes.add()
    cluster.undeploy("alone")
    print(f"recoveries after kill -9 of one {what}: median {statistics.median(seconds):.2f} s of "
          f"{sorted(round(s, 2) for s in seconds)}", flush=True)  # fmt: skip
    figures.at_most(MOST_SECONDS[what], max(seconds), f"longest recovery of one {what}, seconds")


def main() -> int:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    if not only_loopback():
        print(__doc__, file=sys.stderr)
        return 2
    print(f"settings: {SETTINGS}", flush=True)
    figures = Figures()
    with tempfile.TemporaryDirectory() as folder:
        nodes = Nodes(Path(folder), 4)
        url = str(Path(folder) / "index")
        cluster.build(url, ROWS, shards=2)
        recovery(nodes, url, "actor", figures)
        recovery(nodes, url, "node", figures)
        search_under_kills(nodes, url, kills, figures)
        nodes.stop()
    return figures.exit_code()


if __name__ == "__main__":
    sys.exit(main())
