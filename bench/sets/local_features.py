"""SIFT and ORB descriptors of pictures and of views of them, and which belong together."""
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from sets import pictures, views
from sets.pictures import Picture
from sets.random_streams import stream
from sets.vector_files import write_rows

UNWARPED = 0
EVERY_NTH_IS_FOR_LEARNING = 8
TOLERANCE = 2.0               # pixels between a query's true place and a base keypoint
CORRESPONDENCES = 4           # columns of the file; several keypoints may share a place
NOBODY = -1


@dataclass(frozen=True)
class Amounts:
    base: int
    learn: int
    queries: int
    longer_side: int          # to which pictures are made smaller
    strongest: int            # keypoints that are kept of a view
    packages: tuple[str, ...]
    contrast: float = 0.04    # of SIFT: keypoints have at least so much


@dataclass(frozen=True)
class View:
    """What one process computes: a view of a picture and its descriptors."""
    picture: Picture
    number: int               # in the set of pictures
    purpose: str
    round: int
    detector: str
    amounts: Amounts


@dataclass
class Features:
    """Descriptors, each with the number of its picture, its place there, and its round of views."""
    descriptors: np.ndarray
    places: np.ndarray
    picture: np.ndarray
    round: np.ndarray

    def __getitem__(self, chosen: np.ndarray) -> "Features":
        return Features(self.descriptors[chosen], self.places[chosen], self.picture[chosen],
                        self.round[chosen])

    def __len__(self) -> int:
        return len(self.descriptors)


def joined(parts: list[Features]) -> Features:
    return Features(np.concatenate([part.descriptors for part in parts]),
                    np.concatenate([part.places for part in parts]),
                    np.concatenate([part.picture for part in parts]),
                    np.concatenate([part.round for part in parts]))


def detect(pixels: np.ndarray, detector: str, amounts: Amounts) -> tuple[np.ndarray, np.ndarray]:
    made = (cv2.SIFT_create(nfeatures=amounts.strongest, contrastThreshold=amounts.contrast)
            if detector == "sift" else cv2.ORB_create(nfeatures=amounts.strongest))
    columns = {"sift": 128, "orb": 32}[detector]
    keypoints, descriptors = made.detectAndCompute(pixels, None)
    if descriptors is None:
        descriptors = np.empty((0, columns), dtype=np.uint8)
    places = np.array([keypoint.pt for keypoint in keypoints], dtype=np.float64).reshape(-1, 2)
    # SIFT's values are whole numbers from 0 to 255, stored as float32: nothing is lost.
    return places, descriptors.astype(np.uint8)


def features_of(view: View) -> Features:
    cv2.setNumThreads(1)
    pixels = pictures.read_grey(view.picture, view.amounts.longer_side)
    if view.purpose != "query" and view.round == UNWARPED:
        places, descriptors = detect(pixels, view.detector, view.amounts)
    else:
        random = stream("view", view.purpose, view.number, view.round)
        to_view = views.homography(pixels.shape, random)
        seen = views.see(pixels, to_view, random)
        places, descriptors = detect(seen, view.detector, view.amounts)
        places = views.back_to_picture(places, to_view)
    kept = views.inside(places, pixels.shape)
    rows = int(kept.sum())
    return Features(descriptors[kept], places[kept], np.full(rows, view.number),
                    np.full(rows, view.round))


def rounds_until(count: int, chosen: list[tuple[int, Picture]], purpose: str, detector: str,
                 amounts: Amounts, pool: ProcessPoolExecutor) -> Iterator[Features]:
    """All pictures once, then again as other views, until there are enough."""
    found, round_number = 0, 0
    while found < count:
        asked = [View(picture, number, purpose, round_number, detector, amounts)
                 for number, picture in chosen]
        features = joined(list(pool.map(features_of, asked)))
        if not len(features):
            raise RuntimeError(f"{detector}: {len(chosen)} pictures have no keypoint at all")
        found += len(features)
        print(f"  {purpose}: {found} of {count} {detector} descriptors after "
              f"{round_number + 1} views of {len(chosen)} pictures", flush=True)
        yield features
        round_number += 1


def collect(count: int, chosen: list[tuple[int, Picture]], purpose: str, detector: str,
            amounts: Amounts, pool: ProcessPoolExecutor) -> Features:
    """Only the last round is thinned out, so that the unwarped pictures stay whole; then mixed."""
    rounds = list(rounds_until(count, chosen, purpose, detector, amounts, pool))
    random = stream("order", purpose, detector)
    missing = count - sum(len(features) for features in rounds[:-1])
    last = rounds[-1]
    rounds[-1] = last[np.sort(random.permutation(len(last))[:missing])]
    return joined(rounds)[random.permutation(count)]


def rows_at_the_places(queries: Features, base: Features, tolerance: float) -> list[np.ndarray]:
    """Of each query the base rows, of the unwarped picture, at the place that it shows: nearest
    first."""
    found = [np.empty(0, dtype=np.int64)] * len(queries)
    for number in np.unique(queries.picture):
        rows = np.flatnonzero((base.picture == number) & (base.round == UNWARPED))
        rows = rows[np.argsort(base.places[rows, 0])]
        across = base.places[rows, 0]
        for query in np.flatnonzero(queries.picture == number):
            # Only a strip is near enough; a pixel wider, so that rounding leaves nobody out.
            x, reach = queries.places[query, 0], tolerance + 1
            strip = rows[slice(*np.searchsorted(across, (x - reach, x + reach)))]
            away = np.hypot(*(base.places[strip] - queries.places[query]).T)
            near = np.lexsort((strip, away))
            found[query] = strip[near[away[near] <= tolerance]]
    return found


def correspondences(found: list[np.ndarray], columns: int) -> np.ndarray:
    """The nearest rows of each query as a table; where there are fewer than columns, NOBODY."""
    table = np.full((len(found), columns), NOBODY, dtype=np.int32)
    for query, rows in enumerate(found):
        table[query, :len(rows)] = rows[:columns]
    return table


def make(folder: Path, detector: str, amounts: Amounts, cache: Path) -> dict[str, object]:
    everything, origin = pictures.all_pictures(cache, amounts.packages)
    numbered = list(enumerate(everything))
    learning = numbered[::EVERY_NTH_IS_FOR_LEARNING]
    shown = [entry for entry in numbered if entry not in learning]
    # Spawned: a forked child of a process in which OpenCV has started threads may hang.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=2, mp_context=spawn) as pool:
        base = collect(amounts.base, shown, "base", detector, amounts, pool)
        learn = collect(amounts.learn, learning, "learn", detector, amounts, pool)
        queries = collect(amounts.queries, shown, "query", detector, amounts, pool)
    write_rows(folder / "base.u8bin", base.descriptors)
    write_rows(folder / "learn.u8bin", learn.descriptors)
    write_rows(folder / "queries.u8bin", queries.descriptors)
    matches = correspondences(rows_at_the_places(queries, base, TOLERANCE), CORRESPONDENCES)
    write_rows(folder / "correspondences.ibin", matches)
    return origin | {"detector": detector, "tolerance_pixels": TOLERANCE,
                     "queries_with_correspondence": int((matches[:, 0] != NOBODY).sum())}
