"""Rates of one core, for the plan past one machine (docs/scale.md): measures, and writes a file.

  bench/python bench/scale_rates.py            as root
  tools/plan_cluster --update                  makes the page of it

Of each family at 10^5, 10^6 and 10^7 rows: bytes of the file, seconds to build and save it, seconds
of a batch of 512 queries and of one query. 10^8 rows are ten shards of 10^7, each with other rows,
searched one after the other. Seconds are those of processors, by one thread in a search, so that
other work on the machine does not count. Rows are those of sift-1m, over and over with noise, and
codes of 256 random bits. Beside them: what merging answers of shards takes, what a call to an actor
of Ray takes of the router's process, and what a file is read with.

Each shard is measured in a process of its own, which may have 12 GiB, and whose file is removed at
its end: at most 8 GB of disk are needed at a time. What was measured is kept beside the output
(.partial): a run that was ended goes on where it was.
"""
import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import nearfield as nf
import numpy as np
from nearfield import cluster
from nearfield.cluster._answers import Nearest, merge_nearest

import cluster_overhead
from referee import machine
from sets import store
from sets.catalogue import made
from sets.random_streams import stream
from sets.vector_files import read_rows

OUTPUT = Path(__file__).with_name("scale_rates.json")
SIZES = (10**5, 10**6, 10**7)  # rows of one shard
WHOLE = 10**8                  # in shards of the largest
BATCH, K = 512, 10
MERGED = (4, 10, 64, 1024)  # shards
PIECE = 1_000_000           # rows that are made at a time
RADIUS = 15                 # bits, of near duplicates
MOST_MEMORY = 12 << 30
MOST_ROW_BYTES = 700        # of a file, on the disk: flat f32 x 128 has 661
LONG = 10.0                 # seconds: a call that takes as much need not be called again

Rows = Callable[[int, int], Any]


def sift_rows(base: np.ndarray, dtype: str) -> Rows:
    """Row i is row i of the set, over and over; from the second time on with noise of 0 to 3, each
    time another row's."""
    noise = stream("scale noise").randint(0, 4, base.shape, np.uint8)

    def rows(begin: int, end: int) -> np.ndarray:
        numbers = np.arange(begin, end)
        taken = base[numbers % len(base)]
        if end > len(base):
            turns = numbers // len(base)
            added = noise[(numbers + 7919 * turns) % len(base)]
            taken = np.where((turns > 0)[:, None], np.minimum(taken, 252) + added, taken)
        return taken.astype(dtype)
    return rows


def random_bits(begin: int, end: int) -> nf.Bits:
    return nf.bits(stream("scale bits", begin).randint(0, 256, (end - begin, 32), np.uint8), 256)


def near_duplicates(codes: nf.Bits) -> nf.Bits:
    """Of codes, each with five bits turned."""
    turned = codes.packed.copy()
    draw = stream("scale near", 0)
    for row in turned:
        bits = draw.choice(256, 5, replace=False)
        for bit in bits:
            row[bit // 8] ^= np.uint8(1 << bit % 8)
    return nf.bits(turned, 256)


def sift_family(spec: str, dtype: str) -> tuple[nf.Index, Rows, Any]:
    folder = made("sift-1m", "full", store.root(None))
    base, queries = (np.array(read_rows(folder / f"{name}.u8bin")) for name in ("base", "queries"))
    if dtype == "f32":
        queries = queries.astype(np.float32) + np.float32(0.25)  # not bytes
    numpy_name = {"u8": "u1", "f32": "f4"}[dtype]
    return nf.Index(spec, dim=128, dtype=dtype), sift_rows(base, numpy_name), queries


def bits_family(spec: str) -> tuple[nf.Index, Rows, Any]:
    index = nf.Index(spec, dim=256, dtype="bits", metric="hamming")
    return index, random_bits, near_duplicates(random_bits(0, BATCH))


FAMILIES: dict[str, Callable[[], tuple[nf.Index, Rows, Any]]] = {
    "flat u8 x 128": lambda: sift_family("flat", "u8"),
    "flat f32 x 128": lambda: sift_family("flat", "f32"),
    "coded u8 x 128": lambda: sift_family("coded,kind=pq,codebooks=8", "u8"),
    "flat 256 bits": lambda: bits_family("flat"),
    "mih 256 bits": lambda: bits_family("mih"),
    "ewh 256 bits": lambda: bits_family(f"ewh,near={RADIUS}"),
}


def first(queries: Any, count: int) -> Any:
    return nf.bits(queries.packed[:count], 256) if isinstance(queries, nf.Bits) else queries[:count]


def cpu_seconds(call: Callable[[], Any], least: float = 0.3) -> float:
    """Of a call, by all threads of this process: the median of three or more, after one; or of one
    that is long."""
    taken, begin = list[float](), time.perf_counter()
    while len(taken) < 4 or time.perf_counter() - begin < least:
        before = time.process_time()
        call()
        taken.append(time.process_time() - before)
        if taken[-1] > LONG:
            return taken[-1]
    return float(np.median(taken[1:]))


def measure_shard(family: str, begin: int, rows: int, folder: str) -> dict[str, Any]:
    """Runs in a process of its own."""
    started = time.perf_counter()
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    index, made_rows, queries = FAMILIES[family]()
    built = 0.0
    for at in range(begin, begin + rows, PIECE):
        piece = made_rows(at, min(at + PIECE, begin + rows))
        before = time.process_time()
        index.add(piece)
        built += time.process_time() - before
    path = Path(folder) / "index.nf"
    before = time.process_time()
    index.save(path)
    built += time.process_time() - before
    del index
    opened = nf.Index.open(path)

    def search(asked: Any) -> Any:
        if family.startswith("mih"):
            return opened.within(asked, RADIUS, threads=1)
        return opened.search(asked, K, threads=1)

    record = {
        "family": family, "begin": begin, "rows": rows, "bytes": path.stat().st_size,
        "build": built,
        "batch": cpu_seconds(lambda: search(first(queries, BATCH))),
        "one": cpu_seconds(lambda: search(first(queries, 1))),
    }
    opened.close()
    path.unlink()
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {**record, "peak_bytes": peak, "seconds": time.perf_counter() - started}


def merge_seconds(shards: int) -> float:
    draw = stream("scale merge", shards)
    keys = np.sort(draw.random_sample((shards, BATCH, K)), axis=2)
    parts = [Nearest(draw.permutation(BATCH * K).reshape(BATCH, K) + number * BATCH * K,
                     keys[number].astype(np.float32), keys[number], np.full(BATCH, K), True)
             for number in range(shards)]
    return cpu_seconds(lambda: merge_nearest(parts))


def read_bandwidth(folder: str, size: int = 1 << 30) -> float:
    """Bytes a second of a file that is not in memory; what the machine's disk has, or its cache.
    The best of three: it is the one rate that other work disturbs."""
    path = Path(folder) / "read"
    piece = stream("scale read", 0).randint(0, 256, 1 << 24, np.uint8).tobytes()
    with open(path, "wb") as file:
        for _ in range(size // len(piece)):
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    taken = []
    for _ in range(3):
        with open(path, "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            begin = time.perf_counter()
            while file.read(1 << 24):
                pass
            taken.append(time.perf_counter() - begin)
    path.unlink()
    return size / min(taken)


def ray_seconds() -> dict[str, Any]:
    """Of the router's process, for each shard: a call with one query, and one with a batch, whose
    merging is not counted. By a router and actors of an index that is searched in no time. Runs
    where there is the loopback alone."""
    shards = cluster_overhead.SHARDS
    queries = stream("scale ray").randint(0, 256, (BATCH, 128), np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        cluster_overhead.keep_token_in(folder)
        import ray  # which reads it

        cluster.build(f"{folder}/index", queries[:16 * shards], shards=shards)
        ray.init(address="local", num_cpus=2, object_store_memory=cluster_overhead.STORE_BYTES,
                 include_dashboard=False, log_to_driver=False)
        cluster.deploy(f"{folder}/index", "rates", timeout=300)
        router = cluster.Router(f"{folder}/index", "rates")
        call = cpu_seconds(lambda: router.search(queries[:1], K), least=3.0)
        batch = cpu_seconds(lambda: router.search(queries, K), least=3.0)
        cluster.undeploy("rates")
        ray.shutdown()
    return {"call": call / shards, "batch": max(0.0, batch - merge_seconds(shards)) / shards,
            "seconds": "of processors, in the router's process"}


def ask_ray() -> dict[str, Any]:
    command = [sys.executable, __file__, "--ray"]
    inside = ["unshare", "--net", "bash", "-euc", 'ip link set lo up; exec "$@"', "_", *command]
    found = subprocess.run(inside, stdout=subprocess.PIPE, text=True, check=True)
    answer: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    return answer


def wanted_shards() -> Iterator[tuple[str, int, int]]:
    """Family, first row and rows of each: all of a size first, so that little is lost when there
    is no time for the rest."""
    for rows in SIZES:
        for family in FAMILIES:
            yield family, 0, rows
    for begin in range(SIZES[-1], WHOLE, SIZES[-1]):
        for family in FAMILIES:
            yield family, begin, SIZES[-1]


class Records:
    """What was measured so far: a line each, in a file beside the output."""

    def __init__(self, path: Path, about: dict[str, str]) -> None:
        self._path = path
        self._known: dict[str, Any] = {}
        lines = path.read_text().splitlines() if path.exists() else []
        for number, line in enumerate(lines):
            try:
                key, value = json.loads(line)
            except ValueError:
                if number != len(lines) - 1:
                    raise
                path.write_text("".join(f"{whole}\n" for whole in lines[:-1]))  # it was cut off
                break
            self._known[key] = value
        if self.get("about", lambda: about) != about:
            raise SystemExit(f"{path}: was measured by {self._known['about']}, this is {about}: "
                             "remove it to measure all anew")

    def get(self, key: str, measure: Callable[[], Any]) -> Any:
        if key not in self._known:
            self._known[key] = measure()
            with open(self._path, "a") as file:
                file.write(json.dumps([key, self._known[key]]) + "\n")
        return self._known[key]


def library() -> str:
    """Of what was compiled: a run that goes on with another would mix the two."""
    module = Path(nf.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(module.glob("*.so")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def measure_all(output: Path, folder: Path) -> None:
    # Not what changes from hour to hour, as the load does.
    facts = {name: fact for name, fact in machine.facts().items() if name != "load_before"}
    about = {"version": nf.__version__, "library": library(), "numpy": np.__version__,
             "machine": ", ".join(f"{name} {fact}" for name, fact in facts.items())}
    records = Records(output.with_suffix(".partial"), about)
    made("sift-1m", "full", store.root(None))  # not under a shard's limit of memory
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        needed, free = MOST_ROW_BYTES * SIZES[-1], shutil.disk_usage(temporary).free
        if free < needed:
            raise SystemExit(f"{temporary}: has {free} bytes free, {needed} are needed: name "
                             "another folder with --folder")
        ray = records.get("ray", ask_ray)
        bandwidth = records.get("read_bytes_a_second", lambda: read_bandwidth(temporary))
        merge = records.get("merge", lambda: {str(count): merge_seconds(count) for count in MERGED})
        shards = []
        wanted = list(wanted_shards())
        for number, (family, begin, rows) in enumerate(wanted, start=1):
            def measure(asked: tuple[Any, ...] = (family, begin, rows, temporary)) -> Any:
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                    return process.submit(measure_shard, *asked).result()
            shards.append(records.get(f"{family}, {begin}, {rows}", measure))
            print(f"{number} of {len(wanted)}: {json.dumps(shards[-1])}", flush=True)
    result = {"command": "bench/python bench/scale_rates.py", **about, "ray": ray, "merge": merge,
              "read_bytes_a_second": bandwidth}
    listed = ",\n".join(f"  {json.dumps(shard)}" for shard in shards)
    text = json.dumps(result, indent=1).removesuffix("\n}")
    output.write_text(f'{text},\n "shards": [\n{listed}\n ]\n}}\n')
    output.with_suffix(".partial").unlink()
    minutes = sum(shard["seconds"] for shard in shards) / 60
    peak = max(shard["peak_bytes"] for shard in shards)
    print(f"{output}: {len(shards)} shards in {minutes:.1f} minutes, at most {peak / 1e9:.1f} GB "
          "of memory")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=OUTPUT)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()),
                        help="for files that are written and removed")
    parser.add_argument("--ray", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.ray:
        print(json.dumps(ray_seconds()))
    else:
        measure_all(asked.output, asked.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
