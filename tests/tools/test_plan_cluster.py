"""tools/plan_cluster: a plan of rates that were measured, written into docs/scale.md."""

import json
import unittest

from load_tool import load

tool = load("plan_cluster")
RATES = json.loads(tool.RATES.read_text())
MACHINE = tool.Machine()


def run(family: str, rows: int, batch: float, begin: int = 0) -> dict:
    seconds = {"build": batch, "batch": batch, "one": batch}
    return {"family": family, "begin": begin, "rows": rows, "bytes": 100 * rows, **seconds}


def made_up(call: float, merged: int) -> dict:
    """Rates of rows of 100 bytes, which take a microsecond each: the largest run has a million. A
    call to a shard takes so many seconds; the answers of so many shards were merged, in no time."""
    runs = [run("flat u8 x 128", rows, 1e-6 * rows) for rows in (10_000, 100_000, 1_000_000)]
    merge = {"1": 0.0, str(merged): 0.0}
    return {"shards": runs, "merge": merge, "ray": {"call": call, "batch": call},
            "read_bytes_a_second": 1e9}


class Plans(unittest.TestCase):
    def test_the_page_has_what_the_tool_says(self):
        page = tool.PAGE.read_text()
        for part, table in tool.all_tables(RATES, MACHINE).items():
            begin, end = tool.MARKS[part]
            self.assertIn(begin + table + end, page, "run tools/plan_cluster --update")

    def test_scans_are_a_line_and_lookups_a_power(self):
        scan = tool.Family("flat", {"shards": [run("flat", n, 1 + n) for n in (10, 20, 100)]})
        self.assertAlmostEqual(scan.law("batch")(1000), 1001)
        self.assertAlmostEqual(scan.error("batch"), 0)
        lookup = tool.Family("mih", {"shards": [run("mih", n, 3 * n**0.5) for n in (10, 20, 100)]})
        self.assertAlmostEqual(lookup.law("batch")(10_000), 300)
        self.assertAlmostEqual(lookup.error("batch"), 0)
        off = tool.Family("flat", {"shards": [run("flat", n, n) for n in (10, 20)]
                                   + [run("flat", 100, 50)]})
        self.assertAlmostEqual(off.error("batch"), 1)

    def test_shards_together_are_compared_with_what_smaller_runs_say(self):
        runs = [run("flat", n, n) for n in (10, 20, 100)]
        others = [run("flat", 100, 60, begin) for begin in (100, 200)]
        rates = {"shards": runs + others, "merge": {"1": 0, "5": 80}}
        flat = tool.Family("flat", rates)
        self.assertAlmostEqual(flat.whole("batch"), 100 + 60 + 60 + 40)
        self.assertAlmostEqual(flat.whole_error("batch"), (300 + 40) / 260 - 1)
        self.assertAlmostEqual(flat.error("batch"), 0)
        self.assertIn("| flat | 300 in 3 shards | 100 |", tool.error_table(rates))

    def test_merging_is_on_lines(self):
        rates = {"merge": {"4": 1.0, "10": 4.0, "20": 24.0}}
        for shards, seconds in ((1, 0), (2, 0), (4, 1), (7, 2.5), (15, 14), (30, 44)):
            self.assertAlmostEqual(tool.merge_seconds(rates, shards), seconds)

    def test_more_rows_take_more_of_everything(self):
        for family in tool.families(RATES):
            few, many = (tool.plan(family, rows, MACHINE, RATES) for rows in (10**9, 10**12))
            self.assertLess(few.machines, many.machines)
            self.assertLess(few.batch, many.batch)
            self.assertLess(few.disk, many.disk)
            self.assertLessEqual(few.memory, few.disk)
            self.assertLessEqual(many.memory / many.machines, MACHINE.memory * tool.MEMORY_SHARE)

    def test_small_questions_go_to_each_shard_and_large_ones_to_each_machine(self):
        router = (tool.ROOT / "python/nearfield/cluster/_router.py").read_text()
        self.assertIn(f"\nPUT_BYTES = {tool.PUT_BYTES:_}\n", router)
        for family in tool.families(RATES):
            found = tool.plan(family, 10**10, MACHINE, RATES)
            query = tool.QUERY_BYTES[family.name.split(" ", 1)[1]]
            copies = found.machines if query == 512 else found.shards
            answers = tool.K * tool.ANSWER_BYTES * found.shards
            expected = tool.QUERIES * (query * copies + answers) / MACHINE.network
            self.assertAlmostEqual(found.sent, expected)

    def test_what_was_not_measured_is_marked(self):
        machine = tool.Machine(cores=10, memory=1e12)  # 8 * 10^9 rows, 10 shards, a machine
        marked = {  # of rates in which a call takes so long and so many shards were merged
            (10**8, 0.0, 100): "",                # ten times the rows of the largest run, a shard
            (10**8 + 10, 0.0, 100): "s",
            (10**7, 0.09, 100): "",               # a search of 1 s, a router of 0.9 s
            (10**7, 0.11, 100): "r",
            (8 * 10**10, 0.0, 100): "s",          # ten machines
            (8 * 10**10 + 1, 0.0, 100): "sm",
            (8 * 10**10 + 1, 10.0, 100): "srm",
        }
        for (rows, call, merged), marks in marked.items():
            rates = made_up(call, merged)
            family = tool.Family("flat u8 x 128", rates)
            self.assertEqual(tool.plan(family, rows, machine, rates).marks, marks, (rows, call))


if __name__ == "__main__":
    unittest.main()
