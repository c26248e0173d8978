"""10,000,000 vectors encoded by tasks of Ray, with ten kills: the files are those of a run that
nobody disturbed, byte for byte.

    unshare --net bash -c 'ip link set lo up; python tests/show/cluster_encode.py [ROWS]'

As root: Ray listens on every interface, so that it gets a network that has the loopback alone.
Needs nearfield with its extra `cluster`, and 150 bytes of disk a row in the folder for temporary
files. Three nodes of one core, 100 parts. Killed (-9), each after some parts more, are the process
that runs the job, four times, which is started again; a worker that encodes, four times; and a node
on which one does, twice, for which another comes. Many parts are encoded while a node starts: so
that the job is not through before all kills, it waits after each part until it is told to go on.
Fails if it is through nevertheless, if the codes are not exactly as many as the rows, if a file
differs or is missing, or if the job, when it is started again, has no less to do than before.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "cluster"))
import nearfield as nf
from figures import Figures
from nearfield import cluster
from ray_nodes import Nodes, command_of, kill_process, only_loopback, workers_on

ROWS, DIM, CHUNK = 10_000_000, 128, 1_000_000
PARTS = 100
KILLS = ("process", "worker", "node", "process", "worker") * 2
TASK = "_encode_part"
FIND_SECONDS = 3.0  # for a worker that encodes, after the job was told to go on

JOB = """
import sys
import ray
from nearfield import cluster


def report(done, total):
    print("left:", total - done, flush=True)
    sys.stdin.readline()  # at once, if nobody will say anything


ray.init(address=sys.argv[5], log_to_driver=False)
cluster.encode(*sys.argv[1:4], block=int(sys.argv[4]), progress=report)
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


class Job:
    """The process that runs it. It prints how many parts are left, at its beginning and after each,
    and waits then until it is told to go on."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self.left_at_starts: list[int] = []
        self._start()

    def do_parts(self, count: int) -> None:
        """Those that tasks have done meanwhile count, too."""
        assert self._process.stdin is not None
        for _ in range(count):
            self._process.stdin.write("\n")
            self._process.stdin.flush()
            if self._left() == 0:
                raise SystemExit("the job was through before all kills: take more rows")

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._start()

    def end(self) -> int:
        """Its exit code, when it is through; it waits no more."""
        self._process.communicate()
        return self._process.returncode

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.left_at_starts.append(self._left())

    def _left(self) -> int:
        """As it prints it; what Ray prints of workers that died is between."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("left:"):
                return int(line.removeprefix("left:"))
        raise SystemExit(f"the job ended, with {self._process.wait()}")


def stop_worker(nodes: Nodes) -> tuple[Any, int] | None:
    """One that encodes, and its node before it. Stopped, it still does when it is killed."""
    for node in nodes.nodes:
        for worker in workers_on(node, TASK):
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGSTOP)
                if TASK.encode() in command_of(worker):
                    return node, worker
                os.kill(worker, signal.SIGCONT)
    return None


def find_worker(nodes: Nodes, job: Job) -> tuple[Any, int]:
    while True:
        job.do_parts(1)  # and the next is sent to a worker
        end = time.monotonic() + FIND_SECONDS
        while time.monotonic() < end:
            found = stop_worker(nodes)
            if found:
                return found
            time.sleep(0.005)


def run_with_kills(nodes: Nodes, command: list[str], figures: Figures) -> None:
    draw = random.Random(0)
    job = Job(command)
    for what in KILLS:
        job.do_parts(draw.randint(1, 4))
        if what == "process":
            time.sleep(draw.random() / 3)
            job.kill()
        else:
            node, worker = find_worker(nodes, job)
            if what == "worker":
                kill_process(worker)
            else:
                nodes.kill(node)
                nodes.add()
        print(f"killed: {what}", flush=True)
    figures.exactly(0, job.end(), "exit code of the job")
    left = job.left_at_starts
    print(f"{len(KILLS)} kills; parts that were left when it was started: {left}", flush=True)
    repeated = sum(later >= before for before, later in pairwise(left))
    figures.exactly(0, repeated, "starts with no fewer parts left than the one before")


def main() -> int:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    if not only_loopback():
        print(__doc__, file=sys.stderr)
        return 2
    figures = Figures()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        base, quantizer, job, whole = (folder / name for name in ("b.u8bin", "q", "job", "whole"))
        make_rows(base, rows)
        learn = np.random.default_rng(0).integers(0, 256, (20_000, DIM), np.uint8)
        nf.Quantizer.train(learn, kind="pq", codebooks=8, iterations=10).save(quantizer)
        nodes = Nodes(folder, 3)
        block = -(-rows // PARTS)
        program = [sys.executable, "-c", textwrap.dedent(JOB)]
        rest = [str(base), str(quantizer), str(block), nodes.address]
        start = time.monotonic()
        run_with_kills(nodes, [*program, str(job), *rest], figures)
        print(f"with kills {time.monotonic() - start:.0f} s", flush=True)
        start = time.monotonic()
        undisturbed = [*program, str(whole), *rest]
        subprocess.run(undisturbed, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        print(f"undisturbed {time.monotonic() - start:.0f} s", flush=True)
        nodes.stop()
        names = [{path.name for path in (of / "parts").iterdir()} for of in (job, whole)]
        figures.exactly(0, len(names[0] ^ names[1]), "files that only one of both has")
        differing = sum(
            (job / "parts" / name).read_bytes() != (whole / "parts" / name).read_bytes()
            for name in names[0] & names[1]
        )
        figures.exactly(0, differing, f"files of {len(names[1])} that differ")
        codes = sum(len(part) for part in cluster.read_codes(job))
        figures.exactly(rows, codes, "codes")
    return figures.exit_code()


if __name__ == "__main__":
    sys.exit(main())
