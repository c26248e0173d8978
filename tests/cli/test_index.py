"""nearfield build, add, remove, search, verify, compact and info of an index."""
import json
import struct
import unittest

from support import CommandLine, read_bin, read_csv, write_bin


class Indexes(CommandLine):
    def build(self, *more):
        self.run_well("build", "--vectors", "b.fbin", "--output", "b.nf", *more)

    def write_ids(self, name, ids):
        write_bin(self.path(name), [[i] for i in ids], "i")

    def ids_found(self, *more):
        self.run_well("search", "--index", "b.nf", "--queries", "q.fbin", "-k", "3", "--output",
                      "i.ibin", *more)
        return read_bin(self.path("i.ibin"), "i")

    def knn(self, base, *more):
        self.run_well("knn", "--queries", "q.fbin", "--base", base, "-k", "3", "--output", "k.ibin",
                      *more)
        return read_bin(self.path("k.ibin"), "i")

    def test_finds_what_knn_finds(self):
        for metric in "sqeuclidean", "cosine", "l1":
            with self.subTest(metric=metric):
                self.build("--metric", metric)
                self.assertEqual(self.ids_found(), self.knn("b.fbin", "--metric", metric))

    def test_a_radius(self):
        self.build()
        self.run_well("search", "--index", "b.nf", "--queries", "q.fbin", "--radius", "9",
                      "--output", "i.csv")
        self.run_well("range", "--queries", "q.fbin", "--base", "b.fbin", "--radius", "9",
                      "--output", "r.csv")
        self.assertEqual(read_csv(self.path("i.csv")), read_csv(self.path("r.csv")))

    def test_ids_stay(self):
        rows = len(self.BASE)
        self.build()
        self.write_ids("old.ibin", [0, 1, 2, 999])
        said = self.run_well("remove", "--index", "b.nf", "--ids", "old.ibin", "--json").stdout
        self.assertEqual({key: json.loads(said)[key] for key in ("removed", "size")},
                         {"removed": 3, "size": rows - 3})
        self.write_ids("left.ibin", range(3, rows))
        self.assertEqual(self.ids_found(), self.knn("b.fbin", "--filter", "left.ibin"))
        self.run_well("add", "--index", "b.nf", "--vectors", "q.fbin", "--output", "c.nf")
        info = json.loads(self.run_well("info", "c.nf", "--json").stdout)
        self.assertEqual((info["format"], info["rows"]), ("index", rows - 3 + len(self.QUERIES)))
        self.assertEqual(json.loads(self.run_well("info", "b.nf", "--json").stdout)["rows"], rows - 3)
        self.run_well("search", "--index", "c.nf", "--queries", "q.fbin", "-k", "1", "--output",
                      "i.ibin")
        # The queries are there under the next numbers; a row that is equal has the smaller id.
        left = {i: row for i, row in enumerate([*self.BASE, *self.QUERIES]) if i > 2}
        self.assertEqual(read_bin(self.path("i.ibin"), "i"),
                         [[min(i for i, row in left.items() if row == query)]
                          for query in self.QUERIES])

    def test_options_that_would_do_nothing_are_refused(self):
        self.build()
        search = ["search", "--index", "b.nf", "--queries", "q.fbin", "--output"]
        self.run_badly(*search, "i.csv", "-k", "2", "--radius", "3", code=2, says=["--radius", "-k"])
        self.run_badly(*search, "i.ibin", "--offsets", "o.ibin", code=2, says=["--radius"])
        self.run_badly(*search, "i.ibin", "--radius", "3", code=2, says=["--offsets"])
        self.run_badly("add", "--index", "b.nf", "--vectors", "q.fbin", "--replace", code=2,
                       says=["--ids"])
        self.run_badly("build", "--vectors", "b.fbin", "--output", "b.fbin", code=2,
                       says=["b.fbin"])
        self.write_ids("twice.ibin", [5] * len(self.QUERIES))
        self.run_badly("add", "--index", "b.nf", "--vectors", "q.fbin", "--ids", "twice.ibin",
                       code=1, says=["twice.ibin", "5"])

    def test_filters(self):
        self.build()
        self.write_ids("some.ibin", [1, 4, 7, 7, 12345])
        self.write_ids("rows.ibin", [1, 4, 7])
        self.assertEqual(self.ids_found("--only", "some.ibin"),
                         self.knn("b.fbin", "--filter", "rows.ibin"))
        without = self.ids_found("--without", "some.ibin")
        self.assertFalse({1, 4, 7} & {i for row in without for i in row})

    def test_verify_notices_a_changed_byte(self):
        self.build()
        self.assertIn("b.nf: as it was written", self.run_well("verify", "b.nf").stdout)
        good = self.path("b.nf").read_bytes()
        self.path("b.nf").write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
        self.run_badly("verify", "b.nf", code=1, says=["b.nf", "sum"])
        self.path("b.nf").write_bytes(good[:-1])
        self.run_badly("info", "b.nf", code=1, says=["b.nf", "cut off"])
        self.path("b.nf").write_bytes(struct.pack("<Q", 2) + b"{}")
        self.run_badly("search", "--index", "b.nf", "--queries", "q.fbin", "--json", code=1,
                       says=["b.nf", "no index"])

    def test_compact_keeps_all(self):
        self.build()
        before = self.path("b.nf").read_bytes()
        self.run_well("compact", "--index", "b.nf")
        self.assertEqual(self.path("b.nf").read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
