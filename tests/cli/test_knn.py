"""nearfield knn and graph: k neighbours of each."""
import json
import unittest

from support import CommandLine, float32, ranked, read_bin, read_csv, read_npy, read_vecs
from support import write_bin

KNN = ["knn", "--queries", "q.fbin", "--base", "b.fbin"]
GRAPH = ["graph", "--base", "b.fbin"]


class Knn(CommandLine):
    def expected(self, metric, k):
        return [ranked(metric, query, self.BASE)[:k] for query in self.QUERIES]

    def test_equals_a_search_by_hand(self):
        for metric in "sqeuclidean", "euclidean", "l1", "linf", "inner_product":
            with self.subTest(metric=metric):
                self.run_well(*KNN, "-k", 7, "--metric", metric, "--output", "i.ibin",
                              "--distances", "d.fbin")
                expected = self.expected(metric, 7)
                self.assertEqual(read_bin(self.path("i.ibin"), "i"),
                                 [[i for _, i in row] for row in expected])
                self.assertEqual(read_bin(self.path("d.fbin"), "f"),
                                 [[float32(d) for d, _ in row] for row in expected])

    def test_lp_is_named_with_its_exponent(self):
        self.run_well(*KNN, "-k", 40, "--metric", "lp:1", "--output", "lp.ibin")
        self.run_well(*KNN, "-k", 40, "--metric", "l1", "--output", "l1.ibin")
        self.assertEqual(read_bin(self.path("lp.ibin"), "i"), read_bin(self.path("l1.ibin"), "i"))

    def test_every_ending_holds_the_same(self):
        self.run_well(*KNN, "-k", 5, "--output", "i.ibin", "--distances", "d.fbin")
        ids, distances = read_bin(self.path("i.ibin"), "i"), read_bin(self.path("d.fbin"), "f")
        self.run_well(*KNN, "-k", 5, "--output", "i.ivecs", "--distances", "d.fvecs")
        self.assertEqual(read_vecs(self.path("i.ivecs"), "i"), ids)
        self.assertEqual(read_vecs(self.path("d.fvecs"), "f"), distances)
        self.run_well(*KNN, "-k", 5, "--output", "i.npy", "--distances", "d.npy")
        self.assertEqual(read_npy(self.path("i.npy")), ("<i8", ids))
        self.assertEqual(read_npy(self.path("d.npy")), ("<f4", distances))
        self.run_well(*KNN, "-k", 5, "--output", "i.csv")
        header, lines = read_csv(self.path("i.csv"))
        self.assertEqual(header, "query,rank,id,distance")
        self.assertEqual(lines, [(query, rank + 1, ids[query][rank], distances[query][rank])
                                 for query in range(6) for rank in range(5)])

    def test_distances_of_a_csv_read_back_exactly(self):
        self.run_well(*KNN, "-k", 40, "--metric", "euclidean", "--output", "i.csv")
        distances = {(query, i): d for query, _, i, d in read_csv(self.path("i.csv"))[1]}
        for query, row in enumerate(self.expected("euclidean", 40)):
            for distance, i in row:
                self.assertEqual(float32(distances[query, i]), float32(distance))

    def test_more_neighbours_than_rows(self):
        write_bin(self.path("b.fbin"), [[0, 0, 0], [1, 0, 0]], "f")
        self.run_well(*KNN, "-k", 4, "--output", "i.ibin", "--distances", "d.fbin")
        self.assertEqual([row[2:] for row in read_bin(self.path("i.ibin"), "i")], [[-1, -1]] * 6)
        self.assertEqual([row[2:] for row in read_bin(self.path("d.fbin"), "f")],
                         [[float("inf")] * 2] * 6)
        self.run_well(*KNN, "-k", 4, "--output", "i.csv")
        self.assertEqual(len(read_csv(self.path("i.csv"))[1]), 6 * 2)
        self.assertEqual(json.loads(self.run_well(*KNN, "-k", 4, "--json").stdout)["found"], 6 * 2)

    def test_filter_in_every_format(self):
        write_bin(self.path("allowed.ibin"), [[3], [30], [17]], "i")
        self.run_well(*KNN, "-k", 3, "--filter", "allowed.ibin", "--output", "i.ibin")
        expected = [[i for _, i in ranked("sqeuclidean", query, self.BASE) if i in (3, 17, 30)]
                    for query in self.QUERIES]
        self.assertEqual(read_bin(self.path("i.ibin"), "i"), expected)
        write_bin(self.path("none.ibin"), [], "i")
        found = self.run_well(*KNN, "--filter", "none.ibin", "--json").stdout
        self.assertEqual(json.loads(found)["found"], 0)

    def test_bits(self):
        write_bin(self.path("b.u8bin"), [[0b1111], [0b0001]], "B")
        write_bin(self.path("q.u8bin"), [[0b0011]], "B")
        self.run_well("knn", "--queries", "q.u8bin", "--base", "b.u8bin", "--bits", 4, "--metric",
                      "hamming", "-k", 2, "--output", "i.ibin", "--distances", "d.fbin")
        self.assertEqual(read_bin(self.path("i.ibin"), "i"), [[1, 0]])
        self.assertEqual(read_bin(self.path("d.fbin"), "f"), [[1, 2]])

    def test_json_says_what_ran(self):
        said = json.loads(self.run_well(*KNN, "-k", 3, "--isa", "scalar", "--json").stdout)
        self.assertEqual([said[name] for name in ("command", "metric", "k", "queries", "rows",
                                                  "dims", "exact", "found")],
                         ["knn", "sqeuclidean", 3, 6, 40, 3, True, 18])
        self.assertEqual(said["plan"]["isa"], "scalar")
        self.assertEqual(said["stats"]["pairs_considered"], 6 * 40)

    def test_quiet_in_a_pipe(self):
        self.assertIn("18 found", self.run_well(*KNN, "-k", 3, "--output", "i.ibin").stderr)
        done = self.run_well(*KNN, "-k", 3, "--output", "i.ibin", "--quiet")
        self.assertEqual(done.stdout + done.stderr, "")

    def test_check_finite(self):
        write_bin(self.path("b.fbin"), [[0, 0, 0], [float("nan"), 0, 0]], "f")
        self.run_well(*KNN, "-k", 2, "--output", "i.csv")
        self.assertEqual({line[2] for line in read_csv(self.path("i.csv"))[1]}, {0})
        self.run_badly(*KNN, "--check-finite", "--output", "j.csv", code=1, says=["row 1"])


class Graph(CommandLine):
    def expected(self, k, allowed=range(1000)):
        return [[pair for pair in ranked("l1", row, self.BASE, skip={i}) if pair[1] in allowed][:k]
                for i, row in enumerate(self.BASE)]

    def test_equals_a_search_by_hand(self):
        self.run_well(*GRAPH, "-k", 4, "--metric", "l1", "--output", "i.npy", "--distances",
                      "d.npy")
        expected = self.expected(4)
        self.assertEqual(read_npy(self.path("i.npy"))[1], [[i for _, i in row] for row in expected])
        self.assertEqual(read_npy(self.path("d.npy"))[1], [[d for d, _ in row] for row in expected])

    def test_is_knn_of_a_base_without_itself(self):
        self.run_well(*GRAPH, "-k", 4, "--output", "graph.csv")
        self.run_well("knn", "--queries", "b.fbin", "--base", "b.fbin", "-k", 4, "--exclude-self",
                      "--output", "knn.csv")
        self.assertEqual(self.path("graph.csv").read_bytes(), self.path("knn.csv").read_bytes())
        self.assertEqual(len(read_csv(self.path("graph.csv"))[1]), 40 * 4)

    def test_filter(self):
        write_bin(self.path("allowed.ibin"), [[5], [6]], "i")
        self.run_well(*GRAPH, "-k", 1, "--metric", "l1", "--filter", "allowed.ibin", "--output",
                      "i.ibin")
        self.assertEqual(read_bin(self.path("i.ibin"), "i"),
                         [[row[0][1]] for row in self.expected(1, {5, 6})])

    def test_json(self):
        said = json.loads(self.run_well(*GRAPH, "-k", 2, "--json").stdout)
        self.assertEqual([said["command"], said["k"], said["rows"], said["found"]],
                         ["graph", 2, 40, 80])
        self.assertNotIn("queries", said)


if __name__ == "__main__":
    unittest.main()
