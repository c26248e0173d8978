"""The outcome as tables for people and as JSON for programs."""
import dataclasses
import json
import math
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from referee import arithmetic
from referee.answers import Verdict
from referee.gate import Ruling, verified_share
from referee.headline import Headline
from referee.outcome import Conditions, Entry, Outcome, Row

COLUMNS = ("who", "ms", "spread", "theirs / ours", "out of the box, ms", "queries/s", "recall",
           "mismatches", "prepared in, s")


def three_digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def kind(entry: Entry) -> str:
    said = "limit" if entry.is_limit else "approximate" if entry.approximate else "exact"
    return f"{said}, by {entry.sample:,} queries" if entry.sample else said


def worth(verdict: Verdict | None) -> str:
    if not verdict:
        return ""
    if verdict.error:
        return f"error {verdict.error[0]:,.0f} ± {verdict.error[1]:,.0f}"
    return f"{verdict.recall:.4f}"


def cells(entry: Entry, questions: int) -> tuple[str, ...]:
    middle = median(entry.times)
    assert entry.ratio
    verdict, plain = entry.verdict, entry.out_of_the_box
    return (f"{entry.label} ({kind(entry)})", three_digits(1e3 * middle),
            f"{arithmetic.spread(entry.times):.0%}",
            f"{entry.ratio.median:.3g} ({entry.ratio.smallest:.3g} to {entry.ratio.largest:.3g})",
            three_digits(1e3 * median(plain.times)) if plain and plain.times else "",
            three_digits(questions / middle),
            worth(verdict),
            f"{verdict.mismatches} of {verdict.positions}" if verdict else "",
            f"{entry.seconds_to_prepare:.2f}")


def aligned(table: list[tuple[str, ...]]) -> Iterable[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        yield "| " + " | ".join(cell.ljust(width)
                                for cell, width in zip(line, widths, strict=True)) + " |"


def print_row(row: Row, conditions: Conditions) -> None:
    rows, columns = row.base_shape
    questions = row.queries or rows
    print(f"\n{row.label}: base {rows} x {columns}, {questions} queries, {row.checked} of them "
          f"checked, {row.checked_by_definition} by the definition; {conditions.threads} threads, "
          f"{conditions.rounds} rounds, noise {row.noise:.0%}, Nearfield's ISA "
          f"{row.ours.plan.get('isa', 'unknown')}")
    timed = sorted((entry for entry in row.entries if entry.times),
                   key=lambda entry: median(entry.times))
    if timed:
        table = [COLUMNS, tuple("-" * len(name) for name in COLUMNS)]
        print("\n".join(aligned(table + [cells(entry, questions) for entry in timed])))
    computed = [f"{entry.label} {share:.3g} %" for entry in row.entries
                if (share := 100 * verified_share(entry)) >= 0]
    if computed:
        print(f"distances computed, of all: {', '.join(computed)}")
    for entry in row.entries:
        above = row.ours.verdict and entry.verdict and row.ours.verdict.error_above(entry.verdict)
        if above and entry is not row.ours:
            print(f"squared error of ours less that of {entry.label}, of the same vectors: "
                  f"{above[0]:+,.0f} ± {above[1]:,.0f}")
    if row.question.printed_micros and row.ours.times:
        print(f"ours: {three_digits(1e6 * median(row.ours.times) / questions)} µs a query; a paper "
              f"has {row.question.printed_micros:g} µs of its GPU")
    for entry in row.entries:
        if entry.refused:
            print(f"not timed: {entry.label}: {entry.refused}")
        if entry.out_of_the_box and entry.out_of_the_box.refused:
            print(f"not timed: {entry.label} out of the box: {entry.out_of_the_box.refused}")


def print_correctness(row: Row) -> None:
    """Of the true matches, and of everybody's."""
    of = {"the truth": row.correctness_of_truth} | {
        entry.label: entry.verdict.correctness for entry in row.entries if entry.verdict}
    found = [f"{who} {correct.precision:.4f} and {correct.recall:.4f}"
             for who, correct in of.items() if correct]
    if found:
        print("precision and recall of matches by what the images show: " + ", ".join(found))


def print_outcome(outcome: Outcome, conditions: Conditions, machine: dict[str, object]) -> None:
    for row in outcome.rows:
        print_row(row, conditions)
        print_correctness(row)
    print()
    for name, reason in outcome.absent.items():
        print(f"missing: {name}: {reason}")
    for name, speeds in outcome.blas.items():
        called = ", ".join(f"{core} {speed:.0f} GFLOP/s" for core, speed in speeds.items())
        print(f"BLAS of {name}: {called}")
    print("versions: " + ", ".join(f"{name} {version}"
                                   for name, version in sorted(outcome.versions.items())))
    print("machine: " + ", ".join(f"{name} {value}" for name, value in machine.items()))


def print_targets(found: Headline) -> None:
    """What is wanted beside what is: only far below it a run fails."""
    for row in found.rows:
        for figure in row.figures:
            if not math.isnan(figure.measured):
                word = "reached" if figure.measured >= figure.wanted else "missed"
                print(f"target {word}: {row.label}: {figure.who} / ours {figure.measured:.3g}, "
                      f"wanted {figure.wanted:g}")


def print_ruling(ruled: Ruling) -> None:
    for word, sentences in (("FAILED", ruled.failures), ("INCOMPLETE", ruled.incomplete),
                            ("not judged", ruled.unjudged)):
        for sentence in sentences:
            print(f"{word}: {sentence}")


def last_line(case: str, found: Headline) -> str:
    return (f"{case} ratio_peer={found.ratio_peer:.3f} ratio_limit={found.ratio_limit:.3f} "
            f"mismatches={found.mismatches}")


def for_json(value: Any) -> Any:
    """Dataclasses as what they hold, but for arrays; NaN, which JSON has not, as null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return for_json(dataclasses.asdict(value))
    if isinstance(value, dict):
        return {name: for_json(item) for name, item in value.items()
                if not isinstance(item, np.ndarray)}
    if isinstance(value, list | tuple):
        return [for_json(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def write_json(path: Path, outcome: Outcome, facts: dict[str, Any]) -> None:
    everything = for_json(facts) | for_json(outcome)
    path.write_text(json.dumps(everything, indent=1, allow_nan=False) + "\n")
