"""Tables: what was measured here, and what the thesis states beside it."""
import textwrap
from collections.abc import Iterable
from typing import Any

from referee.report import aligned, three_digits
from reproduction.measured import Measured, Place, Recall, Timing
from reproduction.thesis import Figure, Printed, Thesis

TIMED = {"kernels": "kernels alone, data on the device",
         "call": "whole calls, copies included",
         "copy": "copies alone"}
NOT_A_GPU = "this is OpenCL on a CPU: times are not those of a GPU"


def heading(device: dict[str, Any]) -> str:
    """The first line of a run: nobody is to take a CPU for a GPU."""
    kind = device["device"].partition(":")[0]
    named = (f"device {device['device']}: {device['name']}, {device['units']} units, "
             f"{device['memory'] / 2**30:.1f} GiB, {device['driver']}")
    if kind == "cpu":
        return f"{named}; a CPU, times are not those of a GPU"
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


def recall_cell(recall: Recall | None) -> str:
    if recall is None:
        return ""
    if recall.value is None:
        return "nobody"
    return f"{recall.value:.4f} of {recall.accepted:,}"


def printed_cell(printed: Printed | None) -> str:
    """Computed again from the counts; what is printed beside it only where it is another."""
    if printed is None:
        return ""
    value = printed.counts.value
    misprinted = (printed.recall is not None and value is not None
                  and abs(printed.recall - value) > 5e-5)
    return recall_cell(printed.counts) + (f" ({printed.recall:.4f} is printed)" if misprinted
                                          else "")


def recall_table(figure: Figure, measured: Measured) -> list[tuple[str, ...]]:
    """Below each row that was measured that of the thesis, if it has one. Recalls with the number
    of queries that were matched."""
    counted = [*measured.recalls, *(one.counts for one in figure.printed if figure.over)]
    series = list(dict.fromkeys(recall.series for recall in counted))
    rows = list(dict.fromkeys((recall.data, recall.ratio) for recall in measured.recalls))
    table: list[tuple[str, ...]] = [("data", figure.over or "ratio", "", *series)]
    table.append(tuple("-" * len(name) for name in table[0]))
    for data, ratio in rows:
        named = f"{ratio:g}" if ratio else "none"
        table.append((data, named, "here", *(
            recall_cell(measured.recall(data, name, ratio)) for name in series)))
        theirs = {one.counts.series: one for one in figure.printed
                  if (one.counts.data, one.counts.ratio) == (data, ratio)}
        if theirs:
            table.append(("", "", "thesis", *(printed_cell(theirs.get(name)) for name in series)))
    return table


def error_table(figure: Figure, measured: Measured) -> list[tuple[str, ...]]:
    series = list(dict.fromkeys(point.series for point in measured.points))
    table: list[tuple[str, ...]] = [("data", figure.over, *series)]
    table.append(tuple("-" * len(name) for name in table[0]))
    for data, x in dict.fromkeys((point.data, point.x) for point in measured.points):
        errors = (measured.error(data, name, x) for name in series)
        table.append((data, f"{x}", *("" if error is None else three_digits(error)
                                      for error in errors)))
    return table


def stated_table(figure: Figure, measured: Measured, device: str, thesis_device: str
                 ) -> list[tuple[str, ...]]:
    table: list[tuple[str, ...]] = [("section", f"stated, of a {thesis_device}", f"on {device}",
                                     "shape")]
    table.append(tuple("-" * len(name) for name in table[0]))
    for stated in figure.stated:
        verdict = stated.judge(measured)
        word = {True: "holds", False: "differs", None: "not judged"}[verdict.holds]
        table.append((stated.section, stated.says, verdict.here, word))
    return table


def title_of(number: str, figure: Figure) -> str:
    return f"Figure {number}: {figure.title}" if number[0].isdigit() else figure.title


def print_figure(number: str, thesis: Thesis, measured: Measured, device: dict[str, Any]) -> None:
    figure = thesis.figures[number]
    what = "milliseconds" if figure.in_milliseconds else "10⁶ distances/s"
    units = f"; {what}, medians of the rounds" if measured.places else ""
    print(f"\n{title_of(number, figure)}{units}")
    for line in (f"there: {figure.setting}", f"here: {figure.here}"):
        print(textwrap.fill(line, 100, subsequent_indent="  "))
    for kind, meaning in TIMED.items():
        names = [series for series in measured.series if measured.timed(series) == kind]
        if names:
            print(textwrap.fill(f"{meaning}: {', '.join(names)}", 100, subsequent_indent="  "))
    for note in measured.notes:
        print(note)
    if measured.places:
        print("\n".join(aligned(measured_table(figure, measured))))
    if measured.recalls:
        print("\n".join(aligned(recall_table(figure, measured))))
    if measured.points:
        print("\n".join(aligned(error_table(figure, measured))))
    print("\n".join(aligned(stated_table(figure, measured, device["device"], thesis.device))),
          flush=True)
