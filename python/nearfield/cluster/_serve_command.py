"""`nearfield serve`: starts Ray here, or joins a cluster, and serves until it is ended."""

from __future__ import annotations

import argparse
import importlib.util
import os
import secrets
import signal
import stat
import sys
import tempfile
from pathlib import Path

import nearfield as nf
from nearfield._arguments import byte_count
from nearfield.cluster._serving import base_url, serve, serve_is_missing, unserve
from nearfield.cluster._wire import Limits

# Of the Ray that is started here, if the environment has no others. It must know them before it is
# imported.
RAY_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",  # 15 by default, behind everything else on the machine
}

SERVE_NEEDS = "ray", "starlette", "uvicorn"  # of ray[serve]


def main(arguments: list[str]) -> int:
    asked = _parser().parse_args(arguments)
    try:
        return _run(asked)
    except (nf.Error, OSError, ImportError) as error:
        print(f"nearfield serve: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="nearfield serve",
        description="Answers searches over HTTP, by Ray Serve. docs/serve.md has the requests.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("index", help="an index file, or a folder or bucket of cluster.build")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at")
    parser.add_argument("--port", type=int, default=8000)
    token = parser.add_mutually_exclusive_group(required=True)
    token.add_argument(
        "--token-file", type=Path,
        help="holds what clients must show; made, for you alone, if it is not there",
    )  # fmt: skip
    token.add_argument("--no-token", action="store_true", help="everybody may ask who gets through")
    parser.add_argument("--address", help="of a Ray cluster to join; else one is started here")
    parser.add_argument("--name", default="nearfield", help="of the actors and the application")
    parser.add_argument("--replicas", type=int, default=1, help="actors for each shard")
    parser.add_argument("--threads", type=int, default=1, help="of each actor; 0: every core")
    parser.add_argument(
        "--timeout", type=float, default=30.0, help="seconds from a request to its answer"
    )
    parser.add_argument(
        "--refresh", type=float, default=5.0,
        help="seconds between looks for a newer epoch; 0: none",
    )  # fmt: skip
    parser.add_argument("--batch", type=int, default=512, help="queries that are asked as one")
    parser.add_argument("--max-body", default="16M", help="bytes of a request")
    parser.add_argument("--max-k", type=int, default=Limits.k, help="neighbours of a request")
    parser.add_argument(
        "--max-queries", type=int, default=Limits.queries, help="vectors of a request"
    )
    parser.add_argument(
        "--max-results", type=int, default=Limits.results, help="vectors x k of a request"
    )
    parser.add_argument("--cache", help="a folder for files of a bucket")
    return parser


def _run(asked: argparse.Namespace) -> int:
    # Ray is imported later, in an environment that is set up for it.
    for name in SERVE_NEEDS:
        if importlib.util.find_spec(name) is None:
            raise serve_is_missing(f"no module named {name!r}")
    token = None if asked.no_token else take_token(asked.token_file)
    most_bytes = byte_count("max_body", asked.max_body)
    with tempfile.TemporaryDirectory() as secret:
        if asked.address is None:
            set_up_ray(Path(secret))
        import ray

        if asked.address is None:
            ray.init(address="local", include_dashboard=False, log_to_driver=False)
        else:
            ray.init(address=asked.address, log_to_driver=False)
        ended = _ending_on_signals()  # after Ray, which takes them for itself
        try:
            serve(
                asked.index, asked.name, token=token, host=asked.host, port=asked.port,
                replicas=asked.replicas, threads=asked.threads, timeout=asked.timeout,
                refresh=asked.refresh, batch=asked.batch, max_body=most_bytes,
                max_k=asked.max_k, max_queries=asked.max_queries,
                max_results=asked.max_results, cache=asked.cache,
            )  # fmt: skip
            shown = "no token" if token is None else f"the token of {asked.token_file}"
            print(f"{asked.index} at {base_url(asked.host, asked.port)}, for {shown}", flush=True)
            os.read(ended, 1)
            unserve(asked.name)
        finally:
            ray.shutdown()  # with all actors, if it was started here
    return 0


def take_token(path: Path) -> str:
    """What the file holds; a new one if it is not there. Nobody else may read it."""
    try:
        with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
    except FileExistsError:
        pass
    with open(path) as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if mode & 0o077:
            raise nf.InvalidArgumentError(
                f"{path} has mode {mode:04o}: others may read the token; chmod 600 {path}"
            )
        return file.read(1 << 12).strip()


def _ending_on_signals() -> int:
    """A pipe that has a byte when the process is to end; Ray is ended by us, not under us."""
    readable, writable = os.pipe()

    def end(number: int, _: object) -> None:
        os.write(writable, bytes([number]))

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    return readable


def set_up_ray(folder: Path) -> None:
    """Its ports are open on every interface of the machine: only who has this token gets in."""
    for name, value in RAY_SETTINGS.items():
        os.environ.setdefault(name, value)
    os.environ["RAY_AUTH_MODE"] = "token"  # whatever it was: without it anybody may run code
    if "RAY_AUTH_TOKEN_PATH" not in os.environ and "RAY_AUTH_TOKEN" not in os.environ:
        path = folder / "token"
        take_token(path)
        os.environ["RAY_AUTH_TOKEN_PATH"] = str(path)
