"""Processes that open one index: how long that takes, and how much memory they share.

    python tests/show/index_readers.py [GIGABYTES [READERS]]

Makes an index of so many gigabytes (4) in the folder for temporary files, opens it in so many
processes (10) at the same time, lets each search all of it, and asks the kernel what each maps of the
file (Rss) and what is its share of that (Pss). Fails if one takes 20 ms to open it, or if together
they hold more than the file and a twentieth.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import nearfield as nf

DIM = 128
BYTES_A_ROW = 4 * DIM + DIM + 8 + 8 + 5
CHUNK = 100_000
MOST_SECONDS = 0.020


def build(path: Path, gigabytes: float) -> int:
    rows = int(gigabytes * 1e9 / BYTES_A_ROW)
    index = nf.Index("flat", dim=DIM, dtype="float32")
    random = np.random.default_rng(1)
    for first in range(0, rows, CHUNK):
        count = min(CHUNK, rows - first)
        index.add(random.standard_normal((count, DIM), dtype=np.float32))
    index.save(path)
    return rows


def mapped(process: int, path: Path) -> tuple[int, int]:
    """Rss and Pss of the file in a process, in bytes."""
    rss = pss = 0
    inside = False
    for line in Path(f"/proc/{process}/smaps").read_text().splitlines():
        field, *values = line.split()
        if not field.endswith(":"):
            inside = line.endswith(str(path))
        elif inside and field == "Rss:":
            rss += int(values[0]) * 1024
        elif inside and field == "Pss:":
            pss += int(values[0]) * 1024
    return rss, pss


def read(path: Path, start, done, measured, answers) -> None:  # type: ignore[no-untyped-def]
    start.wait()
    begin = time.perf_counter()
    index = nf.Index.open(path)
    seconds = time.perf_counter() - begin
    # Few enough queries that rows are read, and not only what was made of them.
    found = index.search(np.zeros((1, DIM), dtype=np.float32), k=10, threads=1)
    index.get(index.ids[::64])
    answers.put((os.getpid(), seconds, found.ids.tolist()))
    done.wait()
    measured.wait()


def main() -> int:
    gigabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 4.0
    readers = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.nf"
        rows = build(path, gigabytes)
        size = path.stat().st_size
        print(f"{rows:,} x {DIM} float32, a file of {size / 1e9:.2f} GB")
        start, done, measured = (spawn.Barrier(readers + 1) for _ in range(3))
        answers = spawn.Queue()
        processes = [
            spawn.Process(target=read, args=(path, start, done, measured, answers))
            for _ in range(readers)
        ]
        for process in processes:
            process.start()
        start.wait()
        results = [answers.get() for _ in processes]
        done.wait()
        shares = [mapped(process.pid or 0, path) for process in processes]
        measured.wait()
        for process in processes:
            process.join()
    slowest = max(seconds for _, seconds, _ in results)
    rss, pss = (sum(values) for values in zip(*shares))
    print(f"opened in {slowest * 1e3:.2f} ms at most")
    print(f"{readers} processes map {rss / 1e9:.2f} GB in all, and hold {pss / 1e9:.2f} GB")
    same = all(found == results[0][2] for _, _, found in results)
    return 0 if same and slowest < MOST_SECONDS and pss < 1.05 * size else 1


if __name__ == "__main__":
    sys.exit(main())
