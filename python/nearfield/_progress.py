"""A bar on stderr."""

from __future__ import annotations

import sys

CELLS = 20


def show_bar(done: int, total: int) -> None:
    """Writes over the bar before it; what comes after the search starts on a line of its own."""
    part = done / total if total else 1.0
    full = int(part * CELLS)
    line = f"[{'#' * full}{'-' * (CELLS - full)}] {int(100 * part):3} %"
    print(line, end="\n" if done == total else "\r", file=sys.stderr, flush=True)
