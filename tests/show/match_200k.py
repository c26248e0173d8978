"""Two images of 200,000 SIFT-like descriptors, matched within 1 GB.

    python tests/show/match_200k.py [ROWS]

Needs numpy; NEARFIELD names the command (build/release/nearfield). Every second descriptor of the
second image is one of the first with noise, between weak and so strong that it fails the ratio
test. `nearfield match --memory-limit` compares them, ratio 0.8 and cross check: 40 G pairs,
that is half a minute or some. Fails if the whole process had 1 GB of memory or more at any time, or
if matches differ from those of brute force by numpy on 500 rows of the first image.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]
NEARFIELD = os.environ.get("NEARFIELD", str(ROOT / "build/release/nearfield"))
ROWS, COLS, SAMPLE = 200_000, 128, 500
LIMIT = 900_000_000  # of what the command counts: its code and libraries are beside it
MOST_BYTES = 1_000_000_000
RATIO = 0.8

# In a small process between: what starts a command counts its own memory for the command's.
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""

Descriptors = NDArray[np.uint8]


def as_bytes(values: NDArray[np.float32]) -> Descriptors:
    """Of length 512, as SIFT's, but for what 255 cuts off."""
    scaled = values * (512 / np.linalg.norm(values, axis=1, keepdims=True))
    rounded: Descriptors = np.clip(np.round(scaled), 0, 255).astype(np.uint8)
    return rounded


def two_images(rows: int) -> tuple[Descriptors, Descriptors]:
    draw = np.random.default_rng(1)
    first = as_bytes(draw.standard_exponential((rows, COLS), np.float32) ** 2)
    second = as_bytes(draw.standard_exponential((rows, COLS), np.float32) ** 2)
    seen = draw.permutation(rows)[: rows // 2]
    noise = draw.standard_normal((len(seen), COLS), np.float32)
    noise *= draw.uniform(1, 60, (len(seen), 1)).astype(np.float32)
    second[::2][: len(seen)] = as_bytes(np.maximum(first[seen] + noise, 0))
    return first, second


def write(path: Path, rows: Descriptors) -> None:
    path.write_bytes(np.array(rows.shape, np.uint32).tobytes() + rows.tobytes())


def squared_distances(some: Descriptors, rows: Descriptors) -> NDArray[np.float32]:
    """Whole numbers below 2^24, so that float32 has them exactly."""
    left, right = some.astype(np.float32), rows.astype(np.float32)
    lengths = [np.einsum("ij,ij->i", each, each) for each in (left, right)]
    distances: NDArray[np.float32] = lengths[0][:, None] - 2 * (left @ right.T) + lengths[1]
    return distances


def nearest(some: Descriptors, rows: Descriptors) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The nearest of each, the first of equals, and the squared distances of the two nearest."""
    ids, distances = [], []
    for begin in range(0, len(some), 50):
        table = squared_distances(some[begin : begin + 50], rows)
        ids.append(table.argmin(axis=1))
        distances.append(np.partition(table, 1, axis=1)[:, :2])
    return np.concatenate(ids), np.concatenate(distances)


def brute_force(
    first: Descriptors, second: Descriptors, sample: NDArray[np.int64]
) -> dict[int, int]:
    there, distances = nearest(first[sample], second)
    d1, d2 = np.sqrt(distances.astype(np.float64)).T
    back, _ = nearest(second[there], first)
    accepted = (d1 < RATIO * d2) & (back == sample)
    return dict(zip(sample[accepted].tolist(), there[accepted].tolist(), strict=True))


def match(folder: Path) -> dict[int, int]:
    output = folder / "matches.csv"
    images = ("--queries", folder / "first.u8bin", "--base", folder / "second.u8bin")
    command = (NEARFIELD, "match", *images, "--output", output, "--memory-limit", LIMIT)
    start = time.perf_counter()
    measured = [sys.executable, "-c", MEASURE, *map(str, command)]
    peak = int(subprocess.run(measured, check=True, stdout=subprocess.PIPE).stdout)
    seconds = time.perf_counter() - start
    print(f"{seconds:.1f} s, peak resident memory {peak / 1e6:.1f} MB")
    if peak >= MOST_BYTES:
        sys.exit(f"MORE THAN {MOST_BYTES / 1e6:.0f} MB")
    with output.open() as lines:
        return {int(row["first"]): int(row["second"]) for row in csv.DictReader(lines)}


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first, second = two_images(rows)
        write(folder / "first.u8bin", first)
        write(folder / "second.u8bin", second)
        found = match(folder)
    sample = np.sort(np.random.default_rng(2).permutation(rows)[:SAMPLE])
    expected = brute_force(first, second, sample)
    ours = {row: found[row] for row in sample.tolist() if row in found}
    if ours != expected:
        different = sorted(ours.items() ^ expected.items())
        sys.exit(f"NOT THE MATCHES OF BRUTE FORCE: {different}")
    print(f"{len(found)} matches; those of {len(sample)} rows, {len(ours)}, are brute force's")


if __name__ == "__main__":
    main()
