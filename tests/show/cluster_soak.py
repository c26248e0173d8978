"""Search under load for a long time: no wrong answer, none that fails, and memory that stays flat.
15 minutes, and one to start.

    unshare --net bash -c 'ip link set lo up; python tests/show/cluster_soak.py [MINUTES]'

As root: Ray listens on every interface, so that it gets a network that has the loopback alone.
Needs nearfield with its extra `cluster`. Three nodes of one core, two shards with two replicas
each, four threads that search through one router all the time, in calls of 1 to 600 queries, and a
writer that makes a new epoch every ten seconds, which the router goes to: files are opened and
closed, and those of old epochs are removed. A call that is refused (`BusyError`) is asked again,
and counted.

The router and its threads have a process, which has nothing else that grows: times of calls are
counted in classes, and answers compared by a sum of each row. It is started with the settings of
the allocator that docs/cluster.md has for it. The writer, with the index that says what is right,
has another.

Memory is the sum of what the processes have for themselves (USS) of the actors, of the router's
process, and of Ray's own, sampled every second; shared memory of Ray's store is bounded and not in
it. Of workers that run the writer's tasks Ray keeps as many as it likes, up to one a core, and
starts and ends them at any time: of these the largest counts. Flat means: the median of the last
quarter is at most 2 % or 8 MiB above that of the second quarter; the first is that in which
allocators find their size. Beside the router's is shown what glibc has in use there, and what it
holds free. Fails if memory is not flat, if an answer differs in
a bit from that of one index, if a call fails, or if an actor dies.
"""

from __future__ import annotations

import ctypes
import math
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "cluster"))
from figures import Figures
from material import Array, one_index, vectors
from nearfield import cluster
from nearfield.cluster._actors import find_actors
from nearfield.cluster._allocator import OF_ROUTERS
from ray_nodes import Nodes, only_loopback, pid_of

NAME = "soak"
QUERIES = vectors(2_000, seed=1)
K = 10
THREADS = 4
EPOCH_SECONDS = 10.0
EPOCHS_KEPT = 4  # files of which stay, and sums to compare with: searches lag a little behind
MOST_GROWTH, MOST_BYTES = 0.02, 8 << 20
# Of times of calls: 32 for each doubling, so that a median is known to 2 %; up to 2^12 s.
CLASSES_A_DOUBLING, SHORTEST = 32, 2**-12
CLASSES = CLASSES_A_DOUBLING * 24


def rows_to_index() -> Array:
    return vectors(20_000)


def own_bytes(pid: int) -> int:
    """Memory of a process that it shares with nobody; 0 if it has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
    return 0


def other_processes(without: set[int]) -> set[int]:
    """Of this network, where nobody else is: raylets, the head's, agents, workers."""
    network = os.readlink("/proc/self/ns/net")
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.readlink(folder / "ns/net") == network:
                found.add(int(folder.name))
    return found - without - {os.getpid()}


def is_worker(pid: int) -> bool:
    """Of tasks: `ray::IDLE`, or `ray::` and the task. Ray's agents are called likewise."""
    with suppress(FileNotFoundError, ProcessLookupError):
        name = Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"\0")[0]
        return name.startswith(b"ray::") and not name.endswith(b"Agent")
    return False


class Mallinfo(ctypes.Structure):
    """glibc's `struct mallinfo2`."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
            "fordblks", "keepcost",
        )
    ]  # fmt: skip


def malloc_bytes() -> tuple[int, int]:
    """Of this process: in use, and free but held, in all arenas."""
    ask = ctypes.CDLL(None).mallinfo2
    ask.restype = Mallinfo
    info = ask()
    return info.uordblks + info.hblkhd, info.fordblks


def sums_of(found: Any) -> np.ndarray[Any, Any]:
    """A number for each row of an answer, another if a bit of it is another."""
    columns = [
        np.ascontiguousarray(found.ids, np.int64).view(np.uint64),
        np.ascontiguousarray(found.keys, np.float64).view(np.uint64),
        np.ascontiguousarray(found.distances, np.float32).view(np.uint32).astype(np.uint64),
        np.asarray(found.counts, np.uint64).reshape(-1, 1),
        np.full((len(found.ids), 1), found.exact, np.uint64),
    ]
    table = np.concatenate(columns, axis=1)
    # Odd factors: no change of one value comes to 0 modulo 2^64.
    draw = np.random.default_rng(0)
    factors = draw.integers(0, 2**63, table.shape[1], np.uint64) * np.uint64(2) + np.uint64(1)
    return (table * factors).sum(axis=1, dtype=np.uint64)


class Writer:
    """Runs in a process of its own: changes the index, and one index beside it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._rows = rows_to_index()
        self._single = one_index(self._rows)

    def sums(self) -> np.ndarray[Any, Any]:
        return sums_of(self._single.search(QUERIES, K))

    def write(self, number: int) -> dict[int, np.ndarray[Any, Any]]:
        """Replaces some vectors: as many as before. The sums of the epochs it has made."""
        ids = np.arange(number % 40, len(self._rows), 400)
        moved = vectors(len(ids), seed=number)
        self._single.upsert(moved, ids)
        epochs = [cluster.upsert(self._url, moved, ids)]
        if number % 6 == 5:
            epochs.append(cluster.compact(self._url))
        cluster.clean(self._url, keep=EPOCHS_KEPT, older_than=5)
        return dict.fromkeys(epochs, self.sums())


def run_writer(channel: Connection, address: str, url: str) -> None:
    """Numbers of changes in, sums of epochs out, until there is none."""
    import ray

    ray.init(address=address, log_to_driver=False)
    writer = Writer(url)
    channel.send({1: writer.sums()})
    while (number := channel.recv()) is not None:
        channel.send(writer.write(number))
    ray.shutdown()


@dataclass
class Done:
    """By all threads."""

    classes: np.ndarray[Any, Any]  # calls, by the time they took
    queries: int = 0
    busy: int = 0
    failed: tuple[str, ...] = ()

    def count(self, seconds: float, queries: int) -> None:
        place = math.log2(max(seconds, SHORTEST) / SHORTEST) * CLASSES_A_DOUBLING
        self.classes[min(int(place), CLASSES - 1)] += 1
        self.queries += queries

    def percentile(self, percent: float) -> float:
        """Seconds that so many of the calls took at most."""
        upto = np.cumsum(self.classes)
        place = int(np.searchsorted(upto, math.ceil(upto[-1] * percent / 100)))
        return float(SHORTEST * 2 ** ((place + 1) / CLASSES_A_DOUBLING))


class Load:
    """Runs in the router's process."""

    def __init__(self, router: cluster.Router, sums: dict[int, np.ndarray[Any, Any]]) -> None:
        self.router = router
        self.done = Done(np.zeros(CLASSES, np.int64))
        self._sums = sums
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._guarded, args=(number,)) for number in range(THREADS)
        ]
        for thread in self._threads:
            thread.start()

    def expect(self, sums: dict[int, np.ndarray[Any, Any]]) -> None:
        """Before the router goes there."""
        with self._lock:
            known = self._sums | sums
            self._sums = {epoch: known[epoch] for epoch in sorted(known)[-EPOCHS_KEPT:]}

    def end(self) -> Done:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        return self.done

    def _guarded(self, number: int) -> None:
        try:
            self._search(random.Random(number))
        except BaseException as error:
            with self._lock:
                self.done.failed += (repr(error),)
            self._stop.set()

    def _search(self, draw: random.Random) -> None:
        while not self._stop.is_set():
            count = draw.choice((1, 1, 1, 8, 64, 600))
            begin = draw.randrange(len(QUERIES) - count)
            start = time.monotonic()
            try:
                found = self.router.search(QUERIES[begin : begin + count], K)
            except cluster.BusyError:
                with self._lock:
                    self.done.busy += 1
                time.sleep(0.01)
                continue
            seconds = time.monotonic() - start
            with self._lock:
                wanted = self._sums[found.epoch][begin : begin + count]
                self.done.count(seconds, count)
            assert np.array_equal(sums_of(found), wanted), f"wrong in epoch {found.epoch}"


def run_load(channel: Connection, address: str, url: str) -> None:
    """Sums of epochs in, then that the router is there; None in, then how the load is and what
    glibc has; until the text "end", which ends it."""
    import ray

    ray.init(address=address, log_to_driver=False)
    load = Load(cluster.Router(url, NAME, timeout=60), channel.recv())
    while (asked := channel.recv()) != "end":
        if asked is not None:
            load.expect(asked)
            load.router.refresh()
        channel.send((bool(load.done.failed), *malloc_bytes()))
    channel.send(load.end())
    ray.shutdown()


class Helper:
    """A process that answers what it is sent."""

    def __init__(self, run: Any, *arguments: str, settings: dict[str, str] | None = None) -> None:
        context = multiprocessing.get_context("spawn")
        self._channel, theirs = context.Pipe()
        before = {name: os.environ.get(name) for name in settings or {}}
        os.environ |= settings or {}  # which the process is started with
        self._process = context.Process(target=run, args=(theirs, *arguments), daemon=True)
        self._process.start()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        theirs.close()  # so that the end of the process is that of the channel

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def send(self, asked: Any) -> None:
        self._channel.send(asked)

    def hear(self) -> Any:
        return self._channel.recv()

    def ask(self, asked: Any) -> Any:
        self.send(asked)
        return self.hear()

    def join(self) -> None:
        self._process.join()


@dataclass
class Samples:
    """Bytes, once a second."""

    memory: dict[str, list[int]]
    in_use: list[int]  # of the router's process, by glibc
    free: list[int]

    def show(self, figures: Figures) -> None:
        own = self.memory["the router's process"]
        for name, place in (
            ("start", 0.0), ("1/4", 0.25), ("1/2", 0.5), ("3/4", 0.75), ("end", 1.0)
        ):  # fmt: skip
            at = round(place * (len(own) - 1))
            print(f"the router's process, {name}: USS {own[at] / 2**20:.1f} MiB, glibc has "
                  f"{self.in_use[at] / 2**20:.1f} in use and holds {self.free[at] / 2**20:.1f} "
                  "free", flush=True)  # fmt: skip
        for name, samples in self.memory.items():
            show_growth(name, samples, figures)


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


def soak(address: str, url: str, minutes: float, figures: Figures) -> None:
    writer = Helper(run_writer, address, url)
    load = Helper(run_load, address, url, settings=OF_ROUTERS)
    load.send(writer.hear())
    load.ask(None)  # once it searches
    actors = {pid_of(actor) for actor in find_actors(NAME).values()}
    ours = actors | {writer.pid, load.pid}
    names = "the actors", "the router's process", "Ray", "the largest worker of tasks"
    samples = Samples({name: [] for name in names}, [], [])
    begin = next_epoch = time.monotonic()
    number, has_failed = 0, False
    while time.monotonic() - begin < 60 * minutes and not has_failed:
        made = None
        if time.monotonic() >= next_epoch:
            made = writer.ask(number)
            number, next_epoch = number + 1, time.monotonic() + EPOCH_SECONDS
        has_failed, in_use, free = load.ask(made)
        samples.in_use.append(in_use)
        samples.free.append(free)
        samples.memory["the actors"].append(sum(map(own_bytes, actors)))
        samples.memory["the router's process"].append(own_bytes(load.pid))
        others = other_processes(ours)
        workers = set(filter(is_worker, others))
        samples.memory["Ray"].append(sum(map(own_bytes, others - workers)))
        if workers:
            largest = max(map(own_bytes, workers))
            samples.memory["the largest worker of tasks"].append(largest)
        time.sleep(1)
    done: Done = load.ask("end")
    writer.send(None)
    for error in done.failed:
        print(error, flush=True)
    print(f"{minutes} minutes: {done.classes.sum()} calls, {done.queries} queries, {number} "
          f"changes, {done.busy} refused; a call took {done.percentile(50):.3f} s in the median, "
          f"{done.percentile(99):.3f} s at the 99th of 100", flush=True)  # fmt: skip
    figures.exactly(0, len(done.failed), "threads with a call that failed or was answered wrong")
    survived = {pid_of(actor) for actor in find_actors(NAME).values()} & actors
    figures.exactly(len(actors), len(survived), "actors that are those of the beginning")
    samples.show(figures)
    load.join()
    writer.join()


def main() -> int:
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 15.0
    if not only_loopback():
        print(__doc__, file=sys.stderr)
        return 2
    figures = Figures()
    with tempfile.TemporaryDirectory() as folder:
        nodes: Any = Nodes(Path(folder), 3)
        url = str(Path(folder) / "index")
        cluster.build(url, rows_to_index(), shards=2)
        cluster.deploy(url, NAME, replicas=2, timeout=300)
        soak(nodes.address, url, minutes, figures)
        cluster.undeploy(NAME)
        nodes.stop()
    return figures.exit_code()


if __name__ == "__main__":
    sys.exit(main())
