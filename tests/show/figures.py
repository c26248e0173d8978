"""What a program of this folder shows: each figure on a line, with what is wanted of it."""

from __future__ import annotations


class Figures:
    def __init__(self) -> None:
        self.missed = 0

    def at_most(self, limit: float, value: float, what: str) -> None:
        """Prints it, and counts it if it is more."""
        self._show(value <= limit, f"{what}: {value:.6g} (at most {limit:.6g})")

    def exactly(self, wanted: float, value: float, what: str) -> None:
        self._show(value == wanted, f"{what}: {value:.10g} (exactly {wanted:.10g})")

    def _show(self, is_good: bool, line: str) -> None:
        self.missed += not is_good
        print(f"{'ok    ' if is_good else 'MISSED'}  {line}", flush=True)

    def exit_code(self) -> int:
        print("all as wanted" if self.missed == 0 else f"{self.missed} MISSED", flush=True)
        return min(self.missed, 1)
