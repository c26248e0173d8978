"""sgemm of any BLAS library, called bare."""
import ctypes
from collections.abc import Callable

import numpy as np

ROW_MAJOR, NOT_TRANSPOSED, TRANSPOSED = 101, 111, 112
# As the libraries in wheels spell it; a 64 says that its integers have as many bits.
NAMES = ("cblas_sgemm", "scipy_cblas_sgemm", "cblas_sgemm64_", "scipy_cblas_sgemm64_")

Product = Callable[[np.ndarray, np.ndarray, np.ndarray], None]


def sgemm(library: ctypes.CDLL) -> Product:
    """out = a b', for contiguous float32."""
    name = next((name for name in NAMES if hasattr(library, name)), None)
    if name is None:
        raise ValueError(f"{library._name} has none of {', '.join(NAMES)}")
    function = getattr(library, name)
    whole = ctypes.c_int64 if "64" in name else ctypes.c_int
    pointer = ctypes.c_void_p
    function.argtypes = [ctypes.c_int] * 3 + [whole] * 3 + [
        ctypes.c_float, pointer, whole, pointer, whole, ctypes.c_float, pointer, whole]
    function.restype = None

    def product(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
        (rows, depth), columns = a.shape, len(b)
        function(ROW_MAJOR, NOT_TRANSPOSED, TRANSPOSED, rows, columns, depth,
                 1, a.ctypes.data, depth, b.ctypes.data, depth, 0, out.ctypes.data, columns)

    return product
