"""Tables: what was measured here, and what the thesis states beside it."""
import textwrap
from collections.abc import Iterable
from typing import Any

from referee.report import aligned, three_digits
from reproduction.figures import THESIS_DEVICE, Figure
from reproduction.measured import Measured, Place, Timing

TIMED = {"kernels": "kernels alone, data on the device",
         "call": "whole calls, copies included",
         "copy": "copies alone"}
NOT_A_GPU = "this is OpenCL on a CPU: times are not those of a GPU"


def heading(device: dict[str, Any]) -> str:
    """The first line of a run: nobody is to take a CPU for a GPU."""
    kind = device["device"].partition(":")[0]
    named = (f"device {device['device']}: {device['name']}, {device['units']} units, "
             f"{device['memory'] / 2**30:.1f} GiB, {device['driver']}")
    return f"{named}; {NOT_A_GPU}" if device["is_cpu"] else f"{named}; a GPU, by {kind}"


def numbers_that_tell(places: Iterable[Place]) -> list[str]:
    """Those that play a part at any place."""
    return [name for name in Place._fields if any(getattr(place, name) for place in places)]


def cell(timing: Timing | None, in_milliseconds: bool) -> str:
    if timing is None:
        return ""
    return three_digits(1e3 * timing.seconds if in_milliseconds else 1e-6 * timing.rate)


def measured_table(figure: Figure, measured: Measured) -> list[tuple[str, ...]]:
    numbers, series = numbers_that_tell(measured.places), measured.series
    table: list[tuple[str, ...]] = [(*numbers, *series, *figure.derived)]
    table.append(tuple("-" * len(name) for name in table[0]))
    for place, timings in measured.places.items():
        extra = (quantity(timings) for quantity in figure.derived.values())
        table.append((*(f"{getattr(place, name):,}" for name in numbers),
                      *(cell(timings.get(name), figure.in_milliseconds) for name in series),
                      *("" if value is None else f"{value:.3g}" for value in extra)))
    return table


def stated_table(figure: Figure, measured: Measured, device: str) -> list[tuple[str, ...]]:
    table: list[tuple[str, ...]] = [("section", f"stated, of a {THESIS_DEVICE}", f"on {device}",
                                     "shape")]
    table.append(tuple("-" * len(name) for name in table[0]))
    for stated in figure.stated:
        verdict = stated.judge(measured)
        word = {True: "holds", False: "differs", None: "not judged"}[verdict.holds]
        table.append((stated.section, stated.says, verdict.here, word))
    return table


def print_figure(number: str, figure: Figure, measured: Measured, device: dict[str, Any]) -> None:
    what = "milliseconds" if figure.in_milliseconds else "10⁶ distances/s"
    print(f"\nFigure {number}: {figure.title}; {what}, medians of the rounds")
    print(f"there: {figure.setting}\nhere: {figure.here}")
    for kind, meaning in TIMED.items():
        names = [series for series in measured.series if measured.timed(series) == kind]
        if names:
            print(textwrap.fill(f"{meaning}: {', '.join(names)}", 100, subsequent_indent="  "))
    for note in measured.notes:
        print(note)
    print("\n".join(aligned(measured_table(figure, measured))))
    print("\n".join(aligned(stated_table(figure, measured, device["device"]))), flush=True)
