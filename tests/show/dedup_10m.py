"""Groups of near-duplicates among 10,000,000 codes of 256 bits, within 2 GB and 10 minutes.

    python tests/show/dedup_10m.py [ROWS]

Needs numpy; NEARFIELD names the command (build/release/nearfield). A tenth of the codes is planted
among random ones: a hundredth all zeros, as blank images are; a hundredth in one crowd, each a few
bits from the others; chains in which only neighbours are near; and clusters of 2 to 100, each at
most 31 bits from its first. `nearfield dedup --preset pdq` groups them. Fails if the whole process
had 2 GB of memory or more at any time, took more than 10 minutes, or if any row is in another group
than it was planted in. Then 200,000 of the rows, with whole clusters among them, are grouped alone:
the groups must be those of all pairs that a scan finds (`nearfield pairs --radius 31`), every such
pair must be in one group of all codes too, and the pairs of 3,000 rows are counted by numpy.
"""

from __future__ import annotations

import json
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
ROWS, BYTES, RADIUS = 10_000_000, 32, 31
SAMPLE, BY_HAND = 200_000, 3_000
MOST_BYTES, MOST_SECONDS = 2_000_000_000, 600

# In a small process between: what starts a command counts its own memory for the command's.
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, file=sys.stderr)
"""

Codes = NDArray[np.uint8]
Rows = NDArray[np.int64]


def flipped(draw: np.random.Generator, codes: Codes, least: int, most: int) -> Codes:
    """Each with so many other bits, of different places."""
    count = draw.integers(least, most + 1, len(codes))
    order = np.argsort(draw.random((len(codes), 8 * BYTES), np.float32), axis=1)
    change: Codes = np.packbits(order < count[:, None], axis=1)
    return codes ^ change


def planted(draw: np.random.Generator, codes: Codes) -> Rows:
    """Plants near-duplicates; of each row the number of its cluster, -1 if it has none."""
    rows = draw.permutation(len(codes))
    cluster = np.full(len(codes), -1, np.int64)
    hundredth = len(codes) // 100
    zeros, crowd, chain, rest = np.split(rows, [hundredth, 2 * hundredth, 3 * hundredth])
    codes[zeros], cluster[zeros] = 0, 0
    for begin in range(0, hundredth, 50_000):  # a few thousand megabytes less than at once
        part = crowd[begin : begin + 50_000]
        codes[part] = flipped(draw, np.repeat(codes[crowd[:1]], len(part), axis=0), 0, RADIUS // 2)
    cluster[crowd] = 1
    for begin in range(0, hundredth, 1000):
        link = chain[begin : begin + 1000]
        for before, row in zip(link, link[1:], strict=False):
            codes[row] = flipped(draw, codes[before : before + 1], RADIUS, RADIUS)[0]
        cluster[link] = 2 + begin
    members = rest[: len(codes) * 7 // 100]
    sizes = draw.integers(2, 101, len(members))
    firsts = np.concatenate([[0], np.cumsum(sizes)])
    firsts = firsts[firsts < len(members)]
    head = members[firsts][np.searchsorted(firsts, np.arange(len(members)), "right") - 1]
    cluster[members] = len(codes) + head
    for begin in range(0, len(members), 50_000):
        part, its_head = members[begin : begin + 50_000], head[begin : begin + 50_000]
        changed = flipped(draw, codes[its_head], 0, RADIUS)
        codes[part] = np.where((part == its_head)[:, None], codes[part], changed)
    return cluster


def first_rows(cluster: Rows) -> Rows:
    """Of each row the first one of its cluster."""
    first = np.arange(len(cluster))
    inside = np.flatnonzero(cluster >= 0)
    _, at, back = np.unique(cluster[inside], return_index=True, return_inverse=True)
    first[inside] = inside[at][back]
    return first


def write(path: Path, codes: Codes) -> None:
    with path.open("wb") as file:
        file.write(np.array(codes.shape, np.uint32).tobytes())
        codes.tofile(file)


def run(*command: object) -> tuple[str, float, int]:
    """What it prints, its seconds, and its most bytes of memory."""
    start = time.perf_counter()
    measured = [sys.executable, "-c", MEASURE, NEARFIELD, *map(str, command)]
    done = subprocess.run(measured, check=True, capture_output=True, text=True)
    return done.stdout, time.perf_counter() - start, int(done.stderr.splitlines()[-1])


def dedup(folder: Path, name: str) -> tuple[Rows, dict[str, object], float, int]:
    said, seconds, peak = run("dedup", "--base", folder / name, "--preset", "pdq", "--output",
                              folder / "first.npy", "--json", "--quiet")
    return np.load(folder / "first.npy").ravel(), json.loads(said), seconds, peak


def components(pairs: Rows, rows: int) -> Rows:
    """Of each row the smallest that pairs lead to."""
    first = np.arange(rows)
    while True:
        before = first.copy()
        np.minimum.at(first, pairs[:, 0], before[pairs[:, 1]])
        np.minimum.at(first, pairs[:, 1], before[pairs[:, 0]])
        first = first[first]
        if np.array_equal(first, before):
            return first


def near_by_hand(codes: Codes) -> int:
    bits = np.unpackbits(codes, axis=1).astype(np.float32)
    ones = bits.sum(axis=1)
    differing = ones[:, None] + ones - 2 * (bits @ bits.T)
    return int((np.count_nonzero(differing <= RADIUS) - len(codes)) // 2)


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    draw = np.random.default_rng(1)
    codes: Codes = np.frombuffer(draw.bytes(rows * BYTES), np.uint8).reshape(rows, BYTES).copy()
    cluster = planted(draw, codes)
    expected = first_rows(cluster)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "codes.u8bin", codes)
        first, said, seconds, peak = dedup(folder, "codes.u8bin")
        print(f"{rows} codes: {said['found']} duplicates in {said['groups']} groups, "
              f"{seconds:.1f} s, peak resident memory {peak / 1e6:.1f} MB")
        print(said["plan"], said["stats"], sep="\n")
        if not np.array_equal(first, expected):
            sys.exit(f"NOT THE GROUPS THAT WERE PLANTED: {np.flatnonzero(first != expected)}")
        if peak >= MOST_BYTES or seconds > MOST_SECONDS:
            sys.exit(f"MORE THAN {MOST_BYTES / 1e6:.0f} MB OR {MOST_SECONDS} s")
        # Half of it as rows come, half by clusters; but for the crowds, whose pairs are too many.
        small = np.flatnonzero((cluster < 0) | (cluster > 1))
        order = small[np.argsort(cluster[small], kind="stable")][::-1]
        others = draw.choice(order[SAMPLE // 2 :], SAMPLE // 2, replace=False)
        taken = np.sort(np.concatenate([order[: SAMPLE // 2], others]))
        write(folder / "sample.u8bin", codes[taken])
        alone, said, seconds, _ = dedup(folder, "sample.u8bin")
        run("pairs", "--base", folder / "sample.u8bin", "--bits", 256, "--metric", "hamming",
            "--radius", RADIUS, "--output", folder / "pairs.npy", "--quiet")
        pairs = np.load(folder / "pairs.npy")
        if not np.array_equal(alone, components(pairs, len(taken))):
            sys.exit("NOT THE GROUPS OF BRUTE FORCE")
        if not np.array_equal(first[taken[pairs[:, 0]]], first[taken[pairs[:, 1]]]):
            sys.exit("A PAIR OF BRUTE FORCE IS IN TWO GROUPS")
        some = len(taken) // 2, len(taken) // 2 + BY_HAND
        inside = np.count_nonzero(np.all((pairs >= some[0]) & (pairs < some[1]), axis=1))
        if near_by_hand(codes[taken[slice(*some)]]) != inside:
            sys.exit("NOT THE PAIRS OF NUMPY")
    print(f"{len(taken)} of them alone: {said['groups']} groups, {seconds:.1f} s, those of the "
          f"{len(pairs)} pairs that a scan finds; {inside} of {BY_HAND} rows also by numpy")


if __name__ == "__main__":
    main()
