"""Bare limits do the work that they are named for: all of it, and nothing else."""
import ctypes
import unittest
from unittest import mock

import numpy as np

from peers import amx, bandwidth, native
from peers.interface import Data
from sets.random_streams import stream


def data(queries: int, rows: int, columns: int, dtype: type) -> Data:
    return Data(np.ones((rows, columns), dtype), np.ones((queries, columns), dtype), "sqeuclidean",
                threads=2)


class Tiles(unittest.TestCase):
    loop: ctypes.CDLL

    @classmethod
    def setUpClass(cls) -> None:
        try:
            cls.loop = amx.tile_loop()
        except ImportError as reason:
            raise unittest.SkipTest(str(reason)) from reason

    def sides(self) -> tuple[np.ndarray, np.ndarray]:
        random = stream("sides")
        left, right = (random.randint(0, 256, (2, 16, 64)).astype(np.uint8) for _ in range(2))
        return left, right

    def test_a_product_is_that_of_numpy(self) -> None:
        left, right = self.sides()
        sums = amx.multiplied(self.loop, left, right, 4)
        # Column j of the right side is four bytes at a time, at 4 j of each of its 16 rows.
        column = np.concatenate([right[1, row, 4 * 5:4 * 5 + 4] for row in range(16)])
        self.assertEqual(sums[1, 3, 5], left[0, 3].astype(int) @ column.astype(int))
        np.testing.assert_array_equal(sums, amx.expected(left, right, 4))

    def test_every_product_is_made(self) -> None:
        """Each adds itself to a sum, so that one which is left out would be missed."""
        left, right = self.sides()
        for products in (0, 1, 2, 3, 5, 1_000_003):
            np.testing.assert_array_equal(amx.multiplied(self.loop, left, right, products),
                                          amx.expected(left, right, products))

    def test_a_search_is_all_of_its_sums(self) -> None:
        way = amx.Tiles(data(32, 160, 100, np.uint8))
        made = []
        with (mock.patch.object(amx, "multiplied", lambda *given: made.append(given[-1])),
              mock.patch.object(way, "times_done", 1)):
            way.knn(slice(0, 32), 10)
            self.assertEqual(sorted(made), [20, 20])   # 2 x 10 tiles, 100 bytes in 2 steps of 64
            made.clear()
            way.match(0.8)
            self.assertEqual(sorted(made), [20, 20])   # once for both directions
            made.clear()
            way.graph(10)
            self.assertEqual(sum(made), 200)

    def test_a_small_search_is_repeated(self) -> None:
        way = amx.Tiles(data(32, 160, 128, np.uint8))
        self.assertEqual(way.times_done, amx.PRODUCTS_A_CALL // 40)


class Missing(unittest.TestCase):
    def test_a_cpu_without_tiles_says_so(self) -> None:
        with (mock.patch("pathlib.Path.read_text", return_value="flags : avx2 avx512f\n"),
              self.assertRaisesRegex(ImportError, "this CPU has no AMX")):
            amx.tile_loop()

    def test_a_compiler_that_is_not_there_is_named(self) -> None:
        with (mock.patch.dict("os.environ", CXX="no-such-compiler"),
              self.assertRaisesRegex(ImportError, "no-such-compiler")):
            native.library("amx_loop")

    def test_what_does_not_compile_says_why(self) -> None:
        with self.assertRaisesRegex(ImportError, "error"):
            native.library("amx_loop", "-mno-such-machine")


class Bandwidth(unittest.TestCase):
    def bytes_a_search(self, way: type[bandwidth.Read], dtype: type) -> int:
        made = way(data(1, 1_000, 128, dtype))
        return sum(part.nbytes for part in made.parts)

    def test_reads_the_base_as_it_is(self) -> None:
        self.assertEqual(self.bytes_a_search(bandwidth.Read, np.float32), 512_000)
        self.assertEqual(self.bytes_a_search(bandwidth.Read, np.uint8), 128_000)

    def test_reads_a_byte_for_each_value(self) -> None:
        for dtype in (np.float32, np.uint8):
            self.assertEqual(self.bytes_a_search(bandwidth.ReadBytes, dtype), 128_000)


if __name__ == "__main__":
    unittest.main()
