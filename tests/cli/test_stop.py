"""Searches that end early: Ctrl-C, the deadline, the memory limit. Nothing is left of them."""
import os
import pty
import signal
import struct
import subprocess
import unittest

from support import NEARFIELD, CommandLine, read_all, write_bin

TWO_SETS = ["--queries", "large.u8bin", "--base", "large.u8bin"]
ONE_SET = ["--base", "large.u8bin"]
# Of equal rows, so that only a limit keeps what is found small.
LONG_SEARCHES = {
    "knn": [*TWO_SETS, "-k", "1", "--output", "i.csv"],
    "graph": [*ONE_SET, "-k", "1", "--output", "i.npy"],
    "range": [*TWO_SETS, "--radius", "-1", "--output", "i.csv"],
    "pairs": [*ONE_SET, "--count", "5", "--output", "i.ibin"],
    "mutual": [*ONE_SET, "--output", "i.ibin"],
    "match": [*TWO_SETS, "--output", "i.ibin"],
    "groundtruth": [*TWO_SETS, "-k", "1", "--output", "truth.bin"],
}


class Stop(CommandLine):
    def setUp(self):
        super().setUp()
        rows = 400_000  # 1.6e11 pairs of 64 bytes: minutes
        with open(self.path("large.u8bin"), "wb") as out:
            out.write(struct.pack("<II", rows, 64))
            out.truncate(8 + rows * 64)
        self.before = self.files()

    def test_deadline(self):
        for command, arguments in LONG_SEARCHES.items():
            with self.subTest(command=command):
                done = self.run_command(command, *arguments, "--timeout", "0.1")
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn("deadline", done.stderr)
                self.assertEqual(self.files(), self.before)

    def test_interrupt(self):
        for command, arguments in LONG_SEARCHES.items():
            with self.subTest(command=command):
                # The bar shows that the search has begun and Ctrl-C is listened to.
                terminal, child = pty.openpty()
                self.addCleanup(os.close, terminal)
                process = subprocess.Popen([NEARFIELD, command, *arguments], cwd=self.folder,
                                           stderr=child)
                os.close(child)
                shown = os.read(terminal, 1000)
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.wait(timeout=10), 130)
                shown += read_all(terminal)
                self.assertRegex(shown.decode(), r"\[[#-]*\] +\d+ %  .* pairs/s  [\d:]+ left")
                self.assertIn("cancelled", shown.decode())
                self.assertEqual(self.files(), self.before)

    def test_interrupt_while_text_is_written(self):
        """The results are more than a pipe and a buffer hold: it waits for us in the middle."""
        os.mkfifo(self.path("pipe.csv"))
        write_bin(self.path("q.u8bin"), [[0] * 64], "B")
        process = subprocess.Popen([NEARFIELD, "range", "--queries", "q.u8bin", *ONE_SET,
                                    "--radius", "0", "--output", "pipe.csv"], cwd=self.folder,
                                   text=True, stderr=subprocess.PIPE)
        with open(self.path("pipe.csv")) as pipe:
            self.assertEqual(pipe.readline(), "query,rank,id,distance\n")
            process.send_signal(signal.SIGINT)
            self.assertLess(sum(1 for _ in pipe), 400_000)
        self.assertIn("cancelled", process.communicate(timeout=10)[1])
        self.assertEqual(process.returncode, 130)

    def test_memory_limit(self):
        for command, arguments in LONG_SEARCHES.items():
            with self.subTest(command=command):
                done = self.run_command(command, *arguments, "--memory-limit", "1000")
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertIn("1000", done.stderr)
                self.assertEqual(self.files(), self.before)

    def test_the_ids_of_a_filter_count(self):
        write_bin(self.path("allowed.ibin"), [[i] for i in range(1000)], "i")
        done = self.run_command("knn", *LONG_SEARCHES["knn"], "--filter", "allowed.ibin",
                                "--memory-limit", "7999")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("1000 ids of --filter take 8 bytes each", done.stderr)


if __name__ == "__main__":
    unittest.main()
