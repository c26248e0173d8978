"""bench/scale_rates.py: what it measures is kept, and its rows are the same in any pieces."""
import json
import tempfile
import unittest
from pathlib import Path

import numpy as np
import scale_rates

ABOUT = {"machine": "this"}


class KeptRecords(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "rates.partial"
        self.measured: list[int] = []

    def measure(self, value: int) -> int:
        self.measured.append(value)
        return value

    def test_what_was_measured_is_not_measured_again(self) -> None:
        for _ in range(2):
            records = scale_rates.Records(self.path, ABOUT)
            found = [records.get(str(value), lambda value=value: self.measure(value))
                     for value in (3, 5)]
            self.assertEqual(found, [3, 5])
        self.assertEqual(self.measured, [3, 5])

    def test_a_line_that_was_cut_off_is_measured_again(self) -> None:
        scale_rates.Records(self.path, ABOUT).get("a", lambda: self.measure(1))
        with open(self.path, "a") as file:
            file.write('["b", {"rows"')
        for _ in range(2):
            records = scale_rates.Records(self.path, ABOUT)
            self.assertEqual(records.get("b", lambda: self.measure(2)), 2)
        self.assertEqual(self.measured, [1, 2])
        self.assertEqual(len(self.path.read_text().splitlines()), 3)

    def test_of_another_machine_is_an_error(self) -> None:
        scale_rates.Records(self.path, ABOUT)
        with self.assertRaisesRegex(SystemExit, "remove it to measure all anew"):
            scale_rates.Records(self.path, {"machine": "that"})


class ShardRows(unittest.TestCase):
    def test_rows_are_the_same_in_any_pieces_and_differ_from_turn_to_turn(self) -> None:
        base = np.random.RandomState(0).randint(0, 256, (1000, 128), np.uint8)
        rows = scale_rates.sift_rows(base, "u1")
        whole = rows(0, 5000)
        np.testing.assert_array_equal(whole[:1000], base)
        pieces = np.concatenate([rows(begin, begin + 700) for begin in range(0, 4900, 700)])
        np.testing.assert_array_equal(pieces, whole[:4900])
        self.assertEqual(len(np.unique(whole, axis=0)), 5000)
        far = np.abs(whole[1000:2000].astype(int) - np.minimum(base, 252))
        self.assertLessEqual(far.max(), 3)

    def test_shards_are_the_whole(self) -> None:
        largest = scale_rates.SIZES[-1]
        for family in scale_rates.FAMILIES:
            begins = [begin for of, begin, rows in scale_rates.wanted_shards()
                      if of == family and rows == largest]
            self.assertEqual(begins, list(range(0, scale_rates.WHOLE, largest)))

    def test_the_file_has_what_the_plan_reads(self) -> None:
        found = json.loads(scale_rates.OUTPUT.read_text())
        for name in ("command", "machine", "version", "ray", "merge", "read_bytes_a_second"):
            self.assertIn(name, found)
        self.assertEqual({shard["family"] for shard in found["shards"]}, set(scale_rates.FAMILIES))
