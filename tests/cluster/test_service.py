"""A real server over HTTP: `nearfield serve` of a sharded index, `cluster.serve` of a file."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfield as nf
from material import Array, assert_same, one_index, vectors
from nearfield import cluster
from nearfield.cluster._serve_command import main, set_up_ray, take_token
from nearfield.cluster._service import SEARCHES, Service
from nearfield.cluster._serving import Settings, base_url
from ray_nodes import Nodes, only_loopback, wait_for

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own

ROWS = vectors(2000)
QUERIES = vectors(40, seed=1)
TOKEN = "a token of the tests"


@dataclass
class Reply:
    status: int
    headers: Any
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        return str(self.json["error"]["message"])


@dataclass
class Client:
    port: int
    token: str | None

    def ask(self, path: str, body: bytes | None = None, **headers: str) -> Reply:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token is not None:
            named.setdefault("Authorization", f"Bearer {self.token}")
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body, named)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return Reply(response.status, response.headers, response.read())
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, error.headers, error.read())

    def search(self, **asked: Any) -> Reply:
        return self.ask("/search", json.dumps(asked).encode(), Content_Type="application/json")

    def search_npy(self, queries: Array, parameters: str) -> Reply:
        file = io.BytesIO()
        np.save(file, queries)
        return self.ask(f"/search{parameters}", file.getvalue(), Content_Type="application/x-npy")

    def found(self, queries: Array, k: int) -> cluster.Found:
        """By arrays, which have all."""
        reply = self.search_npy(queries, f"?k={k}")
        assert reply.status == 200, reply.body
        with np.load(io.BytesIO(reply.body), allow_pickle=False) as arrays:
            about = json.loads(arrays["about"].tobytes())
            return cluster.Found(
                arrays["ids"], arrays["distances"], arrays["keys"], arrays["counts"],
                about["exact"], about["epoch"], tuple(about["missing"]), 0,
            )  # fmt: skip

    def metric(self, name: str) -> float:
        text = self.ask("/metrics").body.decode()
        return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Server:
    process: subprocess.Popen[str]
    url: str
    client: Client


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`nearfield serve`, with a Ray of its own."""
    if not only_loopback():
        pytest.skip("not in a network that has the loopback alone: run tools/test_cluster")
    folder = tmp_path_factory.mktemp("serve")
    url, token, port = folder / "index", folder / "token", free_port()
    subprocess.run(  # not here: this process may be connected to a cluster of other tests
        [sys.executable, "-I", "-c", BUILD, str(url), str(folder / "rows.npy")],
        check=True, input=json.dumps(ROWS.tolist()), text=True,
    )  # fmt: skip
    own = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    process = subprocess.Popen(
        [sys.executable, "-I", "-m", "nearfield", "serve", "index", "--token-file", str(token),
         "--port", str(port), "--replicas", "2", "--max-k", "100", "--max-queries", "64",
         "--max-body", "100K", "--refresh", "0.5"],
        cwd=folder, env=own, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line == f"index at http://127.0.0.1:{port}, for the token of {token}\n"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    yield Server(process, str(url), Client(port, token.read_text().strip()))
    process.send_signal(signal.SIGTERM)
    assert process.wait(120) == 0


BUILD = """
import json
import sys
import numpy as np
from nearfield import cluster

cluster.build(sys.argv[1], np.array(json.load(sys.stdin), np.float32), shards=2)
"""


def test_answers_are_those_of_one_index(server: Server) -> None:
    single, client = one_index(ROWS), server.client
    assert_same(client.found(QUERIES, 10), single.search(QUERIES, 10))
    assert_same(client.found(QUERIES[:0], 3), single.search(QUERIES[:0], 3))
    expected = single.search(QUERIES, 10)
    answer = client.search(queries=QUERIES.tolist(), k=10).json
    assert answer["ids"] == expected.ids.tolist()
    assert answer["distances"] == expected.distances.tolist()
    assert answer["counts"] == expected.counts.tolist()
    assert (answer["exact"], answer["epoch"], answer["missing"]) == (True, 1, [])
    few = client.search(queries=QUERIES[:1].tolist(), k=3, only=[4, 5]).json
    assert few["ids"][0][2] == -1
    assert few["distances"][0][2] is None
    assert few["counts"] == [2]
    info = client.ask("/info").json
    assert (info["dim"], info["dtype"], info["metric"]) == (8, "f32", "sqeuclidean")
    assert info["limits"] == {"body": 102_400, "k": 100, "queries": 64, "results": 1 << 20}


def test_requests_at_once_are_searched_together(server: Server) -> None:
    single, client = one_index(ROWS), server.client
    batches, queries = (
        client.metric(name) for name in ("nearfield_batch_queries_count", "nearfield_queries_total")
    )
    failed: list[BaseException] = []

    def search(number: int) -> None:
        try:
            own, k = QUERIES[number : number + 2], 3 + number % 3
            assert_same(client.found(own, k), single.search(own, k))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=search, args=(number,)) for number in range(38)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert client.metric("nearfield_queries_total") - queries == 76
    asked = client.metric("nearfield_batch_queries_count") - batches
    print(f"38 requests of three kinds were {asked:.0f} searches")
    assert asked < 38


def test_only_who_has_the_token_is_answered(server: Server) -> None:
    for wrong in (None, "", "wrong", server.client.token.upper()):  # type: ignore[union-attr]
        stranger = Client(server.client.port, wrong)
        for path in ("/info", "/metrics", "/nowhere"):
            reply = stranger.ask(path)
            assert (reply.status, reply.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert stranger.search(queries=QUERIES[:1].tolist()).status == 401
        assert stranger.ask("/health").json == {"status": "ok"}
    reply = server.client.ask("/info", Authorization=f"Basic {server.client.token}")
    assert reply.status == 401


def test_limits(server: Server) -> None:
    client = server.client
    assert "at most 100" in client.search(queries=QUERIES.tolist(), k=101).error
    many = client.search(queries=[[0] * 8] * 65)
    assert (many.status, "at most 64" in many.error) == (413, True)
    large = client.ask("/search", b" " * 102_401, Content_Type="application/json")
    assert (large.status, "at most 102400 bytes" in large.error) == (413, True)
    assert client.ask("/search", b"a,b", Content_Type="text/csv").status == 415
    assert client.ask("/nowhere").status == 404
    assert client.ask("/search").status == 404  # GET
    assert "expected 8" in client.search(queries=[[1, 2]]).error
    wide = client.search_npy(np.zeros((1, 9), np.float32), "")
    assert (wide.status, "(rows, 8)" in wide.error) == (400, True)
    assert client.search_npy(QUERIES.astype(np.complex64), "").status == 400
    assert client.found(QUERIES, 3).ids.shape == (40, 3)  # and it goes on


def test_a_new_epoch_is_found(server: Server) -> None:
    near = one_index(ROWS).search(QUERIES, 1).ids[:, 0]
    program = "import sys; from nearfield import cluster; cluster.delete(sys.argv[1], [%s])"
    dead = ", ".join(map(str, np.unique(near)))
    subprocess.run([sys.executable, "-I", "-c", program % dead, server.url], check=True)
    wait_for(lambda: server.client.ask("/info").json["epoch"] == 2, 30)
    single = one_index(ROWS)
    single.remove(np.unique(near))
    found = server.client.found(QUERIES, 5)
    assert_same(found, single.search(QUERIES, 5))
    assert found.epoch == 2
    assert server.client.metric("nearfield_epoch") == 2


def test_it_listens_on_the_loopback_alone(server: Server) -> None:
    """Of all sockets with its port: 0100007F is 127.0.0.1."""
    listening = [
        fields[1].partition(":")[0]
        for path in ("/proc/net/tcp", "/proc/net/tcp6")
        for fields in map(str.split, Path(path).read_text().splitlines()[1:])
        if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == server.client.port
    ]
    assert listening == ["0100007F"]


def test_a_file_is_served_too(nodes: Nodes, tmp_path: Path) -> None:
    from ray import serve

    codes = np.random.default_rng(0).integers(0, 256, (300, 4), np.uint8)
    index = nf.Index("flat", dim=32, dtype="bits", metric="hamming")
    index.add(nf.bits(codes, 32))
    index.save(tmp_path / "codes.nf")
    port = free_port()
    with pytest.raises(nf.InvalidArgumentError, match="token has 5 characters"):
        cluster.serve(tmp_path / "codes.nf", "codes", token="short", port=port)
    for wrong in (TOKEN + "\n", "é" * 20):
        with pytest.raises(nf.InvalidArgumentError, match="no client could show it"):
            cluster.serve(tmp_path / "codes.nf", "codes", token=wrong, port=port)
    with pytest.raises(nf.InvalidArgumentError, match=r"replicas is 2, and .* is a file"):
        cluster.serve(tmp_path / "codes.nf", "codes", token=TOKEN, port=port, replicas=2)
    with pytest.raises(nf.InvalidArgumentError, match=r"cache is .* is a file"):
        cluster.serve(tmp_path / "codes.nf", "codes", token=TOKEN, port=port, cache=tmp_path)
    try:
        cluster.serve(tmp_path / "codes.nf", "codes", token=TOKEN, port=port)
        client = Client(port, TOKEN)
        expected = index.search(nf.bits(codes[:3], 32), 4)
        found = client.found(codes[:3], 4)
        assert_same(found, expected)
        answer = client.search(queries=[bytes(code).hex() for code in codes[:3]], k=4).json
        assert answer["ids"] == expected.ids.tolist()
        for other in ({"port": free_port()}, {"port": port, "host": "localhost"}):
            with pytest.raises(nf.InvalidArgumentError, match="runs in this cluster already, at"):
                cluster.serve(tmp_path / "codes.nf", "others", token=None, **other)
        assert list(serve.status().applications) == ["codes"]
        cluster.unserve("codes")
        assert Client(port, TOKEN).ask("/info").status == 404
    finally:
        serve.shutdown()


class Hung:
    """Checks nothing, or searches nothing, until it is let go."""

    def __init__(self, inner: Any = None) -> None:
        self._inner = inner
        self.checks = self.searches = 0
        self.go = threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def check(self) -> None:
        self.checks += 1
        assert self._inner or self.go.wait(30)

    def search(self, question: Any, timeout: float) -> Any:
        self.searches += 1
        assert self.go.wait(30)
        return self._inner.search(question, timeout)


def settings_of(folder: Path, timeout: float = 30.0) -> Settings:
    """Of a service of a file of ten rows; no cluster is needed."""
    index = nf.Index("flat", dim=8)
    index.add(ROWS[:10])
    index.save(folder / "rows.nf")
    file = str(folder / "rows.nf")
    return Settings(file, False, "rows", None, 1, timeout, 0.0, 512, 0.002, None)


def test_who_asks_for_health_while_it_is_asked_for_waits_for_that(tmp_path: Path) -> None:
    """Many ask, some leave, and one thread is taken."""
    settings, hung = settings_of(tmp_path), Hung()

    async def ask() -> list[int]:
        service: Any = Service(settings)
        service._searched = hung
        for _ in range(5):
            leaving = asyncio.ensure_future(service._check())
            await asyncio.sleep(0.01)
            leaving.cancel()
        asking = [asyncio.ensure_future(service._check()) for _ in range(20)]
        await asyncio.sleep(0.01)
        hung.go.set()
        replies = [*await asyncio.gather(*asking), await service._check()]
        return [reply.status_code for reply in replies]

    assert asyncio.run(ask()) == [200] * 21
    assert hung.checks == 1


def request_of(method: str, path: str, body: bytes = b"") -> Any:
    from starlette.requests import Request

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    about = {"type": "http", "method": method, "path": path, "headers": [], "query_string": b""}
    return Request(about, receive)


def search_request() -> Any:
    """With a filter: it is asked alone."""
    asked = {"queries": QUERIES[:1].tolist(), "k": 2, "only": [1, 2]}
    return request_of("POST", "/search", json.dumps(asked).encode())


async def reached(condition: Callable[[], bool]) -> None:
    for _ in range(3000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("not within 30 s")


def test_health_is_answered_while_as_much_is_searched_as_may_be(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)

    async def ask() -> tuple[int, list[int], int]:
        # What Ray Serve may have for a replica that reserves no core.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        service: Any = Service(settings)
        service._searched = hung = Hung(service._searched)
        searches = [asyncio.ensure_future(service(search_request())) for _ in range(20)]
        await reached(lambda: hung.searches > 0)
        try:
            health = await asyncio.wait_for(service(request_of("GET", "/health")), 10)
            await reached(lambda: hung.searches == SEARCHES)
            await asyncio.sleep(0.1)
            at_once = hung.searches
        finally:
            hung.go.set()
        replies = await asyncio.gather(*searches)
        return health.status_code, [reply.status_code for reply in replies], at_once

    assert asyncio.run(ask()) == (200, [200] * 20, SEARCHES)


def test_what_a_request_waits_is_of_its_time(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, timeout=0.5)

    async def ask() -> tuple[list[int], int]:
        service: Any = Service(settings)
        service._searched = hung = Hung(service._searched)
        first = [asyncio.ensure_future(service(search_request())) for _ in range(SEARCHES)]
        await reached(lambda: hung.searches == SEARCHES)
        late = [asyncio.ensure_future(service(search_request())) for _ in range(3)]
        await asyncio.sleep(1.0)
        hung.go.set()
        await asyncio.gather(*first)
        return [reply.status_code for reply in await asyncio.gather(*late)], hung.searches

    assert asyncio.run(ask()) == ([504] * 3, SEARCHES)


def test_a_service_ends_with_its_threads(tmp_path: Path) -> None:
    before = set(threading.enumerate())  # perhaps of other tests

    def own() -> list[str]:
        return [t.name for t in threading.enumerate() if t not in before and "nearfield" in t.name]

    async def ask() -> None:
        service: Any = Service(settings_of(tmp_path))
        assert (await service(search_request())).status_code == 200
        assert len(own()) >= 2
        service.__del__()  # as Ray Serve does
        await reached(lambda: own() == [])

    asyncio.run(ask())


def test_ray_that_is_started_here_wants_a_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        os, "environ", {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "1"}
    )
    set_up_ray(tmp_path)
    assert os.environ["RAY_AUTH_MODE"] == "token"
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "1"
    assert stat.S_IMODE(Path(os.environ["RAY_AUTH_TOKEN_PATH"]).stat().st_mode) == 0o600


def test_addresses() -> None:
    assert base_url("127.0.0.1", 80) == "http://127.0.0.1:80"
    assert base_url("::1", 80) == "http://[::1]:80"


def test_tokens_are_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = take_token(tmp_path / "token")
    assert len(token) >= 32
    assert take_token(tmp_path / "token") == token
    (tmp_path / "token").chmod(0o640)
    with pytest.raises(nf.InvalidArgumentError, match="mode 0640: others may read"):
        take_token(tmp_path / "token")
    assert main(["index", "--token-file", str(tmp_path / "token")]) == 1
    assert "mode 0640" in capsys.readouterr().err
    with pytest.raises(SystemExit):  # neither a token nor --no-token
        main(["index"])
    assert "--no-token" in capsys.readouterr().err


@pytest.mark.parametrize("module", ["ray", "starlette"])
def test_says_what_to_install_before_a_token_is_made(
    module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert main(["index", "--token-file", str(tmp_path / "token")]) == 1
    words = capsys.readouterr().err
    assert f"not installed (no module named '{module}'): pip install 'nearfield[serve]'" in words
    assert not (tmp_path / "token").exists()
