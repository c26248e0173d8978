"""Help, exit codes, and what is said about a wrong command line."""
import pathlib
import re
import shlex
import subprocess
import unittest

from support import NEARFIELD, QUANTIZER, CommandLine, write_bin

SEARCHES = ["knn", "graph", "range", "pairs", "mutual", "match", "groundtruth"]
VALUES = ["select", "pairwise"]
GROUPS = ["dedup"]
INDEXES = ["build", "add", "remove", "search", "verify", "compact"]
COMMANDS = [[name] for name in ["convert", "info", *SEARCHES, *GROUPS, *VALUES, "train", "encode",
                                *INDEXES, "metric", "eval", "plan", "devices", "tune", "completion"]]
COMMANDS += [["plan", name] for name in SEARCHES]
COMMANDS += [["metric", name] for name in ("search", "pairs", "check")]
COMMANDS += [["completion", shell] for shell in ("bash", "zsh", "fish")]
KNN = ["knn", "--queries", "q.fbin", "--base", "b.fbin"]


class Help(CommandLine):
    def setUp(self):
        super().setUp()
        self.path("words.txt").write_text("near\nfield\nfar\n")
        self.path("typed.txt").write_text("neer\n")
        self.path("q.safetensors").write_bytes(QUANTIZER.read_bytes())
        write_bin(self.path("v.fbin"), [[1, 2, 3, 4, 5]], "f")
        write_bin(self.path("learn.fbin"), [[i * j % 17 for j in range(5)] for i in range(300)], "f")

    def test_version(self):
        version = pathlib.Path(__file__).parents[2].joinpath("VERSION").read_text().strip()
        self.assertEqual(self.run_well("--version").stdout.strip(), f"nearfield {version}")

    def test_lists_every_command(self):
        said = self.run_well("--help").stdout
        listed = re.search(r"\nCommands:\n((?:  .*\n)*)", said)[1]
        names = [line.split()[0] for line in listed.splitlines()]
        self.assertEqual([[name] for name in names], [c for c in COMMANDS if len(c) == 1])

    def test_ends_with_an_example_that_runs_and_the_exit_codes(self):
        self.path("hashes.txt").write_text(f"{0:064x} a.jpg\n{7:064x} b.jpg\n")
        for command in COMMANDS:
            with self.subTest(command=command):
                said = self.run_well(*command, "--help").stdout
                example = re.search(r"\nExample, .*:\n((?:  .*\n)+)\n(Exit codes: .*)\n$", said)
                words = shlex.split(example[1].replace("\\\n", " "))
                self.assertEqual(words[:len(command) + 1], ["nearfield", *command])
                done = subprocess.run(["bash", "-euc", f'nearfield() {{ "{NEARFIELD}" "$@"; }}\n'
                                       + example[1]], cwd=self.folder, capture_output=True,
                                      timeout=60)
                if command == ["tune"] and done.returncode == 1:  # it needs a device: test_devices.py
                    self.assertIn(b"opencl", done.stderr.lower())
                else:
                    self.assertEqual(done.returncode, 0, done.stderr)
                for code in "0 done", "1 error", "2 usage", "3 deadline", "4 memory", "5 recall", \
                        "130 cancel":
                    self.assertIn(code, example[2])
        for name in "b.f16bin", "ids.ibin", "d.fbin", "graph.csv", "ids.npy", "offsets.npy", \
                "pairs.csv", "matches.csv", "truth.bin", "groups.csv", "largest.csv", "table.npy", \
                "codes.u8bin":
            self.assertTrue(self.path(name).exists(), name)

    def test_names_the_metrics(self):
        for command in SEARCHES:
            self.assertRegex(self.run_well(command, "--help").stdout, "sqeuclidean, .*lp:P")


class Mistakes(CommandLine):
    def test_a_hint_at_what_was_meant(self):
        for arguments, says in [
            (["knm"], "'knm' is not a command of nearfield: did you mean 'knn'?"),
            (["rnage", "--radius", "1"], "'rnage' is not a command of nearfield: "
                                         "did you mean 'range'?"),
            (["plan", "grph"], "'grph' is not a command of plan: did you mean 'graph'?"),
            (["knn", "--metrc", "l1"], "'--metrc' is not an option of knn: "
                                       "did you mean '--metric'?"),
            (["knn", "--metrc=l1"], "'--metrc' is not an option of knn: did you mean '--metric'?"),
            (["pairs", "--base", "b.fbin", "--cuont", "1"],
             "'--cuont' is not an option of pairs: did you mean '--count'?"),
            (["plan", "range", "--ofsets", "o.npy"],
             "'--ofsets' is not an option of range: did you mean '--offsets'?"),
            ([*KNN, "--json", "--plan"], "'--plan' is not an option of knn\n"),
            (["zzz"], "'zzz' is not a command of nearfield\n"),
            ([*KNN, "--json", "extra"], "'extra' belongs to no option of knn\n"),
            ([], "a command is required: convert, info, knn, "),
            (["plan"], "a command is required: knn, "),
        ]:
            with self.subTest(arguments=arguments):
                self.run_badly(*arguments, code=2, says=[says])

    def test_names_the_command_that_was_typed(self):
        for command in COMMANDS:
            typed = " ".join(["nearfield", *command])
            self.run_badly(*command, "--no-such-thing", code=2, says=[f"Run '{typed} --help'."])
        self.run_badly("--no-such-thing", code=2, says=["Run 'nearfield --help'."])

    def test_values(self):
        for wrong, says in [
            (["-k", "ten"], "'ten' is not a whole number"),
            (["-k", 0], "'0' is not a whole number from 1"),
            (["--metric", "l3"], "cosine"),
            (["--metric", "lp"], "lp"),
            (["--isa", "mmx"], "mmx"),
            (["--threads", -1], "'-1' is not a whole number from 0"),
            (["--memory-limit", "much"], "'much' is not a number of bytes"),
            (["--timeout", "nan"], "'nan' is not a number of seconds"),
            (["--bits", 0], "'0' is not a whole number from 1"),
            (["-k", 1, "-k", 2], "-k"),
            (["--largest"], "'--largest' is not an option of knn"),
        ]:
            with self.subTest(wrong=wrong):
                self.run_badly(*KNN, "--json", *wrong, code=2, says=[says])

    def test_empty_values(self):
        for option in "--output", "--distances", "--filter":
            with self.subTest(option=option):
                self.run_badly(*KNN, "--json", option, "", code=2, says=[option, "is empty"])
                self.run_badly(*KNN, f"{option}=", "--json", code=2,
                               says=[f"'{option}=' has no value"])
        self.run_badly("knn", "--queries", "", "--base", "b.fbin", "--json", code=2,
                       says=["--queries", "is empty"])

    def test_what_is_missing(self):
        self.run_badly("knn", "--base", "b.fbin", "--json", code=2, says=["--queries is required"])
        self.run_badly(*KNN, "--metric", code=2, says=["--metric"])
        self.run_badly("range", "--queries", "q.fbin", "--base", "b.fbin", "--radius", 1, code=2,
                       says=["--output", "--json", "Run 'nearfield range --help'."])

    def test_inputs(self):
        write_bin(self.path("wide.fbin"), [[1, 2, 3, 4]], "f")
        self.path("lfs.fbin").write_text("version https://git-lfs.github.com/spec/v1\noid x\n")
        base = ["knn", "--queries", "q.fbin", "--json", "--base"]
        self.run_badly(*base, "wide.fbin", code=1, says=["3 columns", "4"])
        self.run_badly(*base, "missing.fbin", code=1, says=["missing.fbin"])
        self.run_badly(*base, "lfs.fbin", code=1, says=["git-lfs", "git lfs pull"])

    def test_an_isa_that_this_machine_lacks(self):
        here = re.search(r"here one of (.*?);", self.run_well("knn", "--help").stdout)[1]
        other = "avx2" if "neon" in here else "neon"
        self.run_badly(*KNN, "--isa", other, "--json", code=1, says=[other])


if __name__ == "__main__":
    unittest.main()
