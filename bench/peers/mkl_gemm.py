"""sgemm of Intel MKL."""
import ctypes
import sys
from pathlib import Path

from peers.gemm import Gemm


class Sgemm(Gemm):
    packages = ("mkl",)

    @staticmethod
    def library() -> ctypes.CDLL:
        found = sorted(Path(sys.prefix, "lib").glob("libmkl_rt.so*"))
        if not found:
            raise ImportError("no libmkl_rt.so: the package mkl is not installed")
        return ctypes.CDLL(str(found[-1]))


WAYS = {"sgemm": Sgemm}
