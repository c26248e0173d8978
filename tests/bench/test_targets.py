"""The table of cases and targets.toml agree, and every peer has a file."""
import unittest
from pathlib import Path
from unittest.mock import patch

from referee.__main__ import ways_of
from referee.cases import CASES, Case
from referee.outcome import Outcome
from referee.targets import read_target
from sets.catalogue import DATA_SETS
from sets.store import SIZES

PEERS = Path(__file__).resolve().parents[2] / "bench" / "peers"


def ways_by_row(case: Case, size: str) -> dict[str, set[str]]:
    return {f"{group.subject} {question}": {*group.ways, *group.approximate}
            for group in case.groups for question in group.asked(size)}


class Cases(unittest.TestCase):
    def test_have_targets_for_their_rows_in_every_size(self) -> None:
        for case in CASES.values():
            for size in SIZES:
                target, rows = read_target(case.name, size), ways_by_row(case, size)
                self.assertLessEqual(set(target.rows), set(rows))
                limited = [label for label in target.rows if target.limit in rows[label]]
                self.assertGreater(len(limited), 0, case.name)

    def test_require_who_is_there_on_every_row_of_the_headline(self) -> None:
        for case in CASES.values():
            for size in SIZES:
                target, rows = read_target(case.name, size), ways_by_row(case, size)
                for label in target.rows:
                    required = set(target.required_on(label))
                    self.assertLessEqual(required, rows[label], case.name)
                    self.assertTrue(required - {target.limit} or target.rows[label], case.name)

    def test_ask_for_a_recall_of_rows_that_are_there(self) -> None:
        asked = 0
        for case in CASES.values():
            for size in SIZES:
                least = read_target(case.name, size).least_recall
                self.assertLessEqual(set(least), set(ways_by_row(case, size)), case.name)
                asked += len(least)
        self.assertGreater(asked, 0)

    def test_limit_distances_of_rows_that_are_there(self) -> None:
        for size in SIZES:
            most = read_target("metric-range", size).most_verified
            self.assertEqual(set(most), {"words radius=1"})
            self.assertLessEqual(set(most), set(ways_by_row(CASES["metric-range"], size)))

    def test_have_rows_with_names_of_their_own(self) -> None:
        for case in CASES.values():
            for size in SIZES:
                labels = [f"{group.subject} {question}" for group in case.groups
                          for question in group.asked(size)]
                self.assertEqual(len(labels), len(set(labels)), case.name)

    def test_wait_at_full_size_only_for_those_who_are_not_required(self) -> None:
        for case in CASES.values():
            target = read_target(case.name, "full")
            for group in case.groups:
                for question in group.asked("full"):
                    label = f"{group.subject} {question}"
                    if label in target.rows:
                        self.assertFalse(set(target.required_on(label)) & set(group.slow), label)

    def test_leave_out_at_full_size_who_takes_long_unless_he_is_named(self) -> None:
        floats, pairs = CASES["exact-f32"].groups[0], CASES["match"].groups[1]
        for group, way in ((floats, "faiss/hnsw"), (pairs, "opencv/bf_matcher")):
            outcome = Outcome()
            self.assertNotIn(way, ways_of(group, [], "full", outcome))
            self.assertRegex(outcome.absent[way], "only if --peers names it")
            self.assertIn(way, ways_of(group, [], "quick", Outcome()))
            self.assertEqual(ways_of(group, [way], "full", Outcome()), [way])
        self.assertIn("opencv/flann_match", ways_of(pairs, [], "full", Outcome()))

    def test_may_ask_less_of_a_cpu_without_tiles_on_rows_that_both_have(self) -> None:
        for case in CASES.values():
            for size in SIZES:
                with patch("referee.targets.cpu_has_tiles", return_value=True):
                    usual = read_target(case.name, size).rows
                with patch("referee.targets.cpu_has_tiles", return_value=False):
                    without = read_target(case.name, size).rows
                self.assertEqual(set(without), set(usual), case.name)
                for label, ways in usual.items():
                    self.assertEqual(set(without[label]), set(ways), label)
                    for way, least in ways.items():
                        self.assertLessEqual(without[label][way], least, label)

    def test_name_data_sets_and_peers_that_exist(self) -> None:
        for case in CASES.values():
            for group in case.groups:
                self.assertIn(group.data_set, DATA_SETS)
                for way in (*group.ways, *group.approximate):
                    self.assertTrue((PEERS / f"{way.partition('/')[0]}.py").exists(), way)


if __name__ == "__main__":
    unittest.main()
