"""`python -m nearfield.vision`: the matches of two images."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import cv2

from nearfield.vision._command import run_command
from nearfield.vision._images import DETECTORS, LINES, MOST_FEATURES, match_images

PROGRAM = "python -m nearfield.vision"


def ratio(given: str) -> float | None:
    if given == "none":
        return None
    number = float(given)
    if not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"{given} is not above 0 and at most 1, nor none")
    return number


def positive(given: str) -> int:
    number = int(given)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{given} is less than 1")
    return number


def picture_file(given: str) -> Path:
    if not cv2.haveImageWriter(given):
        raise argparse.ArgumentTypeError(f"{given} has no ending such as .png or .jpg")
    return Path(given)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Detects features in two images and matches them: of each feature of the "
        "first its nearest of the second, if it is clearly nearer than the second nearest (ratio "
        "test) and has that of the first for its own nearest (cross check).",
        epilog=f"Example: {PROGRAM} left.jpg right.jpg --draw matches.png",
    )
    made.add_argument("first", type=Path, help="an image, of any kind that OpenCV reads")
    made.add_argument("second", type=Path, help="the other image")
    made.add_argument(
        "--draw",
        type=picture_file,
        metavar="FILE",
        help=f"write a picture of both images and of {LINES} matches, evenly chosen from the "
        "closest to the farthest: .png, .jpg",
    )
    made.add_argument(
        "--detector",
        choices=DETECTORS,
        default="sift",
        help="what finds and describes features: sift; rootsift, which often matches better; orb, "
        "which is binary and faster (default: %(default)s)",
    )
    made.add_argument(
        "--ratio",
        type=ratio,
        default=0.8,
        metavar="R",
        help="the nearest must be nearer than so many times the second nearest; none: any is "
        "accepted (default: %(default)s)",
    )
    made.add_argument(
        "--max-features",
        type=positive,
        default=MOST_FEATURES,
        metavar="N",
        help="about how many are kept of each image, the most distinct ones (default: %(default)s)",
    )
    return made


def run(options: argparse.Namespace) -> None:
    found = match_images(
        options.first,
        options.second,
        detector=options.detector,
        ratio=options.ratio,
        max_features=options.max_features,
    )
    print(f"{options.first}: {len(found.first_points)} features")
    print(f"{options.second}: {len(found.second_points)} features")
    print(f"detected in {found.detect_seconds:.3f} s, by {options.detector}")
    print(f"{len(found.matches)} matches in {found.match_seconds:.3f} s")
    if options.draw:
        found.draw(options.draw)
        drawn = min(LINES, len(found.matches))
        print(f"{options.draw}: {drawn} of {len(found.matches)} matches drawn")


def main() -> int:
    return run_command(parser(), run)


if __name__ == "__main__":
    sys.exit(main())
