"""A bar on stderr."""

from __future__ import annotations

import sys

CELLS = 20


class Bar:
    """Writes over itself; what comes after the call starts on a line of its own."""

    def __init__(self) -> None:
        self._line_is_open = False

    def __call__(self, done: int, total: int) -> None:
        part = done / total if total else 1.0
        full = int(part * CELLS)
        line = f"[{'#' * full}{'-' * (CELLS - full)}] {int(100 * part):3} %"
        self._line_is_open = done != total
        print(line, end="\r" if self._line_is_open else "\n", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Of a call that raised, the last bar stays."""
        if self._line_is_open:
            print(file=sys.stderr, flush=True)
