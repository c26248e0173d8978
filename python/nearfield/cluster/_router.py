"""Asks the actors of all shards and merges what they answer. It has no state worth keeping: any
number of routers, in any processes, ask the same actors.
"""

from __future__ import annotations

import os
import pickle
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

import nearfield as nf
from nearfield._arguments import integer, real
from nearfield.cluster._actors import connected_ray, find_actors, write_question
from nearfield.cluster._answers import (
    Near,
    Nearest,
    join_near,
    join_nearest,
    merge_near,
    merge_nearest,
)
from nearfield.cluster._errors import BusyError, LostShardError, NoIndexError
from nearfield.cluster._manifest import (
    Manifest,
    Spec,
    read_latest,
    read_manifest,
    sum_of_first,
)
from nearfield.cluster._segments import new_index
from nearfield.cluster._sources import ArraySource
from nearfield.cluster._store import open_store
from nearfield.cluster._writing import Url

Answer = TypeVar("Answer", Nearest, Near)

# A shard is asked again, elsewhere, when it takes this many times as long as half of the others did
# for the same queries, and at least so long: less is noise of machines that share cores.
HEDGE_FACTOR = 3.0
HEDGE_LEAST = 0.05
WINDOW = 2  # batches of one call under way: the next is there when an actor is done
# Of a question; Ray sends up to 100 KiB with a call. More is put into shared memory once.
PUT_BYTES = 100_000
SLICE = 0.05  # seconds to wait for all answers, before those that came are looked at
# Seconds for which a replica that was overtaken is asked last: while an actor is started again, one
# search waits for it and not every second one.
OVERTAKEN = 1.0
LOOK_AGAIN = 1.0  # seconds between looks for actors, of searches that miss some

# The question is wrong, whoever is asked.
OUR_FAULT = (
    nf.InvalidArgumentError,
    nf.UnsupportedError,
    nf.NotFiniteError,
    nf.MemoryLimitError,
    TypeError,
)


@dataclass(frozen=True, eq=False)
class Found(Nearest):
    """The k nearest of each query, in all shards. Unpacks as `distances, ids`."""

    epoch: int
    missing: tuple[int, ...]  # shards that are not in it; none, unless `partial` was asked for
    hedged: int  # calls that were sent again, to another replica


@dataclass(frozen=True, eq=False)
class FoundWithin(Near):
    """All within a radius of each query, in all shards."""

    epoch: int
    missing: tuple[int, ...]
    hedged: int


class Router:
    """Searches the index that `deploy` has started actors for.

    url, name: as of `deploy`.
    batch: queries of one call to an actor; more are cut.
    in_flight: batches under way, of all threads that use this router; more are a `BusyError`.
    hedge_after: seconds after which a shard is asked again at another replica, when the other
        shards do not tell by their own times that it is late.
    timeout: seconds, of a search; a shard that has not answered then is lost.

    It is pinned to the newest epoch, until `refresh`. Threads may share it.
    """

    def __init__(
        self,
        url: Url,
        name: str,
        *,
        batch: int = 512,
        in_flight: int = 8,
        hedge_after: float = 1.0,
        timeout: float = 30.0,
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        self._ray = connected_ray()
        self._store = open_store(url, cache)
        # Read first: of an index that is built again in between it is that of the older one, from
        # which `refresh` gets away.
        self._first = sum_of_first(self._store)
        self._manifest = read_latest(self._store)
        self._going = threading.Lock()  # to another epoch: one thread at a time
        self._name = name
        self._batch = integer("batch", batch)
        self._most = integer("in_flight", in_flight)
        if self._batch < 1 or self._most < 1:
            raise nf.InvalidArgumentError(
                f"batch is {batch} and in_flight is {in_flight}, expected at least 1"
            )
        self._hedge_after = real("hedge_after", hedge_after)
        self._timeout = real("timeout", timeout)
        self._slots = threading.Semaphore(self._most)
        self._looking = threading.Lock()  # for actors: one thread at a time
        self._looked = time.monotonic()  # when the last one began to
        self._lock = threading.Lock()  # of what follows; nobody waits for Ray with it
        self._turns: Counter[int] = Counter()  # of each shard
        self._late: dict[tuple[int, int], float] = {}  # by shard and replica, until when
        self._actors = find_actors(name)  # by shard and replica
        if not self._actors:
            raise nf.InvalidArgumentError(
                f"there are no actors of the name {name!r}: start them with cluster.deploy"
            )

    @property
    def epoch(self) -> int:
        return self._manifest.epoch

    @property
    def spec(self) -> Spec:
        return self._manifest.spec

    def check(self, timeout: float | None = None) -> None:
        """A `LostShardError`, unless an actor of each shard has the epoch open."""
        seconds = self._timeout if timeout is None else real("timeout", timeout)
        self._make_ready(self._manifest, seconds)

    def refresh(self) -> int:
        """Goes to the newest epoch, when an actor of each shard has it open; its number.

        Searches that are under way end in the epoch they began in. Replicas that were deployed
        since are found.
        """
        self._look(time.monotonic())
        with self._going:
            first = sum_of_first(self._store)
            manifest = self._read_newest(first)
            if manifest.identity != self._manifest.identity:
                self._make_ready(manifest, self._timeout)
                self._first, self._manifest = first, manifest
            return manifest.epoch

    def pin(self, epoch: int) -> None:
        """Goes to an epoch, as `refresh`, but when it is first asked for."""
        with self._going:
            first = sum_of_first(self._store)
            self._manifest = read_manifest(self._store, integer("epoch", epoch))
            self._first = first

    def _read_newest(self, first: str | None) -> Manifest:
        """Of an index that was built again, which may have fewer epochs, too. Of the same one never
        an earlier epoch: a store may not show for a while what was there already."""
        try:
            return read_latest(self._store, self.epoch)
        except NoIndexError:
            if first in (None, self._first):
                raise
            return read_latest(self._store)

    def _make_ready(self, manifest: Manifest, seconds: float) -> None:
        flight = _Flight(self, manifest, seconds, partial=False)
        flight.run([write_question("ready", manifest.identity)])
        flight.check()

    def search(
        self,
        queries: np.ndarray[Any, Any] | nf.Bits,
        k: int = 10,
        *,
        only: np.ndarray[Any, Any] | None = None,
        without: np.ndarray[Any, Any] | None = None,
        partial: bool = False,
        timeout: float | None = None,
    ) -> Found:
        """The k nearest vectors of each query, as of `nearfield.Index`, to the bit.

        partial: where no replica of a shard answers, the rest, with the list `missing`; otherwise
            it is a `LostShardError`.
        timeout: seconds; that of the router if None. If there are batches then that nobody was
            asked yet it is a `DeadlineError`, also if `partial`.
        """
        found, about = self._ask(
            "search", queries, integer("k", k), only, without, partial, timeout,
            merge_nearest, join_nearest,
            lambda spec: Nearest.of(new_index(spec).search(queries, k)),
        )  # fmt: skip
        return Found(
            found.ids, found.distances, found.keys, found.counts, found.exact and not about[1],
            *about,
        )  # fmt: skip

    def within(
        self,
        queries: np.ndarray[Any, Any] | nf.Bits,
        radius: float,
        *,
        only: np.ndarray[Any, Any] | None = None,
        without: np.ndarray[Any, Any] | None = None,
        partial: bool = False,
        timeout: float | None = None,
    ) -> FoundWithin:
        """All vectors within a radius of each query; the other arguments are those of `search`."""
        found, about = self._ask(
            "within", queries, real("radius", radius), only, without, partial, timeout,
            merge_near, join_near,
            lambda spec: Near.of(new_index(spec).within(queries, radius)),
        )  # fmt: skip
        return FoundWithin(
            found.offsets, found.ids, found.distances, found.keys, found.exact and not about[1],
            *about,
        )  # fmt: skip

    def _ask(
        self,
        method: str,
        queries: np.ndarray[Any, Any] | nf.Bits,
        wanted: float,
        only: np.ndarray[Any, Any] | None,
        without: np.ndarray[Any, Any] | None,
        partial: bool,
        timeout: float | None,
        merge: Callable[[Sequence[Answer]], Answer],
        join: Callable[[Sequence[Answer]], Answer],
        of_none: Callable[[Any], Answer],
    ) -> tuple[Answer, tuple[int, tuple[int, ...], int]]:
        manifest = self._manifest  # of this search, whatever `refresh` does meanwhile
        source = ArraySource(queries)
        if source.dim != manifest.spec.dim:
            raise nf.InvalidArgumentError(
                f"queries has {source.dim} columns, the index {manifest.spec.dim}"
            )
        if source.rows == 0:
            return of_none(manifest.spec), (manifest.epoch, (), 0)
        seconds = self._timeout if timeout is None else real("timeout", timeout)
        options = {"only": only, "without": without, "timeout": seconds}
        cuts = range(0, source.rows, self._batch)
        batches = (source.piece(begin, begin + self._batch) for begin in cuts)
        questions = (
            self._sent_once(write_question(method, manifest.identity, batch, wanted, options))
            for batch in batches
        )
        flight = _Flight(self, manifest, seconds, partial)
        with self._taking_slots(min(WINDOW, len(cuts))) as window:
            flight.run(questions, len(cuts), window)
        missing = flight.check()
        merged = [
            merge([answers[shard] for shard in sorted(answers) if shard not in missing])
            for answers in flight.answers
        ]
        return join(merged), (manifest.epoch, missing, flight.hedged)

    @contextmanager
    def _taking_slots(self, wanted: int) -> Iterator[int]:
        taken = 0
        try:
            while taken < wanted and self._slots.acquire(blocking=False):
                taken += 1
            if taken == 0:
                raise BusyError(
                    f"{self._most} batches are under way, the most that in_flight allows: try "
                    "again when one is done, or deploy more replicas"
                )
            yield taken
        finally:
            for _ in range(taken):
                self._slots.release()

    def _sent_once(self, question: bytes) -> Any:
        return self._ray.put(question) if len(question) > PUT_BYTES else question

    def replicas(self, shard: int) -> list[tuple[int, Any]]:
        """Numbers and actors of a shard, another one first each time, and late ones last."""
        own = self._of_shard(shard) or self.look_for(shard)
        with self._lock:
            self._turns[shard] += 1
            first = self._turns[shard] % len(own) if own else 0
            now = time.monotonic()
            late = {replica for replica, _ in own if now < self._late.get((shard, replica), now)}
        return sorted(own[first:] + own[:first], key=lambda one: one[0] in late)

    def overtaken(self, shard: int, replica: int) -> None:
        """Others are asked before it, for a while."""
        with self._lock:
            self._late[shard, replica] = time.monotonic() + OVERTAKEN

    def forget(self, shard: int, replica: int, actor: Any) -> None:
        """An actor that will not come back; one that is deployed in its place is found again."""
        with self._lock:
            if self._actors.get((shard, replica)) == actor:  # not one in its place
                del self._actors[shard, replica]

    def look_for(self, shard: int, at_once: bool = False) -> list[tuple[int, Any]]:
        """Numbers and actors of a shard, also of those that were deployed since; if not at once,
        they are looked for once a second at most."""
        self._look(time.monotonic() - (0 if at_once else LOOK_AGAIN))
        return self._of_shard(shard)

    def _of_shard(self, shard: int) -> list[tuple[int, Any]]:
        with self._lock:
            return sorted(
                (replica, actor)
                for (of, replica), actor in self._actors.items()
                if of == shard
            )  # fmt: skip

    def _look(self, since: float) -> None:
        """Which actors there are, unless somebody has begun to look since then."""
        with self._looking:
            if self._looked >= since:
                return
            self._looked = time.monotonic()
            with self._lock:
                known = dict(self._actors)
            found = find_actors(self._name, known)
            with self._lock:
                self._actors = {
                    key: actor
                    for key, actor in found.items()
                    if key not in known or key in self._actors  # nor forgotten meanwhile
                }


@dataclass
class _Asked:
    """One batch at one shard."""

    sent: float
    replicas: list[tuple[int, Any]]  # that were not asked yet
    calls: int = 0  # under way
    sent_to: list[int] = field(default_factory=list)  # replicas, the first one first
    tried: list[Any] = field(default_factory=list)  # actors, whether they took it or not
    full: int = 0  # replicas that took no more calls
    dead: int = 0  # replicas that will not come back
    looked: bool = False  # for others than were tried
    failures: list[str] = field(default_factory=list)


class _Flight:
    """The batches of one search, on their way to all shards and back."""

    def __init__(self, router: Router, manifest: Manifest, seconds: float, partial: bool) -> None:
        self._router = router
        self._ray = router._ray
        self._epoch = manifest.epoch
        self._identity = manifest.identity
        self._shards = manifest.shards
        self._most_seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._partial = partial
        self._questions: dict[int, Any] = {}  # of batches under way
        self._asked: dict[tuple[int, int], _Asked] = {}  # by batch and shard; answered ones not
        self._calls: dict[Any, tuple[int, int, int, Any]] = {}  # batch, shard, replica, actor
        self._seconds: list[list[float]] = []  # of each batch, those of its answers
        self._lost: dict[int, list[str]] = {}
        self.answers: list[dict[int, Any]] = []
        self.hedged = 0

    def run(self, questions: Iterable[Any], count: int = 1, window: int = 1) -> None:
        """Asks `count` questions, a window of them at a time."""
        try:
            self._run(iter(questions), count, window)
        finally:
            for call in self._calls:  # nobody waits for them now
                self._ray.cancel(call)

    def _run(self, following: Iterator[Any], count: int, window: int) -> None:
        while True:
            self._forget_questions()
            while len(self.answers) < count and len(self._under_way()) < window:
                self._start(next(following))
            if not self._asked or (self._lost and not self._partial):
                return
            now = time.monotonic()
            if now >= self._deadline:
                self._give_up(count)
                return
            self._hedge(now)
            for call in self._wait(now, len(self.answers) == count):
                self._take(call)

    def _wait(self, now: float, all_sent: bool) -> list[Any]:
        """Calls that are done: the first; or one of each batch and shard, if nothing is to be done
        in between, since each that is waited for wakes this process."""
        wanted = 1
        timeout = max(0.0, min(self._next_alarm(), self._deadline) - now)
        if all_sent and not any(asked.replicas for asked in self._asked.values()):
            wanted, timeout = len(self._asked), min(timeout, SLICE)
        done: list[Any]
        done, _ = self._ray.wait(list(self._calls), num_returns=wanted, timeout=timeout)
        return done

    def _under_way(self) -> set[int]:
        return {batch for batch, _ in self._asked}

    def _forget_questions(self) -> None:
        """Of batches that are through: what is held here stays in Ray's shared memory."""
        for batch in self._questions.keys() - self._under_way():
            del self._questions[batch]

    def check(self) -> tuple[int, ...]:
        """The shards that are missing; an error if there must be none, or if there is no other."""
        missing = tuple(sorted(self._lost))
        if not missing or (self._partial and len(missing) < self._shards):
            return missing
        first = missing[0]
        raise LostShardError(
            f"{len(missing)} of {self._shards} shards did not answer for epoch {self._epoch}: "
            f"{list(missing)}; of shard {first}: {'; '.join(self._lost[first])}",
            missing,
        )

    def _start(self, question: Any) -> None:
        batch = len(self.answers)
        self._questions[batch] = question
        self.answers.append({})
        self._seconds.append([])
        for shard in range(self._shards):
            if shard in self._lost:
                continue
            asked = _Asked(time.monotonic(), self._router.replicas(shard))
            self._asked[batch, shard] = asked
            if not asked.replicas:
                asked.failures.append("it has no actor: call cluster.deploy again")
            self._send(batch, shard)

    def _send(self, batch: int, shard: int) -> bool:
        """To the next replica that takes it. Without any, and none under way, the shard is lost."""
        asked = self._asked[batch, shard]
        while asked.replicas or self._find_others(shard, asked):
            replica, actor = asked.replicas.pop(0)
            asked.tried.append(actor)
            try:
                call = actor.answer.remote(self._questions[batch])
            except self._ray.exceptions.PendingCallsLimitExceeded:
                asked.full += 1
                asked.failures.append(f"replica {replica} has max_pending calls waiting")
                continue
            self._calls[call] = (batch, shard, replica, actor)
            asked.calls += 1
            asked.sent_to.append(replica)
            asked.sent = time.monotonic()
            return True
        if asked.calls == 0:
            if asked.full:
                raise BusyError(
                    f"no replica of shard {shard} takes a call: {'; '.join(asked.failures)}; try "
                    "again a little later, or deploy more replicas or a larger max_pending"
                )
            self._lose(shard, asked.failures)
        return False

    def _find_others(self, shard: int, asked: _Asked) -> bool:
        """Once, when nobody is left: those that were deployed since."""
        if asked.calls or asked.looked or not (asked.dead or asked.full):
            return False
        asked.looked = True
        found = self._router.look_for(shard, at_once=asked.dead > 0)
        asked.replicas = [(replica, one) for replica, one in found if one not in asked.tried]
        return bool(asked.replicas)

    def _take(self, call: Any) -> None:
        batch, shard, replica, actor = self._calls.pop(call)
        asked = self._asked.get((batch, shard))
        if asked is None:  # another replica was faster, or the shard is lost
            return
        asked.calls -= 1
        errors = self._ray.exceptions
        try:
            answer = self._ray.get(call)
        except errors.RayTaskError as error:
            if isinstance(error.cause, OUR_FAULT):
                raise error.cause from error
            asked.failures.append(f"replica {replica}: {error.cause}")
        except errors.ActorDiedError as error:
            self._router.forget(shard, replica, actor)
            asked.dead += 1
            asked.failures.append(f"replica {replica} is dead: {_first_line(error)}")
        except errors.RayError as error:
            asked.failures.append(f"replica {replica}: {_first_line(error)}")
        else:
            identity, found = pickle.loads(answer)
            if identity == self._identity:
                self._seconds[batch].append(time.monotonic() - asked.sent)
                self.answers[batch][shard] = found
                del self._asked[batch, shard]
                if asked.calls:
                    self._leave_behind(batch, shard, asked.sent_to[: asked.sent_to.index(replica)])
                return
            asked.failures.append(
                f"replica {replica} answered for epoch {identity[0]}, commit {identity[1]}, not "
                f"{self._epoch}, {self._identity[1]}"
            )
        self._send(batch, shard)

    def _leave_behind(self, batch: int, shard: int, asked_before: list[int]) -> None:
        """Calls that another replica has answered."""
        for call, (of, at, replica, _) in self._calls.items():
            if (of, at) == (batch, shard):
                self._ray.cancel(call)
                if replica in asked_before:
                    self._router.overtaken(shard, replica)

    def _hedge(self, now: float) -> None:
        for (batch, shard), asked in list(self._asked.items()):
            if asked.replicas and now >= self._alarm(batch, asked):
                self.hedged += self._send(batch, shard)

    def _alarm(self, batch: int, asked: _Asked) -> float:
        """When a batch at a shard is late."""
        others = self._seconds[batch]
        if 2 * len(others) < self._shards:
            return asked.sent + self._router._hedge_after
        return asked.sent + max(HEDGE_LEAST, HEDGE_FACTOR * statistics.median(others))

    def _next_alarm(self) -> float:
        waiting = [
            self._alarm(batch, asked) for (batch, _), asked in self._asked.items() if asked.replicas
        ]
        return min(waiting, default=self._deadline)

    def _give_up(self, count: int) -> None:
        late = {shard for _, shard in self._asked}
        if len(self.answers) < count:
            raise nf.DeadlineError(
                f"{len(self.answers) - len(self._under_way())} of {count} batches were answered in "
                f"{self._most_seconds} s, shards {sorted(late)} had not answered: give more "
                "seconds, or ask fewer queries at once"
            )
        for shard in late:
            failures = next(a.failures for (_, of), a in self._asked.items() if of == shard)
            self._lose(shard, [*failures, "no answer in time"])

    def _lose(self, shard: int, failures: list[str]) -> None:
        self._lost[shard] = failures or ["it has no actor"]
        for key in [key for key in self._asked if key[1] == shard]:
            del self._asked[key]


def _first_line(error: Exception) -> str:
    with suppress(IndexError):
        return str(error).strip().splitlines()[0]
    return type(error).__name__
