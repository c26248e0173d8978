"""Every way of every peer that is installed, on 300 rows: it answers, and it answers right."""
import contextlib
import dataclasses
import io
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

from peers.interface import Data
from referee.cases import CASES, NEARFIELD, Case, Group, Question
from referee.measure import Table
from referee.outcome import Conditions, Entry
from sets.random_streams import stream
from sets.vector_files import write_rows

ROWS, QUERIES, COLUMNS, K = 300, 20, 128, 10
CONDITIONS = Conditions(size="quick", threads=2, rounds=1, patience=60)
LEAST_RECALL_AT_BEST = 0.9  # of approximate ways, at the setting that is slowest and most right
BYTES = ("sift-", "orb-", "bits-")   # what names of data sets begin with
RADIUS = 1_200_000.5        # holds a tenth of the rows


def write_set(folder: Path, of_floats: bool) -> None:
    random, ending = stream("rows for every way"), "fbin" if of_floats else "u8bin"
    base = random.randint(0, 256, (ROWS, COLUMNS))
    queries = random.randint(0, 256, (QUERIES, COLUMNS))
    if not of_floats:   # half of them near a row of the base
        queries[::2] = base[:QUERIES // 2]
        queries[::2, 0] ^= random.randint(0, 4, QUERIES // 2)
    for name, values in (("base", base), ("queries", queries)):
        write_rows(folder / f"{name}.{ending}",
                   (values / 255).astype(np.float32) if of_floats else values.astype(np.uint8))


def small(groups: list[Group], questions: tuple[Question, ...]) -> Group:
    """One group of the ways of all."""
    ways = dict.fromkeys((NEARFIELD, *(way for group in groups for way in group.ways)))
    approximate = dict.fromkeys(way for group in groups for way in group.approximate)
    count = QUERIES if groups[0].queries[0] else 0
    return dataclasses.replace(groups[0], questions=questions, ways=tuple(ways),
                               approximate=tuple(approximate), queries=(count, count),
                               base_rows=(ROWS, ROWS), columns=None, questions_at_full=())


class EveryWay(unittest.TestCase):
    def check(self, cases: tuple[str, ...], of_floats: bool, *questions: Question) -> None:
        groups = [group for name in cases for group in CASES[name].groups
                  if group.data_set.startswith(BYTES) != of_floats]
        group = small(groups, questions)
        for way in (*group.ways, *group.approximate):
            with self.subTest(way=way), contextlib.redirect_stderr(io.StringIO()):
                for entry in self.entries(CASES[cases[0]], group, way, of_floats):
                    self.judge(entry)

    def entries(self, case: Case, group: Group, way: str, of_floats: bool) -> list[Entry]:
        with tempfile.TemporaryDirectory() as name:
            write_set(Path(name), of_floats)
            with Table(case, group, Path(name), CONDITIONS) as table:
                table.seat(way)
                self.skip_what_is_not_installed(way, table.outcome.absent.get(way, ""))
                return [turn.entry for question in group.questions for turn in table.turns(
                    table.contenders, question, table.oracle.truth_of(question))]

    def skip_what_is_not_installed(self, way: str, reason: str) -> None:
        if reason.startswith(("ImportError", "ModuleNotFoundError")):
            print(f"skipped: {way}: {reason}", file=sys.__stderr__)
            self.skipTest(reason)
        self.assertEqual(reason, "")

    def judge(self, entry: Entry) -> None:
        self.assertIsNone(entry.refused)
        if entry.is_limit:
            self.assertIsNone(entry.verdict)
            return
        assert entry.verdict
        if entry.name == NEARFIELD:
            self.assertEqual(entry.verdict.mismatches, 0)
            self.assertTrue(entry.verdict.error or entry.plan["isa"])
        if entry.approximate and max(entry.setting.values(), default=0) >= 256:
            self.assertGreaterEqual(entry.verdict.recall, LEAST_RECALL_AT_BEST)

    def test_bytes(self) -> None:
        self.check(("exact-u8", "exact-1query"), False, Question(k=K),
                   Question(k=K, one_by_one=True))

    def test_bytes_held_to_avx2(self) -> None:
        self.check(("exact-u8-avx2",), False, Question(k=K))

    def test_floats(self) -> None:
        self.check(("exact-f32", "exact-1query"), True, Question(k=K),
                   Question(k=K, one_by_one=True))

    def test_bits(self) -> None:
        self.check(("hamming",), False, Question(k=K), Question(k=K, one_by_one=True))

    def test_graph(self) -> None:
        self.check(("graph",), False, Question(k=K))

    def test_range(self) -> None:
        self.check(("range",), False, Question(radius=RADIUS))

    def test_lookups(self) -> None:
        self.check(("mih",), False, Question(radius=3), Question(radius=20))

    def test_codes(self) -> None:
        # So few rows have no codes here, and are scanned.
        self.check(("coded-search",), False, Question(k=K))

    def test_local_search(self) -> None:
        for case in ("lsq-encode", "lsq-train"):
            self.check((case,), False, Question(codebooks=2))

    def test_match(self) -> None:
        # Rows at random: the nearest is never much nearer than the second.
        self.check(("match",), False, Question(ratio=1))

    def test_select(self) -> None:
        self.check(("select",), True, Question(k=K))


class Strings(unittest.TestCase):
    def test_rapidfuzz(self) -> None:
        from peers.rapidfuzz import BruteForce
        words = Data(np.array(["cat", "cart", "dog", "cut"]), np.array(["cat", "do"]), "edit", 1)
        self.assertEqual(BruteForce(words).knn(slice(0, 2), 2).tolist(), [[0, 1], [2, 0]])

    def test_trees(self) -> None:
        """Also of more words than a leaf has."""
        from peers import bk_tree, mvp_tree
        from peers.rapidfuzz import BruteForce
        random = stream("words for trees")
        words = ["".join(random.choice(list("abc"), random.randint(1, 9))) for _ in range(ROWS)]
        data = Data(np.array(words, object), np.array([*words[:5], "abba", "x"], object), "edit", 1)
        every = slice(None)
        expected = BruteForce(data)
        for tree in (bk_tree, mvp_tree):
            with mock.patch.object(tree, "LEAF", 7, create=True), self.subTest(tree=tree):
                way = tree.ByRapidFuzz(data)
                self.assertEqual(way.knn(every, K).tolist(), expected.knn(every, K).tolist())
                for radius in (0, 1, 3):
                    found, wanted = way.within(every, radius), expected.within(every, radius)
                    self.assertEqual(found[0].tolist(), wanted[0].tolist())
                    for ids, right in zip(np.split(found[1], found[0][1:-1]),
                                          np.split(wanted[1], wanted[0][1:-1]), strict=True):
                        self.assertEqual(sorted(ids.tolist()), right.tolist())
                    said = way.plan(found)
                    self.assertEqual(said["pairs"], 7 * ROWS)
                    self.assertGreaterEqual(said["pairs_verified"], len(found[1]))
                    self.assertLessEqual(said["pairs_verified"], said["pairs"])


if __name__ == "__main__":
    unittest.main()
