"""`cluster.serve`: an index behind HTTP, by Ray Serve."""

from __future__ import annotations

import hashlib
import json
import os
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import nearfield as nf
from nearfield._arguments import integer, real, text
from nearfield.cluster._actors import connected_ray, deploy
from nearfield.cluster._store import open_store
from nearfield.cluster._wire import Limits
from nearfield.cluster._writing import Url

ONGOING = 128  # requests that are read and searched at a time
QUEUED = 128  # that wait for it; more are refused, with 503
LEAST_TOKEN = 16  # characters


@dataclass(frozen=True)
class Settings:
    """Of a service; goes to its replica, and is kept by Ray Serve. The token is not in it."""

    index: str
    is_sharded: bool
    name: str
    token_sha256: str | None
    threads: int
    timeout: float
    refresh: float
    batch: int
    batch_wait: float
    cache: str | None
    limits: Limits = field(default_factory=Limits)


def serve(
    index: Url,
    name: str = "nearfield",
    *,
    token: str | None,
    host: str = "127.0.0.1",
    port: int = 8000,
    replicas: int = 1,
    threads: int = 1,
    timeout: float = 30.0,
    refresh: float = 5.0,
    batch: int = 512,
    batch_wait: float = 0.002,
    max_body: int = Limits.body,
    max_k: int = Limits.k,
    max_queries: int = Limits.queries,
    cache: str | os.PathLike[str] | None = None,
) -> None:
    """Answers requests of HTTP, by Ray Serve, until `unserve`; returns when it does.

    index: a folder or bucket with a sharded index, whose actors are started if they are not there;
        or an index file that all machines see.
    name: of its actors, and of its application in Ray Serve. A cluster has one at a time.
    token: what a client must show; None lets everybody in who reaches the port.
    host, port: where to listen. Ray Serve has them for a cluster, not for an application.
    replicas, threads: of the actors that search, as of `deploy`; of a file, threads of a search.
    timeout: seconds of a search.
    refresh: seconds between looks for a newer epoch; 0: none.
    batch, batch_wait: as many queries of several requests are asked as one, if they come within so
        many seconds.
    max_body, max_k, max_queries: of a request, in bytes, neighbours and vectors; more is refused.
    cache: as of `deploy`.
    """
    connected_ray()
    from nearfield.cluster._service import Service  # which needs this file

    try:
        from ray import serve as ray_serve
    except ImportError as error:
        raise nf.UnsupportedError(
            f"Ray Serve is not installed ({error}): pip install 'nearfield[serve]'"
        ) from None
    if token is not None and len(text("token", token)) < LEAST_TOKEN:
        raise nf.InvalidArgumentError(
            f"token has {len(token)} characters, expected at least {LEAST_TOKEN}: "
            "secrets.token_urlsafe() makes one"
        )
    is_sharded = not Path(os.fspath(index)).is_file()
    settings = Settings(
        open_store(index).url if is_sharded else str(Path(index).absolute()),
        is_sharded,
        text("name", name),
        None if token is None else hashlib.sha256(token.encode()).hexdigest(),
        integer("threads", threads),
        real("timeout", timeout),
        real("refresh", refresh),
        _positive("batch", batch),
        real("batch_wait", batch_wait),
        None if cache is None else os.fspath(cache),
        Limits(
            _positive("max_body", max_body),
            _positive("max_k", max_k),
            _positive("max_queries", max_queries),
        ),
    )
    if is_sharded:
        deploy(index, name, replicas=replicas, threads=threads, cache=cache)
    elif replicas != 1:
        raise nf.InvalidArgumentError(
            f"replicas is {replicas}, and {index} is a file, which one process searches: give it "
            "threads, or build a sharded index"
        )
    ray_serve.start(http_options={"host": host, "port": port}, proxy_location="HeadOnly")
    deployment = ray_serve.deployment(Service).options(
        name=name,
        max_ongoing_requests=ONGOING,
        max_queued_requests=QUEUED,
        ray_actor_options={"num_cpus": 0},
    )
    ray_serve.run(deployment.bind(settings), name=name)
    _check_address(host, port)


def unserve(name: str = "nearfield") -> None:
    """Ends the service of this name. Actors that search for it go on, until `undeploy`."""
    connected_ray()
    from ray import serve as ray_serve

    ray_serve.delete(name)


def _check_address(host: str, port: int) -> None:
    """Ray Serve ignores the address if it runs already, with another."""
    reached = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)
    url = f"http://{reached}:{port}/health"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=30) as response:
            if json.load(response)["status"] == "ok":
                return
            problem = "it answers something else"
    except (OSError, ValueError, KeyError) as error:
        problem = str(error)
    raise nf.InvalidArgumentError(
        f"{url} does not answer ({problem}): if Ray Serve runs in this cluster already, give the "
        "host and port it has, or call ray.serve.shutdown() first"
    )


def _positive(name: str, value: int) -> int:
    number = integer(name, value)
    if number < 1:
        raise nf.InvalidArgumentError(f"{name} is {number}, expected at least 1")
    return number
