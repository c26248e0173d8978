"""Mismatches are counted, ties are forgiven only where they are ties."""
import unittest

import numpy as np

from referee.answers import (
    Correctness,
    Truth,
    judge_codes,
    judge_matches,
    judge_nearest,
    judge_ranges,
)
from sets.definition import differing_bits, nearest, squared_distances

# Distances of query 0 to the rows: rows 1 and 2 are at the same distance, row 4 almost.
DISTANCES = np.array([0.0, 1.0, 1.0, 2.0, np.nextafter(1.0, 2.0), 9.0])


def truth(ids: list[int]) -> Truth:
    return Truth(np.array([0]), [np.array(ids)], lambda _, rows: DISTANCES[rows], len(DISTANCES))


def mismatches(found: list[int], right: list[int], ties_forgiven: bool = True) -> int:
    return judge_nearest(np.array([found]), truth(right), ties_forgiven).mismatches


class Nearest(unittest.TestCase):
    def test_the_truth_has_no_mismatch(self) -> None:
        self.assertEqual(mismatches([0, 1, 2, 4], [0, 1, 2, 4]), 0)

    def test_equal_distances_may_be_swapped(self) -> None:
        self.assertEqual(mismatches([0, 2, 1, 4], [0, 1, 2, 4]), 0)

    def test_unless_the_smaller_id_was_promised(self) -> None:
        self.assertEqual(mismatches([0, 2, 1, 4], [0, 1, 2, 4], ties_forgiven=False), 2)

    def test_almost_equal_is_not_equal(self) -> None:
        self.assertEqual(mismatches([0, 1, 4], [0, 1, 2]), 1)

    def test_the_same_row_twice_is_a_mismatch(self) -> None:
        self.assertEqual(mismatches([0, 1, 1], [0, 1, 2]), 1)

    def test_a_missing_or_impossible_id_is_a_mismatch(self) -> None:
        self.assertEqual(mismatches([0, -1, 6], [0, 1, 2]), 2)

    def test_recall_does_not_mind_the_order(self) -> None:
        verdict = judge_nearest(np.array([[4, 1, 0]]), truth([0, 1, 2]), ties_forgiven=True)
        self.assertEqual(verdict.mismatches, 2)
        self.assertAlmostEqual(verdict.recall, 2 / 3)

    def test_a_wrong_answer_is_refused_unless_it_claims_to_be_approximate(self) -> None:
        verdict = judge_nearest(np.array([[5, 3, 4]]), truth([0, 1, 2]), ties_forgiven=True)
        self.assertTrue(verdict.refuses(approximate=False))
        self.assertFalse(verdict.refuses(approximate=True))

    def test_another_number_of_ids_is_an_error(self) -> None:
        with self.assertRaisesRegex(ValueError, "expected 3 ids, got 2"):
            mismatches([0, 1], [0, 1, 2])


class Ranges(unittest.TestCase):
    def test_are_sets(self) -> None:
        verdict = judge_ranges(np.array([0, 3]), np.array([2, 0, 1]), truth([0, 1, 2]))
        self.assertEqual((verdict.mismatches, verdict.recall), (0, 1.0))

    def test_what_is_missing_and_what_is_too_much_count(self) -> None:
        verdict = judge_ranges(np.array([0, 3]), np.array([0, 1, 5]), truth([0, 1, 2]))
        self.assertEqual(verdict.mismatches, 2)

    def test_an_answer_that_holds_every_row_is_refused(self) -> None:
        verdict = judge_ranges(np.array([0, 6]), np.arange(6), truth([0, 1, 2]))
        self.assertEqual(verdict.recall, 1.0)
        self.assertTrue(verdict.refuses(approximate=False))

    def test_rows_where_there_are_none_are_refused(self) -> None:
        empty = truth([])
        self.assertFalse(judge_ranges(np.array([0, 0]), np.arange(0), empty).refuses(False))
        self.assertTrue(judge_ranges(np.array([0, 1]), np.arange(1), empty).refuses(False))


class Matches(unittest.TestCase):
    # Of four queries the first two and the last are matched; the first shows no base row's place.
    truth = Truth(np.arange(4), [np.array(ids) for ids in ([5], [0], [], [2])],
                  lambda _, rows: DISTANCES[rows], len(DISTANCES),
                  correspondences=np.array([[-1, -1], [3, 0], [1, -1], [2, -1]]))

    def test_are_a_set(self) -> None:
        verdict = judge_matches(np.array([3, 0, 1]), np.array([2, 5, 0]), self.truth)
        self.assertEqual((verdict.mismatches, verdict.positions, verdict.recall), (0, 3, 1.0))

    def test_what_is_missing_too_much_or_another_row_counts(self) -> None:
        for first, second, mismatches in (([0, 1], [5, 0], 1), ([0, 1, 2, 3], [5, 0, 1, 2], 1),
                                          ([0, 1, 3], [5, 4, 2], 2), ([], [], 3),
                                          ([0, 1, 3, 3], [5, 0, 2, 2], 1)):
            verdict = judge_matches(np.array(first, int), np.array(second, int), self.truth)
            self.assertEqual(verdict.mismatches, mismatches, (first, second))

    def test_of_rows_that_are_not_there_are_an_error(self) -> None:
        for row in (-1, 4):
            with self.assertRaisesRegex(ValueError, f"rows {row} to {row}, of 4"):
                judge_matches(np.array([row]), np.array([0]), self.truth)

    def test_are_right_where_both_rows_show_the_same_place(self) -> None:
        self.assertEqual(self.truth.own_correctness(), Correctness(2 / 3, 2 / 3))
        verdict = judge_matches(np.array([1, 2]), np.array([3, 0]), self.truth)
        self.assertEqual(verdict.correctness, Correctness(1 / 2, 1 / 3))
        nothing = judge_matches(np.arange(0), np.arange(0), self.truth)
        self.assertEqual(nothing.correctness, Correctness(0, 0))


class Codes(unittest.TestCase):
    def test_are_worth_the_mean_of_squared_errors(self) -> None:
        vectors = np.array([[250, 1], [3, 4]], dtype=np.uint8)
        decoded = np.array([[252, 1], [3, 0]], dtype=np.float32)
        self.assertEqual(judge_codes(decoded, vectors).error, (10.0, 1.96 * 6 / 2 ** 0.5))
        self.assertFalse(judge_codes(decoded, vectors).refuses(approximate=False))

    def test_of_some_vectors_only_are_an_error(self) -> None:
        with self.assertRaisesRegex(ValueError, "expected .2, 2. values"):
            judge_codes(np.zeros((1, 2)), np.zeros((2, 2)))


class Definition(unittest.TestCase):
    def test_bytes_do_not_wrap_around(self) -> None:
        rows = np.array([[0, 0], [255, 0]], dtype=np.uint8)
        query = np.array([255, 255], dtype=np.uint8)
        self.assertEqual(squared_distances(query, rows).tolist(), [130050, 65025])

    def test_floats_are_subtracted_before_they_are_squared(self) -> None:
        rows = np.full((1, 9), 1e6, dtype=np.float32)
        query = rows[0] + np.float32(0.25)
        self.assertEqual(squared_distances(query, rows).tolist(), [9 * 0.0625])

    def test_bits(self) -> None:
        rows = np.array([[0b1010, 0xFF]], dtype=np.uint8)
        self.assertEqual(differing_bits(np.array([0b0110, 0], dtype=np.uint8), rows).tolist(), [10])

    def test_ties_go_to_the_smaller_id(self) -> None:
        rows = np.array([[3], [1], [1], [0]], dtype=np.uint8)
        query = np.array([1], dtype=np.uint8)
        self.assertEqual(nearest(query, rows, 3, "sqeuclidean").tolist(), [1, 2, 3])


if __name__ == "__main__":
    unittest.main()
