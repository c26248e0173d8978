"""How a call runs: threads, memory, time, progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from nearfield import _core
from nearfield._arguments import MOST_INT32, byte_count, integer, real, text
from nearfield._errors import InvalidArgumentError, MemoryLimitError
from nearfield._progress import show_bar

# About thirty years: a time that a clock of nanoseconds holds.
MOST_SECONDS = 1e9

Progress = Callable[[int, int], object] | bool | None


class Taken(Protocol):
    """An argument for which memory may have been allocated already."""

    @property
    def copied_bytes(self) -> int: ...


def make_run(
    *,
    threads: int = 0,
    isa: str | None = None,
    memory_limit: int | str | None = None,
    timeout: float | None = None,
    progress: Progress = None,
    taken: Iterable[Taken] = (),
) -> _core.Run:
    return _core.Run(
        integer("threads", threads, MOST_INT32),
        None if isa is None else text("isa", isa),
        None if memory_limit is None else _left(byte_count("memory_limit", memory_limit), taken),
        None if timeout is None else _seconds(timeout),
        _callable(progress),
    )


def _left(limit: int, taken: Iterable[Taken]) -> int:
    copied = sum(argument.copied_bytes for argument in taken)
    if copied > limit:
        raise MemoryLimitError(
            f"memory_limit is {limit} bytes, and the copies of arrays that cannot be searched in "
            f"place take {copied}: pass rows in C order, or raise the limit"
        )
    return limit - copied


def _seconds(timeout: float) -> float:
    seconds = real("timeout", timeout)
    if not 0 <= seconds <= MOST_SECONDS:
        raise InvalidArgumentError(
            f"timeout is {seconds}, expected 0 to {MOST_SECONDS:.0f} seconds"
        )
    return seconds


def _callable(progress: Progress) -> Callable[[int, int], object] | None:
    if progress is None or progress is False:
        return None
    if progress is True:
        return show_bar
    if not callable(progress):
        raise TypeError(f"progress must be True or a callable(done, total), got {progress!r}")
    return progress
