"""What Ray costs: the same search of 4 shards by actors, and by plain processes with a local merge.

  bench/compare cluster [--size quick|full] [--rounds N]

All have the same files, the same binding, one thread a shard, the same niceness and the same
batches, in turns. The same actors, given the same bytes but asked only whether they are ready, are
the engine bare; with answers that are too large to come with Ray's reply, it is what answers must
be kept small for. Beside the time of a
call is what all processes together spent on it: on a machine that does other work too, it is what
can be compared. Needs root, for a network that has the loopback alone: Ray listens on every
interface.
"""
import argparse
import multiprocessing
import os
import secrets
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import nearfield as nf
import numpy as np
from nearfield import cluster
from nearfield.cluster._actors import actor_name, actor_options, find_actors, write_question
from nearfield.cluster._answers import Nearest, merge_nearest
from nearfield.cluster._manifest import Identity
from nearfield.cluster._router import PUT_BYTES

from referee import machine
from sets import store
from sets.catalogue import made
from sets.random_streams import stream
from sets.vector_files import read_rows

SHARDS = 4
K = 10
BATCHES = (1, 64, 512)
LEAST_SECONDS = 0.5  # of a turn
LEAST_RATIO = {64: 1 / 1.3, 512: 1 / 1.15}  # of the plain processes' time to that of the actors
STORE_BYTES = 256 << 20
STORED_BYTES = 104 << 10  # of an answer; up to 100 KiB come with Ray's reply
NAME, EMPTY, LARGE = "overhead", "empty", "large"  # actors: that search, and that do not

Search = Callable[[np.ndarray], Any]


@dataclass
class Way:
    name: str
    search: Search
    gives_ids: bool = True
    seconds: list[float] = field(default_factory=list)  # of each call
    turns: list[float] = field(default_factory=list)    # median of each turn
    spent: list[float] = field(default_factory=list)    # CPU seconds a call, of each turn

    def take_turn(self, batches: list[np.ndarray]) -> None:
        calls, started, before = [], time.perf_counter(), cpu_seconds()
        while time.perf_counter() - started < LEAST_SECONDS or len(calls) < 3:
            begin = time.perf_counter()
            self.search(batches[len(calls) % len(batches)])
            calls.append(time.perf_counter() - begin)
        self.seconds += calls
        self.turns.append(statistics.median(calls))
        self.spent.append((cpu_seconds() - before) / len(calls))


def cpu_seconds() -> float:
    """Of all processes of this network, where nobody else is: those of Ray, the plain ones, and
    this. A session may be shared with others."""
    network = os.readlink("/proc/self/ns/net")
    ticks = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if os.readlink(folder / "ns/net") == network:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def serve_shard(url: str, shard: int, channel: Connection) -> None:
    """A plain process: queries in, the k nearest of its shard out, until there is None."""
    opened = cluster.open(url).shard(shard)
    while (queries := channel.recv()) is not None:
        channel.send(opened.search(queries, K, threads=1))


class Processes:
    """One for each shard, as actors are, without Ray."""

    def __init__(self, url: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.channels, self.processes = [], []
        for shard in range(SHARDS):
            ours, theirs = context.Pipe()
            process = context.Process(target=serve_shard, args=(url, shard, theirs), daemon=True)
            process.start()
            self.channels.append(ours)
            self.processes.append(process)

    def search(self, queries: np.ndarray) -> Nearest:
        for channel in self.channels:
            channel.send(queries)
        return merge_nearest([channel.recv() for channel in self.channels])

    def end(self) -> None:
        for channel, process in zip(self.channels, self.processes, strict=True):
            channel.send(None)
            process.join()


class Large:
    """In the place of a shard server: an answer that goes by Ray's store, whatever is asked."""

    def answer(self, question: bytes) -> bytes:
        del question
        return bytes(STORED_BYTES)


def start_large(ray: Any) -> None:
    """As `deploy` starts its actors."""
    for shard in range(SHARDS):
        options = actor_options(actor_name(LARGE, shard, 0), most_pending=16)
        actor = ray.remote(Large).options(**options, num_cpus=None).remote()
        ray.get(actor.__ray_ready__.remote())


def empty_calls(ray: Any, name: str, identity: Identity) -> Search:
    """Questions of as many bytes as those of a router, to actors that have nothing to search."""
    actors = find_actors(name).values()
    ready = write_question("ready", identity)

    def search(queries: np.ndarray) -> None:
        question = ready + queries.tobytes()  # what follows a pickle is not read
        sent = ray.put(question) if len(question) > PUT_BYTES else question
        ray.get([actor.answer.remote(sent) for actor in actors])
    return search


def measure(ways: list[Way], queries: np.ndarray, batch: int, rounds: int) -> None:
    batches = [queries[at:at + batch] for at in range(0, len(queries) - batch + 1, batch)][:64]
    for way in ways:
        way.seconds, way.turns, way.spent = [], [], []
        way.search(batches[0])
    for number in range(rounds):
        for index in stream(f"cluster {batch}", number).permutation(len(ways)):
            ways[index].take_turn(batches)


def count_mismatches(ways: list[Way], queries: np.ndarray, single: nf.Index) -> int:
    wanted = single.search(queries, K)
    wrong = 0
    for way in ways:
        if way.gives_ids:
            found = way.search(queries)
            same = (found.ids == wanted.ids) & (found.keys == wanted.keys)
            wrong += int((~same.all(axis=1)).sum())
    return wrong


def alone_on_the_network() -> None:
    """Runs this program again where there is the loopback alone, unless it is there already."""
    if [name for _, name in socket.if_nameindex()] != ["lo"]:
        inside = 'ip link set lo up; exec "$@"'
        os.execvp("unshare", ["unshare", "--net", "bash", "-euc", inside, "_", sys.executable,
                              *sys.argv])


def niceness_of(pid: int) -> int:
    return os.getpriority(os.PRIO_PROCESS, pid)


def check_niceness(ray: Any, processes: Processes) -> None:
    """Of unequal ones the slower may be the one that had to wait."""
    described = ray.get([actor.describe.remote() for actor in find_actors(NAME).values()])
    actors = [about["pid"] for about in described]
    plain = [process.pid for process in processes.processes]
    found = {niceness_of(pid) for pid in [os.getpid(), *actors, *plain]}
    if len(found) != 1:
        raise RuntimeError(f"processes have different niceness: {sorted(found)}")


def keep_token_in(folder: str) -> None:
    """Whoever holds Ray's token can run code, and Ray itself writes it for all to read."""
    token = os.path.join(folder, "token")
    with open(os.open(token, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(32))
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": token}


def keep_workers_at_our_niceness() -> None:
    """Ray gives its workers 15, behind everything else on the machine, unless it is told."""
    os.environ |= {"RAY_worker_niceness": str(niceness_of(0))}


def report(ways: list[Way], batch: int) -> float:
    plain, actors, *_ = ways
    print(f"\nbatches of {batch}")
    for way in ways:
        calls = np.sort(way.seconds)
        print(f"  {way.name:<34} p50 {1e3 * np.percentile(calls, 50):8.2f} ms   "
              f"p99 {1e3 * np.percentile(calls, 99):8.2f} ms   "
              f"CPU {1e3 * statistics.median(way.spent):8.2f} ms   {len(calls)} calls")
    ratio = statistics.median(p / a for p, a in zip(plain.turns, actors.turns, strict=True))
    spent = statistics.median(a / p for p, a in zip(plain.spent, actors.spent, strict=True))
    print(f"  plain processes / actors: {ratio:.3f}, overhead {1 / ratio:.2f}x, "
          f"of CPU time {spent:.2f}x")
    return ratio


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench/compare cluster", description=__doc__)
    parser.add_argument("--size", choices=("quick", "full"), default="quick")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    alone_on_the_network()
    with tempfile.TemporaryDirectory() as secret:
        keep_token_in(secret)
        keep_workers_at_our_niceness()
        return measure_all(asked)


def measure_all(asked: argparse.Namespace) -> int:
    import ray

    folder = made("sift-1m", asked.size, store.root(None))
    base, queries = read_rows(folder / "base.u8bin"), read_rows(folder / "queries.u8bin")
    print(f"{machine.facts()}\n{base.shape[0]} x {base.shape[1]} u8, {SHARDS} shards, k={K}, "
          f"nearfield {nf.__version__}, ray {ray.__version__}")
    single = nf.Index("flat", dim=base.shape[1], dtype="u8")
    single.add(np.array(base))
    with tempfile.TemporaryDirectory() as url:
        cluster.build(url, np.array(base), shards=SHARDS)
        ray.init(address="local", num_cpus=2, object_store_memory=STORE_BYTES,
                 include_dashboard=False, log_to_driver=False)
        processes = Processes(url)
        cluster.deploy(url, NAME)
        cluster.deploy(url, EMPTY)
        start_large(ray)
        identity = cluster.open(url).manifest.identity
        check_niceness(ray, processes)
        router = cluster.Router(url, NAME)
        ways = [Way("plain processes, local merge", processes.search),
                Way("actors and router", lambda part: router.search(part, K)),
                Way("the same actors, that are ready", empty_calls(ray, EMPTY, identity),
                    gives_ids=False),
                Way("the same, answers by Ray's store", empty_calls(ray, LARGE, identity),
                    gives_ids=False)]
        mismatches = count_mismatches(ways, np.array(queries[:512]), single)
        ratios = {}
        for batch in BATCHES:
            measure(ways, np.array(queries), batch, asked.rounds)
            ratios[batch] = report(ways, batch)
        processes.end()
        for name in (NAME, EMPTY, LARGE):
            cluster.undeploy(name)
        ray.shutdown()
    # As other cases do: a run fails below half of what is wanted.
    missed = [batch for batch, least in LEAST_RATIO.items() if ratios[batch] < least / 2]
    print(f"cluster ratio_limit={ratios[512]:.3f} mismatches={mismatches}")
    return 1 if mismatches or missed else 0


if __name__ == "__main__":
    sys.exit(main())
