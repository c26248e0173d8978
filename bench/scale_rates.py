"""Rates of one core, for the plan past one machine (docs/scale.md): measures, and writes a file.

  bench/python bench/scale_rates.py --output bench/scale_rates.json
  bench/python bench/scale_rates.py --rows 1000000 10000000 100000000 --output large.json

Of each family at each number of rows: bytes of the file, seconds to build it, seconds of a batch of
512 queries and of one query. Seconds are those of processors, by one thread, so that other work on
the machine does not count. Rows are those of sift-1m, over and over with noise, and codes of 256
random bits. Beside them: what merging answers of shards takes, and what a file is read with.
`tools/plan_cluster --rates FILE` makes the tables of it.
"""
import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nearfield as nf
import numpy as np
from nearfield.cluster._answers import Nearest, merge_nearest

from referee import machine
from sets import store
from sets.catalogue import made
from sets.random_streams import stream
from sets.vector_files import read_rows

BATCH, K = 512, 10
MERGED = (4, 64, 1024)  # shards
PIECE = 1_000_000  # rows that are made at a time
RADIUS = 15  # bits, of near duplicates

Rows = Callable[[int, int], Any]


def sift_rows(base: np.ndarray, dtype: str) -> Rows:
    """Row i is row i of the set, over and over; from the second time on with noise."""
    def rows(begin: int, end: int) -> np.ndarray:
        taken = base[np.arange(begin, end) % len(base)]
        if begin >= len(base):
            noise = stream("scale noise", begin).randint(0, 4, taken.shape, np.uint8)
            taken = np.minimum(taken, 252) + noise
        return taken.astype(dtype)
    return rows


def random_bits(begin: int, end: int) -> nf.Bits:
    return nf.bits(stream("scale bits", begin).randint(0, 256, (end - begin, 32), np.uint8), 256)


def cpu_seconds(call: Callable[[], Any], least: float = 0.3) -> float:
    """Of a call, by all threads of this process; the median of at least three."""
    call()
    taken, begin = [], time.perf_counter()
    while len(taken) < 3 or time.perf_counter() - begin < least:
        before = time.process_time()
        call()
        taken.append(time.process_time() - before)
    return float(np.median(taken))


def near_duplicates(codes: nf.Bits) -> nf.Bits:
    """Of codes, each with five bits turned."""
    turned = codes.packed.copy()
    draw = stream("scale near", 0)
    for row in turned:
        bits = draw.choice(256, 5, replace=False)
        for bit in bits:
            row[bit // 8] ^= np.uint8(1 << bit % 8)
    return nf.bits(turned, 256)


def families(base: np.ndarray, queries: np.ndarray) -> dict[str, tuple[nf.Index, Rows, Any]]:
    bits = {"dim": 256, "dtype": "bits", "metric": "hamming"}
    some = near_duplicates(random_bits(0, BATCH))
    floats = queries.astype(np.float32) + np.float32(0.25)  # not bytes
    return {
        "flat u8 x 128": (nf.Index("flat", dim=128, dtype="u8"), sift_rows(base, "u1"), queries),
        "flat f32 x 128": (nf.Index("flat", dim=128, dtype="f32"), sift_rows(base, "f4"), floats),
        "coded u8 x 128": (nf.Index("coded,kind=pq,codebooks=8", dim=128, dtype="u8"),
                           sift_rows(base, "u1"), queries),
        "flat 256 bits": (nf.Index("flat", **bits), random_bits, some),
        "mih 256 bits": (nf.Index("mih", **bits), random_bits, some),
        "ewh 256 bits": (nf.Index(f"ewh,near={RADIUS}", **bits), random_bits, some),
    }


def first(queries: Any, count: int) -> Any:
    return nf.bits(queries.packed[:count], 256) if isinstance(queries, nf.Bits) else queries[:count]


def measure_family(
    name: str, index: nf.Index, rows: Rows, queries: Any, count: int
) -> dict[str, Any]:
    built = 0.0
    for begin in range(0, count, PIECE):
        piece = rows(begin, min(begin + PIECE, count))
        before = time.process_time()
        index.add(piece)
        built += time.process_time() - before
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.nf"
        index.save(path)
        size = path.stat().st_size
        opened = nf.Index.open(path)
        if name.startswith("mih"):
            def search(asked: Any) -> Any:
                return opened.within(asked, RADIUS, threads=1)
        else:
            def search(asked: Any) -> Any:
                return opened.search(asked, K, threads=1)
        batch = cpu_seconds(lambda: search(first(queries, BATCH)))
        one = cpu_seconds(lambda: search(first(queries, 1)))
        opened.close()
    seconds = {"build": built, "batch": batch, "one": one}
    return {"family": name, "rows": count, "bytes": size, **seconds}


def merge_seconds(shards: int) -> float:
    draw = stream("scale merge", shards)
    keys = np.sort(draw.random_sample((shards, BATCH, K)), axis=2)
    parts = [Nearest(draw.permutation(BATCH * K).reshape(BATCH, K) + number * BATCH * K,
                     keys[number].astype(np.float32), keys[number], np.full(BATCH, K), True)
             for number in range(shards)]
    return cpu_seconds(lambda: merge_nearest(parts))


def read_bandwidth(folder: str, size: int = 1 << 28) -> float:
    """Bytes a second of a file that is not in memory; what the machine's disk has, or its cache."""
    path = Path(folder) / "read"
    piece = stream("scale read", 0).randint(0, 256, 1 << 24, np.uint8).tobytes()
    with open(path, "wb") as file:
        for _ in range(size // len(piece)):
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    begin = time.perf_counter()
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 24):
            pass
    return size / (time.perf_counter() - begin)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[50_000, 200_000, 1_000_000])
    parser.add_argument("--only", default="", help="families whose names hold this")
    parser.add_argument("--output", type=Path, required=True)
    asked = parser.parse_args()
    folder = made("sift-1m", "full", store.root(None))
    base, queries = (np.array(read_rows(folder / f"{name}.u8bin")) for name in ("base", "queries"))
    runs = []
    for count in asked.rows:
        for name, (index, rows, own) in families(base, queries).items():
            if asked.only in name:
                runs.append(measure_family(name, index, rows, own, count))
                print(json.dumps(runs[-1]), flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        bandwidth = read_bandwidth(temporary)
    result = {
        "command": " ".join(["bench/python", "bench/scale_rates.py", *sys.argv[1:]]),
        "machine": ", ".join(f"{name} {fact}" for name, fact in machine.facts().items()),
        "version": nf.__version__,
        "runs": runs,
        "merge": {str(shards): merge_seconds(shards) for shards in MERGED},
        "read_bytes_a_second": bandwidth,
    }
    asked.output.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
