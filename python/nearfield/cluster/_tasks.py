"""Calls that do not depend on each other: as tasks of Ray, or one after the other in this process.

Ray it is if this process is connected to a cluster (`ray.init`). A task whose worker or machine
dies is run again, so what it does must come out the same: writes are by names that nobody else has,
and the first record of a piece is the one that counts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from nearfield._progress import Bar
from nearfield._run import Progress, take_progress
from nearfield.cluster._allocator import OF_TASKS

Result = TypeVar("Result")

RETRIES = 10  # of one task, after deaths of its worker; what it raises is not tried again
TASKS_A_CORE = 2  # sent ahead, so that a core that is done finds the next


def ray_is_connected() -> bool:
    """Without importing it."""
    ray = sys.modules.get("ray")
    return ray is not None and bool(ray.is_initialized())


def task_threads() -> int:
    """Of what a task computes: the core that it has reserved. In a process without Ray, where tasks
    follow each other, all."""
    return 1 if ray_is_connected() else 0


def run_tasks(
    function: Callable[..., Result],
    shared: Any,
    calls: Iterable[tuple[Any, ...]],
    *,
    count: int | None = None,
    progress: Progress = None,
    take: Callable[[int, Result], object] | None = None,
    own_workers: bool = True,
) -> list[Result]:
    """`function(shared, *call)` of each call. `shared` is sent once, whatever its size.

    count: of the calls, if they are not a sequence.
    take: is given the number of a call and its result as soon as it is there; nothing is returned.
    own_workers: with settings of their allocator. Not where other tasks make what the calls ask
        for: on a full node Ray ends a worker of one kind to start one of the other.
    """
    results: dict[int, Result] = {}
    hand_over = take or results.__setitem__
    total = len(calls) if isinstance(calls, Sequence) else count or 0
    with reporting(progress) as report:
        report(0, total)
        if ray_is_connected():
            each = _by_ray(function, shared, calls, own_workers)
        else:
            each = _here(function, shared, calls)
        for done, (number, result) in enumerate(each, start=1):
            hand_over(number, result)
            report(done, total)
    return [results[number] for number in range(len(results))]


def _here(
    function: Callable[..., Result], shared: Any, calls: Iterable[tuple[Any, ...]]
) -> Iterator[tuple[int, Result]]:
    for number, call in enumerate(calls):
        yield number, function(shared, *call)


def _by_ray(
    function: Callable[..., Result],
    shared: Any,
    calls: Iterable[tuple[Any, ...]],
    own_workers: bool,
) -> Iterator[tuple[int, Result]]:
    import ray

    remote = _remote(function)
    if own_workers:
        remote = remote.options(runtime_env=settings_of_tasks(ray))
    sent_once = ray.put(shared)
    most = max(1, TASKS_A_CORE * int(ray.cluster_resources().get("CPU", 1)))
    running: dict[Any, int] = {}
    waiting = iter(enumerate(calls))
    try:
        while True:
            while len(running) < most and (following := next(waiting, None)):
                number, call = following
                running[remote.remote(sent_once, *call)] = number
            if not running:
                return
            (done, *_), _ = ray.wait(list(running), num_returns=1)
            number = running.pop(done)
            yield number, _result_of(ray, done)
    finally:
        for task in running:  # left behind by an error or Ctrl-C
            ray.cancel(task)


@cache
def _remote(function: Callable[..., Any]) -> Any:
    """One for each function: Ray's head keeps all that are made, as long as this process lives."""
    import ray

    return ray.remote(num_cpus=1, max_retries=RETRIES)(function)


def settings_of_tasks(ray: Any) -> dict[str, Any]:
    """What the caller's own do not name (those of `ray.init`; of the actor or task that calls). Ray
    adds the caller's, all but `config`: installing would have to end in ten minutes again."""
    callers = ray.get_runtime_context().runtime_env
    named = callers.get("env_vars", {})
    missing = {name: value for name, value in OF_TASKS.items() if name not in named}
    if not missing:
        return {}  # the workers of all other tasks
    installation = {"config": callers["config"]} if "config" in callers else {}
    return {"env_vars": missing} | installation


def _result_of(ray: Any, task: Any) -> Any:
    try:
        return ray.get(task)
    except ray.exceptions.RayTaskError as error:
        # The error of the library, not one of Ray around it.
        raise error.cause or error from error


@contextmanager
def reporting(progress: Progress) -> Iterator[Callable[[int, int], object]]:
    report = take_progress(progress)
    try:
        yield report or (lambda done, total: None)
    finally:
        if isinstance(report, Bar):
            report.close()
