"""nearfield range: all within a radius, as CSR or CSV."""
import itertools
import json
import unittest

from support import CommandLine, float32, ranked, read_bin, read_csv, read_npy, read_vecs, within
from support import write_bin

RANGE = ["range", "--queries", "q.fbin", "--base", "b.fbin"]


class Range(CommandLine):
    def expected(self, metric, radius):
        return [within(metric, radius, ranked(metric, query, self.BASE)) for query in self.QUERIES]

    def offsets(self, expected):
        return [[at] for at in itertools.accumulate((len(row) for row in expected), initial=0)]

    def test_equals_a_search_by_hand(self):
        # The radius itself belongs to it; a similarity is at least the radius.
        for metric, radius in ("sqeuclidean", 6), ("euclidean", 3), ("linf", 2), \
                ("inner_product", 4), ("inner_product", -1):
            with self.subTest(metric=metric, radius=radius):
                self.run_well(*RANGE, "--metric", metric, "--radius", radius, "--output", "i.npy",
                              "--distances", "d.npy", "--offsets", "o.npy")
                expected = self.expected(metric, radius)
                found = [pair for row in expected for pair in row]
                self.assertIn(radius, [d for d, _ in found])
                self.assertLess(len(found), 6 * 40)
                self.assertEqual(read_npy(self.path("i.npy")), ("<i8", [[i] for _, i in found]))
                self.assertEqual(read_npy(self.path("d.npy")),
                                 ("<f4", [[float32(d)] for d, _ in found]))
                self.assertEqual(read_npy(self.path("o.npy")), ("<i8", self.offsets(expected)))

    def test_other_endings(self):
        expected = self.expected("sqeuclidean", 6)
        found = [pair for row in expected for pair in row]
        self.run_well(*RANGE, "--radius", 6, "--output", "i.ibin", "--distances", "d.fbin",
                      "--offsets", "o.ibin")
        self.assertEqual(read_bin(self.path("i.ibin"), "i"), [[i] for _, i in found])
        self.assertEqual(read_bin(self.path("d.fbin"), "f"), [[d] for d, _ in found])
        self.assertEqual(read_bin(self.path("o.ibin"), "i"), self.offsets(expected))
        self.run_well(*RANGE, "--radius", 6, "--offsets", "o.ivecs")
        self.assertEqual(read_vecs(self.path("o.ivecs"), "i"), self.offsets(expected))
        self.run_well(*RANGE, "--radius", 6, "--output", "i.csv")
        self.assertEqual(read_csv(self.path("i.csv")),
                         ("query,rank,id,distance",
                          [(query, rank + 1, i, d) for query, row in enumerate(expected)
                           for rank, (d, i) in enumerate(row)]))

    def test_nothing_found(self):
        self.run_well(*RANGE, "--radius", -1, "--output", "i.npy", "--offsets", "o.npy",
                      "--distances", "d.npy")
        self.assertEqual(read_npy(self.path("i.npy")), ("<i8", []))
        self.assertEqual(read_npy(self.path("d.npy")), ("<f4", []))
        self.assertEqual(read_npy(self.path("o.npy")), ("<i8", [[0]] * 7))
        self.run_well(*RANGE, "--radius", -1, "--output", "i.csv")
        self.assertEqual(read_csv(self.path("i.csv"))[1], [])

    def test_exclude_self_and_filter(self):
        write_bin(self.path("allowed.ibin"), [[i] for i in range(20)], "i")
        self.run_well("range", "--queries", "b.fbin", "--base", "b.fbin", "--radius", 5,
                      "--exclude-self", "--filter", "allowed.ibin", "--output", "i.csv")
        expected = [(query, i, d) for query, row in enumerate(self.BASE)
                    for d, i in ranked("sqeuclidean", row, self.BASE, skip={query})
                    if d <= 5 and i < 20]
        self.assertEqual([(query, i, d) for query, _, i, d in read_csv(self.path("i.csv"))[1]],
                         expected)

    def test_columns_need_offsets(self):
        for output in (["--output", "i.npy"], ["--output", "i.ibin"], ["--distances", "d.npy"],
                       ["--output", "i.csv", "--distances", "d.npy"], ["--output", "/dev/stdout"]):
            with self.subTest(output=output):
                self.run_badly(*RANGE, "--radius", 5, *output, code=2,
                               says=["--offsets", ".csv", "Run 'nearfield range --help'."])

    def test_radius_is_needed_and_a_number(self):
        self.run_badly(*RANGE, "--output", "i.csv", code=2, says=["--radius"])
        for radius in "five", "nan", "1x", "":
            with self.subTest(radius=radius):
                self.run_badly(*RANGE, "--radius", radius, "--output", "i.csv", code=2,
                               says=["--radius", f"'{radius}' is not a number"])

    def test_json(self):
        said = json.loads(self.run_well(*RANGE, "--radius", 6, "--json").stdout)
        self.assertEqual([said["command"], said["radius"], said["exact"], said["found"]],
                         ["range", 6, True, sum(map(len, self.expected("sqeuclidean", 6)))])

    def test_results_that_outgrow_the_memory_limit(self):
        self.run_badly(*RANGE, "--radius", "inf", "--memory-limit", 12000, "--output", "i.csv",
                       code=4, says=["240 results", "memory limit"])


if __name__ == "__main__":
    unittest.main()
