"""bench/compare as people and CI call it: exit codes, the last line, --json and --plot."""
import contextlib
import io
import json
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

from peers.interface import Way
from referee import __main__ as command
from referee import machine, measure
from referee.arguments import parsed
from referee.cases import NEARFIELD
from sets import store
from sets.definition import nearest
from sets.random_streams import stream
from sets.vector_files import write_rows

from .test_referee import InThisProcess

COMPARE = Path(__file__).resolve().parents[2] / "bench" / "compare"
ALONE = ("--peers", "nearfield", "--rounds", "1")


def make_uniform(folder: Path) -> None:
    """128 rows of 20,000 values, and one of 2,500,000, as the case select reads them."""
    values = stream("test").random_sample((20_000, 128)).astype(np.float32)
    write_rows(folder / "base.fbin", values)
    write_rows(folder / "queries.fbin", np.zeros((1, 128), np.float32))


def make_sift(folder: Path) -> None:
    """1,200 rows of bytes whose truth is that of other queries."""
    base, queries = (stream("test", name).randint(0, 256, (rows, 128)).astype(np.uint8)
                     for name, rows in (("base", 1_200), ("queries", 500)))
    write_rows(folder / "base.u8bin", base)
    write_rows(folder / "queries.u8bin", queries)
    truth = [nearest(query, base, 100, "sqeuclidean") for query in queries[::-1]]
    write_rows(folder / "truth.ibin", np.stack(truth).astype(np.int32))


class Second(Way):
    """Right but for the last place."""

    def select(self, k: int) -> np.ndarray:
        found = np.argsort(self.data.base, axis=1, kind="stable")[:, :k + 1]
        return np.delete(found, k - 1, axis=1)


class Compare(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.folder = Path(holder.name)
        for name, make in {"uniform": make_uniform, "sift-1m": make_sift}.items():
            folder = cls.folder / name / "quick"
            folder.mkdir(parents=True)
            make(folder)
            store.write_manifest(folder, {"made_with": {}})

    def compare(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([COMPARE, *arguments, "--dir", self.folder], capture_output=True,
                              text=True)

    def test_a_right_run_ends_with_its_figures_and_writes_what_it_was_asked_for(self) -> None:
        written, pictures = self.folder / "out.json", self.folder / "deep" / "pictures"
        done = self.compare("select", *ALONE, "--only", "k=10", "--json", written, "--plot",
                            pictures)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[-1],
                         "select ratio_peer=nan ratio_limit=nan mismatches=0")
        self.assertIn("not judged: uniform k=10: no peer to compare with ran", done.stdout)
        outcome = json.loads(written.read_text())
        self.assertEqual(outcome["headline"]["mismatches"], 0)
        self.assertIsNone(outcome["headline"]["ratio_peer"])
        self.assertEqual(len(outcome["rows"]), 2)
        self.assertTrue(outcome["date"])
        self.assertIn("commit", outcome)
        self.assertEqual(outcome["environment"]["nearfield/exact"]["OMP_NUM_THREADS"],
                         str(outcome["conditions"]["threads"]))
        row = outcome["rows"][0]
        self.assertTrue(row["entries"][0]["plan"]["isa"])
        self.assertEqual([len(times) for times in row["own_times"]], [1, 1])
        self.assertEqual({path.name for path in pictures.iterdir()},
                         {"select-0-bars.png", "select-1-bars.png", "select-time.png"})

    def test_mismatches_fail(self) -> None:
        asked = ["bench/compare", "select", *ALONE, "--only", "one row k=10", "--dir",
                 str(self.folder)]
        with (mock.patch("sys.argv", asked), mock.patch.object(measure, "Process", InThisProcess),
              mock.patch("peers.load", {NEARFIELD: Second}.get),
              mock.patch.object(machine, "keep_to_cores"),
              contextlib.redirect_stderr(io.StringIO()),
              contextlib.redirect_stdout(io.StringIO()) as printed):
            self.assertEqual(command.run(parsed()), 1)
        self.assertIn("FAILED: Nearfield has 1 mismatches", printed.getvalue())
        self.assertRegex(printed.getvalue().splitlines()[-1], "^select .* mismatches=1$")

    def test_a_truth_that_is_none_is_an_error(self) -> None:
        done = self.compare("exact-u8", *ALONE)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "truth.ibin: [0-9]+ of 500 queries differ from the def")

    def test_rows_that_are_not_there(self) -> None:
        done = self.compare("select", *ALONE, "--only", "k=3")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "--only k=3: select has the rows uniform k=1; uniform k=10;")

    def test_a_nearfield_that_does_not_answer_is_an_error(self) -> None:
        done = self.compare("select", *ALONE, "--patience", "0.001")
        self.assertEqual(done.returncode, 2)
        self.assertIn("bench/compare: Nearfield itself: no answer", done.stderr)

    def test_wrong_usage_is_found_before_anything_is_measured(self) -> None:
        missing, file = self.folder / "missing" / "out.json", self.folder / "file"
        file.touch()
        for arguments, message in ((("--json", missing), "there is no folder .*make it first"),
                                   (("--json", self.folder), "is a folder"),
                                   (("--plot", file / "pictures"), "file is not a folder"),
                                   (("--rounds", "0"), "must be at least 1"),
                                   (("--peers", "nobody"), "select has bandwidth/read")):
            done = self.compare("select", *arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertRegex(done.stderr, message)

    def test_changed_data_is_not_measured(self) -> None:
        kept = self.folder / "uniform" / "quick" / "queries.fbin"
        before = kept.read_bytes()
        self.addCleanup(kept.write_bytes, before)
        kept.write_bytes(before[:-1] + b"x")
        done = self.compare("select", *ALONE)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("queries.fbin has changed since it was made", done.stderr)

    def test_what_nobody_expected_is_an_error_too(self) -> None:
        (self.folder / "emb-768" / "quick").mkdir(parents=True)
        (self.folder / "rootsift-1m" / "quick").mkdir(parents=True)
        done = self.compare("exact-f32", *ALONE)
        self.assertEqual(done.returncode, 2)
        self.assertIn("manifest.json", done.stderr)

    def test_terminated(self) -> None:
        with subprocess.Popen([COMPARE, "select", *ALONE, "--dir", self.folder], text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
            assert running.stderr
            running.stderr.readline()  # a child has been started
            running.terminate()
            self.assertIn("bench/compare: terminated", running.stderr.read())
        self.assertEqual(running.returncode, 143)


if __name__ == "__main__":
    unittest.main()
