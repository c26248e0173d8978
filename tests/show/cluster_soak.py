"""Search under load for a long time: no wrong answer, none that fails, and memory that stays flat.
15 minutes, and one to start.

    unshare --net bash -c 'ip link set lo up; python tests/show/cluster_soak.py [MINUTES]'

As root: Ray listens on every interface, so that it gets a network that has the loopback alone.
Needs nearfield with its extra `cluster`. Three nodes of one core, two shards with two replicas
each, four threads that search through one router all the time, in calls of 1 to 600 queries, and a
writer that makes a new epoch every ten seconds, which the router goes to: files are opened and
closed, and those of old epochs are removed. A call that is refused (`BusyError`) is asked again,
and counted.

Memory is the sum of what the processes have for themselves (USS) of the actors, of this process,
and of Ray's own, sampled every second; shared memory of Ray's store is bounded and not in it. Flat
means: the median of the last quarter is at most 2 % or 8 MiB above that of the second quarter; the
first is that in which allocators find their size. Fails if it is not, if an answer differs in a bit
from that of one index, if a call fails, or if an actor dies.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "cluster"))
from figures import Figures
from material import assert_same, one_index, vectors
from nearfield import cluster
from nearfield.cluster._actors import find_actors
from ray_nodes import Nodes, only_loopback, pid_of

ROWS = vectors(20_000)
QUERIES = vectors(2_000, seed=1)
K = 10
THREADS = 4
EPOCH_SECONDS = 10.0
EPOCHS_EXPECTED = 4  # of which answers are kept to compare with: searches lag a little behind
MOST_GROWTH, MOST_BYTES = 0.02, 8 << 20


def own_bytes(pid: int) -> int:
    """Memory of a process that it shares with nobody; 0 if it has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
    return 0


def ray_processes(without: set[int]) -> set[int]:
    """Of this session: raylets, the head's, agents, idle workers."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == os.getsid(0):
                found.add(int(folder.name))
    return found - without - {os.getpid()}


class Expected:
    """The answers of one index, for each epoch that a search may be of."""

    def __init__(self) -> None:
        self._index = one_index(ROWS)
        self._lock = threading.Lock()
        self._of = {1: self._index.search(QUERIES, K)}

    def write(self, url: str, number: int) -> None:
        """Replaces some, removes some: as many vectors as before."""
        ids = np.arange(number % 40, len(ROWS), 400)
        moved = vectors(len(ids), seed=number)
        self._index.upsert(moved, ids)
        found = self._index.search(QUERIES, K)
        with self._lock:  # before it is committed: nobody finds it missing
            epoch = max(self._of) + 1
            self._of[epoch] = found
            self._of = {of: kept for of, kept in self._of.items() if of > epoch - EPOCHS_EXPECTED}
        assert cluster.upsert(url, moved, ids) == epoch
        if number % 6 == 5:
            cluster.compact(url)
            with self._lock:
                self._of[epoch + 1] = found
        cluster.clean(url, keep=EPOCHS_EXPECTED, older_than=5)

    def check(self, found: cluster.Found, begin: int, end: int) -> None:
        with self._lock:
            wanted = self._of[found.epoch]
        part = cluster.Nearest(
            wanted.ids[begin:end], wanted.distances[begin:end], wanted.keys[begin:end],
            wanted.counts[begin:end], wanted.exact,
        )  # fmt: skip
        assert_same(found, part)


class Load:
    def __init__(self, router: cluster.Router, expected: Expected) -> None:
        self._router, self._expected = router, expected
        self.stop = threading.Event()
        self.failed: list[BaseException] = []
        self.seconds: list[float] = []
        self.queries = self.busy = 0
        self._lock = threading.Lock()

    def start(self) -> list[threading.Thread]:
        works: list[Callable[[], None]] = [
            lambda number=number: self._search(number) for number in range(THREADS)
        ]
        threads = [threading.Thread(target=self._guarded, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        return threads

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self.failed.append(error)
            self.stop.set()

    def _search(self, number: int) -> None:
        draw = random.Random(number)
        while not self.stop.is_set():
            count = draw.choice((1, 1, 1, 8, 64, 600))
            begin = draw.randrange(len(QUERIES) - count)
            start = time.monotonic()
            try:
                found = self._router.search(QUERIES[begin : begin + count], K)
            except cluster.BusyError:
                self.busy += 1
                time.sleep(0.01)
                continue
            self._expected.check(found, begin, begin + count)
            with self._lock:
                self.seconds.append(time.monotonic() - start)
                self.queries += count


def show_growth(name: str, samples: list[int], figures: Figures) -> None:
    assert min(samples) > 0, f"nothing was found of {name}"  # which would be flat
    quarter = len(samples) // 4
    second, last = (
        statistics.median(part) for part in (samples[quarter : 2 * quarter], samples[-quarter:])
    )
    print(f"memory of {name}: first {samples[0] >> 20} MiB, second quarter {second / 2**20:.1f}, "
          f"last {last / 2**20:.1f}", flush=True)  # fmt: skip
    most = max(second * MOST_GROWTH, MOST_BYTES)
    figures.at_most(most / 2**20, (last - second) / 2**20, f"growth of {name}, MiB")


def soak(url: str, minutes: float, figures: Figures) -> None:
    cluster.deploy(url, "soak", replicas=2, timeout=300)
    router = cluster.Router(url, "soak", timeout=60)
    expected = Expected()
    load = Load(router, expected)
    actors = {pid_of(actor) for actor in find_actors("soak").values()}
    memory: dict[str, list[int]] = {"the actors": [], "the router's process": [], "Ray": []}
    threads = load.start()
    begin = next_epoch = time.monotonic()
    number = 0
    while time.monotonic() - begin < 60 * minutes and not load.stop.is_set():
        if time.monotonic() >= next_epoch:
            expected.write(url, number)
            router.refresh()
            number, next_epoch = number + 1, time.monotonic() + EPOCH_SECONDS
        memory["the actors"].append(sum(map(own_bytes, actors)))
        memory["the router's process"].append(own_bytes(os.getpid()))
        memory["Ray"].append(sum(map(own_bytes, ray_processes(actors))))
        load.stop.wait(1)
    load.stop.set()
    for thread in threads:
        thread.join()
    for error in load.failed:
        print(repr(error), flush=True)
    took = sorted(load.seconds)
    print(f"{minutes} minutes: {len(took)} calls, {load.queries} queries, {number} changes, "
          f"{load.busy} refused; a call took {took[len(took) // 2]:.3f} s in the median, "
          f"{took[len(took) * 99 // 100]:.3f} s at the 99th of 100", flush=True)  # fmt: skip
    figures.exactly(0, len(load.failed), "calls that failed or were answered wrong")
    survived = {pid_of(actor) for actor in find_actors("soak").values()} & actors
    figures.exactly(len(actors), len(survived), "actors that are those of the beginning")
    for name, samples in memory.items():
        show_growth(name, samples, figures)


def main() -> int:
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 15.0
    if not only_loopback():
        print(__doc__, file=sys.stderr)
        return 2
    figures = Figures()
    with tempfile.TemporaryDirectory() as folder:
        nodes: Any = Nodes(Path(folder), 3)
        url = str(Path(folder) / "index")
        cluster.build(url, ROWS, shards=2)
        soak(url, minutes, figures)
        cluster.undeploy("soak")
        nodes.stop()
    return figures.exit_code()


if __name__ == "__main__":
    sys.exit(main())
