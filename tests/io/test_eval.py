"""nearfield eval, against recall counted by numpy from all distances."""
import json
import unittest

import numpy as np

import other_hands as other
from command import HAS_HDF5, CommandTest

K = 10


class Eval(CommandTest):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(1)
        # Few values: many rows are equally far.
        self.base = random.integers(0, 4, (300, 4)).astype("u1")
        self.queries = random.integers(0, 4, (40, 4)).astype("u1")
        self.distances = ((self.queries[:, None].astype(int) - self.base) ** 2).sum(2)
        self.order = np.argsort(self.distances, axis=1, kind="stable")
        self.found = random.permuted(self.order[:, :2 * K], axis=1)[:, :K]
        other.write_bin(self.folder / "b.u8bin", self.base)
        other.write_bin(self.folder / "q.u8bin", self.queries)
        other.write_bin(self.folder / "found.ibin", self.found.astype("<i4"))
        other.write_bin(self.folder / "truth.ibin", self.order[:, :K].astype("<i4"))

    def true_recall(self, k):
        """A row counts if it is at most as far as the k-th; the nearest likewise."""
        rows = np.arange(len(self.queries))[:, None]
        found = self.distances[rows, self.found[:, :k]]
        sorted_distances = np.sort(self.distances, axis=1)
        right = found <= sorted_distances[:, [k - 1]]
        nearest = (found == sorted_distances[:, [0]]).any(axis=1)
        return right.mean(), nearest.mean()

    def eval(self, *arguments):
        return json.loads(self.succeed("eval", "--results", "found.ibin", "--json", *arguments))

    def means(self, said):
        return [(at["recall"]["mean"], at["nearest"]["mean"]) for at in said["at"]]

    def test_computed_ties(self):
        said = self.eval("--truth", "truth.ibin", "--queries", "q.u8bin", "--base", "b.u8bin",
                         "--metric", "euclidean", "--at", "1,3,10")
        self.assertEqual(said["ties"], "computed")
        for (recall, nearest), at, k in zip(self.means(said), said["at"], (1, 3, 10)):
            self.assertEqual(at["k"], k)
            self.assertAlmostEqual(recall, self.true_recall(k)[0], 12)
            self.assertAlmostEqual(nearest, self.true_recall(k)[1], 12)
            self.assertEqual(at["recall"]["open_queries"], 0)
            self.assertEqual(at["wrong_truth_queries"], 0)
            self.assertLess(at["recall"]["low"], recall)
            self.assertGreater(at["recall"]["high"], recall)

    def test_ties_of_the_truth(self):
        """All rows as truth: then it ends inside no tie."""
        rows = np.arange(len(self.queries))[:, None]
        other.write_npy(self.folder / "truth.npy", self.order)
        other.write_npy(self.folder / "d.npy", np.sqrt(self.distances[rows, self.order]))
        said = self.eval("--truth", "truth.npy", "--truth-distances", "d.npy")
        self.assertEqual((said["ties"], said["queries"]), ("truth", 40))
        self.assertEqual([at["k"] for at in said["at"]], [1, 10])
        for (recall, nearest), at in zip(self.means(said), said["at"]):
            self.assertAlmostEqual(recall, self.true_recall(at["k"])[0], 12)
            self.assertAlmostEqual(nearest, self.true_recall(at["k"])[1], 12)
            self.assertEqual(at["recall"]["open_queries"], 0)

    def test_lower_bound(self):
        said = self.eval("--truth", "truth.ibin", "--at", K)
        plain = np.mean([len(set(a) & set(b)) / K
                         for a, b in zip(self.found, self.order[:, :K])])
        self.assertEqual(said["ties"], "none")
        self.assertAlmostEqual(self.means(said)[0][0], plain, 12)
        self.assertLess(plain, self.true_recall(K)[0])
        self.assertGreater(said["at"][0]["recall"]["open_queries"], 0)
        text = self.succeed("eval", "--results", "found.ibin", "--truth", "truth.ibin")
        self.assertIn(f">={plain:.5f}", text)
        self.assertIn("recall@10 may be higher", text)

    def test_every_kind_of_file(self):
        ids = self.order[:, :K]
        other.write_vecs(self.folder / "t.ivecs", ids.astype("<i4"))
        other.write_npy(self.folder / "t.npy", ids)
        other.write_truth(self.folder / "t", ids)
        names = ["t.ivecs", "t.npy", "t", "truth.ibin"]
        if HAS_HDF5:
            other.write_hdf5(f"{self.folder}/t.hdf5:neighbors", ids)
            names.append("t.hdf5:neighbors")
        for results in names:
            for truth in names:
                said = json.loads(self.succeed("eval", "--results", results, "--truth", truth,
                                               "--json"))
                self.assertEqual(self.means(said), [(1, 1), (1, 1)])
                self.assertEqual(said["ties"], "truth" if truth == "t" else "none")

    def test_at_least(self):
        arguments = ("eval", "--results", "found.ibin", "--truth", "truth.ibin", "--quiet")
        recall = self.means(self.eval("--truth", "truth.ibin"))[-1][0]
        self.succeed(*arguments, "--at-least", f"{recall - 0.001}")
        done = self.run_command(*arguments, "--at-least", f"{recall + 0.001}")
        self.assertEqual(done.returncode, 5)
        self.assertIn("recall@10", done.stdout)
        self.assertIn(f"recall@10 is {recall:.5f}, below", done.stderr)

    def test_wrong_truth_is_reported(self):
        other.write_bin(self.folder / "late.ibin", self.order[:, K:2 * K].astype("<i4"))
        text = self.succeed("eval", "--results", "truth.ibin", "--truth", "late.ibin", "--queries",
                            "q.u8bin", "--base", "b.u8bin", "--metric", "sqeuclidean")
        self.assertIn("the truth is wrong at k = 10", text)

    def test_errors(self):
        other.write_bin(self.folder / "few.ibin", np.zeros((3, K), "<i4"))
        other.write_bin(self.folder / "far.ibin", np.tile(np.arange(300, 310, dtype="<i4"), (40, 1)))
        computed = ["--queries", "q.u8bin", "--base", "b.u8bin", "--metric", "l1"]
        for code, parts, arguments in (
            (1, ["40 queries", "of 3"], ["--truth", "few.ibin"]),
            (1, ["recall@11", "10 and 10"], ["--truth", "truth.ibin", "--at", "11"]),
            (1, ["id 300", "which has 300"], ["--truth", "far.ibin", *computed]),
            (1, ["40 x 10 ids", "40 x 4 of u8"],
             ["--truth", "truth.ibin", "--truth-distances", "q.u8bin"]),
            (1, ["b.u8bin", "not ids"], ["--truth", "b.u8bin"]),
            (2, ["--queries, --base and --metric"], ["--truth", "truth.ibin", "--base", "b.u8bin"]),
            (2, ["--truth-distances"],
             ["--truth", "truth.ibin", "--truth-distances", "x.fbin", *computed]),
            (2, ["'0'"], ["--truth", "truth.ibin", "--at", "0"]),
            (2, ["'1.5'"], ["--truth", "truth.ibin", "--at-least", "1.5"]),
            (2, ["--truth"], []),
        ):
            with self.subTest(arguments):
                self.fail_with(code, parts, "eval", "--results", "found.ibin", *arguments)


if __name__ == "__main__":
    unittest.main()
