"""How a call runs: threads, memory, time, progress."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nearfield import _core
from nearfield._arguments import MOST_INT32, byte_count, integer, real, text
from nearfield._copies import Copies
from nearfield._errors import InvalidArgumentError, MemoryLimitError
from nearfield._progress import Bar

# About thirty years: a time that a clock of nanoseconds holds.
MOST_SECONDS = 1e9

Progress = Callable[[int, int], object] | bool | None


@contextmanager
def running(
    copies: Copies,
    *,
    threads: int = 0,
    isa: str | None = None,
    timeout: float | None = None,
    progress: Progress = None,
    device: str | None = None,
    device_memory_limit: int | str | None = None,
    stream: int = 0,
) -> Iterator[_core.Run]:
    """What one call of the engine runs under; the copies are made before."""
    report = take_progress(progress)
    run = _core.Run(
        integer("threads", threads, MOST_INT32),
        None if isa is None else text("isa", isa),
        copies.left(),
        None if timeout is None else timeout_seconds(timeout),
        report,
        "cpu" if device is None else text("device", device),
        None
        if device_memory_limit is None
        else byte_count("device_memory_limit", device_memory_limit),
        stream,
    )
    try:
        yield run
    except MemoryLimitError as error:
        raise copies.explain(error) from None
    finally:
        if isinstance(report, Bar):
            report.close()


def timeout_seconds(timeout: float) -> float:
    seconds = real("timeout", timeout)
    if not 0 <= seconds <= MOST_SECONDS:
        raise InvalidArgumentError(
            f"timeout is {seconds}, expected 0 to {MOST_SECONDS:.0f} seconds"
        )
    return seconds


def take_progress(progress: Progress) -> Callable[[int, int], object] | None:
    if progress is None or progress is False:
        return None
    if progress is True:
        return Bar()
    if not callable(progress):
        raise TypeError(f"progress must be True or a callable(done, total), got {progress!r}")
    return progress
