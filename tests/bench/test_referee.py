"""The referee with made-up peers: the right one is timed, the wrong and the broken one are not."""
import contextlib
import io
import json
import math
import tempfile
import time
import unittest
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from peers.interface import Data, Way, without_self
from referee import child, measure, process, report
from referee.cases import NEARFIELD, Case, Group, Question
from referee.headline import headline
from referee.matches import matches
from referee.outcome import Conditions, Outcome
from referee.targets import Target
from sets.definition import nearest
from sets.vector_files import write_rows

THREE_NEAREST = Question(k=3)
CONDITIONS = Conditions(size="quick", threads=1, rounds=3, patience=10)


class Right(Way):
    def knn(self, part: slice, k: int) -> np.ndarray:
        return np.stack([nearest(query, self.data.base, k, self.data.metric)
                         for query in self.data.queries[part]])


class Wrong(Right):
    def knn(self, part: slice, k: int) -> np.ndarray:
        return super().knn(part, k)[:, ::-1] + 1


class Broken(Way):
    def knn(self, part: slice, k: int) -> np.ndarray:
        raise MemoryError("no room for 3 rows")


class Missing(Way):
    def __init__(self, data: Data) -> None:
        raise ImportError("no module named 'missing'")


class Limit(Way):
    is_limit = True

    def knn(self, part: slice, k: int) -> None:
        pass


class Rough(Right):
    settings = ({"ef": 1}, {"ef": 2})

    def set(self, **setting: int) -> None:
        self.shift = 2 - setting["ef"]

    def knn(self, part: slice, k: int) -> np.ndarray:
        return super().knn(part, k) + self.shift


class Matcher(Way):
    def match(self, ratio: float) -> tuple[np.ndarray, np.ndarray]:
        return matches(self.data.queries, self.data.base, ratio)


class HalfOfThem(Matcher):
    def match(self, ratio: float) -> tuple[np.ndarray, np.ndarray]:
        first, second = super().match(ratio)
        return first[::2], second[::2]


class Slow(Right):
    """20 ms a query."""

    def knn(self, part: slice, k: int) -> np.ndarray:
        time.sleep(0.02 * len(self.data.queries[part]))
        return super().knn(part, k)


class HiddenBlas(Right):
    uses_blas = True


class Coder(HiddenBlas):
    def encode(self, codebooks: int) -> np.ndarray:
        return self.data.queries.astype(np.float32)

    def decoded(self, answer: np.ndarray) -> np.ndarray:
        return answer


WAYS = {NEARFIELD: Right, "hidden_blas/way": HiddenBlas, measure.MKL: Limit,
        "right/way": Right, "wrong/way": Wrong, "broken/way": Broken,
        "coder/way": Coder, "missing/way": Missing, "limit/way": Limit, "rough/way": Rough,
        "slow/way": Slow}


class InThisProcess:
    """A child without a process, behind the same lines of JSON."""

    def __init__(self, name: str, *_: object) -> None:
        self.child = child.Child(name)

    def ask(self, **message: Any) -> dict[str, Any]:
        with contextlib.redirect_stderr(io.StringIO()):
            reply = json.loads(json.dumps(child.reply(self.child, json.dumps(message))))
        if "error" in reply:
            raise process.PeerError(reply["error"])
        return reply

    def end(self) -> None:
        pass


def outcome_of(ways: list[str], held_to: str = "", approximate: tuple[str, ...] = ("rough/way",),
               conditions: Conditions = CONDITIONS, operation: str = "knn",
               question: Question = THREE_NEAREST) -> Outcome:
    group = Group("points", (question,), tuple(ways), approximate, queries=(4, 4),
                  samples={"slow/way": 1})
    random = np.random.RandomState(1)
    with (tempfile.TemporaryDirectory() as name, mock.patch("peers.load", WAYS.get),
          mock.patch.object(measure, "Process", InThisProcess),
          mock.patch.object(measure, "LEAST_SECONDS", 0.001),
          contextlib.redirect_stderr(io.StringIO())):
        folder = Path(name)
        base = random.randint(0, 256, (50, 8)).astype(np.uint8)
        queries = random.randint(0, 256, (4, 8)).astype(np.uint8)
        write_rows(folder / "base.u8bin", base)
        write_rows(folder / "queries.u8bin", queries)
        right = np.stack([nearest(query, base, 5, "sqeuclidean") for query in queries])
        write_rows(folder / "truth.ibin", right.astype(np.int32))
        case = Case("points", operation, (group,), held_to)
        return measure.measure(case, group, ways, folder, conditions)


class Referee(unittest.TestCase):
    def test_who_is_slow_answers_some_queries_at_full_size_and_his_time_is_of_all(self) -> None:
        for size, answered in (("quick", 4), ("full", 1)):
            found = outcome_of(["slow/way"], conditions=replace(CONDITIONS, size=size, rounds=1))
            entry = found.rows[0].entries[1]
            assert entry.verdict
            self.assertEqual((entry.sample, entry.verdict.positions),
                             (answered % 4, 3 * answered))
            self.assertEqual(entry.verdict.mismatches, 0)
            self.assertGreater(entry.times[0], 4 * 0.02)
            self.assertEqual("by 1 queries" in report.kind(entry), size == "full")

    def test_a_right_peer_is_timed_in_every_round(self) -> None:
        row = outcome_of(["right/way"]).rows[0]
        for entry in row.entries:
            self.assertIsNone(entry.refused)
            self.assertEqual(len(entry.times), CONDITIONS.rounds)
            assert entry.verdict
            self.assertEqual((entry.verdict.mismatches, entry.verdict.positions), (0, 12))

    def test_a_wrong_answer_is_refused_and_not_timed(self) -> None:
        row = outcome_of(["wrong/way", "right/way"]).rows[0]
        entry = next(entry for entry in row.entries if entry.name == "wrong/way")
        self.assertRegex(str(entry.refused), "wrong answers: recall 0.*mismatches")
        self.assertEqual(entry.times, [])
        self.assertIsNone(entry.ratio)

    def test_a_peer_that_fails_says_why(self) -> None:
        row = outcome_of(["broken/way"]).rows[0]
        self.assertEqual(row.entries[1].refused, "MemoryError: no room for 3 rows")

    def test_a_missing_peer_is_reported(self) -> None:
        outcome = outcome_of(["missing/way"])
        self.assertEqual(outcome.absent["missing/way"],
                         "ImportError: no module named 'missing'")

    def test_a_blas_that_cannot_be_seen_is_refused(self) -> None:
        outcome = outcome_of(["hidden_blas/way"])
        self.assertRegex(outcome.absent["hidden_blas/way"], "refused: its BLAS is not to be seen")
        self.assertNotIn("hidden_blas/way", [entry.name for entry in outcome.rows[0].entries])

    def test_who_makes_codes_has_his_blas_compared_with_one_that_makes_none(self) -> None:
        with (mock.patch.dict(WAYS, {NEARFIELD: Coder}),
              mock.patch.object(measure.blas, "too_slow", return_value=None)):
            outcome = outcome_of(["coder/way"], operation="encode", question=Question(codebooks=8))
        self.assertEqual(sorted(outcome.blas), sorted([NEARFIELD, "coder/way", measure.MKL]))
        self.assertEqual([entry.name for entry in outcome.rows[0].entries],
                         [NEARFIELD, "coder/way"])
        self.assertEqual([len(entry.times) for entry in outcome.rows[0].entries], [3, 3])

    def test_out_of_the_box_is_checked_and_timed_as_the_others(self) -> None:
        with (mock.patch.dict(measure.BEST_ENVIRONMENT, {"right": {"FASTER": "1"}}),
              mock.patch.object(measure.machine, "has_avx512", return_value=True),
              mock.patch.object(Right, "uses_blas", True),
              mock.patch.object(measure.Table, "refuse_slow_blas")):
            row = outcome_of(["right/way"]).rows[0]
        self.assertEqual([entry.name for entry in row.entries], [NEARFIELD, "right/way"])
        plain = row.entries[1].out_of_the_box
        assert plain
        assert plain.verdict
        self.assertEqual(plain.verdict.mismatches, 0)
        self.assertEqual(len(plain.times), CONDITIONS.rounds)

    def test_who_is_held_to_an_isa_gets_its_environment_and_no_other(self) -> None:
        held = {"avx2": {"right": {"LEVEL": "2"}, "nearfield": {"ISA": "2"}}}
        with (mock.patch.dict(measure.BEST_ENVIRONMENT, {"right": {"FASTER": "1"}}),
              mock.patch.dict(measure.HELD_TO, held),
              mock.patch.object(measure.machine, "has_avx512", return_value=True)):
            found = outcome_of(["right/way"], "avx2").environment
        for name, own in (("right/way", {"LEVEL": "2"}), (NEARFIELD, {"ISA": "2"}),
                          (f"{NEARFIELD} again", {"ISA": "2"})):
            self.assertEqual(found[name], process.thread_counts(1) | own)
        self.assertEqual(len(found), 3)

    def test_who_is_held_to_an_isa_and_uses_another_is_not_timed(self) -> None:
        with mock.patch.object(Wrong, "plan", lambda *_: {"isa": "AVX512"}):
            row = outcome_of(["wrong/way"], "avx2").rows[0]
        self.assertEqual(row.entries[1].refused, "it is to be held to avx2 and uses AVX512")
        with (mock.patch.object(Right, "plan", lambda *_: {"isa": "amx"}),
              self.assertRaisesRegex(process.PeerError, "Nearfield itself: .* uses amx")):
            outcome_of([], "avx2")

    def test_nearfield_must_be_there(self) -> None:
        with (mock.patch.dict(WAYS, {NEARFIELD: Missing}),
              self.assertRaisesRegex(process.PeerError, "Nearfield itself: ImportError")):
            outcome_of([])

    def test_approximate_peers_have_a_recall_and_no_part_in_the_ratio(self) -> None:
        row = outcome_of(["rough/way", "limit/way"]).rows[0]
        rough = [entry for entry in row.entries if entry.name == "rough/way"]
        recalls = [entry.verdict.recall for entry in rough if entry.verdict]
        self.assertLess(recalls[0], 1)
        self.assertEqual(recalls[1], 1)
        found = headline([row], Target("limit/way", (), {row.label: {}}))
        self.assertTrue(math.isnan(found.ratio_peer))
        self.assertFalse(math.isnan(found.ratio_limit))

    def test_where_nearfield_is_approximate_its_peers_are(self) -> None:
        with mock.patch.dict(WAYS, {NEARFIELD: Wrong}):
            row = outcome_of(["right/way", "limit/way"],
                             approximate=(NEARFIELD, "right/way")).rows[0]
        assert row.ours.verdict
        self.assertGreater(row.ours.verdict.mismatches, 0)
        found = headline([row], Target("limit/way", (), {row.label: {}}))
        self.assertEqual(found.mismatches, 0)
        self.assertFalse(math.isnan(found.ratio_peer))

    def test_the_report_has_a_line_for_everybody(self) -> None:
        outcome = outcome_of(["right/way", "wrong/way", "missing/way", "limit/way"])
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            report.print_outcome(outcome, CONDITIONS, {"cpu": "made up"})
        for line in ("right/way (exact)", "limit/way (limit)", "not timed: wrong/way: wrong",
                     "missing: missing/way: ImportError", "machine: cpu made up"):
            self.assertIn(line, printed.getvalue())


def matched_by(ways: list[str], approximate: tuple[str, ...]) -> Outcome:
    """Ten rows of two images; both show the places of the same rows."""
    group = Group("pair", (Question(ratio=1),), tuple(ways), approximate, queries=(10, 10))
    rows = np.random.RandomState(1).randint(0, 250, (10, 8)).astype(np.uint8)
    played = {NEARFIELD: Matcher, "half/way": HalfOfThem}
    with (tempfile.TemporaryDirectory() as name, mock.patch("peers.load", played.get),
          mock.patch.object(measure, "Process", InThisProcess),
          mock.patch.object(measure, "LEAST_SECONDS", 0.001),
          contextlib.redirect_stderr(io.StringIO())):
        folder = Path(name)
        write_rows(folder / "base.u8bin", rows)
        write_rows(folder / "queries.u8bin", rows + np.uint8(1))
        write_rows(folder / "correspondences.ibin", np.arange(10, dtype=np.int32)[:, None])
        return measure.measure(Case("pair", "match", (group,)), group, ways, folder, CONDITIONS)


class Matching(unittest.TestCase):
    def test_who_misses_matches_is_refused(self) -> None:
        row = matched_by(["half/way"], ()).rows[0]
        self.assertEqual(len(row.ours.times), CONDITIONS.rounds)
        assert row.ours.verdict
        self.assertEqual((row.ours.verdict.mismatches, row.ours.verdict.positions), (0, 10))
        self.assertRegex(str(row.entries[1].refused), "recall 0.5000, 5 mismatches")

    def test_unless_it_is_approximate_and_the_report_says_what_it_is_worth(self) -> None:
        outcome = matched_by(["half/way"], ("half/way",))
        self.assertEqual(len(outcome.rows[0].entries[1].times), CONDITIONS.rounds)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            report.print_outcome(outcome, CONDITIONS, {})
        self.assertIn("the truth 1.0000 and 1.0000, nearfield/exact 1.0000 and 1.0000, "
                      "half/way 1.0000 and 0.5000\n", printed.getvalue())


class Repeated(Limit):
    times_done = 100

    def knn(self, part: slice, k: int) -> None:
        time.sleep(0.01)


class Interface(unittest.TestCase):
    def test_the_time_of_a_limit_is_divided_by_how_often_it_was_done(self) -> None:
        limit = child.Child("limit/way")
        limit.operation = "knn"
        limit.way = Repeated(Data(np.zeros((2, 2)), np.zeros((1, 2)), "sqeuclidean", 1))
        question = {"k": 1, "radius": 0, "one_by_one": False}
        seconds = limit.run(question, {}, least=0)["seconds"]
        self.assertGreaterEqual(seconds, 0.0001)
        self.assertLess(seconds, 0.001)

    def test_a_row_is_not_its_own_neighbour(self) -> None:
        # Row 1 does not find itself among its copies: then the last goes.
        found = np.array([[0, 1, 2], [0, 2, 3], [0, 2, 3]])
        self.assertEqual(without_self(found).tolist(), [[1, 2], [0, 2], [0, 3]])


if __name__ == "__main__":
    unittest.main()
