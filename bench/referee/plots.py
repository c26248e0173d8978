"""Pictures of an outcome: bars against peers, recall against rate, time against n."""
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib

matplotlib.use("Agg")  # no screen is needed
from matplotlib import pyplot

from referee.cases import NEARFIELD
from referee.measure import say
from referee.outcome import Entry, Row
from referee.report import three_digits

OURS, PEER, LIMIT = "#c0392b", "#34679a", "#9a9a9a"
OUR_LINE = {"color": "black", "linewidth": 2.5, "zorder": 3}


def colour(entry: Entry) -> str:
    if entry.name == NEARFIELD:
        return OURS
    return LIMIT if entry.is_limit else PEER


def save(figure: Any, path: Path) -> None:
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    say(f"  wrote {path}")


def bars(row: Row, path: Path) -> None:
    """Milliseconds of everybody who is exact, and of the limits."""
    shown = sorted((entry for entry in row.entries if entry.times and not entry.approximate),
                   key=lambda entry: median(entry.times), reverse=True)
    figure, axes = pyplot.subplots(figsize=(8, 0.8 + 0.35 * len(shown)), constrained_layout=True)
    times = [1e3 * median(entry.times) for entry in shown]
    drawn = axes.barh([entry.label for entry in shown], times, color=list(map(colour, shown)))
    axes.bar_label(drawn, labels=list(map(three_digits, times)), padding=3)
    axes.margins(x=0.12)
    axes.set(title=f"{row.label}: milliseconds (grey: bare limits)", xlabel="ms")
    save(figure, path)


def recall_against_rate(row: Row, path: Path) -> None:
    figure, axes = pyplot.subplots(figsize=(8, 4.5), constrained_layout=True)
    answered = [entry for entry in row.entries if entry.times and entry.verdict]
    for name in dict.fromkeys(entry.name for entry in answered):
        mine = [entry for entry in answered if entry.name == name]
        recalls = [entry.verdict.recall for entry in mine if entry.verdict]
        rates = [row.queries / median(entry.times) for entry in mine]
        style = OUR_LINE if name == NEARFIELD else {}
        axes.plot(recalls, rates, marker="o", label=name, **style)
    axes.set(title=f"{row.label}: recall against rate", xlabel="recall", ylabel="queries/s",
             yscale="log")
    axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, path)


def time_against_n(rows: list[Row], path: Path) -> None:
    """`rows`: the same question about ever more of the base."""
    figure, axes = pyplot.subplots(figsize=(8, 4.5), constrained_layout=True)
    timed = [(row.base_shape[0], entry) for row in rows for entry in row.entries
             if entry.times and not entry.approximate]
    for name in dict.fromkeys(entry.name for _, entry in timed):
        points = [(n, 1e3 * median(entry.times)) for n, entry in timed if entry.name == name]
        style = OUR_LINE if name == NEARFIELD else {}
        axes.plot(*zip(*points, strict=True), marker="o", label=name, **style)
    axes.set(title=f"{rows[-1].label}: time against n", xlabel="base rows", ylabel="ms",
             xscale="log", yscale="log")
    axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, path)
