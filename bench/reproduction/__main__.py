"""The command bench/reproduce."""
import argparse
import json
import signal
import sys
from pathlib import Path
from typing import Any

from referee import machine, origin
from reproduction import ewh, gemm_sift, knn_gpu, kvp, kvp_gpu, lsh_sift, lsq, running
from reproduction.measured import Outcome
from reproduction.reporting import heading, print_figure
from reproduction.thesis import Thesis
from sets import store
from sets.catalogue import made

ROOT = Path(__file__).resolve().parents[2]
THESES = {"knn-gpu": knn_gpu.THESIS, "gemm-sift": gemm_sift.THESIS, "lsh-sift": lsh_sift.THESIS,
          "kvp": kvp.THESIS, "kvp-gpu": kvp_gpu.THESIS, "ewh": ewh.THESIS, "lsq": lsq.THESIS}
SIZES = {"tiny": "tiny, for tests: figures mean nothing",
         "quick": "quick, far below the thesis's: q and n of a table are what was measured",
         "full": "full, the thesis's, but for what is said to be cut"}
DESCRIPTION = """\
Measures the figures of a thesis again, on a device of this machine, and prints what the thesis
states of its own beside it."""


def parsed() -> argparse.Namespace:
    about = "\n".join(f"{name}: {thesis.title}; on a {thesis.device}"
                      for name, thesis in THESES.items())
    parser = argparse.ArgumentParser("bench/reproduce", description=DESCRIPTION, epilog=about,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("thesis", choices=list(THESES))
    parser.add_argument("--device", help="as `nearfield devices` lists them; cuda if there is one, "
                        "else opencl")
    parser.add_argument("--size", choices=list(SIZES), default="quick",
                        help="quick takes minutes on a CPU with OpenCL; full has the thesis's "
                        "sizes, cut where memory or time ends (default: %(default)s)")
    parser.add_argument("--only", action="append", default=[], metavar="FIGURE",
                        help="this figure; may be given several times")
    parser.add_argument("--rounds", type=int, default=3, help="(default: %(default)s)")
    parser.add_argument("--seconds", type=float, help="of a figure, at most")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="of lsq: keeps what was "
                        "trained and encoded there, and goes on with it")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release",
                        help="where the programs and plugins were built (default: build/release)")
    parser.add_argument("--dir", help="where data sets are kept; else $NEARFIELD_DATASETS, else "
                        "~/.cache/nearfield-datasets")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "reproduced",
                        help="for results.json and the pictures (default: build/reproduced)")
    asked = parser.parse_args()
    if asked.rounds < 1:
        parser.error(f"--rounds {asked.rounds}: must be at least 1")
    if asked.keep and not THESES[asked.thesis].keeps:
        parser.error(f"--keep: {asked.thesis} has nothing to keep")
    figures = THESES[asked.thesis].figures
    for number in asked.only:
        if number not in figures:
            parser.error(f"--only {number}: of {asked.thesis} there are {', '.join(figures)}")
    return asked


def print_finished(thesis: Thesis, outcome: Outcome, printed: set[str], current: str | None
                   ) -> None:
    """Figures that no further line belongs to."""
    for number, measured in outcome.figures.items():
        if number != current and number not in printed:
            printed.add(number)
            print_figure(number, thesis, measured, outcome.device)


def data_options(thesis: Thesis, asked: argparse.Namespace) -> list[str]:
    """Folders of the sets that the figures read; made now where they are not there."""
    wanted = {figure.data_set for number, figure in thesis.figures.items()
              if figure.data_set and (not asked.only or number in asked.only)}
    if asked.size == "tiny":
        return []  # the program makes up what it needs
    options = []
    for option, name in sorted(wanted):
        folder = made(name, asked.size, store.root(asked.dir))
        store.checked_sums(name, asked.size, folder)
        options += [option, str(folder)]
    return options


def measure(asked: argparse.Namespace) -> Outcome:
    thesis = THESES[asked.thesis]
    program = running.program(asked.build, thesis.program)
    device = asked.device or ("cpu" if thesis.on_cpu
                              else running.choose(running.listed(asked.build)))
    arguments = [*asked.only, "--device", device, "--size", asked.size,
                 "--rounds", str(asked.rounds), *data_options(thesis, asked)]
    if asked.keep:
        arguments += ["--keep", str(asked.keep / asked.size)]
    if asked.seconds:
        arguments += ["--seconds", str(asked.seconds)]
    outcome, printed = Outcome(), set[str]()
    for line in running.lines(program, arguments):
        outcome.add(line)
        if len(outcome.lines) == 1:
            print(heading(outcome.device), f"size: {SIZES[asked.size]}", sep="\n", flush=True)
        print_finished(thesis, outcome, printed, outcome.lines[-1].get("figure"))
    print_finished(thesis, outcome, printed, None)
    return outcome


def verdicts(thesis: Thesis, outcome: Outcome) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for number, measured in outcome.figures.items():
        for stated in thesis.figures[number].stated:
            verdict = stated.judge(measured)
            found.setdefault(number, []).append({"section": stated.section, "stated": stated.says,
                                                 "here": verdict.here, "holds": verdict.holds})
    return found


def write(outcome: Outcome, asked: argparse.Namespace) -> None:
    from reproduction import plots  # matplotlib, which takes a second to load
    thesis = THESES[asked.thesis]
    asked.output.mkdir(parents=True, exist_ok=True)
    written = {"thesis": asked.thesis, "thesis_device": thesis.device, "size": asked.size,
               **origin.facts(), "machine": machine.facts(),
               "verdicts": verdicts(thesis, outcome), "lines": outcome.lines}
    (asked.output / "results.json").write_text(json.dumps(written, indent=1) + "\n")
    pictures = 0
    for number, measured in outcome.figures.items():
        pictures += plots.draw(number, thesis.figures[number], measured, outcome.device,
                               asked.output / f"figure-{number}.png")
    print(f"\nwrote {asked.output}/results.json and {pictures} pictures")


def terminated(*_: object) -> None:
    """As an exception, so that the program that measures ends too."""
    sys.exit(128 + signal.SIGTERM)


def main() -> int:
    signal.signal(signal.SIGTERM, terminated)
    try:
        asked = parsed()
        write(measure(asked), asked)
    except (running.CannotRunError, ValueError) as error:
        print(f"bench/reproduce: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bench/reproduce: interrupted", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
