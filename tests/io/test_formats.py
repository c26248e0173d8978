"""Files of other writers: bytes laid out by hand, as the formats' own documents say, and searched.

Run by ctest with NEARFIELD set to the binary.
"""
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

NEARFIELD = os.environ["NEARFIELD"]

BASE = [[0, 0], [3, 4], [1, 0], [0, 0], [7, 7]]
QUERIES = [[0, 0], [3, 3]]
NEAREST = [[0, 3, 2], [1, 2, 0]]
DISTANCES = [[0, 0, 1], [1, 13, 18]]


def npy(rows, descr, code, version=1):
    """numpy.lib.format: magic, version, length, a dictionary padded to 64 bytes, the values."""
    shape = f"({len(rows)}, {len(rows[0])})"
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    before = 10 if version == 1 else 12
    text += " " * (-(before + len(text) + 1) % 64) + "\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    values = b"".join(struct.pack(f"<{len(row)}{code}", *row) for row in rows)
    return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode() + values


def vecs(rows, code):
    """TEXMEX: each row is its number of values, then the values."""
    return b"".join(struct.pack(f"<i{len(row)}{code}", len(row), *row) for row in rows)


def read_bin(path, code):
    data = path.read_bytes()
    rows, cols = struct.unpack_from("<II", data)
    flat = struct.unpack_from(f"<{rows * cols}{code}", data, 8)
    return [list(flat[i * cols:(i + 1) * cols]) for i in range(rows)]


class Formats(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def knn(self, name, make, *arguments):
        (self.folder / f"q{name}").write_bytes(make(QUERIES))
        (self.folder / f"b{name}").write_bytes(make(BASE))
        done = subprocess.run([NEARFIELD, "knn", "--queries", f"q{name}", "--base", f"b{name}",
                               "-k", "3", "--metric", "sqeuclidean", "--output", "i.ibin",
                               "--distances", "d.fbin", *arguments], cwd=self.folder, text=True,
                              capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return read_bin(self.folder / "i.ibin", "i"), read_bin(self.folder / "d.fbin", "f")

    def test_vectors(self):
        for name, make in (
            (".fvecs", lambda rows: vecs(rows, "f")),
            (".bvecs", lambda rows: vecs(rows, "B")),
            ("64.npy", lambda rows: npy(rows, "<f8", "d")),
            ("32.npy", lambda rows: npy(rows, "<f4", "f")),
            ("16.npy", lambda rows: npy(rows, "<f2", "e")),
            ("u8.npy", lambda rows: npy(rows, "|u1", "B")),
            ("i8.npy", lambda rows: npy(rows, "|i1", "b")),
            ("v2.npy", lambda rows: npy(rows, "<f4", "f", 2)),
            ("v3.npy", lambda rows: npy(rows, "<f4", "f", 3)),
        ):
            with self.subTest(name):
                self.assertEqual(self.knn(name, make), (NEAREST, DISTANCES))

    def test_ids(self):
        for name, data in (
            ("a.ivecs", vecs([[1], [2], [4]], "i")),
            ("32.npy", npy([[1, 2, 4]], "<i4", "i")),
            ("64.npy", npy([[1], [2], [4]], "<i8", "q")),
        ):
            with self.subTest(name):
                (self.folder / name).write_bytes(data)
                ids, _ = self.knn(".fvecs", lambda rows: vecs(rows, "f"), "--filter", name)
                self.assertEqual(ids, [[2, 1, 4], [1, 2, 4]])


if __name__ == "__main__":
    unittest.main()
