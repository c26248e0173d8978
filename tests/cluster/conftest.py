"""Stores to write to: a folder, and moto's server, an emulator of S3 on this machine."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ray_nodes import Nodes, only_loopback

Place = Callable[[], str]

# Ray is told nothing of proxies, and neither is obstore: all is on this machine.
for variable in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
    os.environ.pop(variable, None)
# Ray reads it when it is first imported, also by a test that starts no node.
os.environ["RAY_AUTH_MODE"] = "token"
# Workers would inherit it, and a test looks who gives it to them.
os.environ.pop("MALLOC_ARENA_MAX", None)


@pytest.fixture(scope="session")
def emulator() -> Iterator[str]:
    """The address of the emulator, which is in the environment too: as buckets are set up."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_REGION": "us-east-1",
    }
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    import boto3

    boto3.client("s3", endpoint_url=settings["AWS_ENDPOINT_URL"]).create_bucket(Bucket="tests")
    yield settings["AWS_ENDPOINT_URL"]
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    server.stop()


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Gives the url of a place that is empty, another at each call."""
    numbers = itertools.count()
    if request.param == "folder":
        return lambda: str(tmp_path / f"index-{next(numbers)}")
    request.getfixturevalue("emulator")
    unique = tmp_path.name
    return lambda: f"s3://tests/{unique}/index-{next(numbers)}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those on nodes come last: once this process is connected, work goes to tasks of Ray, and the
    others are about what this process does itself."""
    items.sort(key=lambda item: "nodes" in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def nodes(emulator: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """Three nodes that may die, and a head; this process is connected to them. The emulator is
    there before, so that its address is in their environment."""
    if not only_loopback():
        pytest.skip("not in a network that has the loopback alone: run tools/test_cluster")
    started = Nodes(tmp_path_factory.mktemp("ray"), 3)
    yield started
    started.stop()
