"""tools/plan_cluster: a plan of rates that were measured, written into docs/scale.md."""

import json
import unittest

from load_tool import load

tool = load("plan_cluster")
RATES = json.loads(tool.RATES.read_text())
MACHINE = tool.Machine()


def run(family: str, rows: int, batch: float) -> dict:
    seconds = {"build": batch, "batch": batch, "one": batch}
    return {"family": family, "rows": rows, "bytes": 100 * rows, **seconds}


class Plans(unittest.TestCase):
    def test_the_page_has_what_the_tool_says(self):
        page = tool.PAGE.read_text()
        for part, table in (
            ("error", tool.error_table(RATES)),
            ("plan", tool.plan_table(RATES, MACHINE)),
        ):
            begin, end = tool.MARKS[part]
            self.assertIn(begin + table + end, page, "run tools/plan_cluster --update")

    def test_scans_are_a_line_and_lookups_a_power(self):
        scan = tool.Family("flat", {"runs": [run("flat", n, 1 + n) for n in (10, 20, 100)]})
        self.assertAlmostEqual(scan.law("batch")(1000), 1001)
        self.assertAlmostEqual(scan.error("batch"), 0)
        lookup = tool.Family("mih", {"runs": [run("mih", n, 3 * n**0.5) for n in (10, 20, 100)]})
        self.assertAlmostEqual(lookup.law("batch")(10_000), 300)
        self.assertAlmostEqual(lookup.error("batch"), 0)
        off = tool.Family("flat", {"runs": [run("flat", n, n) for n in (10, 20)]
                                   + [run("flat", 100, 50)]})
        self.assertAlmostEqual(off.error("batch"), 1)

    def test_more_rows_take_more_of_everything(self):
        for family in tool.families(RATES):
            few, many = (tool.plan(family, rows, MACHINE, RATES) for rows in (10**9, 10**12))
            self.assertLess(few.machines, many.machines)
            self.assertLess(few.batch, many.batch)
            self.assertLess(few.disk, many.disk)
            self.assertLessEqual(few.memory, few.disk)
            self.assertLessEqual(many.memory / many.machines, MACHINE.memory * tool.MEMORY_SHARE)

    def test_what_was_not_measured_is_marked(self):
        family = tool.families(RATES)[0]
        small = tool.plan(family, 10**7, MACHINE, RATES)
        self.assertNotIn("s", small.marks)
        large = tool.plan(family, 10**12, MACHINE, RATES)
        self.assertEqual(large.marks, "srm")


if __name__ == "__main__":
    unittest.main()
