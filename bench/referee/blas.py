"""Which BLAS a process has loaded, what CPU it believes to be on, and how fast it is."""
import ctypes
import time

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from peers.cblas import sgemm

# Small and on one thread: a millisecond is often undisturbed even on a busy machine.
SHAPE = (256, 1_024, 128)
SECONDS = 0.5   # long enough that a neighbour on the machine does not take all of it


def gigaflops(library: ctypes.CDLL) -> float:
    rows, columns, depth = SHAPE
    a, b = np.ones((rows, depth), np.float32), np.ones((columns, depth), np.float32)
    out = np.empty((rows, columns), np.float32)
    product = sgemm(library)
    best = np.inf
    with threadpool_limits(1):
        ends = time.perf_counter() + SECONDS
        while (started := time.perf_counter()) < ends:
            product(a, b, out)
            best = min(best, time.perf_counter() - started)
    return 2 * rows * columns * depth / best / 1e9


def loaded() -> dict[str, str]:
    """Files of the BLAS libraries of this process, with names as "openblas 0.3.15 SkylakeX"."""
    return {entry["filepath"]: " ".join(filter(None, (
                entry["internal_api"], entry["version"], entry.get("architecture"))))
            for entry in threadpool_info() if entry["user_api"] == "blas"}


def speeds(libraries: dict[str, str]) -> dict[str, float]:
    """GFLOP/s by name, on one core."""
    return {name: gigaflops(ctypes.CDLL(file)) for file, name in libraries.items()}


def too_slow(speeds_of_peer: dict[str, float], speeds_of_mkl: dict[str, float]) -> str | None:
    """Why a peer's times may be unfair to it: one of its BLAS runs below half of MKL's speed.

    Which of several a peer calls cannot be seen, and so each of them counts.
    """
    for whose, found in (("its", speeds_of_peer), ("MKL's", speeds_of_mkl)):
        if not found:
            return f"{whose} BLAS is not to be seen in its process, so nobody knows how fast it is"
    mkl = max(speeds_of_mkl.values())
    for name, speed in speeds_of_peer.items():
        if speed < mkl / 2:
            return (f"its BLAS, {name}, called bare, gives {speed:.0f} GFLOP/s, below half of "
                    f"MKL's {mkl:.0f}: set its core type (docs/benchmarks.md)")
    return None
