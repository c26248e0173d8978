"""An index file is the old one or the new one, whole, whatever happens while it is written."""
import os
import random
import signal
import subprocess
import time
import unittest

from support import CommandLine, NEARFIELD, write_bin

ADD = [NEARFIELD, "add", "--index", "b.nf", "--vectors", "q.fbin", "--quiet"]


class Safety(CommandLine):
    ROWS = 20_000

    def setUp(self):
        super().setUp()
        draw = random.Random(1)
        write_bin(self.path("big.fbin"), [[draw.random() for _ in range(8)]] * self.ROWS, "f")
        write_bin(self.path("q.fbin"), [[draw.random() for _ in range(8)]], "f")
        self.run_well("build", "--vectors", "big.fbin", "--output", "b.nf", "--quiet")

    def size(self, name="b.nf"):
        """Of an index that is whole."""
        self.run_well("verify", name, "--quiet")
        said = self.run_well("info", name).stdout
        return int(said.split(" rows x ")[0].split()[-1])

    def test_killed_at_any_moment(self):
        whole = 0.0
        for _ in range(5):  # the longest: a machine may become slower meanwhile
            start = time.monotonic()
            subprocess.run(ADD, cwd=self.folder, check=True)
            whole = max(whole, time.monotonic() - start)
        size = self.size()
        self.assertEqual(size, self.ROWS + 5)
        draw = random.Random(2)
        old, new = 0, 0
        for _ in range(200):
            process = subprocess.Popen(ADD, cwd=self.folder)
            time.sleep(draw.uniform(0, 1.5 * whole))
            process.send_signal(signal.SIGKILL)
            process.wait()
            after = self.size()
            self.assertIn(after, (size, size + 1))
            old, new = old + (after == size), new + (after == size + 1)
            size = after
        # Both happen, or the moments were not spread over the writing.
        self.assertGreater(old, 10)
        self.assertGreater(new, 10)

    @unittest.skipUnless(os.geteuid() == 0, "only root makes a small file system")
    def test_full_disk(self):
        disk = self.path("disk")
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1536k", "tmpfs", disk], check=True)
        try:
            before = self.path("b.nf").read_bytes()
            (disk / "b.nf").write_bytes(before)
            done = subprocess.run([NEARFIELD, "add", "--index", "disk/b.nf", "--vectors", "q.fbin"],
                                  cwd=self.folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn("disk/b.nf", done.stderr)
            self.assertIn("No space left on device", done.stderr)
            self.assertEqual((disk / "b.nf").read_bytes(), before)
            self.assertEqual(os.listdir(disk), ["b.nf"])
        finally:
            subprocess.run(["umount", disk], check=True)

    def test_cut_off_anywhere(self):
        whole = self.path("b.nf").read_bytes()
        for size in (*range(0, len(whole), 4096), len(whole) - 1):
            self.path("cut.nf").write_bytes(whole[:size])
            self.run_badly("search", "--index", "cut.nf", "--queries", "q.fbin", "--json", code=1,
                           says=["cut.nf"])


if __name__ == "__main__":
    unittest.main()
