"""nearfield pairs: the closest pairs, of one set or between two."""
import json
import unittest

from support import CommandLine, float32, measure, read_bin, read_csv, read_npy

ONE = ["pairs", "--base", "b.fbin"]
TWO = ["pairs", "--queries", "q.fbin", "--base", "b.fbin"]


class Pairs(CommandLine):
    def all_pairs(self, command, metric):
        """(distance, first, second), closest first, ties by the ids."""
        if command is ONE:
            found = [(measure(metric, x, y), i, j) for i, x in enumerate(self.BASE)
                     for j, y in enumerate(self.BASE) if i < j]
        else:
            found = [(measure(metric, x, y), i, j) for i, x in enumerate(self.QUERIES)
                     for j, y in enumerate(self.BASE)]
        return sorted(found)

    def test_equals_a_search_by_hand(self):
        for command in ONE, TWO:
            for limits in (["--count", 25], ["--radius", 3], ["--count", 5, "--radius", 3],
                           ["--count", 100000]):
                with self.subTest(command=command, limits=limits):
                    expected = self.all_pairs(command, "euclidean")
                    if "--radius" in limits:
                        expected = [pair for pair in expected if pair[0] <= 3]
                    if "--count" in limits:
                        expected = expected[:limits[1]]
                    self.run_well(*command, *limits, "--metric", "euclidean", "--output", "i.npy",
                                  "--distances", "d.npy")
                    self.assertEqual(read_npy(self.path("i.npy")),
                                     ("<i8", [[i, j] for _, i, j in expected]))
                    self.assertEqual(read_npy(self.path("d.npy")),
                                     ("<f4", [[float32(d)] for d, _, _ in expected]))

    def test_other_endings(self):
        expected = self.all_pairs(ONE, "l1")[:9]
        self.run_well(*ONE, "--count", 9, "--metric", "l1", "--output", "i.ibin", "--distances",
                      "d.fbin")
        self.assertEqual(read_bin(self.path("i.ibin"), "i"), [[i, j] for _, i, j in expected])
        self.assertEqual(read_bin(self.path("d.fbin"), "f"), [[d] for d, _, _ in expected])
        self.run_well(*ONE, "--count", 9, "--metric", "l1", "--output", "i.csv")
        self.assertEqual(read_csv(self.path("i.csv")),
                         ("first,second,distance", [(i, j, d) for d, i, j in expected]))

    def test_a_radius_or_a_count(self):
        self.run_badly(*ONE, "--output", "i.csv", code=2, says=["--radius", "--count"])
        self.run_badly(*ONE, "--count", 0, "--output", "i.csv", code=2, says=["'0'", "1"])

    def test_json(self):
        said = json.loads(self.run_well(*ONE, "--count", 9, "--radius", 100, "--json").stdout)
        self.assertEqual([said["command"], said["count"], said["radius"], said["found"]],
                         ["pairs", 9, 100, 9])
        self.assertEqual(said["stats"]["pairs_considered"], 40 * 39 / 2)
        said = json.loads(self.run_well(*TWO, "--count", 9, "--json").stdout)
        self.assertEqual([said["queries"], said["rows"]], [6, 40])
        self.assertNotIn("radius", said)


if __name__ == "__main__":
    unittest.main()
