"""Nearfield, its peers and the bare limits, each behind the interface of `interface.py`.

A file with `WAYS` is a peer, and each of these a way to use it: the referee speaks of "faiss/flat".
To add a peer: a file here, its packages in peers.txt, and its ways in the cases that it can play.
"""
import importlib

from peers.interface import Way

# What a user must set for a peer to be at its best, on CPUs with AVX-512.
BEST_ENVIRONMENT = {
    # The OpenBLAS 0.3.15 of FAISS's wheel knows no CPU made since and takes it for a Prescott.
    "faiss": {"OPENBLAS_CORETYPE": "SKYLAKEX"},
}
# What holds them to an ISA on a CPU that has more.
HELD_TO = {
    "avx2": {
        "nearfield": {"NEARFIELD_ISA": "avx2"},
        # The wheel of 1.15.1 is one library for all ISAs, and so FAISS_OPT_LEVEL does nothing.
        "faiss": {"FAISS_SIMD_LEVEL": "AVX2", "OPENBLAS_CORETYPE": "HASWELL"},
        "mkl_gemm": {"MKL_ENABLE_INSTRUCTIONS": "AVX2"},
    },
}
# The referee's to set, whatever the environment of its user has.
VARIABLES = {name for chosen in (BEST_ENVIRONMENT, *HELD_TO.values())
             for variables in chosen.values() for name in variables}


def load(name: str) -> type[Way]:
    peer, _, way = name.partition("/")
    ways: dict[str, type[Way]] = importlib.import_module(f"peers.{peer}").WAYS
    if way not in ways:
        raise ValueError(f"{name}: peers/{peer}.py has the ways {', '.join(ways)}")
    return ways[way]
