"""nearfield encode: a file of codes, also after it was killed."""
import random
import struct
import subprocess
import time
import unittest

from support import NEARFIELD, QUANTIZER, CommandLine, write_bin

BLOCK = 32_768   # rows that are done, or not
ROWS = 20 * BLOCK + 77
ENCODE = ["encode", "--vectors", "v.fbin", "--quantizer", "q.safetensors", "--output"]


class Encode(CommandLine):
    def setUp(self):
        super().setUp()
        self.path("q.safetensors").write_bytes(QUANTIZER.read_bytes())
        some = random.Random(1)
        values = struct.pack("<5000f", *(some.gauss(0, 1) for _ in range(5_000)))
        rows = struct.pack("<II", ROWS, 5) + values * (ROWS // 1_000 + 1)
        self.path("v.fbin").write_bytes(rows[:8 + 20 * ROWS])

    def partial(self):
        return [path for path in self.path(".").iterdir() if path.suffix == ".part"]

    def test_goes_on_after_it_was_killed(self):
        said = self.run_well(*ENCODE, "whole.u8bin").stderr
        self.assertIn(f"{ROWS} vectors of 5 columns to 2 bytes each", said)
        self.assertNotIn("before", said)
        whole = self.path("whole.u8bin").read_bytes()
        self.assertEqual(whole[:8], struct.pack("<II", ROWS, 2))
        self.assertEqual(len(whole), 8 + 2 * ROWS)
        process = subprocess.Popen([NEARFIELD, *ENCODE, "c.u8bin", "--threads", "1"],
                                   cwd=self.folder, stderr=subprocess.DEVNULL)
        while not self.partial() or self.partial()[0].stat().st_size < 8 + 3 * 2 * BLOCK:
            self.assertIsNone(process.poll())
            time.sleep(0.001)
        process.kill()
        process.wait()
        self.assertFalse(self.path("c.u8bin").exists())
        with self.partial()[0].open("ab") as damaged:
            damaged.write(b"of a block that was not done")
        # Another quantizer, or other vectors, begin anew.
        write_bin(self.path("v2.fbin"), [[1, 2, 3, 4, 5]], "f")
        said = self.run_well("encode", "--vectors", "v2.fbin", "--quantizer", "q.safetensors",
                             "--output", "c.u8bin").stderr
        self.assertNotIn("before", said)
        self.assertEqual(len(self.path("c.u8bin").read_bytes()), 8 + 2)
        said = self.run_well(*ENCODE, "c.u8bin").stderr
        self.assertRegex(said, r"; \d+ were done before")
        self.assertEqual(self.path("c.u8bin").read_bytes(), whole)
        self.assertEqual(self.partial(), [])

    def test_writes_an_index_after_it_was_killed(self):
        self.run_well(*ENCODE, "whole.nf", "--byte-norms")
        process = subprocess.Popen([NEARFIELD, *ENCODE, "c.nf", "--byte-norms", "--threads", "1"],
                                   cwd=self.folder, stderr=subprocess.DEVNULL)
        record = 2 + 4  # a code and its norm
        while not self.partial() or self.partial()[0].stat().st_size < 3 * record * BLOCK:
            self.assertIsNone(process.poll())
            time.sleep(0.001)
        process.kill()
        process.wait()
        self.assertFalse(self.path("c.nf").exists())
        said = self.run_well(*ENCODE, "c.nf", "--byte-norms").stderr
        self.assertRegex(said, r"; \d+ were done before")
        self.assertEqual(self.path("c.nf").read_bytes(), self.path("whole.nf").read_bytes())
        self.assertEqual(self.partial(), [])
        self.run_well("verify", "c.nf")
        write_bin(self.path("q.fbin"), [[1, 2, 3, 4, 5]], "f")
        self.run_well("search", "--index", "c.nf", "--queries", "q.fbin", "-k", "3", "--output",
                      "found.csv")
        self.assertEqual(len(self.path("found.csv").read_text().splitlines()), 4)

    def test_says_what_is_wrong(self):
        self.run_badly(*ENCODE, "c.u8bin", "--metric", "euclidean", code=2,
                       says=["--metric", ".nf"])
        self.run_badly(*ENCODE, "c.nf", "--metric", "l1", code=1, says=["l1"])
        write_bin(self.path("w.fbin"), [[1, 2]], "f")
        self.run_badly("encode", "--vectors", "w.fbin", "--quantizer", "q.safetensors", "--output",
                       "c.u8bin", code=1, says=["5 columns", "have 2"])
        write_bin(self.path("n.fbin"), [[1, 2, 3, 4, 5]] * 3 + [[1, 2, 3, 4, float("nan")]], "f")
        self.run_badly("encode", "--vectors", "n.fbin", "--quantizer", "q.safetensors", "--output",
                       "c.u8bin", code=1, says=["from row 0 on", "row 3", "not finite"])
        self.run_badly("encode", "--vectors", "v.fbin", "--quantizer", "v.fbin", "--output",
                       "c.u8bin", code=1, says=["v.fbin"])


if __name__ == "__main__":
    unittest.main()
