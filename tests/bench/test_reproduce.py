"""bench/reproduce: what it makes of lines that the program has printed, without a device."""
import contextlib
import io
import json
import stat
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from reproduction import __main__ as command
from reproduction import figures, running, shapes
from reproduction.figures import FIGURES
from reproduction.measured import Measured, Place, outcome_of
from reproduction.reporting import NOT_A_GPU, heading, measured_table, stated_table

# As measure_knn_gpu has printed them, at size tiny.
RECORDED = Path(__file__).parent / "recorded" / "knn-gpu-tiny.jsonl"


def line(series: str, seconds: float, timed: str = "kernels", **numbers: int) -> dict[str, object]:
    place = {name: numbers.get(name, 0) for name in Place._fields}
    return {"figure": "5.6", "series": series, "timed": timed, **place,
            "rounds": [seconds, seconds / 2, 2 * seconds], "checked": True}


def measured(*lines: dict[str, object]) -> Measured:
    found = Measured()
    for one in lines:
        found.add(one)
    return found


class Lines(unittest.TestCase):
    def test_a_rate_is_that_of_the_median(self) -> None:
        found = measured(line("bits", 0.5, q=10, n=100, k=2))
        timing = found.places[Place(10, 100, 0, 2, 0)]["bits"]
        self.assertEqual(timing.seconds, 0.5)
        self.assertEqual(timing.rate, 2000)

    def test_what_was_not_checked_does_not_count(self) -> None:
        with self.assertRaisesRegex(ValueError, "not checked"):
            measured(line("bits", 1, q=1, n=1) | {"checked": False})

    def test_the_recorded_run_has_every_figure(self) -> None:
        outcome = outcome_of(RECORDED.read_text().splitlines())
        self.assertEqual(outcome.figures.keys(), FIGURES.keys())
        for number, found in outcome.figures.items():
            self.assertTrue(found.places, number)

    def test_every_series_that_is_judged_was_recorded(self) -> None:
        """A series that is named otherwise would never be judged, and nobody would notice."""
        outcome = outcome_of(RECORDED.read_text().splitlines())
        recorded = {name for found in outcome.figures.values() for name in found.series}
        judged = {figures.KEYS, *figures.PRODUCTS, figures.COPY, figures.CPU_SEARCH, figures.FUSED,
                  figures.TWO_STAGES, figures.TO_DEVICE, figures.TO_HOST, "bits", "full_sort",
                  "radix", "sample_two_stage", "knn", "f16 + bits_in_memory",
                  "f16 + sample_two_stage", "f16 + radix"}
        self.assertEqual(judged - recorded, set())


class Shapes(unittest.TestCase):
    def test_who_leads_everywhere_holds(self) -> None:
        found = measured(line("bits", 1, q=1, n=8, k=32), line("other", 2, q=1, n=8, k=32),
                         line("bits", 1, q=1, n=8, k=64), line("other", 3, q=1, n=8, k=64))
        verdict = shapes.leads(("bits",))(found)
        self.assertEqual(verdict, shapes.Verdict(
            True, "at 2 of 2 places, 2.00 to 3.00 times as fast"))

    def test_one_place_lost_is_enough(self) -> None:
        found = measured(line("bits", 1, q=1, n=8, k=32), line("other", 0.5, q=1, n=8, k=32))
        verdict = shapes.leads(("bits",), ("other",))(found)
        self.assertIs(verdict.holds, False)
        self.assertIn("at 0 of 1 places, 0.50", verdict.here)

    def test_a_tie_is_not_lost(self) -> None:
        found = measured(line("bits", 1, q=1, n=8, k=32), line("other", 0.96, q=1, n=8, k=32))
        self.assertIs(shapes.leads(("bits",))(found).holds, True)

    def test_a_copy_computes_nothing(self) -> None:
        found = measured(line("bits", 1, q=1, n=8), line("copy", 0.1, "copy", q=1, n=8))
        self.assertEqual(shapes.leads(("bits",))(found), shapes.NOT_MEASURED)
        share = shapes.share_of_copy("bits", "copy", 0.75)(found)
        self.assertIs(share.holds, False)
        self.assertIn("5.0% of what a copy", share.here)

    def test_a_slow_copy_does_not_flatter(self) -> None:
        found = measured(line("bits", 1, q=1, n=8, k=2), line("copy", 0.6, "copy", q=1, n=8, k=2),
                         line("bits", 1, q=1, n=8, k=4), line("copy", 0.1, "copy", q=1, n=8, k=4))
        self.assertIn("5.0% of what", shapes.share_of_copy("bits", "copy", 0.75)(found).here)

    def test_what_could_not_come_out_otherwise_is_not_judged(self) -> None:
        few = measured(line("bits", 1, q=16, n=8, k=32), line("bits", 2, q=4, n=8, k=32))
        both = measured(line("bits", 1, q=4096, n=8, k=32), line("bits", 2, q=4, n=8, k=32))
        judge = FIGURES["5.6"].stated[2].judge
        self.assertIsNone(judge(few).holds)
        self.assertIs(judge(both).holds, False)

    def test_what_is_below(self) -> None:
        judge = shapes.below(lambda timings: timings["bits"].seconds, "seconds", "d", 1)
        found = measured(line("bits", 0.5, q=1, n=8, d=4), line("bits", 2, q=1, n=8, d=8))
        self.assertEqual(judge(found), shapes.Verdict(False, "seconds: 2 to 2 at d 8"))

    def test_places_that_are_not_asked_for_do_not_count(self) -> None:
        found = measured(line("bits", 1, q=1, n=8, k=2), line("other", 0.1, q=1, n=8, k=2))
        verdict = shapes.leads(("bits",), (), lambda place: place.k >= 32)(found)
        self.assertEqual(verdict, shapes.NOT_MEASURED)

    def test_the_best_number_of_parts(self) -> None:
        found = measured(*(line("bits", seconds, q=1, n=8, k=k, parts=parts)
                           for k, parts, seconds in ((32, 1, 4), (32, 256, 1), (2048, 128, 1),
                                                     (2048, 256, 2), (2048, 1, 4))))
        judge = FIGURES["5.7"].stated[0].judge
        self.assertEqual(judge(found), shapes.Verdict(
            True, "fastest at k 32: parts 256; k 2,048: parts 128"))

    def test_what_falls(self) -> None:
        found = measured(*(line(series, seconds, timed, q=1, n=8, d=d, k=2)
                           for d, kernel in ((8, 4.0), (64, 2.0))
                           for series, timed, seconds in (("f16 + bits", "kernels", kernel),
                                                          ("vectors to the device", "copy", 0.5),
                                                          ("results to the host", "copy", 0.5))))
        verdict = FIGURES["5.14"].stated[0].judge(found)
        self.assertEqual(verdict, shapes.Verdict(
            True, "kernels over transfers: k 2: 4 at d 8, 2 at d 64"))

    def test_what_is_only_drawn_is_not_judged(self) -> None:
        found = measured(line("f16 + bits", 1, q=1, n=8, d=4, k=2),
                         line("cpu, knn", 10, "call", q=1, n=8, d=4, k=2))
        verdict = FIGURES["5.13"].stated[0].judge(found)
        self.assertIsNone(verdict.holds)
        self.assertIn("10 to 10 times as fast", verdict.here)


DEVICE = {"device": "opencl:0", "name": "A Processor", "driver": "OpenCL 3.0", "units": 2,
          "memory": 2**34, "is_cpu": True}


class Report(unittest.TestCase):
    def test_nobody_takes_a_cpu_for_a_gpu(self) -> None:
        self.assertIn(NOT_A_GPU, heading(DEVICE))
        self.assertTrue(heading(DEVICE).startswith("device opencl:0: A Processor, 2 units"))
        card = DEVICE | {"device": "cuda:0", "is_cpu": False}
        self.assertTrue(heading(card).endswith("; a GPU, by cuda"))

    def test_a_table_has_the_numbers_that_play_a_part(self) -> None:
        found = measured(line("bits", 1e-3, q=1000, n=1000, k=32),
                         line("radix", 2e-3, q=1000, n=1000, k=64))
        table = measured_table(FIGURES["5.6"], found)
        self.assertEqual(table[0], ("q", "n", "k", "bits", "radix"))
        self.assertEqual(table[2:], [("1,000", "1,000", "32", "1,000", ""),
                                     ("1,000", "1,000", "64", "", "500")])

    def test_the_thesis_stands_beside(self) -> None:
        outcome = outcome_of(RECORDED.read_text().splitlines())
        for number, figure in FIGURES.items():
            table = stated_table(figure, outcome.figures[number], "opencl:0")
            self.assertEqual(table[0][1:3], ("stated, of a Tesla V100 SXM2 32 GB, CUDA 12.0",
                                             "on opencl:0"))
            self.assertEqual(len(table), 2 + len(figure.stated))
            for row in table[2:]:
                self.assertIn(row[3], ("holds", "differs", "not judged"))


def program(folder: Path, name: str, *text: str) -> None:
    """One that prints a file."""
    printed = folder / f"{name}.txt"
    printed.write_text("\n".join(text))
    path = folder / name
    path.write_text(f"#!/bin/sh\nexec cat '{printed}'\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


class Command(unittest.TestCase):
    """On programs that print what was recorded."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.build = Path(holder.name)

    def list_devices(self, *names: str) -> None:
        found = {"devices": [{"id": name} for name in names],
                 "missing": [{"kind": "cuda", "reason": "no plugin"}]}
        program(self.build, "nearfield", json.dumps(found))

    def run_command(self, *arguments: str) -> tuple[int, str, str]:
        asked = ["bench/reproduce", "knn-gpu", "--build", str(self.build), "--output",
                 str(self.build / "out"), *arguments]
        with (mock.patch("sys.argv", asked), contextlib.redirect_stdout(io.StringIO()) as printed,
              contextlib.redirect_stderr(io.StringIO()) as said):
            code = command.main()
        return code, printed.getvalue(), said.getvalue()

    def test_a_run(self) -> None:
        self.list_devices("cpu", "opencl:0")
        program(self.build, running.PROGRAM, RECORDED.read_text())
        code, printed, _ = self.run_command()
        self.assertEqual(code, 0)
        self.assertIn(NOT_A_GPU, printed.splitlines()[0])
        for number in FIGURES:
            self.assertIn(f"Figure {number}: ", printed)
        written = json.loads((self.build / "out" / "results.json").read_text())
        self.assertEqual(len(written["lines"]), len(RECORDED.read_text().splitlines()))
        self.assertEqual(written["verdicts"].keys(), FIGURES.keys())
        for number in FIGURES:
            self.assertTrue((self.build / "out" / f"figure-{number}.png").exists())

    def test_cuda_comes_first(self) -> None:
        self.list_devices("cpu", "opencl:0", "opencl:1", "cuda:0")
        self.assertEqual(running.choose(running.listed(self.build)), "cuda:0")
        self.list_devices("cpu", "opencl:0", "opencl:1")
        self.assertEqual(running.choose(running.listed(self.build)), "opencl:0")

    def test_no_device_says_what_is_needed(self) -> None:
        self.list_devices("cpu")
        code, _, said = self.run_command()
        self.assertEqual(code, 2)
        self.assertIn("no device to measure on was found", said)
        self.assertIn("tools/opencl_runtime", said)
        self.assertIn("cuda: no plugin", said)

    def test_no_build_says_how(self) -> None:
        code, _, said = self.run_command()
        self.assertEqual(code, 2)
        self.assertIn("cmake --preset release -DNEARFIELD_OPENCL=ON", said)

    def test_a_program_that_fails(self) -> None:
        self.list_devices("opencl:0")
        failing = self.build / running.PROGRAM
        failing.write_text("#!/bin/sh\nexit 1\n")
        failing.chmod(0o755)
        code, _, said = self.run_command()
        self.assertEqual(code, 2)
        self.assertIn("measure_knn_gpu ended with 1", said)


if __name__ == "__main__":
    unittest.main()
