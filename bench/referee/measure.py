"""Runs a group of a case: everybody prepared, checked, and then timed in turns."""
import dataclasses
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from peers import BEST_ENVIRONMENT, HELD_TO
from referee import arithmetic, blas, machine
from referee.answers import Truth, judge_codes, judge_matches, judge_nearest, judge_ranges
from referee.cases import CODING, NEARFIELD, Case, Group, Question
from referee.material import Material, load, portion_of
from referee.outcome import Conditions, Entry, Outcome, Row
from referee.process import PeerError, Process, thread_counts
from referee.truth import Oracle
from sets.random_streams import stream

MKL = "mkl_gemm/sgemm"
BLAS_TRIES = 5
LEAST_SECONDS = 0.1  # a run repeats its search for so long, so that the clock is no part of it


@dataclass
class Contender:
    """One who is measured: a way, at its best or out of the box."""
    name: str
    process: Process
    facts: dict[str, Any]
    sample: int   # the queries that it answers; 0: all


@dataclass
class Turn:
    """Who is asked, and the line that the answer is for."""
    contender: Contender
    entry: Entry


def shape_of(base: np.ndarray) -> tuple[int, int]:
    """Texts are one column."""
    return len(base), base.shape[1] if base.ndim > 1 else 1


def say(text: str) -> None:
    """Progress, apart from the results."""
    print(text, file=sys.stderr, flush=True)


class Table:
    """The contenders of a group, while their processes live."""

    def __init__(self, case: Case, group: Group, folder: Path, conditions: Conditions) -> None:
        self.operation, self.held_to, self.conditions = case.operation, case.held_to, conditions
        self.portion = portion_of(group, folder, conditions.size)
        self.material: Material = load(self.portion)
        self.group = group
        samples = [group.sample_of(way, conditions.size) for way in group.samples]
        self.oracle = Oracle(self.material, self.operation, group.asked(conditions.size),
                             conditions.size, min(samples, default=0))
        self.outcome = Outcome()
        self.contenders: dict[str, Contender] = {}
        self.plain: dict[str, Contender] = {}   # out of the box
        self.twin: Contender | None = None      # Nearfield again, for the noise

    def __enter__(self) -> "Table":
        return self

    def __exit__(self, *_: object) -> None:
        everybody = [*self.contenders.values(), *self.plain.values(), self.twin]
        for contender in filter(None, everybody):
            contender.process.end()

    def start(self, name: str, label: str, extra: dict[str, str]) -> Contender:
        say(f"  {label} gets {self.group.subject}")
        chosen = thread_counts(self.conditions.threads) | extra
        self.outcome.environment[label] = chosen
        process = Process(name, label, chosen, self.conditions.patience)
        sample = self.group.sample_of(name, self.conditions.size)
        portion = dataclasses.replace(self.portion, queries=sample or self.portion.queries)
        try:
            facts = process.ask(do="start", portion=dataclasses.asdict(portion),
                                operation=self.operation, threads=self.conditions.threads)
        except PeerError:
            process.end()
            raise
        return Contender(name, process, facts, sample)

    def environment_of(self, name: str) -> dict[str, str]:
        chosen = BEST_ENVIRONMENT if machine.has_avx512() else {}
        if self.held_to:
            chosen = HELD_TO[self.held_to]
        return chosen.get(name.partition("/")[0], {})

    def seat(self, name: str) -> None:
        """Starts a way at its best and, if that needs an environment, out of the box too."""
        best = self.environment_of(name)
        try:
            contender = self.start(name, name, best)
        except PeerError as failure:
            self.outcome.absent[name] = str(failure)
            return
        self.contenders[name] = contender
        self.outcome.versions.update(contender.facts["versions"])
        if best and contender.facts["uses_blas"] and self.conditions.out_of_the_box and (
                not self.held_to):
            try:
                self.plain[name] = self.start(name, f"{name} out of the box", {})
            except PeerError as failure:
                self.outcome.absent[f"{name} out of the box"] = str(failure)

    def refuse_slow_blas(self) -> None:
        """Each BLAS called bare, in turns with MKL's; the best of some tries counts."""
        users = [name for name, contender in self.contenders.items()
                 if contender.facts["uses_blas"] and name != MKL]
        guest = users and MKL not in self.contenders
        if guest:
            self.seat(MKL)
        for name in users:
            reason = (self.why_too_slow(name) if MKL in self.contenders
                      else f"no {MKL} to compare its BLAS with")
            if reason:
                self.outcome.absent[name] = f"refused: {reason}"
                self.leave(name)
        if guest and self.operation in CODING:   # it makes no codes
            self.leave(MKL)

    def leave(self, name: str) -> None:
        for seats in (self.contenders, self.plain):
            if name in seats:
                seats.pop(name).process.end()

    def why_too_slow(self, name: str) -> str | None:
        reason = None
        for _ in range(BLAS_TRIES):
            for asked in (MKL, name):
                best = self.outcome.blas.setdefault(asked, {})
                for core, speed in self.contenders[asked].process.ask(do="blas")["speeds"].items():
                    best[core] = max(speed, best.get(core, 0))
            reason = blas.too_slow(self.outcome.blas[name], self.outcome.blas[MKL])
            if reason is None:
                break
        return reason

    def judge(self, entry: Entry, answer: Path, truth: Truth) -> None:
        with np.load(answer) as arrays:
            parts = [arrays[name] for name in arrays.files]
        if self.operation == "within":
            entry.verdict = judge_ranges(*parts, truth)
        elif self.operation == "match":
            entry.verdict = judge_matches(*parts, truth)
        elif self.operation in CODING:
            entry.verdict = judge_codes(*parts, self.material.queries)
        else:
            entry.verdict = judge_nearest(*parts, truth, ties_forgiven=entry.name != NEARFIELD)
        if entry.verdict.refuses(entry.approximate):
            entry.refused = (f"wrong answers: recall {entry.verdict.recall:.4f}, "
                             f"{entry.verdict.mismatches} mismatches")

    def turns(self, contenders: dict[str, Contender], question: Question, truth: Truth
              ) -> list[Turn]:
        """Everybody's answer, looked at before any time counts."""
        found = []
        for contender in contenders.values():
            say(f"  {contender.name} answers {question}")
            facts = contender.facts
            for setting in facts["settings"] or [{}]:
                entry = Entry(contender.name, setting, facts["is_limit"],
                              contender.name in self.group.approximate, facts["seconds"],
                              contender.sample)
                found.append(Turn(contender, entry))
                try:
                    self.warm(contender, entry, question, truth)
                except (PeerError, ValueError) as failure:
                    entry.refused = str(failure)
        return found

    def warm(self, contender: Contender, entry: Entry, question: Question, truth: Truth) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "answer.npz"
            entry.plan = contender.process.ask(
                do="warm", question=dataclasses.asdict(question), setting=entry.setting,
                file=str(file))["plan"]
            used = entry.plan.get("isa", self.held_to)
            if self.held_to and used.lower() != self.held_to:
                raise PeerError(f"it is to be held to {self.held_to} and uses {used}")
            if not entry.is_limit:
                self.judge(entry, file, truth.of_first(entry.sample) if entry.sample else truth)

    def time(self, contender: Contender, setting: dict[str, int], question: Question) -> float:
        """Of all queries, by those that it answers."""
        seconds = contender.process.ask(do="run", question=dataclasses.asdict(question),
                                        setting=setting, least=LEAST_SECONDS)["seconds"]
        return seconds * self.portion.queries / contender.sample if contender.sample else seconds

    def times_against_itself(self, question: Question) -> tuple[list[float], list[float]]:
        """Of Nearfield and its twin, in turns."""
        if self.twin is None:
            self.twin = self.start(NEARFIELD, f"{NEARFIELD} again",
                                   self.environment_of(NEARFIELD))
        times: tuple[list[float], list[float]] = ([], [])
        say("  Nearfield against itself")
        self.time(self.twin, {}, question)
        pair = ((self.contenders[NEARFIELD], times[0]), (self.twin, times[1]))
        for number in range(self.conditions.rounds):
            for contender, taken in pair if number % 2 else reversed(pair):
                taken.append(self.time(contender, {}, question))
        return times

    def play_rounds(self, turns: list[Turn], question: Question) -> None:
        """Each round in another order, so that nobody always comes after the same."""
        timed = [turn for turn in turns if not turn.entry.refused]
        for number in range(self.conditions.rounds):
            say(f"  round {number + 1} of {self.conditions.rounds}, {len(timed)} contenders")
            for index in stream(f"round about {question}", number).permutation(len(timed)):
                self.time_once(timed[index], question)

    def time_once(self, turn: Turn, question: Question) -> None:
        entry = turn.entry
        if entry.refused:
            return
        try:
            entry.times.append(self.time(turn.contender, entry.setting, question))
        except PeerError as failure:
            if entry.name == NEARFIELD:
                raise
            entry.refused = f"failed in round {len(entry.times) + 1}: {failure}"
            entry.times.clear()

    def row(self, question: Question) -> Row:
        say(f"  truth of {self.group.subject} {question}")
        truth = self.oracle.truth_of(question)
        turns = self.turns(self.contenders, question, truth)
        plain_turns = self.turns(self.plain, question, truth)
        entries = [turn.entry for turn in turns]
        for turn in plain_turns:
            best = next(entry for entry in entries if entry.label == turn.entry.label)
            best.out_of_the_box = turn.entry
        row = Row(self.group.subject, question, shape_of(self.material.base),
                  len(self.material.queries), len(truth.queries), truth.by_definition, 0.0, entries,
                  correctness_of_truth=truth.own_correctness())
        if row.ours.refused:
            if row.ours.verdict is None:
                raise PeerError(f"Nearfield itself: {row.ours.refused}")
            return row
        row.own_times = self.times_against_itself(question)
        row.noise = arithmetic.noise(*row.own_times)
        self.play_rounds(turns + plain_turns, question)
        for entry in (turn.entry for turn in turns + plain_turns):
            if entry.times:
                entry.ratio = arithmetic.ratio(entry.times, row.ours.times)
        return row


def measure(case: Case, group: Group, ways: list[str], folder: Path, conditions: Conditions
            ) -> Outcome:
    with Table(case, group, folder, conditions) as table:
        for name in (NEARFIELD, *ways):
            table.seat(name)
        if NEARFIELD not in table.contenders:
            raise PeerError(f"Nearfield itself: {table.outcome.absent[NEARFIELD]}")
        table.refuse_slow_blas()
        for question in group.asked(conditions.size):
            table.outcome.rows.append(table.row(question))
        return table.outcome
