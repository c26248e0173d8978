"""bench/reproduce: what it makes of lines that the program has printed, without a device."""
import contextlib
import io
import json
import stat
import tempfile
import unittest
from itertools import pairwise
from pathlib import Path
from unittest import mock

from reproduction import __main__ as command
from reproduction import ewh, gemm_sift, knn_gpu, kvp, kvp_gpu, lsh_sift, lsq, running, shapes
from reproduction.knn_gpu import FIGURES
from reproduction.measured import Measured, Outcome, Place, Recall, outcome_of
from reproduction.reporting import (
    NOT_A_GPU,
    error_table,
    heading,
    measured_table,
    printed_cell,
    recall_table,
    stated_table,
)


def recorded(thesis: str) -> str:
    """As its program has printed it, at size tiny."""
    return (Path(__file__).parent / "recorded" / f"{thesis}-tiny.jsonl").read_text()


def recorded_outcome(thesis: str) -> Outcome:
    return outcome_of(recorded(thesis).splitlines())


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

    def test_the_recorded_runs_have_every_figure(self) -> None:
        for name, thesis in command.THESES.items():
            outcome = recorded_outcome(name)
            self.assertEqual(outcome.figures.keys(), thesis.figures.keys())
            for number, found in outcome.figures.items():
                self.assertTrue(found.places or found.recalls or found.points, number)

    def test_a_recall_is_of_those_that_are_matched(self) -> None:
        found = measured({"figure": "recall-sift", "data": "sift", "series": "naive", "q": 10,
                          "n": 100, "ratio": 0.8, "correct": 3, "wrong": 1, "tied": 1, "none": 6})
        recall = found.recall("sift", "naive", 0.8)
        assert recall
        self.assertEqual((recall.value, recall.accepted), (0.75, 4))
        self.assertIsNone(recall._replace(correct=0, wrong=0).value)
        self.assertEqual(found.places, {})

    def test_every_series_that_is_judged_was_recorded(self) -> None:
        """A series that is named otherwise would never be judged, and nobody would notice."""
        of_knn = {name for found in recorded_outcome("knn-gpu").figures.values()
                  for name in found.series}
        judged = {knn_gpu.KEYS, *knn_gpu.PRODUCTS, knn_gpu.COPY, knn_gpu.CPU_SEARCH, knn_gpu.FUSED,
                  knn_gpu.TWO_STAGES, knn_gpu.TO_DEVICE, knn_gpu.TO_HOST, "bits", "full_sort",
                  "radix", "sample_two_stage", "knn", "f16 + bits_in_memory",
                  "f16 + sample_two_stage", "f16 + radix"}
        self.assertEqual(judged - of_knn, set())
        of_gemm = {name for found in recorded_outcome("gemm-sift").figures.values()
                   for name in [*found.series, *(recall.series for recall in found.recalls)]}
        judged = {*gemm_sift.TYPES, gemm_sift.NAIVE, gemm_sift.EXACT, gemm_sift.BATCHED,
                  gemm_sift.SUMS_16, gemm_sift.SUMS_32, gemm_sift.SUMS_64, gemm_sift.FROM_HOST,
                  gemm_sift.QUEUED, "padded, 16-bit sums", "as given, 16-bit sums",
                  "padded, 32-bit sums", "as given, 32-bit sums", "match, exact"}
        self.assertEqual(judged - of_gemm, set())
        of_lsh = {name for found in recorded_outcome("lsh-sift").figures.values()
                  for name in [*found.series, *(recall.series for recall in found.recalls)]}
        judged = {lsh_sift.ONE, lsh_sift.TEN, lsh_sift.HUNDRED, lsh_sift.RATIO, lsh_sift.TUNED,
                  lsh_sift.EXACT, *(f"{series}: {stage}"
                                    for stage in ("all", "short list", "short list, by tiles")
                                    for series in (lsh_sift.ONE, lsh_sift.HUNDRED))}
        self.assertEqual(judged - of_lsh, set())
        of_kvp = {name for found in recorded_outcome("kvp").figures.values()
                  for name in found.series}
        judged = {kvp.SCAN, kvp.KVP, kvp.TILES, kvp.KVP_50, kvp.KVP_200, kvp.RANDOM,
                  *(f"KVP, radius {radius}" for radius in kvp.RADII)}
        self.assertEqual(judged - of_kvp, set())
        of_kvp_gpu = {name for found in recorded_outcome("kvp-gpu").figures.values()
                      for name in found.series}
        judged = {kvp_gpu.name(what, mode) for what in (kvp_gpu.SCAN, kvp_gpu.KVP)
                  for mode in kvp_gpu.MODES}
        self.assertEqual(judged, of_kvp_gpu)
        of_ewh = {name for found in recorded_outcome("ewh").figures.values()
                  for name in [*found.series, *(recall.series for recall in found.recalls)]}
        judged = {ewh.ONE, ewh.ALL, ewh.MADE_THERE, ewh.MADE_BY_BOTH, ewh.MADE_SHARED, ewh.LSH,
                  ewh.EWH, ewh.EWH_ALL, ewh.DEVICE, ewh.BOTH, ewh.SHARED, ewh.EXACT,
                  ewh.EXACT_ALL, ewh.SCAN, ewh.HASHED}
        self.assertEqual(judged - of_ewh, set())

        of_lsq = {name for found in recorded_outcome("lsq").figures.values()
                  for name in [*found.series, *(recall.series for recall in found.recalls)]}
        lsqs = (lsq.LSQ_16, lsq.LSQ_32)
        judged = {lsq.PQ, lsq.OPQ, *(series + suffix for series in lsqs
                                     for suffix in ("", lsq.ONE_CORE, lsq.ALONE, lsq.DEVICE))}
        self.assertEqual(judged - of_lsq, set())

    def test_a_recall_and_its_times_have_one_name(self) -> None:
        """Else none would be drawn, and none be the one that finds most."""
        for number in ("tables", "nearness"):
            found = recorded_outcome("ewh").figures[number]
            names = {recall.data for recall in found.recalls}
            self.assertEqual({ewh.setting(place) for place in found.places}, names)
        found = recorded_outcome("lsh-sift").figures["curve"]
        self.assertEqual({lsh_sift.asked(place) for place in found.places},
                         {recall.data for recall in found.recalls})


def beside_scan(tuned: float | None, **numbers: int) -> list[dict[str, object]]:
    """A search by hashing that takes so many seconds, and a scan that takes one."""
    lines = [line(lsh_sift.EXACT, 1, "call", **numbers)]
    return lines if tuned is None else [*lines, line(lsh_sift.TUNED, tuned, "call", **numbers)]


class WhereHashingWins(unittest.TestCase):
    def test_up_to_the_first_recall_at_which_it_is_slower(self) -> None:
        recalls = [{"data": f"asked, {asked} %", "series": lsh_sift.TUNED, "ratio": 0,
                    "correct": asked, "wrong": 100 - asked, "none": 0, "tied": 0}
                   for asked in (95, 80, 50)]
        found = measured(*recalls, *beside_scan(2, q=9, asked=80), *beside_scan(0.5, q=9, asked=50),
                         *beside_scan(0.5, q=9, asked=95), *beside_scan(0.1, q=1, asked=80))
        self.assertEqual(lsh_sift.wins_up_to(one_by_one=False)(found).here,
                         "up to a recall of 0.500, there 2 times as fast: 1 of 3 indexes")
        self.assertIn("0.800, there 10", lsh_sift.wins_up_to(one_by_one=True)(found).here)

    def test_from_the_rows_on_above_which_it_never_loses(self) -> None:
        found = measured(*beside_scan(0.5, q=9, n=10, d=4), *beside_scan(2, q=9, n=20, d=4),
                         *beside_scan(0.25, q=9, n=30, d=4), *beside_scan(None, q=9, n=30, d=8))
        self.assertEqual(lsh_sift.wins_where(one_by_one=False)(found).here,
                         "d 4: from 30 rows on, 4 times as fast at 30; "
                         "d 8: nowhere, not in reach of hashing at 30")
        self.assertIs(lsh_sift.wins_where(one_by_one=True)(found), shapes.NOT_MEASURED)


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


def recalls(*rows: tuple[str, str, float, int, int, int]) -> Measured:
    """data, series, ratio, correct, wrong, none."""
    return Measured(recalls=[Recall(*row) for row in rows])


class TheThesisOfMatching(unittest.TestCase):
    def test_its_recalls_are_those_of_its_counts_but_for_one_column(self) -> None:
        """Of Table 5.9 the float column has correct / (correct + no match)."""
        wrong = []
        for printed in (*gemm_sift.printed_of_sift(), *gemm_sift.printed_of_random()):
            counts = printed.counts
            self.assertEqual(counts.correct + counts.wrong + counts.none, 10_000)
            if printed.recall is not None and "is printed" in printed_cell(printed):
                wrong.append((counts.series, counts.ratio))
                self.assertAlmostEqual(printed.recall, counts.correct / (counts.correct
                                                                         + counts.none))
        self.assertEqual(wrong, [("float, 16-bit", 1), ("float, 32-bit", 1)])

    def test_the_counts_of_that_column_are_not_exchanged(self) -> None:
        """A larger ratio accepts more, also of the wrong: 140 would be fewer than at 0.99."""
        for series in gemm_sift.TYPES:
            counts = [one.counts for one in gemm_sift.printed_of_sift()
                      if one.counts.series == series]
            by_ratio = sorted(counts, key=lambda one: one.ratio or 2)
            self.assertEqual([one.wrong for one in by_ratio],
                             sorted(one.wrong for one in by_ratio))
            self.assertEqual([one.correct for one in by_ratio],
                             sorted(one.correct for one in by_ratio))
            self.assertGreater(by_ratio[3].wrong, 140)

    def test_the_misprint_is_shown_beside_what_it_should_be(self) -> None:
        found = recalls(("sift", "float, 32-bit", 1, 99, 1, 0))
        table = recall_table(gemm_sift.FIGURES["recall-sift"], found)
        self.assertEqual(table[2:], [
            ("sift", "1", "here", "0.9900 of 100"),
            ("", "", "thesis", "0.8884 of 9,860 (0.9843 is printed)")])

    def test_nobody_is_no_recall(self) -> None:
        found = recalls(("random", "half, 16-bit", 0.8, 0, 0, 100))
        table = recall_table(gemm_sift.FIGURES["recall-random"], found)
        self.assertEqual(table[2:], [("random", "0.8", "here", "nobody")])
        self.assertIs(gemm_sift.nobody_passes(found).holds, True)

    def test_precisions_in_order(self) -> None:
        rows = [("random", series, 0.0, 900 + i, 100 - i, 0)
                for i, series in enumerate(gemm_sift.TYPES)]
        self.assertIs(gemm_sift.grows_with_precision(recalls(*rows)).holds, True)
        swapped = [*rows[1:], ("random", gemm_sift.TYPES[0], 0.0, 999, 1, 0)]
        self.assertIs(gemm_sift.grows_with_precision(recalls(*swapped)).holds, False)
        self.assertEqual(gemm_sift.grows_with_precision(recalls(*rows[1:])), shapes.NOT_MEASURED)

    def test_what_norms_cost(self) -> None:
        rows = [("sift", "float, 16-bit", 0.0, 97, 3, 0),
                ("sift, norms ± 1 %", "float, 16-bit", 0.0, 90, 10, 0),
                ("sift, norms ± 2 %", "float, 16-bit", 0.0, 80, 20, 0)]
        self.assertEqual(gemm_sift.norms_cost(recalls(*rows)), shapes.Verdict(
            True, "as it is 0.9700; rows times 1 ± 1 %: 0.9000; ± 2 %: 0.8000"))

    def test_wrong_ones_that_are_no_ties(self) -> None:
        found = Measured(recalls=[Recall("sift", "naive", 0, 98, 2, 0, tied=1)])
        self.assertIs(gemm_sift.ties_alone(found).holds, False)
        found = Measured(recalls=[Recall("sift", "naive", 0, 98, 2, 0, tied=2)])
        self.assertIs(gemm_sift.ties_alone(found).holds, True)
        found = Measured(recalls=[Recall("sift", "naive", 0, 100, 0, 0)])
        self.assertIsNone(gemm_sift.ties_alone(found).holds)

    def test_small_batches(self) -> None:
        found = measured(*(line(gemm_sift.BATCHED, seconds, q=1000, n=10, batch=batch)
                           for batch, seconds in ((100, 1), (500, 2), (1000, 3))))
        self.assertEqual(gemm_sift.best_batch_is_small(found), shapes.Verdict(
            True, "100 of up to 1,000; 1,000 takes 3.00 times as long"))

    def test_queues_that_pay(self) -> None:
        found = measured(*(line(gemm_sift.QUEUED, seconds, q=1000, n=10, batch=10, queues=queues)
                           for queues, seconds in ((1, 1.2), (2, 1.0), (4, 1.1))))
        self.assertEqual(gemm_sift.queues_pay(True)(found), shapes.Verdict(
            True, "2 queues: 1.20 times as fast as one"))
        self.assertIs(gemm_sift.queues_pay(False)(found).holds, False)

    def test_milliseconds_are_judged_at_its_size_alone(self) -> None:
        judge = gemm_sift.milliseconds(gemm_sift.SUMS_16, 45_000, 36.53)
        small = measured(line(gemm_sift.SUMS_16, 0.01, q=6_000, n=6_000, k=2))
        whole = measured(line(gemm_sift.SUMS_16, 0.01, q=45_000, n=45_000, k=2))
        self.assertEqual(judge(small), shapes.Verdict(None, "10 ms, 6,000 x 6,000"))
        self.assertIs(judge(whole).holds, True)


class ThePaperOfCodes(unittest.TestCase):
    def found(self, *counts: int) -> Measured:
        series = (lsq.PQ, lsq.OPQ, lsq.LSQ_16, lsq.LSQ_32)
        return recalls(*(("64 bits", name, 1, count, 1_000 - count, 0)
                         for name, count in zip(series, counts, strict=True)))

    def test_orders_hold_where_intervals_lie_apart(self) -> None:
        judge = lsq.in_order("64 bits", 1)
        self.assertIs(judge(self.found(100, 200, 300, 300)).holds, True)
        self.assertIs(judge(self.found(100, 200, 300, 290)).holds, True)   # may be as many
        self.assertIsNone(judge(self.found(100, 110, 300, 300)).holds)     # may be fewer
        self.assertIs(judge(self.found(200, 100, 300, 300)).holds, False)
        self.assertIs(judge(self.found(100, 200, 300, 200)).holds, False)
        self.assertIn("PQ 10.00 (8.3 to 12.0)", judge(self.found(100, 200, 300, 300)).here)
        self.assertEqual(judge(Measured()), shapes.NOT_MEASURED)

    def test_queries_that_one_alone_finds_decide(self) -> None:
        """Of 10 that differ all are gained: surely more, however few they are of all."""
        lower = Recall("64 bits", lsq.PQ, 1, 500, 500, 0)
        apart = Recall("64 bits", lsq.OPQ, 1, 510, 490, 0)
        self.assertLess(lsq.rise(lower, apart)[0], 0)
        self.assertGreater(lsq.rise(lower, apart._replace(gained=10))[0], 0)
        self.assertLess(lsq.rise(lower, apart._replace(gained=60, lost=50))[0], 0)
        least, most = lsq.rise(lower, apart._replace(gained=10))
        self.assertAlmostEqual((least + most) / 2, 0.01)

    def test_errors_fall_where_recalls_rise(self) -> None:
        def found(*errors: float) -> Measured:
            names = ((lsq.PQ, 16), (lsq.OPQ, 16), ("LSQ", 16), ("LSQ", 32))
            return measured(*({"figure": "errors", "data": "encoding, 64 bits", "series": name,
                               "x": rounds, "error": error}
                              for (name, rounds), error in zip(names, errors, strict=True)))
        judge = lsq.smaller_errors("encoding, 64 bits")
        self.assertEqual(judge(found(400, 300, 200, 190)), shapes.Verdict(
            True, "PQ 400, OPQ 300, LSQ-16 200, LSQ-32 190"))
        self.assertIs(judge(found(400, 300, 200, 200)).holds, False)
        self.assertEqual(judge(Measured()), shapes.NOT_MEASURED)
        table = error_table(lsq.THESIS.figures["errors"], found(400, 300, 200, 190))
        self.assertEqual(table[2], ("encoding, 64 bits", "16", "400", "300", "200"))
        self.assertEqual(table[3], ("encoding, 64 bits", "32", "", "", "190"))

    def test_what_is_kept_is_named_to_the_program(self) -> None:
        with (contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit),
              mock.patch("sys.argv", ["reproduce", "kvp", "--keep", "folder"])):
            command.parsed()
        with mock.patch("sys.argv", ["reproduce", "lsq", "--keep", "folder"]):
            self.assertEqual(command.parsed().keep, Path("folder"))

    def test_its_own_recalls_are_in_that_order(self) -> None:
        theirs = Measured(recalls=[one.counts for one in lsq.printed()])
        for data, first in lsq.COLUMNS:
            holds = lsq.in_order(data, first)(theirs).holds
            self.assertIs(holds, True, (data, first))

    def test_what_is_not_built_stands_in_the_table(self) -> None:
        table = recall_table(lsq.THESIS.figures["1"], self.found(100, 200, 300, 310))
        self.assertEqual(table[0], ("data", "N", "", "PQ", "OPQ", "LSQ-16", "LSQ-32", "CQ"))
        self.assertEqual(table[2][-1], "")
        self.assertEqual(table[3][2:5], ("thesis", "0.1579 of 10,000", "0.1749 of 10,000"))
        self.assertEqual(table[3][-1], "0.2100 of 10,000")

    def test_views_of_the_base_are_no_rows_of_the_paper(self) -> None:
        for number, found in recorded_outcome("lsq").figures.items():
            if not found.recalls:
                continue
            asked = {recall.data for recall in found.recalls}
            self.assertEqual({data + ", views" for data, _ in lsq.COLUMNS if data in asked},
                             asked - {data for data, _ in lsq.COLUMNS}, number)
            table = recall_table(lsq.THESIS.figures[number], found)
            beside = {row[0]: following[2] == "thesis" for row, following in pairwise(table)
                      if row[0] in asked and row[1] == "1"}
            self.assertEqual(beside, {data: not data.endswith("views") for data in asked})

    def test_times_are_of_a_vector(self) -> None:
        found = measured(line(lsq.LSQ_16, 0.1, "call", n=10_000, codebooks=7))
        self.assertEqual(lsq.as_fast(lsq.LSQ_16, 7, 17.9)(found),
                         shapes.Verdict(True, "10 µs a vector"))
        self.assertEqual(lsq.as_fast(lsq.LSQ_16, 15, 67.2)(found), shapes.NOT_MEASURED)


DEVICE = {"device": "opencl:0", "name": "A Processor", "driver": "OpenCL 3.0", "units": 2,
          "memory": 2**34, "is_cpu": True}


class Report(unittest.TestCase):
    def test_nobody_takes_a_cpu_for_a_gpu(self) -> None:
        self.assertIn(NOT_A_GPU, heading(DEVICE))
        self.assertTrue(heading(DEVICE).startswith("device opencl:0: A Processor, 2 units"))
        card = DEVICE | {"device": "cuda:0", "is_cpu": False}
        self.assertTrue(heading(card).endswith("; a GPU, by cuda"))
        self.assertIn("; a CPU, ", heading(DEVICE | {"device": "cpu"}))

    def test_a_table_has_the_numbers_that_play_a_part(self) -> None:
        found = measured(line("bits", 1e-3, q=1000, n=1000, k=32),
                         line("radix", 2e-3, q=1000, n=1000, k=64))
        table = measured_table(FIGURES["5.6"], found)
        self.assertEqual(table[0], ("q", "n", "k", "bits", "radix"))
        self.assertEqual(table[2:], [("1,000", "1,000", "32", "1,000", ""),
                                     ("1,000", "1,000", "64", "", "500")])

    def test_the_thesis_stands_beside(self) -> None:
        devices = {"knn-gpu": "Tesla V100 SXM2 32 GB, CUDA 12.0",
                   "gemm-sift": "GeForce RTX 3060 12 GB",
                   "lsh-sift": "GeForce RTX 3060 12 GB",
                   "kvp": "Core i7-920 with Radeon HD 5870",
                   "kvp-gpu": "Core i7-920 with Radeon HD 5870",
                   "ewh": "Tesla K20m and 2 x Xeon E5-2670",
                   "lsq": "Core i7-3930K and GTX Titan X"}
        for name, thesis in command.THESES.items():
            outcome = recorded_outcome(name)
            for number, figure in thesis.figures.items():
                table = stated_table(figure, outcome.figures[number], "opencl:0", thesis.device)
                self.assertEqual(table[0][1:3], (f"stated, of a {devices[name]}", "on opencl:0"))
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

    def run_command(self, *arguments: str, thesis: str = "knn-gpu") -> tuple[int, str, str]:
        asked = ["bench/reproduce", thesis, "--build", str(self.build), "--output",
                 str(self.build / "out"), *arguments]
        with (mock.patch("sys.argv", asked), contextlib.redirect_stdout(io.StringIO()) as printed,
              contextlib.redirect_stderr(io.StringIO()) as said):
            code = command.main()
        return code, printed.getvalue(), said.getvalue()

    def check_run(self, name: str, drawn: set[str]) -> str:
        thesis = command.THESES[name]
        self.list_devices("cpu", "opencl:0")
        program(self.build, thesis.program, recorded(name))
        code, printed, _ = self.run_command("--size", "tiny", thesis=name)
        self.assertEqual(code, 0)
        self.assertIn("times are not those of a GPU", printed.splitlines()[0])
        self.assertIn("figures mean nothing", printed.splitlines()[1])
        for figure in thesis.figures.values():
            self.assertIn(figure.title, printed)
        written = json.loads((self.build / "out" / "results.json").read_text())
        self.assertEqual(len(written["lines"]), len(recorded(name).splitlines()))
        self.assertEqual(written["verdicts"].keys(), thesis.figures.keys())
        self.assertEqual({path.name for path in (self.build / "out").glob("*.png")},
                         {f"figure-{number}.png" for number in drawn})
        return printed

    def test_a_run_of_searches(self) -> None:
        printed = self.check_run("knn-gpu", set(FIGURES))
        for number in FIGURES:
            self.assertIn(f"Figure {number}: ", printed)

    def test_a_run_of_matching(self) -> None:
        self.check_run("gemm-sift", set(gemm_sift.FIGURES) - {"times", "frames"})

    def test_a_run_of_hashing(self) -> None:
        printed = self.check_run("lsh-sift", {"5.14", "5.16", "tuned", "curve", "where"})
        self.assertIn("times as fast as the scan", printed)

    def test_a_run_of_pivots(self) -> None:
        printed = self.check_run("kvp", set(kvp.THESIS.figures))
        self.assertIn("share, KVP 50", printed)

    def test_a_run_of_pivots_on_a_device(self) -> None:
        printed = self.check_run("kvp-gpu", set(kvp_gpu.THESIS.figures))
        self.assertIn("time in transfers, scan", printed)

    def test_a_run_of_hashed_bits(self) -> None:
        printed = self.check_run("ewh", {"hashing-shares", "shares", "tables", "nearness"})
        self.assertIn("are faster than a scan", printed)

    def test_a_figure_of_the_other_thesis(self) -> None:
        self.list_devices("opencl:0")
        with self.assertRaises(SystemExit) as ended, contextlib.redirect_stderr(io.StringIO()):
            self.run_command("--only", "frames")
        self.assertEqual(ended.exception.code, 2)

    def test_sets_are_named_to_the_program(self) -> None:
        """Only those that the figures read, and by the options that the program has."""
        self.list_devices("opencl:0")
        device = recorded("gemm-sift").splitlines()[0]
        telling = self.build / gemm_sift.THESIS.program
        telling.write_text(f"#!/bin/sh\necho \"$@\" > '{self.build}/asked'\necho '{device}'\n")
        telling.chmod(0o755)
        with (mock.patch.object(command, "made", lambda name, size, _: Path(f"/{name}-{size}")),
              mock.patch.object(command.store, "checked_sums")):
            code, _, _ = self.run_command("--only", "frames", thesis="gemm-sift")
        self.assertEqual(code, 0)
        self.assertEqual((self.build / "asked").read_text().split(), [
            "frames", "--device", "opencl:0", "--size", "quick", "--rounds", "3",
            "--frames", "/sift-pair-45k-quick"])

    def test_cuda_comes_first(self) -> None:
        self.list_devices("cpu", "opencl:0", "opencl:1", "cuda:0")
        self.assertEqual(running.choose(running.listed(self.build)), "cuda:0")
        self.list_devices("cpu", "opencl:0", "opencl:1")
        self.assertEqual(running.choose(running.listed(self.build)), "opencl:0")

    def test_no_device_says_what_is_needed(self) -> None:
        self.list_devices("cpu")
        program(self.build, knn_gpu.THESIS.program, "")
        code, _, said = self.run_command()
        self.assertEqual(code, 2)
        self.assertIn("no device to measure on was found", said)
        self.assertIn("tools/opencl_runtime", said)
        self.assertIn("cuda: no plugin", said)

    def test_no_build_says_how(self) -> None:
        code, _, said = self.run_command()
        self.assertEqual(code, 2)
        self.assertIn("cmake --preset release -DNEARFIELD_TESTS=ON -DNEARFIELD_OPENCL=ON", said)

    def test_a_program_that_fails(self) -> None:
        self.list_devices("opencl:0")
        failing = self.build / knn_gpu.THESIS.program
        failing.write_text("#!/bin/sh\nexit 1\n")
        failing.chmod(0o755)
        code, _, said = self.run_command()
        self.assertEqual(code, 2)
        self.assertIn("measure_knn_gpu ended with 1", said)


if __name__ == "__main__":
    unittest.main()
