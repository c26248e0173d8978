"""sgemm of the newest OpenBLAS on PyPI."""
import ctypes
from pathlib import Path

import scipy_openblas32

from peers.gemm import Gemm


class Sgemm(Gemm):
    packages = ("scipy-openblas32",)

    @staticmethod
    def library() -> ctypes.CDLL:
        return ctypes.CDLL(str(next(Path(scipy_openblas32.get_lib_dir()).glob("*.so"))))


WAYS = {"sgemm": Sgemm}
