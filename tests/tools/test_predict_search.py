"""tools/predict_search: a prediction of searches on cards, of the sources as they are."""

import re
import unittest
from dataclasses import replace
from pathlib import Path

from load_tool import load

ROOT = Path(__file__).resolve().parents[2]

tool = load("predict_search")
RTX_3060, A100, H100 = tool.CARDS
FLOATS = tool.Workload(10_000, 1_000_000, 128, 2, "f32", "host")
BYTES = replace(FLOATS, values="u8")

KERNELS = "cmake/kernels.cmake"
DEVICE_FILTER = "src/filter/gpu/device_filter.cpp"
ROW_PARTS = "src/filter/gpu/row_parts_of_block.hpp"
SEEDS = "src/search/seeds.cpp"
NUMBER = r"(?:std::int64_t\{)?(\d+)\}?(?: << (\d+))?"


def in_source(path: str, before: str) -> int:
    """The number behind these words; 1 << 17 is one."""
    text = (ROOT / path).read_text()
    number, shift = re.search(re.escape(before) + NUMBER, text).groups()
    return int(number) << int(shift or 0)


class OfTheSources(unittest.TestCase):
    def test_constants_are_those_of_the_sources(self):
        for value, path, before in (
                (tool.TILE, "src/distance/gpu/product_tile.h", "kTile = "),
                (tool.ACROSS, "src/distance/gpu/product_tile.h", "kAcross = "),
                (tool.FRAGMENT, "src/device/gpu/fragments.h", "kFragment = "),
                (tool.PIECE_BYTES, "src/device/gpu/fragments.h", "kPanelBytes = "),
                (tool.WARPS * 32, KERNELS, '"close_f16|distance/gpu/close_products.cu|'),
                (tool.WARPS * 32, KERNELS, '"close_i8|distance/gpu/close_products.cu|'),
                (tool.WARPS * 32, KERNELS, '"two_i8|distance/gpu/two_products.cu|'),
                (tool.MOST_QUERIES, "src/device/default_choice.hpp", "query_batch = "),
                (tool.MOST_ROWS, "src/search/choose_device.cpp", "kMostBlockRows = "),
                (tool.FIRST_ROWS, DEVICE_FILTER, "kFirstRowsSelected = "),
                (tool.LEAST_SELECTED, "src/filter/gpu/first_thresholds.cpp", "kLeastRows = "),
                (tool.MOST_SELECTED, "src/search/plan.hpp", "most_selected_items = "),
                (tool.CHUNK_BYTES, DEVICE_FILTER, "kMostRowBytes = "),
                (tool.PAIR_BYTES, "src/distance/gpu/pair_list.hpp", "kPairBytes = "),
                (tool.MANY_PARTS, "src/select/gpu/row_parts.hpp", "kManyBlocks = "),
                (tool.LEAST_PART, ROW_PARTS, "kLeastPartRows = "),
                (tool.LEAST_HALF_COLS, "src/device/default_choice.hpp", "least_half_cols = "),
                (tool.ONE_OF, SEEDS, "kOneOf = "),
                (tool.SAMPLE_DEVIATIONS, SEEDS, "kDeviations = "),
                (tool.SAMPLE_RANKS, SEEDS, "kMoreRanks = "),
                (tool.KEPT_ROW_PAIRS, SEEDS, "kPairsOfAKeptRow = ")):
            with self.subTest(path=path, before=before):
                self.assertEqual(in_source(path, before), value)

    def test_blocks_of_rows_double(self):
        self.assertEqual(tool.row_blocks(4000, 512), [512, 1024, 2048, 416])
        self.assertEqual(sum(tool.row_blocks(1_000_000, tool.FIRST_ROWS)), 1_000_000)
        self.assertEqual(max(tool.row_blocks(1_000_000, tool.FIRST_ROWS)), tool.MOST_ROWS)

    def test_methods_are_chosen_as_in_the_sources(self):
        self.assertEqual([load.method for load in (FLOATS, BYTES, replace(BYTES, k=3),
                                                   replace(BYTES, forced="bytes"))],
                         ["halves", "two_bytes", "bytes", "bytes"])

    def test_blocks_of_queries_are_whole_tiles(self):
        self.assertEqual(tool.query_blocks(FLOATS)[:2], [(0, 1024), (1024, 2048)])
        self.assertEqual(tool.query_blocks(FLOATS)[-1], (9216, 10_000))
        self.assertEqual(tool.query_blocks(replace(FLOATS, k=1 << 14))[0], (0, 256))
        self.assertEqual(tool.query_blocks(replace(FLOATS, k=1 << 16))[0], (0, 64))

    def test_squares_begin_at_multiples_of_a_tile(self):
        self.assertEqual([tool.tiles_of(*block) for block in ((0, 1000), (1000, 2000), (0, 1024))],
                         [8, 9, 8])

    def test_few_products_are_not_asked_for(self):
        """79 tiles of queries; the first rows twice where bounds of them are selected from."""
        self.assertEqual(tool.work_of(FLOATS).bounded, 1 << 14)
        self.assertEqual(tool.work_of(BYTES).bounded, 0)
        self.assertEqual(tool.work_of(BYTES).squares, 79 * -(-1_000_000 // 128))

    def test_chunks_are_of_256_mebibytes(self):
        """A row of float32 is there as it was, as halves, and with two terms."""
        self.assertEqual(tool.chunks(FLOATS)[0], (2**28 - 127 * 256) // (512 + 256 + 8))
        self.assertEqual(len(tool.chunks(FLOATS)), 3)
        self.assertEqual(tool.chunks(BYTES), [1_000_000])

    def test_found_is_about_what_was_measured(self):
        """Of 20,000 x 70 rows and 200 queries (docs/devices.md). The first block has 299 rows, by
        the pace of a device whose speed is not known; later ones up to twice as many as before: the
        fewer, the fewer are found."""
        first = (1 << 22) // 70 // 200
        for k, measured in ((2, 11), (10, 57), (100, 766), (1000, 4200)):
            with self.subTest(k=k):
                load = replace(FLOATS, k=k)
                most = tool.found_of_a_query(load, tool.row_blocks(20_000, first))
                least = tool.found_of_a_query(load, [first] + [1] * (20_000 - first))
                self.assertLess(least, measured)
                self.assertLess(measured, most)
                self.assertLess(most, 1.5 * least)

    def test_two_of_each_part_are_found_before_there_is_a_threshold(self):
        """16 parts of 1,024 rows; then 2 of as many rows as were seen."""
        self.assertEqual(tool.most_found(BYTES, tool.FIRST_ROWS), 32)
        blocks = [tool.FIRST_ROWS * times for times in (1, 2, 3)]
        self.assertAlmostEqual(tool.found_of_a_query(BYTES, blocks), 32 + 4 + 2)

    def test_what_is_not_modelled_is_refused(self):
        self.assertEqual(tool.not_modelled(tool.DEFAULT), "")
        for base, reason in (((10_000, 1_000_000, 128, 0), "at least 1"),
                             ((1_000, 1_000_000, 128, 2), "two threads"),
                             ((10_000, 1_000_000, 32, 2), "by keys"),
                             ((10_000, 1_000_000, 128, 1_000), "a sample"),
                             ((10_000, 100_000, 128, 5_000), "first thresholds")):
            with self.subTest(base=base):
                self.assertIn(reason, tool.not_modelled(base))


class Roofline(unittest.TestCase):
    def test_tensor_cores_by_hand(self):
        """Without padding: 2.56e12 operations at 25.5e12 a second."""
        load = replace(FLOATS, queries=10_240)
        limits = tool.products_phase(tool.work_of(load), RTX_3060, tool.ROOF).limits
        rows = tool.FIRST_ROWS + sum(-(-size // 128) * 128 for chunk in tool.chunks(load)
                                     for size in tool.row_blocks(chunk, tool.FIRST_ROWS))
        self.assertAlmostEqual(limits["tensor cores"], 10_240 * rows * 128 * 2 / 25.5e12)

    def test_rates_of_the_rtx_3060_are_computed(self):
        clocks = RTX_3060.units * RTX_3060.clock
        self.assertAlmostEqual(RTX_3060.f16 / (clocks * 256 * 2), 1, delta=0.005)
        self.assertAlmostEqual(RTX_3060.i8 / (clocks * 1024 * 2), 1, delta=0.005)
        self.assertAlmostEqual(RTX_3060.f64 / (clocks * 2 * 2), 1, delta=0.005)

    def test_rows_are_read_once_by_each_block_of_queries(self):
        self.assertEqual(tool.row_reads(tool.work_of(FLOATS)), 10 * (1_000_000 + (1 << 14)) * 256)
        self.assertEqual(tool.row_reads(tool.work_of(BYTES)), 10 * 1_000_000 * 128)

    def test_bounds_are_written_and_read(self):
        phase = tool.thresholds_phase(tool.work_of(FLOATS), RTX_3060, tool.ROOF)
        self.assertAlmostEqual(phase.seconds, 10_000 * (1 << 14) * 4 / 360e9)
        self.assertEqual(tool.thresholds_phase(tool.work_of(BYTES), A100, tool.ROOF).seconds, 0)

    def test_bytes_have_no_keys_to_compute(self):
        self.assertEqual(tool.keys_phase(tool.work_of(BYTES), A100, tool.ROOF).seconds, 0)

    def test_what_is_there_already_is_not_copied_or_rounded(self):
        wholes = [tool.predict(replace(FLOATS, begins=begins), RTX_3060, tool.ROOF).whole
                  for begins in ("host", "card", "ready")]
        self.assertEqual(wholes, sorted(wholes, reverse=True))
        ready = tool.predict(replace(FLOATS, begins="ready"), RTX_3060, tool.ROOF)
        self.assertEqual(ready.phases["copy"].seconds + ready.phases["rounding"].seconds, 0)

    def test_the_roof_is_below_what_is_assumed(self):
        for card in tool.CARDS:
            for load in tool.cases(tool.DEFAULT):
                with self.subTest(card=card.name, load=load):
                    least, most = (tool.predict(load, card, tool.assumed(share)).whole
                                   for share in reversed(card.tensor_share))
                    self.assertLess(tool.predict(load, card, tool.ROOF).whole, least)
                    self.assertLess(least, most)

    def test_phases_at_one_time_share_what_both_need(self):
        both = tool.overlapped(tool.Phase("a", {"memory": 2.0, "L2": 1.0}),
                               tool.Phase("b", {"L2": 2.0}))
        self.assertEqual((both.seconds, both.binds, both.name), (3.0, "L2", "a and b"))

    def prediction(self, device: float, host: float, copy_beside: float, chunks: list[int]):
        phases = {name: tool.Phase(name, {"x": 0.0})
                  for name in ("copy", "rounding", "thresholds", "keys", "read back")}
        phases["host"] = tool.Phase("host", {"host": host})
        phases["copy, beside"] = tool.Phase("copy, beside", {"bus": copy_beside})
        return tool.Prediction(phases, [tool.Phase("products", {"x": device})], chunks)

    def test_two_threads_take_turns(self):
        self.assertEqual(self.prediction(4.0, 3.0, 0.0, [10]).whole, 4.0)
        self.assertEqual(self.prediction(4.0, 8.0, 0.0, [10]).whole, 6.0)

    def test_chunks_come_while_others_are_searched(self):
        """The search of each takes 2; two copies beside it 1 each, or 3 each."""
        self.assertEqual(self.prediction(6.0, 0.0, 2.0, [10, 10, 10]).whole, 6.0)
        self.assertEqual(self.prediction(6.0, 0.0, 6.0, [10, 10, 10]).whole, 8.0)

    def test_seed_by_hand(self):
        """20 GB written, 27 times 256 MB and 20 GB read, at 360 GB/s; 2.56e12 at 51e12."""
        roof = tool.seed_roof(FLOATS, RTX_3060)
        self.assertAlmostEqual(roof["whole"], (20e9 + 27 * 256e6 + 20e9) / 360e9)
        self.assertAlmostEqual(roof["tensor"], 2.56e12 / 51e12)


class Page(unittest.TestCase):
    def test_shows_what_is_printed(self):
        text = tool.describe(tool.DEFAULT)
        self.assertIn(tool.BEGIN + text + tool.END, tool.PAGE.read_text(),
                      "docs/gpu.md is not of these sources: run tools/predict_search --update")

    def test_says_what_is_counted_and_refused(self):
        page = " ".join(tool.PAGE.read_text().split())
        halves, of_bytes, two = tool.COMPARE_INSTRUCTIONS.values()
        self.assertIn(f"{halves} instructions a product of `halves`, {of_bytes} of `bytes`, "
                      f"{two} of `two_bytes`", page)
        least = next(k for k in range(1, 1000) if tool.samples(1_000_000, k))
        self.assertIn(f"of 1,000,000 rows in memory, without a memory limit, from {least} on", page)

    def test_says_that_it_is_a_prediction(self):
        self.assertTrue(tool.describe(tool.DEFAULT).startswith("**Predicted, not measured**"))


if __name__ == "__main__":
    unittest.main()
