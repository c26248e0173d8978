"""The arguments of bench/compare. What would fail after an hour of measuring fails here."""
import argparse
import os
from pathlib import Path

from referee.cases import CASES
from sets import store


def why_no_file(path: Path) -> str | None:
    if path.is_dir():
        return f"--json {path}: is a folder, a file is wanted"
    if not path.parent.is_dir():
        return f"--json {path}: there is no folder {path.parent}: make it first"
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        return f"--json {path}: may not be written"
    return None


def why_no_folder(path: Path) -> str | None:
    """Folders that are missing will be made, in the nearest that is there."""
    nearest = next(place for place in (path, *path.absolute().parents) if place.exists())
    if not nearest.is_dir():
        return f"--plot {path}: {nearest} is not a folder"
    if not os.access(nearest, os.W_OK | os.X_OK):
        return f"--plot {path}: {nearest} may not be written"
    return None


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench/compare", description="Measures Nearfield, its peers and the bare limits in "
        "turns, on the same data and cores, and checks every answer. See docs/benchmarks.md.")
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--size", choices=store.SIZES, default="quick")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), metavar="N",
                        help="else every core that this process may use")
    parser.add_argument("--rounds", type=int, default=5, metavar="R")
    parser.add_argument("--peers", metavar="A,B", help="only these, such as faiss,mkl_gemm/sgemm; "
                        "slow ones at full size run only if named")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose name holds these "
                        "words, such as 'sift-1m k=10'")
    parser.add_argument("--out-of-the-box", action="store_true", help="peers without their "
                        "environment variables too; at quick size they always are")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="DIR")
    parser.add_argument("--patience", type=float, default=1800, metavar="SECONDS",
                        help="longest wait for one answer of a peer")
    parser.add_argument("--dir", help="where data sets are kept, as for bench/datasets")
    asked = parser.parse_args()
    if asked.rounds < 1 or asked.threads < 1:
        parser.error(f"--rounds {asked.rounds} --threads {asked.threads}: each must be at least 1")
    problem = (asked.json and why_no_file(asked.json)) or (asked.plot and why_no_folder(asked.plot))
    if problem:
        parser.error(problem)
    return asked
