"""A picture for each figure: a panel for each number of one kind, lines over another, log axes."""
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # no screen is needed
from matplotlib import pyplot
from matplotlib.ticker import NullFormatter

from reproduction.measured import Measured, Place, Recall, Timing
from reproduction.reporting import title_of
from reproduction.thesis import Figure

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
        lines: dict[str, Line] = {}
        for place in places:
            own = name
            if figure.line:
                own += f", {figure.line} = {getattr(place, figure.line):,}"
            y = quantity(measured.places[place])
            if y is not None:
                lines.setdefault(own, []).append((getattr(place, figure.x), y))
        yield from ((own, "-", line) for own, line in lines.items())
    if figure.derived:
        return
    for series in measured.series:
        timings = [measured.places[place][series] for place in places
                   if series in measured.places[place]]
        yield (series, STYLES[measured.timed(series)],
               [(getattr(timing.place, figure.x), quantity_of(figure, timing))
                for timing in timings])


def quantity_of(figure: Figure, timing: Timing) -> float:
    return 1e3 * timing.seconds if figure.in_milliseconds else timing.rate


def title_on(number: str, figure: Figure, device: dict[str, Any]) -> str:
    named = f"{device['device']}, {device['name']}"
    return (f"{title_of(number, figure)}\n{named}"
            + (" (OpenCL on a CPU, not a GPU)"
               if device["is_cpu"] and device["device"] != "cpu" else ""))


def draw_recall_lines(axes: Any, recalls: list[Recall]) -> None:
    ratios = sorted({recall.ratio for recall in recalls}, key=lambda ratio: ratio or 2)
    for i, series in enumerate(dict.fromkeys(recall.series for recall in recalls)):
        line = [(ratios.index(recall.ratio), recall.value) for recall in recalls
                if recall.series == series and recall.value is not None]
        axes.plot(*zip(*sorted(line), strict=True), "-", marker="o", markersize=4, color=f"C{i}",
                  label=series)
    axes.set_xticks(range(len(ratios)), [f"{ratio:g}" if ratio else "none" for ratio in ratios])
    axes.set_xlabel("ratio")
    axes.grid(alpha=0.3)


def draw_recalls_by_norms(axes: Any, recalls: list[Recall]) -> None:
    spreads = [recall.data.rpartition("± ")[2] for recall in recalls]
    axes.plot(spreads, [recall.value for recall in recalls], "-", marker="o", color="C2",
              markersize=4)
    axes.set_title(f"here: no ratio, {recalls[0].series}", fontsize="medium")
    axes.set_xlabel("spread of norms that is added")
    axes.grid(alpha=0.3)


def draw_recalls(number: str, figure: Figure, measured: Measured, device: dict[str, Any],
                 path: Path) -> None:
    """Ours, the thesis's from its counts, and ours where norms differ."""
    data = measured.recalls[0].data
    panels = [(f"here: {data}", [recall for recall in measured.recalls if recall.data == data]),
              ("the thesis", [one.counts for one in figure.printed])]
    changed = [recall for recall in measured.recalls if recall.data != data and not recall.ratio]
    drawn, all_axes = pyplot.subplots(1, 3 if changed else 2, figsize=(12 if changed else 9, 4),
                                      constrained_layout=True)
    all_axes[0].sharey(all_axes[1])
    for axes, (title, recalls) in zip(all_axes, panels, strict=False):
        draw_recall_lines(axes, recalls)
        axes.set_title(title, fontsize="medium")
    if changed:
        draw_recalls_by_norms(all_axes[2], changed)
    all_axes[0].set_ylabel("recall of those matched")
    drawn.legend(*all_axes[0].get_legend_handles_labels(), frameon=False, fontsize="small",
                 loc="outside right center")
    drawn.suptitle(title_on(number, figure, device), fontsize="medium")
    drawn.savefig(path, dpi=110)
    pyplot.close(drawn)


def draw_recalls_by_setting(number: str, figure: Figure, measured: Measured,
                            device: dict[str, Any], path: Path) -> None:
    """A line for each series, over what was set."""
    settings = list(dict.fromkeys(recall.data for recall in measured.recalls))
    drawn, axes = pyplot.subplots(figsize=(9, 4), constrained_layout=True)
    for series in dict.fromkeys(recall.series for recall in measured.recalls):
        line = [(settings.index(recall.data), recall.value) for recall in measured.recalls
                if recall.series == series and recall.value is not None]
        axes.plot(*zip(*sorted(line), strict=True), "-", marker="o", markersize=4, label=series)
    axes.set_xticks(range(len(settings)), settings, rotation=20, ha="right", fontsize="small")
    axes.set_ylabel("recall")
    axes.grid(alpha=0.3)
    drawn.legend(frameon=False, fontsize="small", loc="outside right center")
    drawn.suptitle(title_on(number, figure, device), fontsize="medium")
    drawn.savefig(path, dpi=110)
    pyplot.close(drawn)


def draw_recall_curves(number: str, figure: Figure, measured: Measured, device: dict[str, Any],
                       path: Path) -> None:
    """A panel for each data: ours as lines, what is printed as points of the same colours."""
    panels: dict[str, list[Recall]] = {}
    for recall in measured.recalls:
        panels.setdefault(recall.data, []).append(recall)
    theirs = [one.counts for one in figure.printed]
    names = list(dict.fromkeys(recall.series for recall in [*measured.recalls, *theirs]))
    drawn, all_axes = pyplot.subplots(1, len(panels), figsize=(2 + 4.5 * len(panels), 4),
                                      sharey=True, squeeze=False, constrained_layout=True)
    for axes, (data, recalls) in zip(all_axes[0], panels.items(), strict=True):
        for i, name in enumerate(names):
            for counts, style, label in ((recalls, "-", name), (theirs, "x", f"{name}, printed")):
                line = sorted((recall.ratio, recall.value) for recall in counts
                              if (recall.series, recall.data) == (name, data))
                if line:
                    axes.plot(*zip(*line, strict=True), style, color=f"C{i}", label=label)
        axes.set(xscale="log", xlabel=figure.over)
        axes.set_title(data, fontsize="medium")
        axes.grid(alpha=0.3)
    all_axes[0][0].set_ylabel(f"recall@{figure.over}")
    drawn.legend(*all_axes[0][0].get_legend_handles_labels(), frameon=False, fontsize="small",
                 loc="outside right center")
    drawn.suptitle(title_on(number, figure, device), fontsize="medium")
    drawn.savefig(path, dpi=110)
    pyplot.close(drawn)


def draw_errors(number: str, figure: Figure, measured: Measured, device: dict[str, Any], path: Path
                ) -> None:
    """A panel for each data."""
    panels = list(dict.fromkeys(point.data for point in measured.points))
    names = list(dict.fromkeys(point.series for point in measured.points))
    drawn, all_axes = pyplot.subplots(1, len(panels), figsize=(2 + 3.5 * len(panels), 4),
                                      squeeze=False, constrained_layout=True)
    for axes, data in zip(all_axes[0], panels, strict=True):
        for i, name in enumerate(names):
            line = [(point.x, point.error) for point in measured.points
                    if (point.data, point.series) == (data, name)]
            if line:
                axes.plot(*zip(*line, strict=True), "-", marker="o", markersize=3, color=f"C{i}",
                          label=name)
        axes.set_title(data, fontsize="medium")
        axes.set_xlabel(figure.over)
        axes.grid(alpha=0.3)
    all_axes[0][0].set_ylabel("mean squared error")
    labels = {label: handle for axes in all_axes[0]
              for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    drawn.legend(labels.values(), labels.keys(), frameon=False, fontsize="small",
                 loc="outside right center")
    drawn.suptitle(title_on(number, figure, device), fontsize="medium")
    drawn.savefig(path, dpi=110)
    pyplot.close(drawn)


def draw_recalls_over_times(number: str, figure: Figure, measured: Measured, device: dict[str, Any],
                            path: Path) -> None:
    """A point a setting; what finds everything is a line. A panel for one query, one for many."""
    assert figure.setting_of
    values = {recall.data: recall.value for recall in measured.recalls}
    series = measured.recalls[0].series
    panels: dict[int, list[Place]] = {}
    for place in measured.places:
        panels.setdefault(place.q, []).append(place)
    drawn, all_axes = pyplot.subplots(1, len(panels), figsize=(5 * len(panels), 4), sharey=True,
                                      squeeze=False, constrained_layout=True)
    for axes, (queries, places) in zip(all_axes[0], sorted(panels.items()), strict=True):
        for place in places:
            timings, name = measured.places[place], figure.setting_of(place)
            if series not in timings:
                continue  # nothing was found that reaches what was asked for
            milliseconds = 1e3 * timings[series].seconds / queries
            axes.plot(milliseconds, values[name], "o", color="C0")
            axes.annotate(name.partition(",")[2], (milliseconds, values[name]), fontsize=6)
        for other in (other for other in measured.series if other != series):
            axes.axvline(1e3 * min(measured.places[place][other].seconds for place in places)
                         / queries, color="C1", label=other)
        axes.set(xscale="log", xlabel="ms a query")
        axes.set_title(f"{queries:,} at once" if queries > 1 else "one query", fontsize="medium")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize="small")
    all_axes[0][0].set_ylabel("recall")
    drawn.suptitle(title_on(number, figure, device), fontsize="medium")
    drawn.savefig(path, dpi=110)
    pyplot.close(drawn)


def draw(number: str, figure: Figure, measured: Measured, device: dict[str, Any], path: Path
         ) -> bool:
    """False where there is nothing to draw."""
    if measured.recalls and figure.over:
        draw_recall_curves(number, figure, measured, device, path)
    elif measured.recalls and figure.setting_of:
        draw_recalls_over_times(number, figure, measured, device, path)
    elif measured.recalls and figure.printed:
        draw_recalls(number, figure, measured, device, path)
    elif measured.recalls and not figure.x:
        draw_recalls_by_setting(number, figure, measured, device, path)
    elif measured.points:
        draw_errors(number, figure, measured, device, path)
    elif measured.places and figure.x:
        draw_places(number, figure, measured, device, path)
    else:
        return False
    return True


def label_within_a_decade(axes: Any, numbers: list[int]) -> None:
    """A log axis has labels at powers of ten, of which there may be none."""
    if numbers[0] > 0 and numbers[-1] < 10 * numbers[0]:
        axes.set_xticks(numbers, [f"{number:,}" for number in numbers])


def draw_places(number: str, figure: Figure, measured: Measured, device: dict[str, Any], path: Path
                ) -> None:
    panels = panels_of(figure, measured)
    drawn, all_axes = pyplot.subplots(1, len(panels), figsize=(max(2.2 + 2.9 * len(panels), 9), 4),
                                      sharey=True, squeeze=False, constrained_layout=True)
    colours: dict[str, str] = {}
    for axes, (panel, places) in zip(all_axes[0], sorted(panels.items()), strict=True):
        for name, style, line in lines_of(figure, measured, places):
            if line:
                axes.plot(*zip(*sorted(line), strict=True), style, marker="o", markersize=4,
                          color=colours.setdefault(name, f"C{len(colours)}"), label=name)
        axes.set(xscale="log", yscale="log", xlabel=figure.x)
        axes.xaxis.set_minor_formatter(NullFormatter())  # its labels would overlap
        label_within_a_decade(axes, sorted({getattr(place, figure.x) for place in places}))
        axes.set_title(f"{figure.panel} = {panel:,}" if figure.panel else "", fontsize="medium")
        axes.grid(alpha=0.3)
    all_axes[0][0].set_ylabel("times" if figure.derived else "ms" if figure.in_milliseconds
                              else "distances/s")
    names = {text: handle for axes in all_axes[0]
             for handle, text in zip(*axes.get_legend_handles_labels(), strict=True)}
    drawn.legend(names.values(), names, frameon=False, fontsize="small", loc="outside right center")
    drawn.suptitle(title_on(number, figure, device), fontsize="medium")
    drawn.savefig(path, dpi=110)
    pyplot.close(drawn)
