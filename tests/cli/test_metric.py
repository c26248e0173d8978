"""nearfield metric: texts under a metric of objects, against a search by hand."""
import csv
import io
import json
import pathlib
import random
import subprocess
import unittest

from support import NEARFIELD, CommandLine, write_bin


def edits(a, b):
    """The textbook's table, of code points."""
    above = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (x != y)))
        above = row
    return above[-1]


def some_words(count, seed):
    numbers = random.Random(seed)
    return ["".join(numbers.choices('ab"é,', k=numbers.randint(1, 6))) for _ in range(count)]


class Metric(CommandLine):
    WORDS = some_words(90, 1)
    TYPED = some_words(7, 2)

    def setUp(self):
        super().setUp()
        self.path("words.txt").write_text("\n".join(self.WORDS) + "\n")
        self.path("typed.txt").write_text("\n".join(self.TYPED))  # no end of the last line

    def ranked(self, query):
        return sorted((edits(query, word), i) for i, word in enumerate(self.WORDS))

    def lines(self, found):
        """The lines of these (distance, id) of each query."""
        return [[str(query), str(rank), str(i), str(distance), self.WORDS[i]]
                for query, ones in enumerate(found)
                for rank, (distance, i) in enumerate(ones, 1)]

    def read(self, text):
        header, *lines = csv.reader(io.StringIO(text))
        self.assertEqual(header, ["query", "rank", "id", "distance", "key"])
        return lines

    def test_nearest(self):
        want = self.lines(self.ranked(word)[:4] for word in self.TYPED)
        for pivots in ([], ["--pivots", 6], ["--pivots", 20, "--kept", 3]):
            said = self.run_well("metric", "search", "words.txt", "--queries", "typed.txt", "-k", 4,
                                 "--metric", "edit", *pivots)
            self.assertEqual(self.read(said.stdout), want)
            self.assertIn("28 found", said.stderr)
            self.assertIn("distances", said.stderr)

    def test_what_is_told_of_pivots_makes_some(self):
        search = ["metric", "search", "words.txt", "--queries", "typed.txt"]
        said = self.run_well(*search, "--kept", 3).stderr
        self.assertIn("3 of 16 pivots and signatures", said)
        self.run_badly(*search, "--pivots", 0, "--kept", 3, code=1, says=["0 pivots"])

    def test_pivots_change_what_is_computed_and_no_answer(self):
        search = ["metric", "search", "words.txt", "--queries", "typed.txt", "-k", 4]
        want = self.lines(self.ranked(word)[:4] for word in self.TYPED)
        laesa = ["--no-signatures", "--pivots", 6]
        for options, says in [
            (laesa, "6 pivots,"),
            (["--no-signatures", "--pivots", 0], "every row,"),
            ([*laesa, "--look-at", 2], "6 pivots,"),
            ([*laesa, "--pivot-bits", 2], "6 pivots,"),
            (["--pivot-bits", 5], "16 pivots and signatures,"),
            (["--pivot-choice", "random", "--seed", 3], "16 pivots and signatures,"),
            (["--pivot-choice", "incremental", "--choice-budget", 900], "16 pivots and signatures,"),
        ]:
            with self.subTest(options=options):
                said = self.run_well(*search, *options)
                self.assertEqual(self.read(said.stdout), want)
                self.assertIn(f", {says}", said.stderr)
        self.run_badly(*search, "--look-at", 2, code=1, says=["2 pivots", "without any"])
        self.run_badly(*search, "--pivot-choice", "best", code=2, says=["'best'", "incremental"])
        self.run_badly(*search, "--pivot-bits", 9, code=2, says=["'9'", "from 1 to 8"])
        pairs = ["metric", "pairs", "words.txt", "--radius", 1]
        self.assertEqual(self.run_well(*pairs, *laesa, "--look-at", 2).stdout,
                         self.run_well(*pairs).stdout)

    def test_within_a_radius_to_a_file(self):
        self.run_well("metric", "search", "words.txt", "--queries", "typed.txt", "--radius", 2,
                      "--output", "found.csv", "--quiet")
        want = self.lines([one for one in self.ranked(word) if one[0] <= 2] for word in self.TYPED)
        self.assertEqual(self.read(self.path("found.csv").read_text()), want)

    def test_ids_only(self):
        said = self.run_well("metric", "search", "words.txt", "--queries", "typed.txt", "--radius",
                             2, "--ids-only", "--pivots", 6)
        header, *lines = csv.reader(io.StringIO(said.stdout))
        self.assertEqual(header, ["query", "id", "key"])
        self.assertEqual(lines, [
            [str(query), str(i), self.WORDS[i]] for query, word in enumerate(self.TYPED)
            for i in sorted(i for distance, i in self.ranked(word) if distance <= 2)])

    def test_queries_from_standard_input(self):
        done = subprocess.run([NEARFIELD, "metric", "search", "words.txt", "-k", "2", "--quiet"],
                              cwd=self.folder, input="ab\n", text=True, capture_output=True,
                              timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.read(done.stdout), self.lines([self.ranked("ab")[:2]]))

    def test_a_budget_is_not_exact(self):
        said = json.loads(self.run_well("metric", "search", "words.txt", "--queries", "typed.txt",
                                        "--budget", 3, "--json").stdout)
        self.assertEqual([said["exact"], said["distances"]], [False, 3 * len(self.TYPED)])
        said = json.loads(self.run_well("metric", "search", "words.txt", "--queries", "typed.txt",
                                        "--budget", 1000, "--json").stdout)
        self.assertTrue(said["exact"])
        self.assertEqual(said["pairs"], len(self.TYPED) * len(self.WORDS))
        self.assertEqual(said["filter"], "signatures")

    def test_pairs(self):
        said = self.run_well("metric", "pairs", "words.txt", "--radius", 1).stdout
        want = sorted((edits(a, b), i, j) for i, a in enumerate(self.WORDS)
                      for j, b in enumerate(self.WORDS) if i < j)
        self.assertEqual(said.splitlines(), ["first,second,distance"] + [
            f"{i},{j},{distance}" for distance, i, j in want if distance <= 1])
        said = self.run_well("metric", "pairs", "words.txt", "--queries", "typed.txt", "--count", 9)
        want = sorted((edits(a, b), i, j) for i, a in enumerate(self.TYPED)
                      for j, b in enumerate(self.WORDS))[:9]
        self.assertEqual(said.stdout.splitlines()[1:], [f"{i},{j},{d}" for d, i, j in want])

    def test_check(self):
        said = self.run_well("metric", "check", "words.txt", "--triples", 500)
        self.assertEqual(said.stdout, "a metric on 500 triples\n")
        self.run_well("metric", "check", "words.txt", "--isa", "scalar", "--timeout", 60)
        for option in "--threads", "--memory-limit", "--device":
            self.run_badly("metric", "check", "words.txt", option, 1, code=2,
                           says=[f"'{option}' is not an option of check"])

    def test_files_of_objects(self):
        """Written by the library, and golden."""
        golden = pathlib.Path(__file__).parents[1] / "python" / "golden"
        for name, says in [("edit-signatures", "edit, 149 objects, no pivots, signatures, "),
                           ("edit-both", "edit, 149 objects, 4 of 4 pivots kept in 8 bits, signa"),
                           ("damerau-kvp", "damerau, 149 objects, 3 of 7 pivots kept in 8 bits, no"),
                           ("lp-laesa", "lp:1, 149 objects, 5 of 5 pivots kept in 6 bits, no sig")]:
            path = golden / f"v1-objects-{name}.nf"
            said = self.run_well("info", path).stdout
            self.assertTrue(said.startswith(f"{path}: index of objects, {says}"), said)
            self.assertIn("as it was written", self.run_well("verify", path).stdout)
        said = json.loads(self.run_well("info", path, "--json").stdout)
        self.assertEqual(said, {
            "file": str(path), "format": "index of objects", "metric": "lp:1", "objects": 149,
            "pivots": 5, "kept": 5, "bits": 6, "signatures": False,
            "bytes": path.stat().st_size})
        write_bin(self.path("q.fbin"), [[1, 2, 3, 4, 5]], "f")
        self.run_badly("search", "--index", path, "--queries", "q.fbin", "--json", code=1,
                       says=["index of objects", "MetricIndex"])
        changed = bytearray(path.read_bytes())
        changed[-1] ^= 1
        self.path("changed.nf").write_bytes(changed)
        self.run_badly("verify", "changed.nf", code=1, says=["changed.nf"])

    def test_mistakes(self):
        search = ["metric", "search", "words.txt", "--queries", "typed.txt"]
        self.run_badly(*search, "--metric", "edits", code=2, says=["'edits'", "damerau"])
        self.run_badly(*search, "-k", 1, "--radius", 1, code=2, says=["-k", "--radius"])
        self.run_badly(*search, "--ids-only", code=2, says=["--ids-only", "--radius"])
        self.run_badly(*search, "--pivots", 257, code=2, says=["'257'", "256"])
        self.run_badly(*search, "--output", "found.npy", code=2, says=[".csv"])
        self.run_badly("metric", "pairs", "words.txt", code=2, says=["--radius", "--count"])
        self.run_badly("metric", "search", "none.txt", "--queries", "typed.txt", code=1,
                       says=["none.txt"])
        self.path("typed.txt").write_text("a\n\nb\n")
        self.run_badly(*search, code=1, says=["typed.txt", "line 2", "empty"])
        self.run_badly(*search[:3], "--memory-limit", "1K", "--queries", "words.txt", code=4,
                       says=["1024"])


if __name__ == "__main__":
    unittest.main()
