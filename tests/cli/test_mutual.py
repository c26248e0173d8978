"""nearfield mutual: rows that are each other's nearest."""
import json
import unittest

from support import CommandLine, measure, read_csv, read_npy

ONE = ["mutual", "--base", "b.fbin"]
TWO = ["mutual", "--queries", "q.fbin", "--base", "b.fbin"]


def nearest(metric, row, others, skip=None):
    """(distance, id) of the nearest, the smallest id of equally near ones."""
    return min((measure(metric, row, other), i) for i, other in enumerate(others) if i != skip)


class Mutual(CommandLine):
    def agreeing(self, command, metric):
        """(distance, first, second), closest first."""
        one_set = command is ONE
        firsts = self.BASE if one_set else self.QUERIES
        found = []
        for i, row in enumerate(firsts):
            distance, j = nearest(metric, row, self.BASE, i if one_set else None)
            back = nearest(metric, self.BASE[j], firsts, j if one_set else None)[1]
            if back == i and not (one_set and j < i):
                found.append((distance, i, j))
        return sorted(found)

    def test_equals_a_search_by_hand(self):
        for command in ONE, TWO:
            with self.subTest(command=command):
                expected = self.agreeing(command, "l1")
                self.assertGreater(len(expected), 1)
                self.run_well(*command, "--metric", "l1", "--output", "i.npy")
                self.assertEqual(read_npy(self.path("i.npy")),
                                 ("<i8", [[i, j] for _, i, j in expected]))
                self.run_well(*command, "--metric", "l1", "--output", "i.csv")
                self.assertEqual(read_csv(self.path("i.csv")),
                                 ("first,second,distance", [(i, j, d) for d, i, j in expected]))

    def test_json(self):
        said = json.loads(self.run_well(*TWO, "--json").stdout)
        self.assertEqual([said["command"], said["queries"], said["rows"]], ["mutual", 6, 40])
        self.assertEqual(said["stats"]["pairs_considered"], 2 * 6 * 40)


if __name__ == "__main__":
    unittest.main()
