"""A picture for each figure: a panel for each number of one kind, lines over another, log axes."""
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # no screen is needed
from matplotlib import pyplot

from reproduction.figures import Figure
from reproduction.measured import Measured, Place

STYLES = {"kernels": "-", "call": "--", "copy": ":"}
Line = list[tuple[int, float]]


def panels_of(figure: Figure, measured: Measured) -> dict[int, list[Place]]:
    """Places of each panel; without panels, of number 0."""
    panels: dict[int, list[Place]] = {}
    for place in measured.places:
        panels.setdefault(getattr(place, figure.panel) if figure.panel else 0, []).append(place)
    return panels


def lines_of(figure: Figure, measured: Measured, places: list[Place]
             ) -> Iterator[tuple[str, str, Line]]:
    """Name, style and points of each line of a panel."""
    for name, quantity in figure.derived.items():
        values = ((getattr(place, figure.x), quantity(measured.places[place])) for place in places)
        yield name, "-", [(x, y) for x, y in values if y is not None]
    if figure.derived:
        return
    for series in measured.series:
        timings = [measured.places[place][series] for place in places
                   if series in measured.places[place]]
        yield (series, STYLES[measured.timed(series)],
               [(getattr(timing.place, figure.x), timing.rate) for timing in timings])


def title_of(number: str, figure: Figure, device: dict[str, Any]) -> str:
    named = f"{device['device']}, {device['name']}"
    return (f"{number}: {figure.title}\n{named}"
            + (" (OpenCL on a CPU, not a GPU)" if device["is_cpu"] else ""))


def draw(number: str, figure: Figure, measured: Measured, device: dict[str, Any], path: Path
         ) -> None:
    panels = panels_of(figure, measured)
    drawn, all_axes = pyplot.subplots(1, len(panels), figsize=(max(2.2 + 2.9 * len(panels), 9), 4),
                                      sharey=True, squeeze=False, constrained_layout=True)
    colours = {name: f"C{i}" for i, name in enumerate([*measured.series, *figure.derived])}
    for axes, (panel, places) in zip(all_axes[0], sorted(panels.items()), strict=True):
        for name, style, line in lines_of(figure, measured, places):
            if line:
                axes.plot(*zip(*sorted(line), strict=True), style, marker="o", markersize=4,
                          color=colours[name], label=name)
        axes.set(xscale="log", yscale="log", xlabel=figure.x)
        axes.set_title(f"{figure.panel} = {panel:,}" if figure.panel else "", fontsize="medium")
        axes.grid(alpha=0.3)
    all_axes[0][0].set_ylabel("times" if figure.derived else "distances/s")
    names = {text: handle for axes in all_axes[0]
             for handle, text in zip(*axes.get_legend_handles_labels(), strict=True)}
    drawn.legend(names.values(), names, frameon=False, fontsize="small", loc="outside right center")
    drawn.suptitle(title_of(number, figure, device), fontsize="medium")
    drawn.savefig(path, dpi=110)
    pyplot.close(drawn)
