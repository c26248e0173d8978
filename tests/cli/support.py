"""What the tests of the command line share: files, runs of the binary, and searches done by hand.

Run by ctest with NEARFIELD set to the binary. Coordinates are small whole numbers, so that every
distance is exact and Python's own arithmetic is the reference.
"""
import ast
import math
import os
import pathlib
import random
import struct
import subprocess
import tempfile
import unittest

NEARFIELD = os.environ["NEARFIELD"]
# Of 3 codebooks of 4 bits, 2 bytes a code, for 5 columns.
QUANTIZER = pathlib.Path(__file__).parents[1] / "fuzz" / "corpus" / "quantizer_file" / "lsq"


def write_bin(path, rows, code):
    flat = [value for row in rows for value in row]
    header = struct.pack("<II", len(rows), len(rows[0]) if rows else 1)
    path.write_bytes(header + struct.pack(f"<{len(flat)}{code}", *flat))


def in_rows(flat, cols):
    return [list(flat[i:i + cols]) for i in range(0, len(flat), cols)]


def read_bin(path, code):
    data = path.read_bytes()
    rows, cols = struct.unpack_from("<II", data)
    if len(data) != 8 + 4 * rows * cols:
        raise AssertionError(f"{path}: {len(data)} bytes for {rows} x {cols}")
    return in_rows(struct.unpack_from(f"<{rows * cols}{code}", data, 8), cols)


def read_vecs(path, code):
    data = path.read_bytes()
    (cols,) = struct.unpack_from("<i", data)
    size = 4 * (1 + cols)
    rows = [struct.unpack_from(f"<i{cols}{code}", data, at) for at in range(0, len(data), size)]
    if any(row[0] != cols for row in rows):
        raise AssertionError(f"{path}: rows of different lengths")
    return [list(row[1:]) for row in rows]


def read_npy(path):
    """The type as numpy names it, and the rows."""
    data = path.read_bytes()
    if data[:8] != b"\x93NUMPY\x01\x00":
        raise AssertionError(f"{path}: {data[:8]}")
    (length,) = struct.unpack_from("<H", data, 8)
    header = ast.literal_eval(data[10:10 + length].decode())
    rows, cols = header["shape"]
    code = {"<i8": "q", "<f4": "f", "<f8": "d"}[header["descr"]]
    return header["descr"], in_rows(struct.unpack_from(f"<{rows * cols}{code}", data, 10 + length),
                                    cols)


def read_csv(path):
    """The header, and the lines as numbers."""
    header, *lines = path.read_text().splitlines()
    return header, [tuple(float(cell) if name in ("distance", "value") else int(cell)
                          for name, cell in zip(header.split(","), line.split(",")))
                    for line in lines]


def read_all(terminal):
    """What is left on it once the other end is closed."""
    text = b""
    try:
        while part := os.read(terminal, 1000):
            text += part
    except OSError:  # what Linux says when the other end is closed
        pass
    return text


def float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def points(count, dims, seed):
    """Few different values: many ties, and some rows that are equal."""
    draw = random.Random(seed)
    return [[draw.randint(-3, 3) for _ in range(dims)] for _ in range(count)]


SIMILARITIES = {"inner_product"}


def measure(metric, x, y):
    differences = [abs(a - b) for a, b in zip(x, y)]
    return {
        "sqeuclidean": lambda: sum(d * d for d in differences),
        "euclidean": lambda: math.sqrt(sum(d * d for d in differences)),
        "l1": lambda: sum(differences),
        "linf": lambda: max(differences),
        "inner_product": lambda: sum(a * b for a, b in zip(x, y)),
    }[metric]()


def ranked(metric, query, rows, skip=()):
    """All (distance, id), nearest first, ties by id."""
    sign = -1 if metric in SIMILARITIES else 1
    found = [(measure(metric, query, row), i) for i, row in enumerate(rows) if i not in skip]
    return sorted(found, key=lambda pair: (sign * pair[0], pair[1]))


def within(metric, radius, found):
    if metric in SIMILARITIES:
        return [pair for pair in found if pair[0] >= radius]
    return [pair for pair in found if pair[0] <= radius]


class CommandLine(unittest.TestCase):
    """A folder with b.fbin (BASE), q.fbin (QUERIES), and the binary."""
    BASE = points(40, 3, seed=1)
    QUERIES = points(6, 3, seed=2)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        write_bin(self.folder / "b.fbin", self.BASE, "f")
        write_bin(self.folder / "q.fbin", self.QUERIES, "f")

    def path(self, name):
        return self.folder / name

    def run_command(self, *arguments, environment=None, program=NEARFIELD):
        """environment: what is added to this one's."""
        return subprocess.run([program, *map(str, arguments)], cwd=self.folder, text=True,
                              capture_output=True, timeout=60,
                              env={**os.environ, **(environment or {})})

    def run_well(self, *arguments, **how):
        done = self.run_command(*arguments, **how)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def run_badly(self, *arguments, code, says, **how):
        """It fails with this code, says all of this, and leaves the folder as it was."""
        before = {path: path.read_bytes() for path in self.files()}
        done = self.run_command(*arguments, **how)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr}")
        for part in says:
            self.assertIn(part, done.stderr)
        self.assertEqual({path: path.read_bytes() for path in self.files()}, before)

    def files(self):
        return sorted(path for path in self.folder.rglob("*") if path.is_file())
