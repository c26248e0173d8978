"""nearfield info, of files that other hands wrote."""
import json
import unittest

import numpy as np

import other_hands as other
from command import CommandTest


class Info(CommandTest):
    def setUp(self):
        super().setUp()
        other.write_bin(self.folder / "a.fbin", np.array([[1, -2.5], [np.nan, 0.1], [7, np.inf]], "<f4"))
        other.write_vecs(self.folder / "a.ivecs", np.array([[5, 3], [9, -1]], "<i4"))
        other.write_truth(self.folder / "truth", np.array([[4, 9, -1]]))

    def test_headers(self):
        self.assertEqual(
            self.succeed("info", "a.fbin", "a.ivecs", "truth").splitlines(),
            ["a.fbin: .fbin, f32, 3 rows x 2 columns, 32 bytes",
             "a.ivecs: .ivecs, int32 ids, 2 rows x 2 columns, 24 bytes",
             "truth: truth, uint32 ids, f32 distances, 1 rows x 3 columns, 32 bytes"])

    def test_values_and_head(self):
        self.assertEqual(
            self.succeed("info", "--values", "--head", 2, "a.fbin", "a.ivecs", "truth").splitlines(),
            ["a.fbin: .fbin, f32, 3 rows x 2 columns, 32 bytes",
             "  values from -2.5 to 7, 2 rows are not finite",
             "  row 0: 1 -2.5",
             "  row 1: nan 0.1",
             "a.ivecs: .ivecs, int32 ids, 2 rows x 2 columns, 24 bytes",
             "  ids from 3 to 9, 1 are -1",
             "  row 0: 5 3",
             "  row 1: 9 -1",
             "truth: truth, uint32 ids, f32 distances, 1 rows x 3 columns, 32 bytes",
             "  ids from 4 to 9, 1 are -1",
             "  distances from 1 to 3, 0 are not finite",
             "  row 0: 4 9 -1"])

    def test_json(self):
        lines = self.succeed("info", "--values", "--head", 2, "--json", "a.fbin", "a.ivecs")
        vectors, ids = map(json.loads, lines.splitlines())
        self.assertEqual(vectors, {"file": "a.fbin", "format": ".fbin", "type": "f32", "rows": 3,
                                   "cols": 2, "bytes": 32,
                                   "values": {"least": -2.5, "most": 7, "rows_not_finite": 2},
                                   "head": [[1, -2.5], [None, 0.1]]})
        self.assertEqual(ids["ids"], {"least": 3, "most": 9, "missing": 1})

    def test_empty(self):
        other.write_bin(self.folder / "none.fbin", np.zeros((0, 4), "<f4"))
        self.assertEqual(self.succeed("info", "--values", "--head", 1, "none.fbin").splitlines(),
                         ["none.fbin: .fbin, f32, 0 rows x 4 columns, 8 bytes",
                          "  no finite value, 0 rows are not finite"])

    def test_what_is_no_vector_file(self):
        (self.folder / "lfs.fbin").write_text("version https://git-lfs.github.com/spec/v1\n"
                                              "oid sha256:0\nsize 1\n")
        (self.folder / "page").write_text("<!DOCTYPE html><html></html>")
        (self.folder / "notes.txt").write_text("some notes of somebody")
        self.fail_with(1, ["lfs.fbin", "git-lfs", "git lfs pull"], "info", "lfs.fbin")
        self.fail_with(1, ["page", "HTML"], "info", "page")
        self.fail_with(1, ["notes.txt", "22 bytes", "known endings", ".fvecs"], "info", "notes.txt")
        self.fail_with(1, ["none.fbin", "No such file"], "info", "none.fbin")
        self.fail_with(2, ["FILE"], "info")


if __name__ == "__main__":
    unittest.main()
