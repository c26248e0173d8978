"""The command bench/reproduce."""
import argparse
import json
import signal
import sys
from pathlib import Path
from typing import Any

from referee import machine, origin
from reproduction import running
from reproduction.figures import FIGURES, THESIS_DEVICE
from reproduction.measured import Outcome
from reproduction.reporting import heading, print_figure

ROOT = Path(__file__).resolve().parents[2]
DESCRIPTION = f"""\
Measures the figures of a thesis again, on a device of this machine, and prints what the thesis
states of its own ({THESIS_DEVICE}) beside it. knn-gpu: D. Hanak, Meeting the challenges of
k-nearest neighbour search implementation for GPU accelerators, Charles University, 2023."""


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser("bench/reproduce", description=DESCRIPTION)
    parser.add_argument("thesis", choices=["knn-gpu"])
    parser.add_argument("--device", help="as `nearfield devices` lists them; cuda if there is one, "
                        "else opencl")
    parser.add_argument("--size", choices=["tiny", "quick", "full"], default="quick",
                        help="quick takes minutes on a CPU with OpenCL; full has the thesis's "
                        "sizes, cut where memory or time ends (default: %(default)s)")
    parser.add_argument("--only", action="append", choices=list(FIGURES), default=[],
                        help="this figure; may be given several times")
    parser.add_argument("--rounds", type=int, default=3, help="(default: %(default)s)")
    parser.add_argument("--seconds", type=float, help="of a figure, at most")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release",
                        help="where the programs and plugins were built (default: build/release)")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "reproduced",
                        help="for results.json and the pictures (default: build/reproduced)")
    asked = parser.parse_args()
    if asked.rounds < 1:
        parser.error(f"--rounds {asked.rounds}: must be at least 1")
    return asked


def print_finished(outcome: Outcome, printed: set[str], current: str | None) -> None:
    """Figures that no further line belongs to."""
    for number, measured in outcome.figures.items():
        if number != current and number not in printed:
            printed.add(number)
            print_figure(number, FIGURES[number], measured, outcome.device)


def measure(asked: argparse.Namespace) -> Outcome:
    device = asked.device or running.choose(running.listed(asked.build))
    outcome, printed = Outcome(), set[str]()
    for line in running.lines(asked.build, device, asked.size, asked.rounds, asked.only,
                              asked.seconds):
        outcome.add(line)
        if len(outcome.lines) == 1:
            print(heading(outcome.device), flush=True)
        print_finished(outcome, printed, outcome.lines[-1].get("figure"))
    print_finished(outcome, printed, None)
    return outcome


def verdicts(outcome: Outcome) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for number, measured in outcome.figures.items():
        for stated in FIGURES[number].stated:
            verdict = stated.judge(measured)
            found.setdefault(number, []).append({"section": stated.section, "stated": stated.says,
                                                 "here": verdict.here, "holds": verdict.holds})
    return found


def write(outcome: Outcome, asked: argparse.Namespace) -> None:
    from reproduction import plots  # matplotlib, which takes a second to load
    asked.output.mkdir(parents=True, exist_ok=True)
    written = {"thesis": asked.thesis, "thesis_device": THESIS_DEVICE, "size": asked.size,
               **origin.facts(), "machine": machine.facts(), "verdicts": verdicts(outcome),
               "lines": outcome.lines}
    (asked.output / "results.json").write_text(json.dumps(written, indent=1) + "\n")
    for number, measured in outcome.figures.items():
        if measured.places:
            plots.draw(number, FIGURES[number], measured, outcome.device,
                       asked.output / f"figure-{number}.png")
    print(f"\nwrote {asked.output}/results.json and {len(outcome.figures)} pictures")


def terminated(*_: object) -> None:
    """As an exception, so that the program that measures ends too."""
    sys.exit(128 + signal.SIGTERM)


def main() -> int:
    signal.signal(signal.SIGTERM, terminated)
    try:
        asked = parsed()
        write(measure(asked), asked)
    except running.CannotRunError as error:
        print(f"bench/reproduce: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bench/reproduce: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
