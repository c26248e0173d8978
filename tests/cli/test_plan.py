"""nearfield plan: what a search would do, without doing it."""
import json
import struct
import unittest

from support import CommandLine

SEARCHES = {
    "knn": ["--queries", "q.fbin", "--base", "b.fbin", "-k", 3],
    "graph": ["--base", "b.fbin", "-k", 3],
    "range": ["--queries", "q.fbin", "--base", "b.fbin", "--radius", 5],
    "pairs": ["--base", "b.fbin", "--count", 7],
    "mutual": ["--queries", "q.fbin", "--base", "b.fbin"],
    "match": ["--queries", "q.fbin", "--base", "b.fbin"],
    "groundtruth": ["--queries", "q.fbin", "--base", "b.fbin"],
}


class Plan(CommandLine):
    def test_is_what_the_search_then_does(self):
        for command, arguments in SEARCHES.items():
            for limit in [], ["--memory-limit", "1M", "--threads", 2]:
                with self.subTest(command=command, limit=limit):
                    planned = self.run_well("plan", command, *arguments, *limit, "--json")
                    ran = json.loads(self.run_well(command, *arguments, *limit, "--json").stdout)
                    self.assertEqual(planned.stderr, "")
                    planned = json.loads(planned.stdout)
                    self.assertGreater(planned["plan"]["working_bytes"], 0)
                    self.assertEqual(planned["plan"], ran["plan"])
                    for name in "exact", "found", "stats":
                        del ran[name]
                    self.assertEqual(planned, ran)

    def test_for_people(self):
        said = self.run_well("plan", "knn", *SEARCHES["knn"]).stdout
        self.assertIn("knn: 6 queries x 40 rows, 3 dims, sqeuclidean, k 3\n", said)
        self.assertIn("pairs     240\n", said)
        plan = json.loads(self.run_well("plan", "knn", *SEARCHES["knn"], "--json").stdout)["plan"]
        self.assertIn(f"{plan['result_bytes']} bytes of results, {plan['working_bytes']} of work",
                      said)
        self.assertEqual(plan["filter_row_bytes"], 0)
        self.assertIn("filter    every row\n", said)
        self.assertNotIn("not known before", said)
        for arguments in (["range", *SEARCHES["range"]],
                          ["pairs", "--base", "b.fbin", "--radius", 1]):
            self.assertIn("not known before", self.run_well("plan", *arguments).stdout)

    def test_has_the_same_options(self):
        for command in SEARCHES:
            own = self.run_well(command, "--help").stdout
            planned = self.run_well("plan", command, "--help").stdout
            self.assertIn(f"nearfield plan {command} ", planned)
            self.assertEqual(planned.replace(f"nearfield plan {command}", f"nearfield {command}"),
                             own)

    def test_checks_outputs_and_writes_none(self):
        before = self.files()
        self.run_well("plan", "knn", *SEARCHES["knn"], "--output", "i.ibin", "--distances", "d.npy")
        self.assertEqual(self.files(), before)
        self.run_badly("plan", "knn", *SEARCHES["knn"], "--output", "i.txt", code=2, says=["i.txt"])
        self.run_badly("plan", "knn", *SEARCHES["knn"], "--output", "no/i.npy", code=1, says=["no"])

    def test_fails_as_the_search_would(self):
        self.run_badly("plan", "knn", *SEARCHES["knn"], "--memory-limit", 100, code=4, says=["100"])
        self.run_badly("plan", "knn", "--queries", "q.fbin", "--base", "none.fbin", code=1,
                       says=["none.fbin"])

    def test_refuses_what_a_file_could_not_hold(self):
        rows = 2**31 + 1
        with open(self.path("large.u8bin"), "wb") as out:  # sparse: no disk is used
            out.write(struct.pack("<II", rows, 1))
            out.truncate(8 + rows)
        large = ["--base", "large.u8bin"]
        both = ["--queries", "large.u8bin", *large]
        for arguments in (["knn", *both], ["graph", *large], ["pairs", *large, "--count", 1],
                          ["range", *both, "--radius", 1, "--offsets", "o.npy"]):
            for output, code in ("i.ibin", 1), ("i.ivecs", 1), ("i.npy", 0):
                done = self.run_command("plan", *arguments, "--output", output)
                self.assertEqual(done.returncode, code, f"{arguments} {output}: {done.stderr}")
                self.assertEqual(str(rows) in done.stderr, code == 1)
        self.path("large.u8bin").unlink()
        self.run_badly("plan", "knn", *SEARCHES["knn"][:-1], 65_537, "--distances", "d.npy", code=1,
                       says=["65536", "65537"])


if __name__ == "__main__":
    unittest.main()
