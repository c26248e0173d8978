"""Reconstructions by COLMAP from matches of `nearfield match --colmap` and of its own matchers.

    python tests/show/colmap_reconstruction.py [IMAGES]

Needs pycolmap 4 and numpy; NEARFIELD names the command (build/release/nearfield). Renders so many
views (16) of a scene, lets COLMAP extract their features on the CPU, and matches copies of the
database: by us, by COLMAP's brute force and by its default matcher. Verification and mapping are
COLMAP's. Fails if our matches are not those of its brute force, pair for pair, if fewer images are
registered than with its own matches, or if the mean reprojection error is more than a twentieth
larger. Where the command `colmap` is installed (Debian's is 3.8), the same with its database and
its matcher.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pycolmap
from colmap_matches import NEARFIELD, Matches, differences, read_matches, run
from textured_scene import views

MOST_ERROR_RATIO = 1.05
MOST_FEATURES = 1000  # of an image: COLMAP's brute force takes its time


@dataclass
class Model:
    images: int
    points: int
    error: float  # mean, in pixels


@dataclass
class Outcome:
    matcher: str
    seconds: float
    matches: Matches
    model: Model


def match_with_nearfield(database: Path) -> None:
    said = json.loads(run(NEARFIELD, "match", "--colmap", database, "--json", "--quiet"))
    again = json.loads(run(NEARFIELD, "match", "--colmap", database, "--json", "--quiet"))
    if again["already_matched"] != said["image_pairs"]:
        sys.exit(f"the second run found {again['already_matched']} of {said['image_pairs']} pairs")


class Pycolmap:
    """4.x, in this process. One thread and seed, so that the same matches give the same model."""

    name = f"pycolmap {pycolmap.__version__}"

    def extract(self, database: Path, images: Path) -> None:
        reader = pycolmap.ImageReaderOptions(camera_model="SIMPLE_PINHOLE")
        extraction = pycolmap.FeatureExtractionOptions()
        extraction.sift.max_num_features = MOST_FEATURES
        pycolmap.extract_features(
            database,
            images,
            extraction_options=extraction,
            camera_mode=pycolmap.CameraMode.SINGLE,
            reader_options=reader,
            device=pycolmap.Device.cpu,
        )

    def matchers(self) -> dict[str, Callable[[Path], None]]:
        return {
            "brute force": lambda database: self.match(database, True),
            "default": lambda database: self.match(database, False),
        }

    def match(self, database: Path, brute_force: bool) -> None:
        options = pycolmap.FeatureMatchingOptions(skip_geometric_verification=True)
        options.sift.cpu_brute_force_matcher = brute_force
        pycolmap.match_exhaustive(database, options, device=pycolmap.Device.cpu)

    def reconstruct(self, database: Path, images: Path, output: Path) -> Model:
        geometry = pycolmap.TwoViewGeometryOptions()
        geometry.ransac.random_seed = 0
        pycolmap.geometric_verification(database, two_view_geometry_options=geometry)
        options = pycolmap.IncrementalPipelineOptions(random_seed=0, num_threads=1)
        options.mapper.random_seed = options.triangulation.random_seed = 0
        models = pycolmap.incremental_mapping(database, images, output, options)
        if not models:
            return Model(0, 0, float("inf"))
        best = max(models.values(), key=lambda model: model.num_reg_images())
        return Model(
            best.num_reg_images(), best.num_points3D(), best.compute_mean_reprojection_error()
        )


class Command:
    """The command `colmap`, with the options of 3.8."""

    def __init__(self) -> None:
        said = re.search(r"COLMAP (\S+)", run("colmap", "help"))
        self.name = f"colmap {said[1] if said else '?'}"

    def step(self, name: str, options: dict[str, object]) -> str:
        return run("colmap", name, *(f"--{option}={value}" for option, value in options.items()))

    def extract(self, database: Path, images: Path) -> None:
        reader = {"ImageReader.single_camera": 1, "ImageReader.camera_model": "SIMPLE_PINHOLE"}
        sift = {"SiftExtraction.use_gpu": 0, "SiftExtraction.max_num_features": MOST_FEATURES}
        paths = {"database_path": database, "image_path": images}
        self.step("feature_extractor", {**paths, **reader, **sift})

    def matchers(self) -> dict[str, Callable[[Path], None]]:
        return {"default": self.match}

    def match(self, database: Path) -> None:
        """And verifies; of pairs that have matches already it only verifies these."""
        self.step("exhaustive_matcher", {"database_path": database, "SiftMatching.use_gpu": 0})

    def reconstruct(self, database: Path, images: Path, output: Path) -> Model:
        self.match(database)
        paths = {"database_path": database, "image_path": images, "output_path": output}
        self.step("mapper", {**paths, "Mapper.num_threads": 1})
        best = Model(0, 0, float("inf"))
        for folder in sorted(output.iterdir()):
            said = self.step("model_analyzer", {"path": folder})
            images_there = int(value_of("Registered images", said))
            points = int(value_of("Points", said))
            model = Model(images_there, points, value_of("Mean reprojection error", said))
            best = max(best, model, key=lambda each: each.images)
        return best


def value_of(name: str, text: str) -> float:
    found = re.search(name + r": ([\d.]+)", text)
    if not found:
        sys.exit(f"no {name} in:\n{text}")
    return float(found[1])


def outcomes_of(colmap: Pycolmap | Command, images: Path, folder: Path) -> list[Outcome]:
    folder.mkdir()
    features = folder / "features.db"
    colmap.extract(features, images)
    outcomes = []
    for matcher, match in {"nearfield": match_with_nearfield, **colmap.matchers()}.items():
        database = folder / f"{matcher}.db"
        shutil.copy(features, database)
        start = time.perf_counter()
        match(database)
        seconds = time.perf_counter() - start
        matches = read_matches(database)
        output = folder / f"{matcher} model"
        output.mkdir()
        outcomes.append(
            Outcome(matcher, seconds, matches, colmap.reconstruct(database, images, output))
        )
    return outcomes


def show(name: str, outcomes: list[Outcome]) -> None:
    print(
        f"{name:16} {'seconds':>8} {'pairs':>6} {'matches':>8} {'images':>7} {'points':>7} "
        f"{'error, px':>10}"
    )
    for each in outcomes:
        model = each.model
        print(
            f"  {each.matcher:14} {each.seconds:8.2f} {len(each.matches):6} "
            f"{sum(map(len, each.matches.values())):8} {model.images:7} {model.points:7} "
            f"{model.error:10.4f}"
        )


def judge(outcomes: list[Outcome]) -> list[str]:
    ours, *others = outcomes
    wrong = []
    for other in others:
        if ours.model.images < other.model.images:
            wrong.append(
                f"{ours.model.images} images are registered, {other.model.images} with "
                f"{other.matcher}"
            )
        if ours.model.error > MOST_ERROR_RATIO * other.model.error:
            wrong.append(
                f"the error is {ours.model.error:.4f} px, {other.model.error:.4f} with "
                f"{other.matcher}"
            )
        if other.matcher == "brute force":
            different = differences(ours.matches, other.matches)
            print(
                f"  matches that are not those of COLMAP's brute force: in {len(different)} of "
                f"{len(other.matches)} pairs of images"
            )
            wrong += different
    return wrong


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 16
    pycolmap.logging.minloglevel = pycolmap.logging.Level.WARNING.value
    print(f"{run(NEARFIELD, '--version').strip()}, {count} images, {os.cpu_count()} CPUs")
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        images = folder / "images"
        images.mkdir()
        for i, picture in enumerate(views(count)):
            pycolmap.Bitmap.from_array(picture).write(images / f"{i:03}.png")
        versions: list[Pycolmap | Command] = [Pycolmap()]
        if shutil.which("colmap"):
            versions.append(Command())
        for colmap in versions:
            outcomes = outcomes_of(colmap, images, folder / colmap.name)
            show(colmap.name, outcomes)
            wrong += [f"{colmap.name}: {what}" for what in judge(outcomes)]
    if wrong:
        sys.exit("\n".join(["WORSE, OR NOT THE SAME:", *wrong]))
    print("our matches are as good as COLMAP's")


if __name__ == "__main__":
    main()
