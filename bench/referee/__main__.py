"""The command bench/compare."""
import argparse
import dataclasses
import re
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from referee import arguments, machine, origin, report
from referee.cases import CASES, NEARFIELD, Case, Group
from referee.gate import ruling
from referee.headline import headline
from referee.measure import measure, say
from referee.outcome import Conditions, Outcome, Row
from referee.process import PeerError
from referee.targets import read_target
from sets import store
from sets.catalogue import made

PARTS_OF_N = (8, 4, 2)  # for time against n: an eighth of the base, a quarter, a half


def is_chosen(way: str, wanted: list[str]) -> bool:
    return not wanted or way in wanted or way.partition("/")[0] in wanted


def known_ways(case: Case) -> set[str]:
    return {way for group in case.groups for way in (*group.ways, *group.approximate)}


def check_peers(case: Case, wanted: list[str]) -> None:
    ways = known_ways(case)
    names = ways | {way.partition("/")[0] for way in ways} | {NEARFIELD, "nearfield"}
    unknown = sorted(set(wanted) - names)
    if unknown:
        raise ValueError(f"--peers {','.join(unknown)}: {case.name} has {', '.join(sorted(ways))}")


def ways_of(group: Group, wanted: list[str], size: str, outcome: Outcome) -> list[str]:
    """At full size without those who take long, unless they are named."""
    late = {} if size == "quick" or wanted else dict.fromkeys(
        group.slow, "at full size only if --peers names it: it, or building it, takes long")
    everybody = (*group.ways, *group.approximate)
    outcome.absent |= {way: late[way] for way in everybody if way in late}
    return [way for way in everybody
            if is_chosen(way, wanted) and way not in late and way != NEARFIELD]


def with_rows(case: Case, size: str, text: str) -> list[Group]:
    """Groups with their questions of this size whose row's name holds the text, as whole words."""
    wanted, found = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)"), []
    for group in case.groups:
        questions = tuple(question for question in group.asked(size)
                          if not text or wanted.search(f"{group.subject} {question}"))
        if questions:
            found.append(dataclasses.replace(group, questions=questions,
                                             questions_at_full=questions))
    if not found:
        rows = "; ".join(f"{group.subject} {question}" for group in case.groups
                         for question in group.asked(size))
        raise ValueError(f"--only {text}: {case.name} has the rows {rows}")
    return found


def scaled(case: Case, row: Row, folder: Path, ways: list[str], conditions: Conditions
           ) -> list[Row]:
    """The row's question about parts of the base, and the row itself."""
    group = next(group for group in case.groups
                 if group.subject == row.subject and row.question in group.asked(conditions.size))
    rows = []
    for part in PARTS_OF_N:
        count = row.base_shape[0] // part
        if count == 0:
            continue
        smaller = dataclasses.replace(group, questions=(row.question,),
                                      questions_at_full=(), base_rows=(count, count))
        measured = measure(case, smaller, ways, folder, conditions)
        for name, reason in measured.absent.items():
            say(f"  missing at n = {count}: {name}: {reason}")
        rows += measured.rows
    return [*rows, row]


def plot(case: Case, outcome: Outcome, headlines: list[str], folders: dict[str, Path],
         conditions: Conditions, target: Path) -> None:
    from referee import plots  # matplotlib, which a plain run does without
    target.mkdir(parents=True, exist_ok=True)
    for number, row in enumerate(outcome.rows):
        plots.bars(row, target / f"{case.name}-{number}-bars.png")
        if any(entry.approximate and entry.times for entry in row.entries):
            plots.recall_against_rate(row, target / f"{case.name}-{number}-recall.png")
    row = next((row for row in outcome.rows if row.label in headlines), outcome.rows[0])
    exact = [entry.name for entry in row.entries
             if entry.times and not entry.approximate and entry is not row.ours]
    rows = scaled(case, row, folders[row.subject], exact, conditions)
    plots.time_against_n(rows, target / f"{case.name}-time.png")


def run(asked: argparse.Namespace) -> int:
    case = CASES[asked.case]
    wanted = asked.peers.split(",") if asked.peers else []
    check_peers(case, wanted)
    facts, made_from = machine.facts(), origin.facts()
    machine.keep_to_cores(asked.threads)
    conditions = Conditions(asked.size, asked.threads, asked.rounds, asked.patience,
                            asked.out_of_the_box or asked.size == "quick")
    outcome, folders, data = Outcome(), dict[str, Path](), dict[str, Any]()
    for group in with_rows(case, asked.size, asked.only):
        folder = made(group.data_set, asked.size, store.root(asked.dir))
        folders[group.subject] = folder
        if group.data_set not in data:
            data[group.data_set] = store.checked_sums(group.data_set, asked.size, folder)
        ways = ways_of(group, wanted, asked.size, outcome)
        outcome.add(measure(case, group, ways, folder, conditions), group.subject)
    target = read_target(case.name, asked.size)
    if asked.only:
        target = target.of_rows({row.label for row in outcome.rows})
    found = headline(outcome.rows, target)
    report.print_outcome(outcome, conditions, facts)
    report.print_targets(found)
    ruled = ruling(outcome, found, target, peers_chosen=bool(wanted))
    report.print_ruling(ruled)
    print(report.last_line(case.name, found), flush=True)
    if asked.json:
        report.write_json(asked.json, outcome, {
            "case": case.name, **made_from, "conditions": conditions, "machine": facts,
            "data": data, "headline": found})
    if asked.plot:
        plot(case, outcome, list(target.rows), folders, conditions, asked.plot)
    return ruled.exit_code


def terminated(*_: object) -> None:
    """As an exception, so that the children end too."""
    say("bench/compare: terminated")
    sys.exit(128 + signal.SIGTERM)


def main() -> int:
    """1 is for what the run found: whatever went wrong on the way is 2."""
    signal.signal(signal.SIGTERM, terminated)
    try:
        return run(arguments.parsed())
    except (PeerError, RuntimeError, ValueError) as error:
        say(f"bench/compare: {error}")
    except KeyboardInterrupt:
        say("bench/compare: interrupted")
        return 128 + signal.SIGINT
    except Exception:
        traceback.print_exc()
        say("bench/compare: an unexpected error, see above")
    return 2


if __name__ == "__main__":
    sys.exit(main())
