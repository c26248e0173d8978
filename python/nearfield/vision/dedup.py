"""`python -m nearfield.vision.dedup`: images of a folder that are nearly the same."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from nearfield.vision._command import run_command
from nearfield.vision._duplicates import USUAL_RADIUS, find_duplicates

PROGRAM = "python -m nearfield.vision.dedup"


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Finds images that are nearly the same, by a perceptual hash of each. Prints a "
        "line for each image that has a duplicate: the number of its group, in how many bits it "
        "differs from the group's first, and its name.",
        epilog=f"Example: {PROGRAM} photos --html duplicates.html",
    )
    made.add_argument("folder", type=Path, help="images in it and in its folders")
    made.add_argument(
        "--html",
        type=Path,
        metavar="FILE",
        help="write a page with small images of each group, to look through",
    )
    made.add_argument(
        "--bits",
        type=int,
        choices=USUAL_RADIUS,
        default=256,
        help="of the hash (default: %(default)s)",
    )
    made.add_argument(
        "--radius",
        type=int,
        metavar="R",
        help="in how many bits near-duplicates differ at most (default: 10 of 64, 31 of 256)",
    )
    return made


def run(options: argparse.Namespace) -> None:
    found = find_duplicates(options.folder, bits=options.bits, radius=options.radius)
    groups = found.groups
    for number in range(len(groups)):
        begin, end = groups.offsets[number], groups.offsets[number + 1]
        for row, distance in zip(groups.rows[begin:end], groups.distances[begin:end], strict=True):
            print(f"{number}\t{distance}\t{found.paths[row]}")
    for path, why in found.unreadable:
        print(f"{PROGRAM}: {path}: {why}", file=sys.stderr)
    print(
        f"{len(found.paths)} images, {len(groups)} groups, {len(groups.duplicates)} duplicates",
        file=sys.stderr,
    )
    if options.html:
        found.write_html(options.html)


def main() -> int:
    return run_command(parser(), run)


if __name__ == "__main__":
    sys.exit(main())
