"""The referee's numbers, on times made by hand."""
import math
import unittest

from referee.arithmetic import Ratio, fails, noise, ratio, spread
from referee.blas import too_slow


class Ratios(unittest.TestCase):
    def test_is_taken_round_by_round(self) -> None:
        # The second round is slower for both, by the same factor: it must not count.
        self.assertEqual(ratio([2.0, 20.0, 3.0], [1.0, 10.0, 1.0]), Ratio(2.0, 2.0, 3.0))

    def test_of_different_rounds_is_an_error(self) -> None:
        with self.assertRaisesRegex(ValueError, "got 2 and 1"):
            ratio([1.0, 2.0], [1.0])
        with self.assertRaisesRegex(ValueError, "got 0 and 0"):
            ratio([], [])


class Noise(unittest.TestCase):
    def test_is_how_far_the_median_ratio_is_from_one_in_either_direction(self) -> None:
        self.assertAlmostEqual(noise([1.0, 1.1, 1.2], [1.0, 1.0, 1.0]), 0.1)
        self.assertAlmostEqual(noise([1.0, 1.0, 1.0], [1.0, 1.25, 1.5]), 0.25)

    def test_a_single_bad_round_is_none(self) -> None:
        self.assertEqual(noise([1.0, 1.0, 9.0], [1.0, 1.0, 1.0]), 0.0)

    def test_of_equal_times_is_none(self) -> None:
        self.assertEqual(noise([3.0, 5.0], [3.0, 5.0]), 0.0)

    def test_spread_is_relative_to_the_median(self) -> None:
        self.assertEqual(spread([1.0, 2.0, 4.0]), 1.5)


class Gate(unittest.TestCase):
    def test_a_run_below_half_of_its_target_fails(self) -> None:
        self.assertTrue(fails(measured=0.4, target=1.0, noise=0.1))

    def test_noise_excuses_what_it_explains(self) -> None:
        self.assertFalse(fails(measured=0.4, target=1.0, noise=0.3))

    def test_at_half_of_the_target_passes(self) -> None:
        self.assertFalse(fails(measured=0.5, target=1.0, noise=0.0))

    def test_nobody_to_compare_with_does_not_fail(self) -> None:
        self.assertFalse(fails(measured=math.nan, target=1.0, noise=0.0))


MKL = {"mkl 2026.2": 100.0}


class Blas(unittest.TestCase):
    def test_below_half_of_mkl_is_refused_with_the_numbers(self) -> None:
        reason = too_slow({"openblas 0.3.15 Prescott": 40.0}, MKL)
        self.assertIsNotNone(reason)
        self.assertRegex(str(reason), "Prescott.* 40 GFLOP/s.*100")

    def test_half_of_mkl_is_fair(self) -> None:
        self.assertIsNone(too_slow({"openblas 0.3.15 SkylakeX": 50.0}, MKL))

    def test_what_cannot_be_seen_is_refused(self) -> None:
        self.assertRegex(str(too_slow({}, MKL)), "its BLAS is not to be seen")
        self.assertRegex(str(too_slow({"openblas": 50.0}, {})), "MKL's BLAS is not to be seen")


if __name__ == "__main__":
    unittest.main()
