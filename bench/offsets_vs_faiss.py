#!/usr/bin/env python3
"""How many neighbours an expanded L2 (|x|^2 - 2xy + |y|^2) gets wrong, and ours.

  pip install faiss-cpu numpy
  bench/offsets_vs_faiss.py build/release/nearfield

100,000 base rows and 1,000 queries of 128 float32, uniform around an offset; the 10 nearest. The
truth is the sum of (x - y)^2 in float64 over the stored float32 values, ties by smaller id. A
position is right if it holds the id of the truth, or another id at exactly the same true distance.
"""
import pathlib
import subprocess
import sys
import tempfile

import faiss
import numpy as np

ROWS, QUERIES, COLS, K = 100_000, 1_000, 128, 10
CASES = [("uniform in [-1, 1)", 0.0, 1.0),
         ("offset 1e4, differences of 1e-2", 1e4, 1e-2),
         ("offset 1e6, differences of about 1", 1e6, 1.0)]


def make(rows, offset, spread, rng):
    return (offset + spread * rng.uniform(-1, 1, (rows, COLS))).astype(np.float32)


def true_distances(queries, base):
    """Float64, differences first."""
    out = np.empty((len(queries), len(base)))
    wide = base.astype(np.float64)
    for i, query in enumerate(queries.astype(np.float64)):
        out[i] = ((wide - query) ** 2).sum(axis=1)
    return out


def wrong(ids, truth):
    """Queries with a wrong position, and wrong positions."""
    best = np.sort(truth, axis=1)[:, :K]
    bad = np.take_along_axis(truth, ids, axis=1) != best
    return int(bad.any(axis=1).sum()), int(bad.sum())


def write_fbin(path, array):
    with open(path, "wb") as out:
        np.array(array.shape, dtype=np.uint32).tofile(out)
        array.tofile(out)


def ours(command, queries, base):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write_fbin(folder / "q.fbin", queries)
        write_fbin(folder / "b.fbin", base)
        subprocess.run([command, "knn", "--queries", folder / "q.fbin", "--base", folder / "b.fbin",
                        "-k", str(K), "--output", folder / "ids.ibin", "--quiet"], check=True)
        return np.fromfile(folder / "ids.ibin", dtype=np.int32, offset=8).reshape(-1, K).astype(int)


def main():
    print(f"FAISS {faiss.__version__} IndexFlatL2, {ROWS} x {COLS} f32, {QUERIES} queries, k {K}")
    print("| data | FAISS: queries wrong | positions wrong "
          "| Nearfield: queries wrong | positions wrong |")
    print("|---|---|---|---|---|")
    for name, offset, spread in CASES:
        rng = np.random.default_rng(1)
        base = make(ROWS, offset, spread, rng)
        queries = make(QUERIES, offset, spread, rng)
        truth = true_distances(queries, base)
        index = faiss.IndexFlatL2(COLS)
        index.add(base)
        theirs = wrong(index.search(queries, K)[1], truth)
        mine = wrong(ours(sys.argv[1], queries, base), truth)
        print(f"| {name} | {theirs[0]} of {QUERIES} | {theirs[1]} of {QUERIES * K} "
              f"| {mine[0]} of {QUERIES} | {mine[1]} of {QUERIES * K} |")


if __name__ == "__main__":
    main()
