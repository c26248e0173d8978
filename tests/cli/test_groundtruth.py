"""nearfield groundtruth: big-ann's one file of ids and distances."""
import json
import struct
import unittest

from support import CommandLine, points, ranked, write_bin

TRUTH = ["groundtruth", "--queries", "q.fbin", "--base", "b.fbin"]


def truth_file(metric, queries, base, k):
    """As big-ann writes it: the sizes, all ids, all distances; the largest uint32 for none."""
    found = [ranked(metric, query, base)[:k] for query in queries]
    ids = [[i for _, i in row] + [2**32 - 1] * (k - len(row)) for row in found]
    distances = [[d for d, _ in row] + [float("inf")] * (k - len(row)) for row in found]
    count = len(queries) * k
    return (struct.pack("<II", len(queries), k)
            + struct.pack(f"<{count}I", *[i for row in ids for i in row])
            + struct.pack(f"<{count}f", *[d for row in distances for d in row]))


class GroundTruth(CommandLine):
    def test_every_byte(self):
        self.run_well(*TRUTH, "-k", 7, "--metric", "l1", "--output", "truth.bin")
        self.assertEqual(self.path("truth.bin").read_bytes(),
                         truth_file("l1", self.QUERIES, self.BASE, 7))

    def test_the_100_nearest_if_not_told_and_padding(self):
        self.run_well(*TRUTH, "--output", "truth")
        self.assertEqual(self.path("truth").read_bytes(),
                         truth_file("sqeuclidean", self.QUERIES, self.BASE, 100))

    def test_a_base_larger_than_the_memory_limit(self):
        base = points(3000, 16, seed=3)
        queries = points(2, 16, seed=4)
        write_bin(self.path("b.fbin"), base, "f")
        write_bin(self.path("q.fbin"), queries, "f")
        limited = ["-k", 5, "--memory-limit", 60_000, "--output", "truth.bin", "--json"]
        plan = json.loads(self.run_well(*TRUTH, *limited).stdout)["plan"]
        self.assertLess(plan["result_bytes"] + plan["working_bytes"], 60_001)
        self.assertLess(plan["base_chunk"], 3000)
        self.assertEqual(self.path("truth.bin").read_bytes(),
                         truth_file("sqeuclidean", queries, base, 5))

    def test_refuses_the_endings_of_other_formats(self):
        for name in ("t.ibin", "t.ivecs", "t.npy", "t.csv", "t.fbin", "t.fvecs", "t.bvecs",
                     "t.u8bin", "t.i8bin", "t.f16bin", "t.hdf5", "t.hdf5:neighbors",
                     "t.h5:neighbors"):
            with self.subTest(name=name):
                self.run_badly(*TRUTH, "--output", name, code=2, says=[name, ".bin", "knn"])

    def test_more_rows_than_its_ids_can_name(self):
        header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (4294967296, 1), }"
        header = header.ljust(117) + b"\n"
        with open(self.path("large.npy"), "wb") as out:  # sparse: no disk is used
            out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
            out.truncate(out.tell() + 2**32)
        done = self.run_command("plan", "groundtruth", "--queries", "large.npy", "--base",
                                "large.npy", "--output", "truth.bin")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("4294967296", done.stderr)


if __name__ == "__main__":
    unittest.main()
