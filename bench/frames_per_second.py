#!/usr/bin/env python3
"""How many frames a second two images make at 45,000 features each: detected, matched, and both.

  bench/python bench/frames_per_second.py [--rounds N] [--device NAME]

The images are made as those of the set sift-pair-45k: a picture of a Debian package, and a view of
it by a homography. A frame is both of them, from grey pixels in memory to matches: SIFT of OpenCV,
its values as bytes, two nearest both ways, ratio 0.8, each other's nearest. Beside it stands what a
thesis has for matching alone: S. M. Richards, Comparing LSH and brute-force on GPU for SIFT feature
point matching, University of Oslo, 2022, section 5.4.7.
"""
import argparse
import statistics
import time

import cv2
import nearfield as nf
import numpy as np

from referee import machine
from sets import pictures, store, views
from sets.pictures import Picture
from sets.random_streams import stream

FEATURES = 45_000
LONGER_SIDE = 4_000
PACKAGE = "lomiri-wallpapers-16.04"
# One way, and by products of halves in which lengths have no part: not exact.
THESIS_SECONDS = 0.036530


def both_images(picture: Picture, number: int) -> tuple[np.ndarray, np.ndarray]:
    pixels = pictures.read_grey(picture, LONGER_SIDE)
    random = stream("view", "query", number, 0)
    return pixels, views.see(pixels, views.homography(pixels.shape, random), random)


def descriptors(image: np.ndarray) -> np.ndarray:
    """The strongest, as bytes: their values are whole numbers up to 255."""
    _, found = cv2.SIFT_create(nfeatures=FEATURES).detectAndCompute(image, None)
    return found[:FEATURES].astype(np.uint8)


def detected(images: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    first, second = map(descriptors, images)
    return first, second


def rich_images() -> tuple[Picture, tuple[np.ndarray, np.ndarray]]:
    """The first picture that has enough features, and so has its view."""
    shown, _ = pictures.all_pictures(store.root(), (PACKAGE,))
    for number, picture in enumerate(shown):
        images = both_images(picture, number)
        if min(map(len, detected(images))) == FEATURES:
            return picture, images
    raise RuntimeError(f"none of {len(shown)} pictures of {PACKAGE} has {FEATURES} features, and "
                       "as many in its view")


def line(name: str, rounds: list[float]) -> str:
    median = statistics.median(rounds)
    spread = f"{100 * (max(rounds) - min(rounds)) / median:.0f} %" if len(rounds) > 1 else ""
    return f"| {name} | {1000 * median:.1f} | {spread} | {1 / median:.2f} |"


def measure(images: tuple[np.ndarray, np.ndarray], rounds: int, device: str) -> nf.Pairs:
    """Prints the table; returns the matches."""
    def matched(first: np.ndarray, second: np.ndarray) -> nf.Pairs:
        return nf.match(first, second, ratio=0.8, cross_check="nearest", device=device)

    features = detected(images)
    found = matched(*features)   # the first call of all: threads start, a device compiles
    alone, detecting, whole = [], [], []
    for _ in range(rounds):
        begin = time.perf_counter()
        matched(*features)
        alone.append(time.perf_counter() - begin)
    for _ in range(rounds):
        begin = time.perf_counter()
        features = detected(images)
        detecting.append(time.perf_counter() - begin)
        matched(*features)
        whole.append(time.perf_counter() - begin)
    print("| a frame | ms | spread | frames/s |\n|---|---|---|---|")
    print(line("matching alone", alone))
    print(line("the thesis's, on an RTX 3060", [THESIS_SECONDS]))
    print(line("detection and matching", whole))
    print(line("detection of these", detecting))
    return found


def chosen_device(name: str) -> nf.DeviceInfo:
    found = {device.id: device for device in nf.devices().devices}
    if name not in found:
        raise SystemExit(f"--device {name}: there is {', '.join(found)}")
    return found[name]


def main() -> None:
    parser = argparse.ArgumentParser(description="Frames a second of two images, 45k x 45k.")
    parser.add_argument("--rounds", type=int, default=9, help="default: %(default)s")
    parser.add_argument("--device", default="cpu", help="one that matches: cpu, cuda:0, opencl:0")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"--rounds {options.rounds}: expected at least 1")
    device = chosen_device(options.device)
    picture, images = rich_images()
    height, width = images[0].shape
    facts = machine.facts()
    print(f"{picture.path.name}, {width} x {height} pixels, and a view of it; {FEATURES} SIFT "
          f"features each, {options.rounds} rounds")
    print(f"matched on {device.id}, {device.name}, {device.driver}; the rest on "
          f"{facts['cores']} cores of {facts['cpu']}; load before {facts['load_before']}")
    found = measure(images, options.rounds, device.id)
    plan = found.stats.plan
    print(f"{len(found)} matches by {plan.kernel}, {plan.filter}")


if __name__ == "__main__":
    main()
