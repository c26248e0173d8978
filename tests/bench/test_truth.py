"""The definition has the last word about the truth, and ties are as it says."""
import unittest

import numpy as np

from referee import matches, truth
from referee.cases import Question
from referee.material import Material
from referee.truth import Oracle
from sets.definition import nearest, squared_distances
from sets.random_streams import stream

ROWS, QUERIES, RECORDED = 300, 250, 20


def points(recorded: bool) -> Material:
    random = stream("points")
    # Of few values, so that many distances are the same.
    base, queries = (random.randint(0, 3, (count, 8)).astype(np.uint8) for count in (ROWS, QUERIES))
    ids = np.stack([nearest(query, base, RECORDED, "sqeuclidean") for query in queries])
    return Material("sqeuclidean", base, queries, ids if recorded else None)


class Truths(unittest.TestCase):
    def test_of_all_queries_at_quick_size_by_the_definition(self) -> None:
        made = points(recorded=False)
        found = Oracle(made, "knn", (Question(k=5), Question(k=40)), "quick")
        for k in (40, 5):
            right = found.truth_of(Question(k=k))
            self.assertEqual(right.by_definition, QUERIES)
            self.assertEqual(right.queries.tolist(), list(range(QUERIES)))
            for query, ids in zip(right.queries, right.ids, strict=True):
                self.assertEqual(ids.tolist(), nearest(made.queries[query], made.base, k,
                                                       "sqeuclidean").tolist())

    def test_of_all_queries_by_the_file_and_of_a_sample_by_the_definition(self) -> None:
        right = Oracle(points(recorded=True), "knn", (Question(k=5),), "full").truth_of(
            Question(k=5))
        self.assertEqual((len(right.queries), right.by_definition), (QUERIES, 200))

    def test_of_a_sample_where_the_file_holds_too_few(self) -> None:
        question = Question(k=RECORDED + 1)
        right = Oracle(points(recorded=True), "knn", (question,), "full").truth_of(question)
        self.assertEqual((len(right.queries), right.by_definition), (200, 200))
        self.assertEqual(len(right.ids[0]), RECORDED + 1)

    def test_a_file_that_differs_from_the_definition_is_an_error(self) -> None:
        made = points(recorded=True)
        assert made.truth is not None
        made.truth[7, [0, 1]] = made.truth[7, [1, 0]]
        with self.assertRaisesRegex(ValueError, "1 of 250 queries differ .* first query 7"):
            Oracle(made, "knn", (Question(k=5),), "quick").truth_of(Question(k=5))

    def test_within_a_radius(self) -> None:
        made = points(recorded=True)
        question = Question(radius=4.5)
        right = Oracle(made, "within", (question,), "full").truth_of(question)
        self.assertEqual((len(right.queries), right.by_definition), (200, 200))
        expected = [((made.base.astype(int) - made.queries[query]) ** 2).sum(axis=1) <= 4
                    for query in right.queries]
        self.assertEqual([ids.tolist() for ids in right.ids],
                         [np.flatnonzero(hit).tolist() for hit in expected])

    def test_a_row_is_not_its_own_neighbour_even_among_copies(self) -> None:
        base = np.zeros((6, 8), np.uint8)
        question = Question(k=2)
        right = Oracle(Material("sqeuclidean", base, base[:0], None), "graph", (question,),
                       "quick").truth_of(question)
        self.assertEqual([ids.tolist() for ids in right.ids],
                         [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1], [0, 1]])

    def test_of_selection(self) -> None:
        base = np.array([[3.0, 1.0, 2.0, 1.0], [0.0, 0.0, 0.0, 0.0]], np.float32)
        question = Question(k=3)
        right = Oracle(Material("sqeuclidean", base, base[:0], None), "select", (question,),
                       "quick").truth_of(question)
        self.assertEqual([ids.tolist() for ids in right.ids], [[1, 3, 2], [0, 1, 2]])

    def test_rows_in_several_blocks(self) -> None:
        base = stream("blocks").randint(0, 256, (2 * truth.ROWS_AT_A_TIME + 5, 4)).astype(np.uint8)
        made = Material("sqeuclidean", base, base[:1], None)
        found = Oracle(made, "knn", (Question(k=9),), "quick").truth_of(Question(k=9))
        self.assertEqual(found.ids[0].tolist(), nearest(base[0], base, 9, "sqeuclidean").tolist())

    def test_of_matches(self) -> None:
        made = points(recorded=False)
        question = Question(ratio=0.9)
        right = Oracle(made, "match", (question,), "full").truth_of(question)
        self.assertEqual((len(right.queries), right.by_definition), (QUERIES, QUERIES))
        back = [nearest(row, made.queries, 1, "sqeuclidean")[0] for row in made.base]
        matched = 0
        for query, ids in zip(right.queries, right.ids, strict=True):
            one, two = nearest(made.queries[query], made.base, 2, "sqeuclidean")
            keys = squared_distances(made.queries[query], made.base[[one, two]])
            passes = np.sqrt(keys[0]) < 0.9 * np.sqrt(keys[1]) and back[one] == query
            self.assertEqual(ids.tolist(), [one] if passes else [])
            matched += passes
        self.assertGreater(matched, 10)

    def test_matches_are_those_of_integers_where_sums_are_largest(self) -> None:
        rows = np.full((3, 128), 255, np.uint8)
        others = np.zeros((2, 128), np.uint8)
        others[1, 0] = 1
        ids, keys = matches.two_nearest(rows, others)
        self.assertEqual(ids.tolist(), [1, 1, 1])
        self.assertEqual(keys[0].tolist(), [127 * 255**2 + 254**2, 128 * 255**2])

    def test_matches_in_several_blocks(self) -> None:
        rows = stream("blocks").randint(0, 256, (matches.ROWS_AT_A_TIME + 5, 4)).astype(np.uint8)
        ids, keys = matches.two_nearest(rows, rows)
        for row in (0, matches.ROWS_AT_A_TIME, len(rows) - 1):
            found = nearest(rows[row], rows, 2, "sqeuclidean")
            self.assertEqual(ids[row], found[0])
            self.assertEqual(keys[row].tolist(), squared_distances(rows[row], rows[found]).tolist())

    def test_matches_of_what_float32_does_not_hold_are_an_error(self) -> None:
        for rows in (np.zeros((2, 130), np.uint8), np.zeros((2, 8), np.float32)):
            with self.assertRaisesRegex(ValueError, "columns of .* are not exact"):
                matches.two_nearest(rows, rows)


if __name__ == "__main__":
    unittest.main()
