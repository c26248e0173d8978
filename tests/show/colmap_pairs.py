"""10,000 pairs of images of 4,000 features, from a COLMAP database and back: pairs a second.

    python tests/show/colmap_pairs.py [DATABASE]

Needs pycolmap 4 and numpy; NEARFIELD names the command (build/release/nearfield). Renders 142 views
of a floor from above, any two of which overlap, and lets COLMAP extract their features on the CPU:
some minutes, so that DATABASE is kept and used again if it is named. `nearfield match --colmap`
matches 10,000 of their 10,011 pairs; time is that of the whole command. COLMAP matches some of
these by all CPUs, without verifying them, its cap on matches lifted: pycolmap by its default
matcher, those of 30 images, since it keeps an index of each; by brute force, and where the command
`colmap` is installed (Debian's is 3.8) by that one, those of 9. Fails if our matches are not those
of its brute force, pair for pair, or if we are not 20 times as fast as the fastest.
"""

from __future__ import annotations

import functools
import itertools
import json
import multiprocessing
import os
import re
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pycolmap
from colmap_matches import NEARFIELD, Matches, differences, read_matches, run
from textured_scene import Rectangle, make_scene, render

IMAGES, FEATURES, PAIRS = 142, 4000, 10_000
FEW_IMAGES, MORE_IMAGES = 9, 30  # whose pairs COLMAP matches
TARGET = 20  # times as fast as the faster of COLMAP's
NO_CAP = 1 << 30
BRUTE_FORCE, DEFAULT = "brute force", "default"
CPUS = len(os.sched_getaffinity(0))

Pair = tuple[str, str]


@functools.cache
def floor() -> list[Rectangle]:
    return make_scene(1)[:1]


def render_view(path: Path, number: int) -> None:
    """Of the floor, from so high that SIFT finds more than enough features."""
    draw = np.random.default_rng(number)
    x, y = draw.uniform(-1.5, 1.5, 2)
    height = draw.uniform(7.5, 8.5)
    heading, tilt = draw.uniform(0, 2 * np.pi), 0.2 * height
    below = np.array([x + tilt * np.cos(heading), y + tilt * np.sin(heading), 0.0])
    picture = render(floor(), np.array([x, y, height]), below)
    pycolmap.Bitmap.from_array(picture).write(path)


def make_database(database: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        images = Path(name) / "images"
        images.mkdir()
        with ProcessPoolExecutor(CPUS, multiprocessing.get_context("spawn")) as pool:
            paths = [images / f"{i:03}.png" for i in range(IMAGES)]
            list(pool.map(render_view, paths, range(IMAGES)))
        extraction = pycolmap.FeatureExtractionOptions()
        extraction.sift.max_num_features = FEATURES
        made = Path(name) / "features.db"
        pycolmap.extract_features(
            made,
            images,
            extraction_options=extraction,
            camera_mode=pycolmap.CameraMode.SINGLE,
            device=pycolmap.Device.cpu,
        )
        keep_features(made)
        shutil.move(made, database)


def keep_features(database: Path) -> None:
    """Exactly so many of each image: COLMAP keeps a few more, of features with two orientations."""
    connection = sqlite3.connect(database)
    for table in "descriptors", "keypoints":
        rows = connection.execute(f"SELECT image_id, rows, data FROM {table}").fetchall()
        for image, count, data in rows:
            if count < FEATURES:
                sys.exit(f"image {image} has {count} features, {FEATURES} are wanted")
            connection.execute(
                f"UPDATE {table} SET rows = ?, data = ? WHERE image_id = ?",
                (FEATURES, data[: len(data) // count * FEATURES], image),
            )
    connection.commit()
    connection.execute("VACUUM")
    connection.close()


def pairs_of(database: Path, images: int) -> list[Pair]:
    connection = sqlite3.connect(database)
    names = [name for (name,) in connection.execute("SELECT name FROM images ORDER BY image_id")]
    connection.close()
    return list(itertools.combinations(names[:images], 2))


def write_list(path: Path, pairs: list[Pair]) -> Path:
    path.write_text("".join(f"{one} {two}\n" for one, two in pairs))
    return path


def match_by_pycolmap(database: Path, pairs: Path, brute_force: bool) -> None:
    options = pycolmap.FeatureMatchingOptions(
        skip_geometric_verification=True, num_threads=CPUS, max_num_matches=NO_CAP
    )
    options.sift.cpu_brute_force_matcher = brute_force
    chosen = pycolmap.ImportedPairingOptions(match_list_path=pairs)
    pycolmap.match_image_pairs(database, options, chosen, device=pycolmap.Device.cpu)


def match_by_command(database: Path, pairs: Path) -> None:
    """3.8 cannot leave out verifying, but does not begin with it below min_num_inliers."""
    options = {
        "database_path": database,
        "match_list_path": pairs,
        "SiftMatching.use_gpu": 0,
        "SiftMatching.num_threads": CPUS,
        "SiftMatching.max_num_matches": NO_CAP,
        "SiftMatching.min_num_inliers": NO_CAP,
    }
    run("colmap", "matches_importer", *(f"--{name}={value}" for name, value in options.items()))


def database_of_command(features: Path, database: Path) -> None:
    """The same features as the command `colmap` has them in its database."""
    run("colmap", "database_creator", "--database_path", database)
    shared = {
        "cameras": "camera_id, model, width, height, params, prior_focal_length",
        "images": "image_id, name, camera_id",
        "keypoints": "image_id, rows, cols, data",
        "descriptors": "image_id, rows, cols, data",
    }
    connection = sqlite3.connect(database)
    connection.execute("ATTACH ? AS features", (str(features),))
    for table, columns in shared.items():
        connection.execute(
            f"INSERT INTO main.{table}({columns}) SELECT {columns} FROM features.{table}"
        )
    connection.commit()
    connection.close()


def show(matcher: str, pairs: int, seconds: float) -> float:
    rate = pairs / seconds
    print(f"{matcher:32} {pairs:6} {seconds:9.2f} {rate:9.2f}", flush=True)
    return rate


def timed(match: Callable[..., object], *arguments: object) -> float:
    start = time.perf_counter()
    match(*arguments)
    return time.perf_counter() - start


def agreement(some: Matches, true: Matches) -> str:
    both = sum(len(matches & true[pair]) for pair, matches in some.items())
    found = sum(map(len, some.values()))
    there = sum(len(true[pair]) for pair in some)
    return f"finds {both / there:.2%} of the matches; {both / found:.2%} of what it finds are some"


def rate_of_nearfield(features: Path, pairs: list[Pair], folder: Path) -> float:
    database = shutil.copy(features, folder / "nearfield.db")
    listed = write_list(folder / "pairs.txt", pairs)
    start = time.perf_counter()
    command = (NEARFIELD, "match", "--colmap", database, "--pairs", listed, "--json", "--quiet")
    said = json.loads(run(*command))
    rate = show("nearfield", len(pairs), time.perf_counter() - start)
    stats = said["stats"]
    print(f"  {said['found'] / len(pairs):.0f} matches a pair; {json.dumps(stats)}")
    return rate


def rates_of_colmap(features: Path, folder: Path) -> list[float]:
    """Of its matchers; leaves the matches of its brute force in the folder."""
    few, more = pairs_of(features, FEW_IMAGES), pairs_of(features, MORE_IMAGES)
    sample = write_list(folder / "few.txt", few)
    larger = write_list(folder / "more.txt", more)
    rates = []
    for name, listed, count in (DEFAULT, larger, len(more)), (BRUTE_FORCE, sample, len(few)):
        database = Path(shutil.copy(features, folder / f"{name}.db"))
        seconds = timed(match_by_pycolmap, database, listed, name == BRUTE_FORCE)
        rates.append(show(f"pycolmap {pycolmap.__version__}, {name}", count, seconds))
    if shutil.which("colmap"):
        database = folder / "command.db"
        database_of_command(features, database)
        version = re.search(r"COLMAP (\S+)", run("colmap", "help"))
        seconds = timed(match_by_command, database, sample)
        rates.append(show(f"colmap {version[1] if version else '?'}", len(few), seconds))
    return rates


def main() -> None:
    pycolmap.logging.minloglevel = pycolmap.logging.Level.WARNING.value
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        features = Path(sys.argv[1]) if len(sys.argv) > 1 else folder / "features.db"
        if not features.exists():
            make_database(features)
        pairs = pairs_of(features, IMAGES)[:PAIRS]
        print(f"{run(NEARFIELD, '--version').strip()}, {CPUS} CPUs, {FEATURES} features an image")
        print(f"{'':32} {'pairs':>6} {'seconds':>9} {'pairs/s':>9}")
        ours = rate_of_nearfield(features, pairs, folder)
        best = max(rates_of_colmap(features, folder))
        print(f"{ours / best:.0f} times as fast as the fastest of COLMAP's, {TARGET} is the target")
        theirs = read_matches(folder / f"{BRUTE_FORCE}.db")
        default = read_matches(folder / f"{DEFAULT}.db")
        found = read_matches(folder / "nearfield.db")
        print(f"pycolmap's default matcher {agreement(default, found)}")
        different = differences({pair: found[pair] for pair in theirs}, theirs)
        if different:
            sys.exit("\n".join(["NOT THE MATCHES OF COLMAP'S BRUTE FORCE:", *different]))
        print(f"matches are those of COLMAP's brute force in all {len(theirs)} pairs of the sample")
        if ours < TARGET * best:
            sys.exit("BELOW THE TARGET")


if __name__ == "__main__":
    main()
