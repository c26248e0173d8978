"""What fails a run, and what leaves it incomplete."""
import unittest

from referee import report
from referee.cases import NEARFIELD, Question
from referee.gate import ruling, shortfalls
from referee.outcome import Entry, Outcome, Row
from referee.targets import Headline, Target, headline

TARGET = Target(("points k=3",), "limit/way", ("peer/way", "limit/way"), ratio_peer=1.0,
                ratio_limit=0.5)


def entry(name: str, refused: str | None = None) -> Entry:
    return Entry(name, {}, name == "limit/way", False, 0.0, refused=refused)


def outcome(*entries: Entry, **absent: str) -> Outcome:
    row = Row("points", Question(k=3), (50, 8), 4, 4, 0.1, [entry(NEARFIELD), *entries])
    return Outcome([row], {f"{name}/way on points": why for name, why in absent.items()})


GOOD = Headline(0.9, 0.4, 0, 0.1)
NOBODY = Headline(float("nan"), float("nan"), 0, 0.1)


class Speed(unittest.TestCase):
    def test_a_good_run_passes(self) -> None:
        self.assertEqual(shortfalls(GOOD, TARGET), [])

    def test_a_slow_run_fails(self) -> None:
        reasons = shortfalls(Headline(0.4, 0.4, 0, 0.1), TARGET)
        self.assertEqual(len(reasons), 1)
        self.assertRegex(reasons[0], "ratio_peer is 0.4, below half of its target 1,.*10%")

    def test_a_wrong_run_fails_however_fast(self) -> None:
        self.assertRegex(shortfalls(Headline(9.0, 9.0, 1, 0.1), TARGET)[0], "1 mismatches")

    def test_the_last_line(self) -> None:
        self.assertEqual(report.last_line("exact-u8", Headline(0.5, 0.25, 0, 0.1)),
                         "exact-u8 ratio_peer=0.500 ratio_limit=0.250 mismatches=0")

    def test_a_row_that_is_not_measured_is_an_error(self) -> None:
        with self.assertRaisesRegex(ValueError, "targets.toml names the rows points k=3"):
            headline([], TARGET)


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
        self.assertEqual(len(ruled.incomplete), 2)
        self.assertEqual(ruled.exit_code, 2)

    def test_who_chose_the_peers_is_told_and_no_more(self) -> None:
        ruled = ruling(outcome(), NOBODY, TARGET, peers_chosen=True)
        self.assertEqual((ruled.incomplete, ruled.exit_code), ([], 0))
        self.assertEqual(len(ruled.unjudged), 2)

    def test_a_wrong_answer_outweighs_who_is_missing(self) -> None:
        wrong = Headline(float("nan"), float("nan"), 3, 0.1)
        self.assertEqual(ruling(outcome(), wrong, TARGET, False).exit_code, 1)


if __name__ == "__main__":
    unittest.main()
