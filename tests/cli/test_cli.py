"""The command line end to end: files in, files out, exit codes, messages.

Run by ctest with NEARFIELD set to the binary.
"""
import json
import os
import pathlib
import signal
import struct
import subprocess
import tempfile
import time
import unittest

NEARFIELD = os.environ["NEARFIELD"]


def write(path, rows, code):
    flat = [value for row in rows for value in row]
    header = struct.pack("<II", len(rows), len(rows[0]) if rows else 1)
    path.write_bytes(header + struct.pack(f"<{len(flat)}{code}", *flat))


def read(path, code):
    data = path.read_bytes()
    rows, cols = struct.unpack_from("<II", data)
    flat = struct.unpack_from(f"<{rows * cols}{code}", data, 8)
    return [list(flat[i * cols:(i + 1) * cols]) for i in range(rows)]


class CommandLine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        write(self.folder / "b.fbin", [[0, 0], [3, 4], [1, 0], [0, 0]], "f")
        write(self.folder / "q.fbin", [[0, 0], [3, 3]], "f")

    def run_command(self, *arguments):
        return subprocess.run([NEARFIELD, *arguments], cwd=self.folder, text=True,
                              capture_output=True, timeout=60)

    def knn(self, *arguments, code=0):
        done = self.run_command("knn", "--queries", "q.fbin", "--base", "b.fbin", *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_version(self):
        version = pathlib.Path(__file__).parents[2].joinpath("VERSION").read_text().strip()
        self.assertEqual(self.run_command("--version").stdout.strip(), f"nearfield {version}")

    def test_ids_and_distances(self):
        self.knn("-k", "3", "--metric", "euclidean", "--output", "i.ibin", "--distances", "d.fbin")
        self.assertEqual(read(self.folder / "i.ibin", "i"), [[0, 3, 2], [1, 2, 0]])
        self.assertEqual(read(self.folder / "d.fbin", "f")[0], [0, 0, 1])

    def test_more_neighbours_than_rows(self):
        self.knn("-k", "6", "--output", "i.ibin", "--distances", "d.fbin")
        self.assertEqual(read(self.folder / "i.ibin", "i")[0], [0, 3, 2, 1, -1, -1])
        self.assertEqual(read(self.folder / "d.fbin", "f")[0][4:], [float("inf")] * 2)

    def test_filter_and_self(self):
        write(self.folder / "allowed.ibin", [[1, 2]], "i")
        self.knn("-k", "2", "--filter", "allowed.ibin", "--output", "i.ibin")
        self.assertEqual(read(self.folder / "i.ibin", "i"), [[2, 1], [1, 2]])
        done = self.run_command("knn", "--queries", "b.fbin", "--base", "b.fbin", "-k", "1",
                                "--exclude-self", "--output", "i.ibin")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(read(self.folder / "i.ibin", "i"), [[3], [2], [0], [0]])

    def test_bits(self):
        write(self.folder / "b.u8bin", [[0b1111], [0b0001]], "B")
        write(self.folder / "q.u8bin", [[0b0011]], "B")
        done = self.run_command("knn", "--queries", "q.u8bin", "--base", "b.u8bin", "--bits", "4",
                                "--metric", "hamming", "-k", "2", "--output", "i.ibin",
                                "--distances", "d.fbin")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(read(self.folder / "i.ibin", "i"), [[1, 0]])
        self.assertEqual(read(self.folder / "d.fbin", "f"), [[1, 2]])

    def test_json_and_plan(self):
        stats = json.loads(self.knn("--json", "--isa", "scalar").stdout)
        self.assertIn("scalar", json.dumps(stats))
        plan = self.knn("--plan").stdout
        self.assertIn("pairs     8", plan)

    def test_exit_codes_and_messages(self):
        write(self.folder / "wide.fbin", [[1, 2, 3]], "f")
        (self.folder / "lfs.fbin").write_text("version https://git-lfs.github.com/spec/v1\noid x\n")
        base = ["knn", "--queries", "q.fbin", "--base"]
        out = ["--output", "i.ibin"]
        for arguments, code, parts in [
            ([*base, "b.fbin"], 2, ["--output"]),
            ([*base, "b.fbin", "-k", "ten", *out], 2, ["ten"]),
            ([*base, "b.fbin", "--metric", "l3", *out], 2, ["l3", "cosine"]),
            ([*base, "b.fbin", "--output", "i.txt"], 2, ["i.txt", ".ibin"]),
            ([*base, "b.fbin", "--output", "nowhere/i.ibin"], 1, ["nowhere"]),
            ([*base, "wide.fbin", *out], 1, ["2 columns", "3"]),
            ([*base, "missing.fbin", *out], 1, ["missing.fbin"]),
            ([*base, "lfs.fbin", *out], 1, ["git-lfs", "git lfs pull"]),
            ([*base, "b.fbin", "--memory-limit", "100", *out], 4, ["100"]),
            ([*base, "b.fbin", "--isa", "neon", *out], 1, ["neon"]),
        ]:
            with self.subTest(arguments=arguments):
                done = self.run_command(*arguments)
                if "neon" in arguments and "neon" in self.run_command("knn", "--help").stdout:
                    continue  # a machine that has it
                self.assertEqual(done.returncode, code, done.stderr)
                for part in parts:
                    self.assertIn(part, done.stderr)
                self.assertFalse((self.folder / "i.ibin").exists())

    def large_search(self):
        """Arguments of a search that takes minutes."""
        with open(self.folder / "large.u8bin", "wb") as out:
            out.write(struct.pack("<II", 200_000, 64))
            out.truncate(8 + 200_000 * 64)
        return ["knn", "--queries", "large.u8bin", "--base", "large.u8bin", "-k", "1",
                "--output", "i.ibin"]

    def test_timeout(self):
        done = self.run_command(*self.large_search(), "--timeout", "0.2")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("deadline", done.stderr)

    def test_interrupt(self):
        process = subprocess.Popen([NEARFIELD, *self.large_search()], cwd=self.folder,
                                   stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=10)
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("cancelled", errors)
        self.assertFalse((self.folder / "i.ibin").exists())


if __name__ == "__main__":
    unittest.main()
