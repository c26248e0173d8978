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
from nearfield.cluster._allocator import OF_ROUTERS
from nearfield.cluster._store import open_store
from nearfield.cluster._wire import Limits
from nearfield.cluster._writing import Url

ONGOING = 128  # requests that are under way at a time
QUEUED = 128  # that wait for it; more are refused, with 503
LEAST_TOKEN = 16  # characters
# Seconds that the process which listens may take to start. By itself Ray Serve kills it after 5 and
# starts another, which on a machine with all cores busy does no better, and whoever waits for the
# first gets an ActorDiedError. Ray waits for 60 in all.
LISTENING = {"RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "45"}


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
    max_results: int = Limits.results,
    cache: str | os.PathLike[str] | None = None,
) -> None:
    """Answers requests of HTTP, by Ray Serve, until `unserve`; returns when it does.

    index: a folder or bucket with a sharded index, whose actors are started if they are not there;
        or an index file that all machines see.
    name: of its actors, and of its application in Ray Serve. A cluster has one at a time.
    token: what a client must show; None lets everybody in who reaches the port.
    host, port: where to listen. Ray Serve has them for a cluster, not for an application: if it
        runs already, with others, it is an error.
    replicas, threads: of the actors that search, as of `deploy`; of a file, threads of a search.
    timeout: seconds from a whole request to its answer; of the last one of those that are asked as
        one.
    refresh: seconds between looks for a newer epoch; 0: none.
    batch, batch_wait: as many queries of several requests are asked as one, if they come within so
        many seconds.
    max_body, max_k, max_queries, max_results: of a request, in bytes, neighbours, vectors, and
        neighbours of all its vectors; more is refused.
    cache: as of `deploy`.
    """
    connected_ray()
    from nearfield.cluster._service import Service  # which needs this file

    try:
        from ray import serve as ray_serve
    except ImportError as error:
        raise serve_is_missing(error) from None
    if token is not None:
        _check_token(text("token", token))
    folder = None if cache is None else os.path.abspath(cache)  # a replica has another directory
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
        folder,
        Limits(
            _positive("max_body", max_body),
            _positive("max_k", max_k),
            _positive("max_queries", max_queries),
            _positive("max_results", max_results),
        ),
    )
    if not is_sharded and replicas != 1:
        raise nf.InvalidArgumentError(
            f"replicas is {replicas}, and {index} is a file, which one process searches: give it "
            "threads, or build a sharded index"
        )
    if not is_sharded and folder is not None:
        raise nf.InvalidArgumentError(
            f"cache is {folder}, and {index} is a file, which is mapped where it lies: leave it out"
        )
    ray_serve.start(
        http_options={"host": host, "port": port},
        proxy_location="HeadOnly",
        controller_options={"runtime_env": {"env_vars": LISTENING}},
    )
    _check_running(host, port)
    if is_sharded:
        deploy(index, name, replicas=replicas, threads=threads, cache=folder)
    deployment = ray_serve.deployment(Service).options(
        name=name,
        max_ongoing_requests=ONGOING,
        max_queued_requests=QUEUED,
        ray_actor_options={"num_cpus": 0, "runtime_env": {"env_vars": OF_ROUTERS}},
    )
    ray_serve.run(deployment.bind(settings), name=name)
    try:
        _check_address(host, port)
    except BaseException:
        ray_serve.delete(name)  # it does not stay where nobody expects it
        raise


def serve_is_missing(why: object) -> nf.UnsupportedError:
    return nf.UnsupportedError(
        f"Ray Serve is not installed ({why}): pip install 'nearfield[serve]'"
    )


def unserve(name: str = "nearfield") -> None:
    """Ends the service of this name. Actors that search for it go on, until `undeploy`."""
    connected_ray()
    from ray import serve as ray_serve

    ray_serve.delete(name)


def base_url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _check_token(token: str) -> None:
    if len(token) < LEAST_TOKEN:
        raise nf.InvalidArgumentError(
            f"token has {len(token)} characters, expected at least {LEAST_TOKEN}: "
            "secrets.token_urlsafe() makes one"
        )
    if token != token.strip() or not (token.isascii() and token.isprintable()):
        raise nf.InvalidArgumentError(
            "token begins or ends with white space, or has characters that a header of HTTP does "
            "not hold: no client could show it; of a file, give what it holds stripped"
        )


def _check_running(host: str, port: int) -> None:
    """Ray Serve ignores the address if it runs already: nothing may come to be at another, which
    may be every interface."""
    from ray.serve.context import _get_global_client  # nothing public has it

    running = _get_global_client().http_config
    if (running.host, running.port) != (host, port):
        raise nf.InvalidArgumentError(
            f"Ray Serve runs in this cluster already, at {running.host}, port {running.port}, not "
            f"at {host}, port {port}: give the host and port it has, or call ray.serve.shutdown() "
            "first"
        )


def _check_address(host: str, port: int) -> None:
    """That it answers there."""
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    url = f"{base_url(reached, port)}/health"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=30) as response:
            if json.load(response)["status"] == "ok":
                return
            problem = "it answers something else"
    except (OSError, ValueError, KeyError) as error:
        problem = str(error)
    raise nf.InvalidArgumentError(
        f"{url} does not answer ({problem}): is it an address of the machine of Ray's head, with a "
        "port that is free? The service was ended"
    )


def _positive(name: str, value: int) -> int:
    number = integer(name, value)
    if number < 1:
        raise nf.InvalidArgumentError(f"{name} is {number}, expected at least 1")
    return number
