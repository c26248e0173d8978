"""10,000,000 vectors encoded by a job that is killed ten times: the files are those of a run that
nobody disturbed, byte for byte.

    python tests/show/cluster_encode.py [ROWS]

Needs nearfield with its extra `cluster`, 150 bytes of disk a row in the folder for temporary files,
and no Ray: a job is the same without it, in one process. That process is killed (-9) at ten random
times, each after a part more, and started again. Fails if the codes are not exactly as many as the
rows, if a file differs, or if a part that was there is written again.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import numpy as np

import nearfield as nf
from nearfield import cluster

ROWS, DIM, CHUNK = 10_000_000, 128, 1_000_000
PARTS, KILLS = 100, 10

JOB = """
import sys
from nearfield import cluster

cluster.encode(
    sys.argv[1], sys.argv[2], sys.argv[3], block=int(sys.argv[4]),
    progress=lambda done, total: print(done, flush=True),
)
"""


def make_rows(path: Path, rows: int) -> None:
    """Bytes, drawn a chunk at a time, behind the header of .u8bin."""
    with open(path, "wb") as file:
        file.write(np.array([rows, DIM], np.uint32).tobytes())
        for begin in range(0, rows, CHUNK):
            drawn = np.random.default_rng(begin).integers(
                0, 256, (min(CHUNK, rows - begin), DIM), np.uint8
            )
            file.write(drawn.tobytes())


def run_until_killed(command: list[str], parts: int, pause: float) -> int:
    """Kills it at a time after so many parts; its exit code."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None
        for line in job.stdout:
            if int(line) >= parts:
                time.sleep(pause)
                job.kill()
                break
    return job.returncode


def written(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (folder / "parts").glob("*.npz")}


def main() -> int:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        base, quantizer, job, whole = (folder / name for name in ("b.u8bin", "q", "job", "whole"))
        make_rows(base, rows)
        learn = np.random.default_rng(0).integers(0, 256, (20_000, DIM), np.uint8)
        nf.Quantizer.train(learn, kind="pq", codebooks=8, iterations=10).save(quantizer)
        block = -(-rows // PARTS)
        command = [sys.executable, "-c", textwrap.dedent(JOB), str(job), str(base),
                   str(quantizer), str(block)]  # fmt: skip
        draw = random.Random(0)
        start = time.monotonic()
        for _ in range(KILLS):
            before = written(job)
            if run_until_killed(command, draw.randint(1, 5), draw.random()) == 0:
                print("the job ended before it was killed: take more rows")
                return 1
            after = written(job)
            assert all(after[name] == stamp for name, stamp in before.items()), "written again"
        left = PARTS - len(written(job))
        subprocess.run(command, stdout=subprocess.PIPE, check=True)
        seconds = time.monotonic() - start
        parts = cluster.encode(whole, base, quantizer, block=block)
        assert {path.name for path in (job / "parts").iterdir()} == set(written(whole))
        for name in written(whole):
            assert (job / "parts" / name).read_bytes() == (whole / "parts" / name).read_bytes()
        codes = sum(len(part) for part in cluster.read_codes(job))
        assert codes == rows, codes
        print(f"{codes} codes in {parts} parts after {KILLS} kills, {left} parts in the last run: "
              f"every file as undisturbed; {seconds:.0f} s")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
