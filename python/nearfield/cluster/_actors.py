"""Actors of Ray that search shards: one for each shard and replica, under names that last.

An actor holds nothing that is not in the store. Each call says which epoch and commit it is about,
and the files of a commit never change: an actor that was restarted, that is old, or that was cut
off from the others answers as all do, or not at all.
"""

from __future__ import annotations

import os
import pickle
import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import nearfield as nf
from nearfield._arguments import integer, real, text
from nearfield.cluster._answers import Near, Nearest
from nearfield.cluster._errors import NoIndexError
from nearfield.cluster._manifest import Identity, read_latest, read_manifest
from nearfield.cluster._segments import OpenShard
from nearfield.cluster._store import open_store
from nearfield.cluster._tasks import ray_is_connected
from nearfield.cluster._writing import Url

NAMESPACE = "nearfield"
EPOCHS_KEPT = 2  # open at a time: the one that routers leave, and the one they go to


class ShardServer:
    """What runs in an actor. Its methods only read: one that is run twice has done no harm."""

    def __init__(self, url: str, shard: int, deployed: dict[str, Any]) -> None:
        """deployed: `threads`, `cache`, and what else it was started with, to be told."""
        self._store = open_store(url, deployed["cache"])
        self._shard = shard
        self._deployed = deployed
        self._run = {"threads": deployed["threads"], "progress": _stop_if_cancelled}
        self._lock = threading.Lock()
        self._opened: dict[Identity, OpenShard] = {}

    def describe(self) -> dict[str, Any]:
        with self._lock:  # another call may open one
            epochs = sorted(epoch for epoch, _ in self._opened)
        return {
            "url": self._store.url,
            **self._deployed,
            "pid": os.getpid(),
            "epochs": epochs,
        }

    def answer(self, question: bytes) -> bytes:
        """What a method of this class returns; `write_question` says which. Nothing, if nobody
        waits for it: an error would be in the log of the router's process."""
        method, arguments = pickle.loads(question)
        try:
            found = getattr(self, method)(*arguments)
        except nf.CancelledError:
            return b""
        return pickle.dumps(found, pickle.HIGHEST_PROTOCOL)

    def ready(self, asked: Identity) -> tuple[Identity, int]:
        """Opens an epoch before it is asked for; how many vectors it has here."""
        opened = self._at(asked)
        return opened.identity, len(opened)

    def search(
        self, asked: Identity, queries: Any, k: int, options: dict[str, Any]
    ) -> tuple[Identity, Nearest]:
        opened = self._at(asked)
        return opened.identity, opened.search(queries, k, **self._run, **options)

    def within(
        self, asked: Identity, queries: Any, radius: float, options: dict[str, Any]
    ) -> tuple[Identity, Near]:
        opened = self._at(asked)
        return opened.identity, opened.within(queries, radius, **self._run, **options)

    def _at(self, asked: Identity) -> OpenShard:
        with self._lock:
            opened = self._opened.get(asked)
        if opened is None:
            # Not under the lock: searches of another epoch go on.
            manifest = read_manifest(self._store, asked[0])
            if manifest.identity != asked:
                raise NoIndexError(
                    f"{self._store.url}: epoch {asked[0]} is of commit {manifest.commit}, not "
                    f"{asked[1]}: it was built again; refresh the router, or make another"
                )
            opened = OpenShard(self._store, manifest, self._shard, self._files())
        self._keep(asked, opened)
        return opened

    def _keep(self, asked: Identity, opened: OpenShard) -> None:
        """As the one used last. Of those that are dropped for it the files go, too."""
        dropped: set[Path] = set()
        with self._lock:
            self._opened.pop(asked, None)
            self._opened[asked] = opened
            while len(self._opened) > EPOCHS_KEPT:
                dropped.update(self._opened.pop(next(iter(self._opened))).files.values())
            needed = {path for one in self._opened.values() for path in one.files.values()}
        for path in dropped - needed:
            self._store.forget(path)

    def _files(self) -> dict[str, Path]:
        """Of all epochs that are open."""
        with self._lock:
            return {n: path for opened in self._opened.values() for n, path in opened.files.items()}


def write_question(method: str, *arguments: Any) -> bytes:
    """For `ShardServer.answer`. It is pickled once for all shards, and as a whole: Ray would pickle
    each argument of each call, by a pickler in Python."""
    return pickle.dumps((method, arguments), pickle.HIGHEST_PROTOCOL)


def _stop_if_cancelled(done: int, total: int) -> None:
    """Ends a search that its router has cancelled: it was overtaken, or is late. It is called ten
    times a second. Calls that still wait are dropped by Ray."""
    if not ray_is_connected():  # not in an actor; asked for a context, Ray would connect somewhere
        return
    import ray

    context = ray.get_runtime_context()
    if context.worker.mode == ray.WORKER_MODE and context.is_canceled():
        raise nf.CancelledError(f"nobody waits for the answer: {done} of {total} vectors were done")


def deploy(
    url: Url,
    name: str,
    *,
    replicas: int = 1,
    threads: int = 1,
    cpus: float = 0,
    cache: str | os.PathLike[str] | None = None,
    max_pending: int = 16,
    timeout: float = 60,
) -> None:
    """Starts the actors that search an index, and waits until each has it open.

    Those that are there already stay, so that calling it again puts back what is missing; if they
    were started with other `threads`, `cpus`, `max_pending` or `cache` it is an error. They go on
    when this process ends, until `undeploy`; one that dies is started again, on another machine if
    its own is gone.

    replicas: actors for each shard, on different machines as far as there are as many.
    threads: of each actor; 0 is every core of its machine.
    cpus: cores that Ray keeps free for each actor; with 0 it only spreads them.
    cache: a folder on each machine for files of a bucket: those of the epochs that its actors have
        open, two of each. In the machine's temporary folder if None.
    max_pending: calls that a router may have waiting at an actor; more are a `BusyError`.
    timeout: seconds to wait.
    """
    ray = connected_ray()
    count, most = integer("replicas", replicas), integer("max_pending", max_pending)
    if count < 1 or most < 1:
        raise nf.InvalidArgumentError(
            f"replicas is {count} and max_pending is {most}, expected at least 1"
        )
    store = open_store(url, cache)
    manifest = read_latest(store)
    server = ray.remote(ShardServer)
    nodes, have_cores = _machines(ray)
    reserved = real("cpus", cpus)
    deployed = {
        "threads": integer("threads", threads),
        "cpus": reserved,
        "max_pending": most,
        "cache": None if cache is None else os.path.abspath(cache),
    }
    actors = {
        (shard, replica): server.options(
            **actor_options(actor_name(name, shard, replica), most),
            # None: it holds no core, but goes only where there are some, also when it is started
            # again. With 0 it might go to a head that is kept free of work.
            num_cpus=None if reserved == 0 and have_cores else reserved,
            scheduling_strategy=_prefer(nodes[(shard + replica) % len(nodes)]),
        ).remote(store.url, shard, deployed)
        for shard in range(manifest.shards)
        for replica in range(count)
    }
    described = _wait(ray, actors, "describe", (), timeout)
    for (shard, replica), about in described.items():
        if about["url"] != store.url:
            raise nf.InvalidArgumentError(
                f"{actor_name(name, shard, replica)} searches {about['url']}, not {store.url}: "
                "choose another name, or undeploy that first"
            )
        actual = {option: about[option] for option in deployed}
        if actual != deployed:
            raise nf.InvalidArgumentError(
                f"{actor_name(name, shard, replica)} was started with {actual}, not {deployed}: "
                "undeploy it first, or give what it has"
            )
    _wait(ray, actors, "ready", (manifest.identity,), timeout)


def actor_options(name: str, most_pending: int) -> dict[str, Any]:
    """Of Ray, for all actors but where they go."""
    return {
        "name": name,
        "namespace": NAMESPACE,
        "get_if_exists": True,
        "lifetime": "detached",  # else they die with this process
        "max_restarts": -1,
        "max_task_retries": -1,
        "max_pending_calls": most_pending,
        # An epoch is opened while another is searched. With 1, Ray would not drop a call that is
        # cancelled while it waits: it looks for it only where threads take calls from.
        "max_concurrency": 2,
        # Ray's list of tasks, for its dashboard, keeps the last 100,000: a growing memory of the
        # head in the first hours, and work for each call.
        "enable_task_events": False,
    }


def undeploy(name: str) -> int:
    """Ends the actors of this name; how many there were."""
    ray = connected_ray()
    found = find_actors(name)
    for actor in found.values():
        ray.kill(actor)
    return len(found)


def find_actors(
    name: str, known: Mapping[tuple[int, int], Any] | None = None
) -> dict[tuple[int, int], Any]:
    """The actors of a name, by shard and replica. known: which need not be fetched again."""
    ray = connected_ray()
    found = {}
    own = re.compile(re.escape(actor_name(name, 0, 0).removesuffix("0-0")) + r"(\d+)-(\d+)")
    for entry in ray.util.list_named_actors(all_namespaces=True):
        parts = own.fullmatch(entry["name"])
        if entry["namespace"] == NAMESPACE and parts:
            key = int(parts[1]), int(parts[2])
            with suppress(ValueError):  # it ended meanwhile
                found[key] = (known or {}).get(key) or ray.get_actor(
                    entry["name"], namespace=NAMESPACE
                )
    return found


def actor_name(name: str, shard: int, replica: int) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.]{1,100}", text("name", name)):
        raise nf.InvalidArgumentError(
            f"name is {name!r}, expected 1 to 100 of letters, digits, _ and ."
        )
    return f"nearfield-{name}-{shard}-{replica}"


def connected_ray() -> Any:
    """Ray of a process that is connected. It is not connected here: a bare `ray.init` joins
    whatever cluster is on the machine."""
    if not ray_is_connected():
        raise nf.InvalidArgumentError(
            "this process is not connected to a Ray cluster: call ray.init(address=...) first, or "
            'ray.init(address="local") for one on this machine'
        )
    import ray

    return ray


def _machines(ray: Any) -> tuple[list[str], bool]:
    """Those with cores to give, and True; if there are none, all."""
    alive = [node for node in ray.nodes() if node["Alive"]]
    with_cores = [node for node in alive if node["Resources"].get("CPU", 0) > 0]
    return sorted(node["NodeID"] for node in with_cores or alive), bool(with_cores)


def _prefer(node: str) -> Any:
    """A machine to be on; another if it is gone."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node_id=node, soft=True)


def _wait(
    ray: Any,
    actors: dict[tuple[int, int], Any],
    method: str,
    arguments: Sequence[Any],
    timeout: float,
) -> dict[tuple[int, int], Any]:
    calls = {key: getattr(actor, method).remote(*arguments) for key, actor in actors.items()}
    _, waiting = ray.wait(list(calls.values()), num_returns=len(calls), timeout=timeout)
    late = [key for key, call in calls.items() if call in set(waiting)]
    if late:
        raise nf.DeadlineError(
            f"{len(late)} of {len(calls)} actors were not ready after {timeout} s, the first of "
            f"shard {late[0][0]}, replica {late[0][1]}: see `ray status` for what they wait for"
        )
    results = {}
    for key, call in calls.items():
        try:
            results[key] = ray.get(call)
        except ray.exceptions.RayTaskError as error:
            raise error.cause or error from error
    return results
