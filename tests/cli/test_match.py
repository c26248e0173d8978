"""nearfield match: descriptors of two images that belong together."""
import json
import struct
import unittest

from support import CommandLine, measure, read_csv, read_npy

MATCH = ["match", "--queries", "q.fbin", "--base", "b.fbin"]


def two_nearest(row, others):
    """(distance, id) of the nearest, the smallest id of equally near ones, and of the second."""
    return sorted((measure("euclidean", row, other), i) for i, other in enumerate(others))[:2]


class Match(CommandLine):
    def by_hand(self, passes, cross_check):
        """(distance, first, second), closest first."""
        found = []
        for i, row in enumerate(self.QUERIES):
            (d1, j), (d2, _) = two_nearest(row, self.BASE)
            (b1, back), (b2, _) = two_nearest(self.BASE[j], self.QUERIES)
            agrees = {"none": True, "nearest": back == i,
                      "tested": back == i and passes(b1, b2)}[cross_check]
            if passes(d1, d2) and agrees:
                found.append((d1, i, j))
        return sorted(found)

    def test_equals_a_search_by_hand(self):
        tests = {
            ("--ratio", 0.9): lambda d1, d2: d1 < 0.9 * d2,
            ("--ratio", "none"): lambda d1, d2: True,
            ("--ratio", "none", "--margin", 1): lambda d1, d2: d2 - d1 >= 1,
            ("--ratio", 1, "--max-distance", 9): lambda d1, d2: d1 < d2 and d1 <= 9,
        }
        counts = set()
        for options, passes in tests.items():
            for check in "none", "nearest", "tested":
                with self.subTest(options=options, check=check):
                    expected = self.by_hand(passes, check)
                    counts.add(len(expected))
                    how = [*options, "--cross-check", check]
                    self.run_well(*MATCH, *how, "--output", "i.npy")
                    self.assertEqual(read_npy(self.path("i.npy")),
                                     ("<i8", [[i, j] for _, i, j in expected]))
        self.assertGreater(len(counts), 2)  # the tests differ

    def test_csv_and_json(self):
        expected = self.by_hand(lambda d1, d2: d1 < 0.95 * d2, "nearest")
        self.assertTrue(expected)
        done = self.run_well(*MATCH, "--ratio", 0.95, "--output", "i.csv", "--json")
        header, lines = read_csv(self.path("i.csv"))
        self.assertEqual(header, "first,second,distance")
        self.assertEqual([line[:2] for line in lines], [(i, j) for _, i, j in expected])
        said = json.loads(done.stdout)
        self.assertEqual([said["command"], said["queries"], said["rows"]], ["match", 6, 40])
        self.assertEqual(said["stats"]["pairs_considered"], 2 * 6 * 40)

    def test_an_image_without_descriptors(self):
        self.path("none.fbin").write_bytes(struct.pack("<II", 0, 3))
        for how in ["--queries", "none.fbin", "--base", "b.fbin"], ["--queries", "q.fbin", "--base",
                                                                    "none.fbin"]:
            self.run_well("match", *how, "--output", "i.csv")
            self.assertEqual(self.path("i.csv").read_text(), "first,second,distance\n")

    def test_mistakes(self):
        self.run_badly("match", "--base", "b.fbin", code=2, says=["--queries is required"])
        match = [*MATCH, "--output", "i.csv"]
        self.run_badly(*match, "--ratio", 1.5, code=1, says=["ratio", "1.5"])
        self.run_badly(*match, "--margin", -1, code=1, says=["margin", "-1"])
        self.run_badly(*match, "--cross-check", "both", code=2, says=["both", "nearest"])
        self.run_badly(*match, "--metric", "sqeuclidean", code=1, says=["true distances"])
        self.run_badly(*match, "--metric", "cosine", code=1, says=["cosine", "euclidean"])


if __name__ == "__main__":
    unittest.main()
