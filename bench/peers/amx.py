"""The multiplying of a search on tiles of bytes, and nothing else: the limit of CPUs with AMX."""
import ctypes
import math
from pathlib import Path

import numpy as np

from peers.interface import Data, Way, on_threads
from peers.native import library
from sets.random_streams import stream

SIDE, DEPTH = 16, 64   # a product of tiles: 16 x 16 sums over 64 bytes
# Waking Python's threads takes 50 us, a tenth of a small search: a call does this much.
PRODUCTS_A_CALL = 10_000_000


def cpu_has_tiles() -> bool:
    return "amx_int8" in Path("/proc/cpuinfo").read_text().split()


def tile_loop() -> ctypes.CDLL:
    if not cpu_has_tiles():
        raise ImportError("this CPU has no AMX (amx_int8)")
    loop = library("amx_loop", "-mamx-tile", "-mamx-int8")
    if not loop.allow_tiles():
        raise ImportError("the kernel gives this process no tiles (ARCH_REQ_XCOMP_PERM)")
    loop.multiply_tiles.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64]
    loop.multiply_tiles.restype = None
    return loop


def products_of(queries: int, rows: int, columns: int) -> int:
    """How many products of tiles hold all sums: a byte a value, rows filled up to 64."""
    return math.ceil(queries * rows / SIDE**2) * math.ceil(columns / DEPTH)


def multiplied(loop: ctypes.CDLL, left: np.ndarray, right: np.ndarray, products: int) -> np.ndarray:
    """Sums of two tiles a side; `right` as the unit reads it, four bytes of a column together."""
    sums = np.empty((4, SIDE, SIDE), dtype=np.int32)
    loop.multiply_tiles(left.ctypes.data, right.ctypes.data, sums.ctypes.data, products)
    return sums


def expected(left: np.ndarray, right: np.ndarray, products: int) -> np.ndarray:
    """The same by numpy: each pair of tiles so often, in int32, which wraps around."""
    sums = []
    for number in range(4):
        times = (products + 3 - number) // 4
        columns = right[number % 2].reshape(DEPTH // 4, SIDE, 4).swapaxes(1, 2).reshape(DEPTH, SIDE)
        once = left[number // 2].astype(np.int64) @ columns.astype(np.int64)
        sums.append((times * once).astype(np.int32))
    return np.stack(sums)


class Tiles(Way):
    is_limit = True

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self.loop = tile_loop()
        random = stream("tiles")
        self.left, self.right = (random.randint(0, 256, (2, SIDE, DEPTH)).astype(np.uint8)
                                 for _ in range(2))
        self.rows, self.columns = data.base.shape
        self.times_done = max(1, PRODUCTS_A_CALL // self.products(len(data.queries) or self.rows))
        self.forget_base()

    def products(self, queries: int) -> int:
        return products_of(queries, self.rows, self.columns)

    def multiply(self, queries: int) -> None:
        products = self.times_done * self.products(queries)

        def work(thread: int) -> None:
            mine = (products + self.data.threads - 1 - thread) // self.data.threads
            multiplied(self.loop, self.left, self.right, mine)

        on_threads(self.data.threads, work)

    def knn(self, part: slice, k: int) -> None:
        self.multiply(len(self.data.queries[part]))

    def within(self, part: slice, radius: float) -> None:
        self.multiply(len(self.data.queries[part]))

    def graph(self, k: int) -> None:
        self.multiply(self.rows)

    def match(self, ratio: float) -> None:
        """Once: the same sums serve both directions."""
        self.multiply(len(self.data.queries))


WAYS = {"tiles": Tiles}
