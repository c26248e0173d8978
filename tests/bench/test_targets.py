"""The table of cases and targets.toml agree, and every peer has a file."""
import unittest
from pathlib import Path

from referee.cases import CASES
from referee.targets import read_target
from sets.catalogue import DATA_SETS
from sets.store import SIZES

PEERS = Path(__file__).resolve().parents[2] / "bench" / "peers"


class Cases(unittest.TestCase):
    def test_have_targets_for_their_rows_in_every_size(self) -> None:
        for case in CASES.values():
            rows = {f"{group.data_set} {question}"
                    for group in case.groups for question in group.questions}
            ways = {way for group in case.groups for way in group.ways}
            for size in SIZES:
                target = read_target(case.name, size)
                self.assertLessEqual(set(target.rows), rows)
                self.assertIn(target.limit, ways)
                self.assertIn(target.limit, target.required)

    def test_require_an_exact_peer_on_every_row_of_the_headline(self) -> None:
        for case in CASES.values():
            target = read_target(case.name, "quick")
            self.assertGreater(len(set(target.required) - {target.limit}), 0, case.name)
            for group in case.groups:
                if any(f"{group.data_set} {question}" in target.rows
                       for question in group.questions):
                    self.assertLessEqual(set(target.required), set(group.ways), case.name)

    def test_name_data_sets_and_peers_that_exist(self) -> None:
        for case in CASES.values():
            for group in case.groups:
                self.assertIn(group.data_set, DATA_SETS)
                for way in (*group.ways, *group.approximate):
                    self.assertTrue((PEERS / f"{way.partition('/')[0]}.py").exists(), way)


if __name__ == "__main__":
    unittest.main()
