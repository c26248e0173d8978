"""100,000,000 vectors to an index of codes of 8 bytes, whatever the memory, also after kill -9.

    python tests/show/encode_100m.py [ROWS]

Needs numpy, and 150 bytes of disk a row in the folder for temporary files: 15 GB, which is looked
at first. NEARFIELD names the command (build/release/nearfield). Rows of 128 bytes in clusters are
drawn a million at a time. `nearfield encode` makes an index of them by PQ and is killed (-9) after
a third of them; the same command goes on. Then a hundredth of the rows by LSQ with 16 rounds, not
disturbed. Fails if a process had more than 256 MB of memory at any time, or by PQ 16 MB more for
all rows than for a hundredth of them, by LSQ 4 MB more than for 262,144 of them; if of what was
done before the kill more than the two blocks at the end were done again; if a row of any block of
32,768 has other codes than encoded alone; or if the index does not answer. Memory is what is in
use: malloc is told to give back what is freed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]
NEARFIELD = os.environ.get("NEARFIELD", str(ROOT / "build/release/nearfield"))
ROWS, DIM, CODEBOOKS = 100_000_000, 128, 8
CHUNK, BLOCK, SCAN_ROWS = 1_000_000, 32_768, 64
# Memory grows up to one block and no further: of its rows those of a piece of 16,384 are floats at
# a time (8 MB) and have scratch of local search (76 MB at 8 codebooks and two threads; with more of
# them a piece is larger, and at most the block: twice as much of both); the
# block is there as bytes (4 MB) and, for norms, decoded (17 MB). More blocks, so that in one of
# them all threads were at work at once.
FEW_BLOCKS = 8
LEARN, LEAST_ROWS = 100_000, 1_000_000
BYTES_A_ROW = 150  # of the vectors, and of the codes twice
MOST_BYTES = 256_000_000
# Fewer than the codes of the rows more, if somebody kept them: of LSQ 4 MB are 5 bytes for each, of
# PQ 16 MB a sixth of a byte. Peaks of the same command on the same rows were 23 to 26 MB, and of
# eight times as many 26 to 30: which threads were at work at once, and more often.
MORE_BYTES = {"pq": 16_000_000, "lsq": 4_000_000}
# Else glibc raises, with every large piece that is freed, the size from which on pieces go back to
# the system, up to 32 MB: from the second block on it keeps them, and peaks say what it kept.
GIVES_BACK = {"MALLOC_MMAP_THRESHOLD_": "131072"}

# In a small process between: what starts a command counts its own memory for the command's.
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, file=sys.stderr)
"""

Bytes = NDArray[np.uint8]


def make_rows(path: Path, rows: int) -> None:
    """Near 4,096 centres."""
    centres = np.random.default_rng(1).integers(0, 224, (4096, DIM), np.uint8)
    with path.open("wb") as file:
        file.write(np.array([rows, DIM], np.uint32).tobytes())
        for begin in range(0, rows, CHUNK):
            draw = np.random.default_rng([2, begin])
            count = min(CHUNK, rows - begin)
            noise = np.frombuffer(draw.bytes(count * DIM), np.uint8).reshape(count, DIM) & 31
            file.write((centres[draw.integers(0, len(centres), count)] + noise).tobytes())


def rows_of(path: Path) -> Bytes:
    rows, columns = np.fromfile(path, np.uint32, 2)
    return np.memmap(path, np.uint8, "r", 8, (int(rows), int(columns)))


def write(path: Path, rows: Bytes) -> None:
    with path.open("wb") as file:
        file.write(np.array(rows.shape, np.uint32).tobytes())
        rows.tofile(file)


def codes_of(index: Path) -> Bytes:
    """Of an index, a safetensors file: [block of 64 rows][column][row]."""
    with index.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        tensor = json.loads(file.read(length))["coded.codes"]
    begin = 8 + length + tensor["data_offsets"][0]
    return np.memmap(index, np.uint8, "r", begin, tuple(tensor["shape"]))


def run(*command: object) -> tuple[str, float, int]:
    """What it says, its seconds, and its most bytes of memory."""
    start = time.perf_counter()
    measured = [sys.executable, "-c", MEASURE, NEARFIELD, *map(str, command)]
    done = subprocess.run(measured, capture_output=True, text=True, env=os.environ | GIVES_BACK)
    if done.returncode != 0:
        sys.exit(f"nearfield {command[0]} FAILED: {done.stderr}")
    said, peak = done.stderr.rstrip().rpartition("\n")[::2]
    return said, time.perf_counter() - start, int(peak)


def encode(vectors: Path, quantizer: Path, output: Path) -> tuple[str, float, int]:
    return run("encode", "--vectors", vectors, "--quantizer", quantizer, "--output", output)


def encode_until_killed(vectors: Path, quantizer: Path, output: Path, least: int) -> float:
    """Kills it once so many bytes of codes are there; its seconds."""
    start = time.perf_counter()
    command = [NEARFIELD, "encode", "--vectors", vectors, "--quantizer", quantizer, "--output",
               output, "--quiet"]
    with subprocess.Popen([str(word) for word in command]) as job:
        while sum(path.stat().st_size for path in output.parent.glob(f"{output.name}.*")) < least:
            if job.poll() is not None:
                sys.exit("IT ENDED BEFORE IT WAS KILLED: take more rows")
            time.sleep(0.01)
        job.kill()
    return time.perf_counter() - start


def check_codes(folder: Path, vectors: Path, quantizer: Path, index: Path) -> int:
    """A row of every block, encoded alone; how many."""
    rows = rows_of(vectors)
    blocks = -(-len(rows) // BLOCK)
    draw = np.random.default_rng(3)
    taken = np.minimum(np.arange(blocks) * BLOCK + draw.integers(0, BLOCK, blocks), len(rows) - 1)
    write(folder / "sample.u8bin", rows[taken])
    encode(folder / "sample.u8bin", quantizer, folder / "sample-codes.u8bin")
    alone = rows_of(folder / "sample-codes.u8bin")
    found = codes_of(index)[taken // SCAN_ROWS, :CODEBOOKS, taken % SCAN_ROWS]
    wrong = taken[(alone != found).any(axis=1)]
    if len(wrong):
        sys.exit(f"OTHER CODES THAN ALONE: rows {wrong}")
    return blocks


def check_memory(kind: str, peaks: dict[int, int]) -> None:
    """By rows, few and many."""
    few, many = sorted(peaks)
    print(f"{kind}: peak resident memory {peaks[few] / 1e6:.1f} MB for {few} vectors, "
          f"{peaks[many] / 1e6:.1f} MB for {many}")
    if peaks[many] > MOST_BYTES or peaks[many] > peaks[few] + MORE_BYTES[kind]:
        sys.exit(f"MORE THAN {MOST_BYTES / 1e6:.0f} MB, OR NOT FLAT")


def show_pq(folder: Path, base: Path, some: Path) -> None:
    quantizer, index = folder / "pq.safetensors", folder / "pq.nf"
    run("train", "--vectors", some, "--rows", min(LEARN, len(rows_of(some))), "--kind", "pq",
        "--codebooks", CODEBOOKS, "--output", quantizer)
    _, _, few_peak = encode(some, quantizer, folder / "few.nf")
    rows = len(rows_of(base))
    killed_after = encode_until_killed(base, quantizer, index, rows * CODEBOOKS // 3)
    said, seconds, peak = encode(base, quantizer, index)
    before = int((re.search(r"; (\d+) were done before", said) or [0, 0])[1])
    if before < rows // 3 - 2 * BLOCK:
        sys.exit(f"DONE AGAIN: {before} of {rows} were done before")
    took = killed_after + seconds
    print(f"pq: {rows} vectors of {DIM} bytes to {CODEBOOKS} in {took:.1f} s, "
          f"{1e6 * took / rows:.2f} us a vector; killed after {before}, which stayed")
    check_memory("pq", {len(rows_of(some)): few_peak, rows: peak})
    checked = check_codes(folder, base, quantizer, index)
    queries = rows_of(base)[: 100 * BLOCK : BLOCK]
    write(folder / "queries.u8bin", queries)
    _, seconds, _ = run("search", "--index", index, "--queries", folder / "queries.u8bin", "-k", 10,
                        "--output", folder / "found.ibin")
    found = np.fromfile(folder / "found.ibin", np.int32)[2:]
    if len(found) != 10 * len(queries) or found.min() < 0 or found.max() >= rows:
        sys.exit(f"NOT 10 ROWS OF EACH QUERY: {found}")
    print(f"pq: a row of each of {checked} blocks has the codes it has alone; an index of "
          f"{index.stat().st_size / 1e6:.0f} MB, opened and asked for the 10 nearest of "
          f"{len(queries)} queries in {seconds:.2f} s")


def show_lsq(folder: Path, some: Path) -> None:
    quantizer, index = folder / "lsq.safetensors", folder / "lsq.nf"
    rows = len(rows_of(some))
    fewer = max(rows // 10, FEW_BLOCKS * BLOCK)
    write(folder / "fewer.u8bin", rows_of(some)[:fewer])
    run("train", "--vectors", some, "--rows", min(LEARN, rows), "--kind", "lsq", "--codebooks",
        CODEBOOKS, "--iterations", 10, "--output", quantizer)
    _, _, few_peak = encode(folder / "fewer.u8bin", quantizer, folder / "few.nf")
    _, seconds, peak = encode(some, quantizer, index)
    print(f"lsq: {rows} vectors of {DIM} bytes to {CODEBOOKS} and their norms in {seconds:.1f} s, "
          f"{1e6 * seconds / rows:.2f} us a vector")
    check_memory("lsq", {fewer: few_peak, rows: peak})
    print(f"lsq: a row of each of {check_codes(folder, some, quantizer, index)} blocks has the "
          "codes it has alone")


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    if rows < LEAST_ROWS:
        sys.exit(f"{rows} rows are encoded before they can be killed: take {LEAST_ROWS} or more")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        free = shutil.disk_usage(folder).free
        if free < BYTES_A_ROW * rows + 1_000_000_000:
            sys.exit(f"{rows} rows take {BYTES_A_ROW * rows / 1e9:.1f} GB of disk in {folder}, and "
                     f"1 GB beside: {free / 1e9:.1f} are free: take fewer, or another TMPDIR")
        base, some = folder / "base.u8bin", folder / "some.u8bin"
        make_rows(base, rows)
        write(some, rows_of(base)[: max(rows // 100, 2 * FEW_BLOCKS * BLOCK)])
        show_pq(folder, base, some)
        show_lsq(folder, some)
    print("memory is flat, nothing was lost, and two blocks at most were done twice")


if __name__ == "__main__":
    main()
