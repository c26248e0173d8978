"""Searches of several files as one call: within its time, and with its progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import nearfield as nf
from nearfield._run import Progress, timeout_seconds
from nearfield.cluster._tasks import reporting

Found = TypeVar("Found")


def search_in_turn(
    parts: Sequence[nf.Index],
    search: Callable[..., Found],
    *,
    timeout: float | None = None,
    progress: Progress = None,
    **options: Any,
) -> list[Found]:
    """`search(part, **options)` of each. Progress is of vectors, of all parts."""
    ends = None if timeout is None else time.monotonic() + timeout_seconds(timeout)
    sizes = [len(part) for part in parts]
    found = []
    with reporting(progress) as report:
        for number, part in enumerate(parts):
            tell = partial(_tell, report, sum(sizes[:number]), sizes[number], sum(sizes))
            left = None if ends is None else max(0.0, ends - time.monotonic())
            found.append(search(part, timeout=left, progress=progress and tell, **options))
    return found


def _tell(
    report: Callable[[int, int], object], before: int, size: int, all_sizes: int, done: int, of: int
) -> None:
    report(before + size * done // max(of, 1), all_sizes)
