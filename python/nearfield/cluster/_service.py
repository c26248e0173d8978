"""What runs in the replica of Ray Serve: requests of HTTP in, searches by a router or of one file
out. Ray Serve, and what comes with it, is imported where it is used: who has none has no service.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

import nearfield as nf
from nearfield.cluster._manifest import Spec
from nearfield.cluster._router import WINDOW, Found, Router
from nearfield.cluster._segments import spec_of
from nearfield.cluster._serving import Settings
from nearfield.cluster._wire import (
    JSON,
    NPY,
    NPZ,
    Question,
    RefusedError,
    read_json,
    read_npy,
    write_json,
    write_npz,
)

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

Result = TypeVar("Result")

# Threads of its own: Ray Serve has a few for all that a replica does, and what is searched or read
# would hold up what is asked about health. Searches: a router has WINDOW batches of each under way,
# with the calls of a check and a refresh no more than an actor takes (`max_pending` of `deploy`).
SEARCHES = 6
BODIES = 4  # that are read or written; JSON takes up to 30 times as many bytes meanwhile
WATCHES = 2  # a check and a refresh
BATCHES_AT_ONCE = 2  # of which one is merged while the other is searched
HEALTH_SECONDS = 1.0  # for which an answer about health holds: anybody may ask for it
HEALTH_TIMEOUT = 5.0

log = logging.getLogger("ray.serve")


class Searched(Protocol):
    """What questions go to."""

    @property
    def spec(self) -> Spec: ...

    @property
    def epoch(self) -> int: ...

    def search(self, question: Question, timeout: float) -> Found: ...

    def check(self) -> None:
        """An error if it cannot search."""

    def refresh(self) -> None: ...


class OneFile:
    """An index file, mapped; it stays as it was when it was opened."""

    epoch = 0

    def __init__(self, settings: Settings) -> None:
        self._index = nf.Index.open(settings.index)
        self._threads = settings.threads
        self.spec = spec_of(self._index)

    def search(self, question: Question, timeout: float) -> Found:
        found = self._index.search(
            question.queries, question.k, only=question.only, without=question.without,
            threads=self._threads, timeout=timeout,
        )  # fmt: skip
        return Found(found.ids, found.distances, found.keys, found.counts, found.exact, 0, (), 0)

    def check(self) -> None:
        """It is open."""

    def refresh(self) -> None:
        """It never changes."""


class Shards:
    """A sharded index, whose actors are there already."""

    def __init__(self, settings: Settings) -> None:
        self._router = Router(
            settings.index,
            settings.name,
            in_flight=SEARCHES * WINDOW,
            timeout=settings.timeout,
            cache=settings.cache,
        )

    @property
    def spec(self) -> Spec:
        """Another, perhaps, of an index that was built again."""
        return self._router.spec

    @property
    def epoch(self) -> int:
        return self._router.epoch

    def search(self, question: Question, timeout: float) -> Found:
        return self._router.search(
            question.queries, question.k, only=question.only, without=question.without,
            partial=question.partial, timeout=timeout,
        )  # fmt: skip

    def check(self) -> None:
        self._router.check(HEALTH_TIMEOUT)

    def refresh(self) -> None:
        self._router.refresh()


class Measures:
    """For Prometheus."""

    def __init__(self) -> None:
        import prometheus_client as prometheus

        self.registry = prometheus.CollectorRegistry()
        own: dict[str, Any] = {"registry": self.registry}
        self.requests = prometheus.Counter(
            "nearfield_requests", "Requests, by what was answered", ["path", "status"], **own
        )
        self.seconds = prometheus.Histogram(
            "nearfield_search_seconds", "From a whole request to its answer", **own
        )
        self.queries = prometheus.Counter("nearfield_queries", "Vectors that were searched", **own)
        self.batches = prometheus.Histogram(
            "nearfield_batch_queries", "Vectors that were searched together",
            buckets=[2**power for power in range(13)], **own,
        )  # fmt: skip
        self.hedged = prometheus.Counter(
            "nearfield_hedged_calls", "Calls that were sent again, to another replica", **own
        )
        self.partial = prometheus.Counter(
            "nearfield_partial_answers", "Answers in which shards are missing", **own
        )
        self.epoch = prometheus.Gauge("nearfield_epoch", "Of the index that is searched", **own)
        self.refreshes = prometheus.Counter(
            "nearfield_failed_refreshes", "Looks for a newer epoch that failed", **own
        )

    def respond(self) -> Response:
        import prometheus_client as prometheus

        measured = prometheus.generate_latest(self.registry)
        return respond(measured, kind=prometheus.CONTENT_TYPE_LATEST)


def respond(body: bytes | str, status: int = 200, kind: str = JSON) -> Response:
    from starlette.responses import Response

    return Response(body, status, media_type=kind)


async def in_threads(threads: Executor, function: Callable[..., Result], *arguments: Any) -> Result:
    return await asyncio.get_running_loop().run_in_executor(threads, function, *arguments)


@dataclass(frozen=True, eq=False)
class Waiting:
    """A question, and when its answer must be there."""

    question: Question
    deadline: float

    def __len__(self) -> int:
        return len(self.question)


class Service:
    def __init__(self, settings: Settings) -> None:
        from ray import serve

        self._searching = ThreadPoolExecutor(SEARCHES, "nearfield-search")
        self._bodies = ThreadPoolExecutor(BODIES, "nearfield-body")
        self._watching = ThreadPoolExecutor(WATCHES, "nearfield-watch")
        self._refreshing: asyncio.Future[None] | None = None
        self._settings = settings
        self._searched: Searched = (Shards if settings.is_sharded else OneFile)(settings)
        self._measures = Measures()
        self._measures.epoch.set(self._searched.epoch)
        self._checked = -HEALTH_SECONDS
        self._checking: asyncio.Future[Response] | None = None
        self._together = serve.batch(
            max_batch_size=settings.batch,
            batch_wait_timeout_s=settings.batch_wait,
            max_concurrent_batches=BATCHES_AT_ONCE,
            batch_size_fn=lambda asked: sum(max(1, len(one)) for one in asked),
        )(self._search_together)
        self._refreshing = asyncio.ensure_future(self._refresh())

    def __del__(self) -> None:
        """Ray Serve calls it when the service ends."""
        if self._refreshing is not None:
            self._refreshing.cancel()
        for threads in (self._searching, self._bodies, self._watching):
            threads.shutdown(wait=False)

    async def __call__(self, request: Request) -> Response:
        from starlette.requests import ClientDisconnect

        path = request.url.path
        try:
            response = await self._answer(request, path)
        except ClientDisconnect:
            response = respond("", 499)  # nobody reads it; it is counted
        except Exception as error:
            refusal = RefusedError.of(error)
            if refusal.status == 500:
                log.exception("a request to %r failed", path)  # which may hold anything
            response = respond(refusal.body, refusal.status)
            if refusal.status == 503:
                response.headers["Retry-After"] = "1"
            if refusal.status == 401:
                response.headers["WWW-Authenticate"] = "Bearer"
        known = path if path in ("/search", "/info", "/health", "/metrics") else "other"
        self._measures.requests.labels(known, str(response.status_code)).inc()
        return response

    async def _answer(self, request: Request, path: str) -> Response:
        asked = (request.method, path)
        if asked == ("GET", "/health"):
            return await self._check()
        self._authorize(request)
        if asked == ("POST", "/search"):
            return await self._search(request)
        if asked == ("GET", "/info"):
            return respond(json.dumps(self._info()))
        if asked == ("GET", "/metrics"):
            return self._measures.respond()
        raise RefusedError(
            404, "not_found",
            "expected POST /search, GET /info, GET /metrics or GET /health",
        )  # fmt: skip

    def _authorize(self, request: Request) -> None:
        wanted = self._settings.token_sha256
        if wanted is None:
            return
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        given = hashlib.sha256(token.strip().encode()).hexdigest()
        if kind.lower() != "bearer" or not hmac.compare_digest(given, wanted):
            raise RefusedError(
                401, "unauthorized", "expected the header Authorization: Bearer TOKEN, with the "
                "token of this service",
            )  # fmt: skip

    async def _search(self, request: Request) -> Response:
        kind = request.headers.get("content-type", JSON).partition(";")[0].strip().lower()
        if kind not in (JSON, NPY):
            raise RefusedError(
                415, "media_type", f"Content-Type is {kind}, expected {JSON} or {NPY}"
            )
        spec, limits = self._searched.spec, self._settings.limits
        body = await self._read(request)
        begin = time.monotonic()
        # In threads: what is large would hold up all other requests.
        if kind == NPY:
            parameters = request.query_params
            question = await in_threads(self._bodies, read_npy, body, parameters, spec, limits)
        elif request.query_params:
            raise RefusedError(400, "invalid_argument", "JSON has k and partial in its body")
        else:
            question = await in_threads(self._bodies, read_json, body, spec, limits)
        found = await self._ask(Waiting(question, begin + self._settings.timeout))
        write = write_npz if kind == NPY else write_json
        answer = await in_threads(self._bodies, write, found)
        self._measures.queries.inc(len(question))
        self._measures.partial.inc(bool(found.missing))
        self._measures.seconds.observe(time.monotonic() - begin)
        return respond(answer, kind=NPZ if kind == NPY else JSON)

    async def _read(self, request: Request) -> bytes:
        most = self._settings.limits.body
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                raise RefusedError(
                    413, "limit", f"the service allows a body of at most {most} bytes"
                )
        return bytes(body)

    async def _ask(self, asked: Waiting) -> Found:
        question = asked.question
        filtered = question.only is not None or question.without is not None
        if filtered or len(question) > self._settings.batch:
            return await self._search_one(asked)
        outcome = await self._together(asked)
        if isinstance(outcome, Exception):
            raise outcome
        found: Found = outcome
        return found

    async def _search_one(self, asked: Waiting) -> Found:
        found = await in_threads(self._searching, self._search_now, asked)
        self._measures.batches.observe(len(asked))
        self._measures.hedged.inc(found.hedged)
        return found

    def _search_now(self, asked: Waiting) -> Found:
        """In a thread, for which it may have waited."""
        left = asked.deadline - time.monotonic()
        if left <= 0:
            raise nf.DeadlineError(
                f"{self._settings.timeout} s were over before it was searched: {SEARCHES} searches "
                "at a time are under way, and others waited before it: try again later"
            )
        return self._searched.search(asked.question, left)

    async def _search_together(self, asked: list[Waiting]) -> list[Found | Exception]:
        """An answer for each; those of one kind are asked as one."""
        outcomes: list[Found | Exception] = [nf.Error()] * len(asked)
        kinds: dict[Any, list[int]] = {}
        for number, one in enumerate(asked):
            kinds.setdefault(one.question.kind, []).append(number)
        for numbers in kinds.values():
            chosen = [asked[number] for number in numbers]
            for number, outcome in zip(numbers, await self._search_kind(chosen), strict=True):
                outcomes[number] = outcome
        return outcomes

    async def _search_kind(self, asked: Sequence[Waiting]) -> Sequence[Found | Exception]:
        try:
            if len(asked) == 1:
                return [await self._search_one(asked[0])]
            questions = [one.question for one in asked]
            latest = max(one.deadline for one in asked)  # none is ended for one that came earlier
            return cut(await self._search_one(Waiting(joined(questions), latest)), questions)
        except nf.Error as error:
            return [error] * len(asked)

    async def _check(self) -> Response:
        """One check at a time, of which all hear who ask meanwhile: it needs no token, and takes a
        thread. It goes on if who asked has left, or leaving would make the way free for more."""
        is_old = time.monotonic() - self._checked >= HEALTH_SECONDS
        if self._checking is None or (self._checking.done() and is_old):
            self._checking = asyncio.ensure_future(self._check_now())
        return await asyncio.shield(self._checking)

    async def _check_now(self) -> Response:
        try:
            await in_threads(self._watching, self._searched.check)
            return respond(json.dumps({"status": "ok"}))
        except nf.Error as error:
            log.warning("not healthy: %s", error)
            return respond(json.dumps({"status": error.code}), 503)
        finally:
            self._checked = time.monotonic()

    def _info(self) -> dict[str, Any]:
        spec, limits = self._searched.spec, self._settings.limits
        return {
            "version": nf.__version__,
            "family": spec.family,
            "dim": spec.dim,
            "dtype": spec.dtype,
            "metric": spec.metric,
            "epoch": self._searched.epoch,
            "limits": asdict(limits),
        }

    async def _refresh(self) -> None:
        while self._settings.refresh > 0:
            await asyncio.sleep(self._settings.refresh)
            try:
                await in_threads(self._watching, self._searched.refresh)
            except Exception:
                log.exception("the index was not looked for again; epoch %s", self._searched.epoch)
                self._measures.refreshes.inc()
            self._measures.epoch.set(self._searched.epoch)


def joined(questions: Sequence[Question]) -> Question:
    """One question with all queries, of one kind."""
    parts = [question.queries for question in questions]
    k, partial = questions[0].k, questions[0].partial
    if isinstance(parts[0], nf.Bits):
        packed = np.concatenate([part.packed for part in parts if isinstance(part, nf.Bits)])
        return Question(nf.Bits(packed, parts[0].nbits), k, partial)
    return Question(np.concatenate([np.asarray(part) for part in parts]), k, partial)


def cut(found: Found, questions: Sequence[Question]) -> list[Found | Exception]:
    """What was found of all, for each the rows of its queries."""
    ends = np.cumsum([len(question) for question in questions])
    return [
        replace(
            found,
            ids=found.ids[begin:end],
            distances=found.distances[begin:end],
            keys=found.keys[begin:end],
            counts=found.counts[begin:end],
        )
        for begin, end in zip([0, *ends], ends, strict=False)
    ]
