"""What fails a run, and what leaves it incomplete."""
import contextlib
import io
import math
import unittest

import numpy as np

from referee import report
from referee.answers import Verdict, judge_codes
from referee.arithmetic import Ratio
from referee.cases import NEARFIELD, Question
from referee.gate import excesses, losses, ruling, shortfalls
from referee.headline import Figure, Headline, RowFigures, headline
from referee.outcome import Entry, Outcome, Row
from referee.targets import PEERS, Target

TARGET = Target("limit/way", ("peer/way",), {"points k=3": {PEERS: 1.0, "limit/way": 0.5}})


def entry(name: str, refused: str | None = None) -> Entry:
    return Entry(name, {}, name == "limit/way", False, 0.0, refused=refused)


def outcome(*entries: Entry, **absent: str) -> Outcome:
    row = Row("points", Question(k=3), (50, 8), 4, 4, 4, 0.1, [entry(NEARFIELD), *entries])
    return Outcome([row], {f"{name}/way on points": why for name, why in absent.items()})


def row_figures(label: str, ratio_peer: float, ratio_limit: float, noise: float) -> RowFigures:
    return RowFigures(label, ratio_peer, ratio_limit, noise,
                      (Figure(PEERS, ratio_peer, 1.0), Figure("limit/way", ratio_limit, 0.5)))


def figures(ratio_peer: float, ratio_limit: float, mismatches: int = 0, noise: float = 0.1
            ) -> Headline:
    row = row_figures("points k=3", ratio_peer, ratio_limit, noise)
    return Headline(ratio_peer, ratio_limit, mismatches, (row,))


GOOD = figures(0.9, 0.4)
NOBODY = figures(math.nan, math.nan)


class Speed(unittest.TestCase):
    def test_a_good_run_passes(self) -> None:
        self.assertEqual(shortfalls(GOOD), [])

    def test_a_slow_run_fails(self) -> None:
        reasons = shortfalls(figures(0.4, 0.4))
        self.assertEqual(len(reasons), 1)
        self.assertRegex(reasons[0], "points k=3 is 0.4, below half of its target 1,.*10%")

    def test_a_wrong_run_fails_however_fast(self) -> None:
        self.assertRegex(shortfalls(figures(9.0, 9.0, 1))[0], "1 mismatches")

    def test_noise_of_a_row_excuses_that_row_alone(self) -> None:
        rows = (row_figures("points k=3", 0.4, 0.4, 0.3), row_figures("points k=5", 0.4, 0.4, 0.1))
        reasons = shortfalls(Headline(0.4, 0.4, 0, rows))
        self.assertEqual([reason[:28] for reason in reasons], ["peers / ours of points k=5 i"])

    def test_too_much_noise_is_not_judged_and_says_so(self) -> None:
        ruled = ruling(outcome(entry("peer/way"), entry("limit/way")),
                       figures(0.001, 0.001, noise=0.51), TARGET, False)
        self.assertEqual(ruled.exit_code, 0)
        self.assertRegex(ruled.unjudged[0], "cannot judge the speed of points k=3.*51%")

    def test_no_noise_excuses_a_wrong_answer(self) -> None:
        ruled = ruling(outcome(), figures(0.001, 0.001, 1, noise=9.0), TARGET, False)
        self.assertEqual(ruled.exit_code, 1)

    def test_the_last_line(self) -> None:
        self.assertEqual(report.last_line("exact-u8", figures(0.5, 0.25)),
                         "exact-u8 ratio_peer=0.500 ratio_limit=0.250 mismatches=0")

    def test_a_row_that_is_not_measured_is_an_error(self) -> None:
        with self.assertRaisesRegex(ValueError, "targets.toml names the rows points k=3"):
            headline([], TARGET)


class Quality(unittest.TestCase):
    """Of answers that need not be right."""

    def lost(self, ours: Verdict, theirs: Verdict, least: float = 0) -> list[str]:
        entries = [Entry(name, {}, False, True, 0.0, verdict=verdict)
                   for name, verdict in ((NEARFIELD, ours), ("peer/way", theirs))]
        row = Row("points", Question(k=3), (50, 8), 400, 400, 400, 0.1, entries)
        target = Target("peer/way", (), {"points k=3": {"peer/way": 1.0}}, {"points k=3": least})
        return losses(Outcome([row]), target)

    def test_as_much_must_be_found_as_a_peer_finds(self) -> None:
        def found(recall: float) -> Verdict:
            return Verdict(0, 1200, recall, recall)
        self.assertEqual(self.lost(found(0.80), found(0.80)), [])
        self.assertEqual(self.lost(found(0.78), found(0.80)), [])  # of 400 queries ± 0.039
        self.assertRegex(self.lost(found(0.75), found(0.80))[0], "0.7500, below 0.8000 ± 0.039")
        self.assertRegex(self.lost(found(0.98), found(0.80), 0.99)[0], "0.9800: it must be 0.99")

    def test_a_recall_that_is_asked_for_must_be_judged(self) -> None:
        target = Target("peer/way", (), {}, {"points k=3": 0.99})
        for unjudged in (outcome(), Outcome([])):
            self.assertEqual(losses(unjudged, target),
                             ["the recall of points k=3 must be 0.99 and was not judged"])
        self.assertEqual(losses(Outcome([]), target.of_rows({"points k=5"})), [])

    def test_an_error_must_be_as_small_as_a_peers(self) -> None:
        def coded(error: float) -> Verdict:
            return judge_codes(np.sqrt(vectors + error), np.zeros_like(vectors))
        # Vectors differ by far more than codes do: by 58,000 from their mean.
        vectors = np.linspace(0, 200_000, 400)[:, None]
        self.assertEqual(self.lost(coded(900), coded(1000)), [])
        self.assertEqual(self.lost(coded(1000), coded(1000)), [])
        self.assertRegex(self.lost(coded(1011), coded(1000))[0],
                         "an error that is 11 ± .* above that of peer/way")
        noise = np.tile([[-30.0], [30.0]], (200, 1))   # of the mean 1.5, and twice that in 95 %
        vectors = vectors + 1000
        noisy = judge_codes(np.sqrt(vectors + 2 + noise), np.zeros_like(vectors))
        self.assertEqual(self.lost(noisy, coded(0)), [])

    def test_no_more_distances_may_be_computed_than_are_allowed(self) -> None:
        target = Target("peer/way", (), {}, most_verified={"points k=3": 0.01})
        for verified, fails in ((4, False), (5, True)):
            found = outcome()
            found.rows[0].ours.plan = {"pairs": 400, "pairs_verified": verified}
            self.assertEqual(excesses(found, target), [
                "points k=3 computes 1.250% of all distances: it must be at most 1.000%"
            ] if fails else [])
        self.assertRegex(excesses(outcome(), target)[0], "computes nan%")

    def test_who_promises_right_answers_is_judged_by_mismatches(self) -> None:
        exact = Verdict(0, 1200, 0.5, 0.5)
        entries = [Entry(name, {}, False, False, 0.0, verdict=exact) for name in (NEARFIELD,)]
        row = Row("points", Question(k=3), (50, 8), 4, 4, 4, 0.1, entries)
        self.assertEqual(losses(Outcome([row]), TARGET), [])


class Company(unittest.TestCase):
    def test_with_all_who_are_required_is_complete(self) -> None:
        ruled = ruling(outcome(entry("peer/way"), entry("limit/way")), GOOD, TARGET, False)
        self.assertEqual((ruled.incomplete, ruled.exit_code), ([], 0))

    def test_a_missing_one_is_named_with_the_reason(self) -> None:
        ruled = ruling(outcome(entry("limit/way"), peer="no module"), GOOD, TARGET, False)
        self.assertEqual(ruled.exit_code, 2)
        self.assertEqual(ruled.incomplete, ["peer/way is required on points k=3 and was not timed: "
                                            "no module"])

    def test_a_refused_one_is_missing_too(self) -> None:
        ruled = ruling(outcome(entry("peer/way", "wrong answers"), entry("limit/way")), GOOD,
                       TARGET, False)
        self.assertRegex(ruled.incomplete[0], "peer/way.*wrong answers")

    def test_nobody_to_compare_with_is_incomplete(self) -> None:
        ruled = ruling(outcome(entry("peer/way"), entry("limit/way")), NOBODY, TARGET, False)
        self.assertEqual(ruled.incomplete, ["points k=3: no peer to compare with ran"])
        self.assertEqual(ruled.exit_code, 2)

    def test_whoever_has_a_target_is_required(self) -> None:
        ruled = ruling(outcome(entry("peer/way"), limit="no such CPU"), GOOD, TARGET, False)
        self.assertEqual(ruled.incomplete, ["limit/way is required on points k=3 and was not "
                                            "timed: no such CPU"])

    def test_who_chose_the_peers_is_told_and_no_more(self) -> None:
        ruled = ruling(outcome(), NOBODY, TARGET, peers_chosen=True)
        self.assertEqual((ruled.incomplete, ruled.exit_code), ([], 0))
        self.assertEqual(len(ruled.unjudged), 3)

    def test_a_wrong_answer_outweighs_who_is_missing(self) -> None:
        wrong = figures(math.nan, math.nan, 3)
        self.assertEqual(ruling(outcome(), wrong, TARGET, False).exit_code, 1)


class SeveralRows(unittest.TestCase):
    """Two rows of a headline; on one of them nobody ran."""
    target = Target("limit/way", (), {"points k=3": {PEERS: 1.0}, "points k=5": {PEERS: 1.0}})

    def rows(self, ratios: dict[int, float]) -> list[Row]:
        made = []
        for k, ratio in ratios.items():
            peer = entry("peer/way")
            peer.ratio = None if math.isnan(ratio) else Ratio(ratio, ratio, ratio)
            made.append(Row("points", Question(k=k), (50, 8), 4, 4, 4, 0.1,
                            [entry(NEARFIELD), peer]))
        return made

    def test_one_without_a_figure_leaves_the_headline_without(self) -> None:
        for ratios in ({3: math.nan, 5: 0.9}, {3: 0.9, 5: math.nan}):
            self.assertTrue(math.isnan(headline(self.rows(ratios), self.target).ratio_peer))

    def test_the_other_is_judged_all_the_same(self) -> None:
        for ratios in ({3: math.nan, 5: 0.1}, {3: 0.1, 5: math.nan}):
            reasons = shortfalls(headline(self.rows(ratios), self.target))
            self.assertEqual(len(reasons), 1)
            self.assertRegex(reasons[0], "peers / ours of points k=. is 0.1, below half")

    def test_the_smallest_of_both_is_the_headline(self) -> None:
        for ratios in ({3: 0.8, 5: 0.9}, {3: 0.9, 5: 0.8}):
            self.assertEqual(headline(self.rows(ratios), self.target).ratio_peer, 0.8)

    def test_each_has_targets_of_its_own(self) -> None:
        target = Target("limit/way", (), {"points k=3": {"peer/way": 25.0},
                                          "points k=5": {"peer/way": 2.0}})
        found = headline(self.rows({3: 5.0, 5: 5.0}), target)
        self.assertEqual(found.rows[0].figures, (Figure("peer/way", 5.0, 25.0),))
        self.assertRegex(shortfalls(found)[0], "points k=3 is 5, below half of its target 25")
        self.assertEqual(len(shortfalls(found)), 1)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            report.print_targets(found)
        self.assertEqual(printed.getvalue().splitlines(), [
            "target missed: points k=3: peer/way / ours 5, wanted 25",
            "target reached: points k=5: peer/way / ours 5, wanted 2"])

    def test_the_limit_counts_on_the_rows_that_have_a_target_for_it(self) -> None:
        rows = self.rows({3: 5.0, 5: 4.0})
        for row, ratio in zip(rows, (0.3, 0.6), strict=True):
            limit = entry("limit/way")
            limit.ratio = Ratio(ratio, ratio, ratio)
            row.entries.append(limit)
        of_one = Target("limit/way", (), {"points k=3": {PEERS: 1.0},
                                          "points k=5": {PEERS: 1.0, "limit/way": 0.5}})
        self.assertEqual(headline(rows, of_one).ratio_limit, 0.6)
        self.assertEqual(headline(rows, self.target).ratio_limit, 0.3)

    def test_a_run_of_some_rows_is_judged_by_these(self) -> None:
        target = self.target.of_rows({"points k=5"})
        self.assertEqual([row.label for row in headline(self.rows({5: 0.9}), target).rows],
                         ["points k=5"])


if __name__ == "__main__":
    unittest.main()
