"""nearfield build, add, remove, search, verify, compact and info of an index."""
import csv
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

    def test_changes_and_checks_are_bounded(self):
        write_bin(self.path("ids.ibin"), [[3]], "i")
        self.build()
        for command in (["build", "--vectors", "b.fbin", "--output", "c.nf"],
                        ["add", "--index", "b.nf", "--vectors", "q.fbin"],
                        ["remove", "--index", "b.nf", "--ids", "ids.ibin", "--output", "c.nf"],
                        ["compact", "--index", "b.nf", "--output", "c.nf"], ["verify", "b.nf"]):
            with self.subTest(command=command):
                self.run_badly(*command, "--timeout", "0", code=3, says=["deadline"])
                self.run_well(*command, "--timeout", "60", "--threads", "1", "--memory-limit", "1G")
        self.run_badly("build", "--vectors", "b.fbin", "--output", "c.nf", "--memory-limit", "1K",
                       code=4, says=["1024"])

    def test_an_approximate_index_is_tuned(self):
        rows = [[(31 * i * (j + 3)) % 97 / 9 for j in range(3)] for i in range(3000)]
        write_bin(self.path("many.fbin"), rows, "f")
        said = self.run_well("build", "--vectors", "many.fbin", "--family", "lsh", "--recall",
                             "0.7", "--recall-k", "3", "--output", "b.nf").stderr
        self.assertRegex(said, r"lsh,hash=learned,bits=.*: recall@3 of about (0\.[789]|1\.0)")
        family = json.loads(self.run_well("info", "b.nf", "--json").stdout)["family"]
        self.assertTrue(said.startswith(family), said)
        self.ids_found()
        self.run_badly("build", "--vectors", "b.fbin", "--recall", "0.7", "--output", "c.nf",
                       code=1, says=["flat and mih find all there is", "ewh,recall=0.9"])

    def test_an_index_finds_by_codes(self):
        rows = [[(31 * i * (j + 3)) % 97 / 9 for j in range(3)] for i in range(3000)]
        write_bin(self.path("many.fbin"), rows, "f")
        family = "coded,kind=lsq,codebooks=2,bits=4,iterations=3,rounds=2,train=1000,rerank=3000"
        self.run_well("build", "--vectors", "many.fbin", "--family", family, "--output", "b.nf")
        self.assertEqual(json.loads(self.run_well("info", "b.nf", "--json").stdout)["family"],
                         family)
        self.run_well("verify", "b.nf")
        self.assertEqual(self.ids_found(), self.knn("many.fbin"))  # all are verified
        self.run_badly("build", "--vectors", "b.fbin", "--family", "coded,bits=6", "--output",
                       "c.nf", code=1, says=["bits is 6", "4 or 8"])

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

    def write_keys(self, name, keys, end="\n"):
        self.path(name).write_bytes(b"\n".join(keys) + end.encode())

    def keys_found(self, *more):
        self.run_well("search", "--index", "b.nf", "--queries", "q.fbin", "-k", "3", "--output",
                      "i.csv", *more)
        with self.path("i.csv").open(newline="", encoding="utf-8") as file:
            return [(int(line["query"]), int(line["id"]), line["key"])
                    for line in csv.DictReader(file)]

    def test_keys(self):
        rows = len(self.BASE)
        keys = [f'row {i}, "{i % 3}"'.encode() for i in range(rows)]
        self.write_keys("k.txt", keys, end="")  # the last line without its end
        self.build("--keys", "k.txt")
        found = self.keys_found()
        self.assertEqual([key for _, _, key in found], [keys[i].decode() for _, i, _ in found])
        self.assertEqual([i for _, i, _ in found],
                         [i for row in self.knn("b.fbin") for i in row])

        self.write_keys("some.txt", [keys[1], b"nobody", keys[4], keys[7]])
        self.write_ids("rows.ibin", [1, 4, 7])
        self.assertEqual([i for _, i, _ in self.keys_found("--only", "some.txt")],
                         [i for row in self.knn("b.fbin", "--filter", "rows.ibin") for i in row])
        self.assertFalse({1, 4, 7} & {i for _, i, _ in self.keys_found("--without", "some.txt")})
        self.run_well("search", "--index", "b.nf", "--queries", "q.fbin", "--radius", "9",
                      "--output", "r.csv")
        with self.path("r.csv").open(newline="", encoding="utf-8") as file:
            for line in csv.DictReader(file):
                self.assertEqual(line["key"], keys[int(line["id"])].decode())
        said = self.run_well("remove", "--index", "b.nf", "--keys", "some.txt", "--json").stdout
        self.assertEqual(json.loads(said)["removed"], 3)
        self.assertFalse({1, 4, 7} & {i for _, i, _ in self.keys_found()})

        # Those that were there keep their ids, the others get the next numbers.
        names = [keys[0], *(b"new %d" % i for i in range(len(self.QUERIES) - 1))]
        self.write_keys("new.txt", names)
        self.run_badly("add", "--index", "b.nf", "--vectors", "q.fbin", "--keys", "new.txt", code=1,
                       says=["row 0", "already"])
        self.run_well("add", "--index", "b.nf", "--vectors", "q.fbin", "--keys", "new.txt",
                      "--replace")
        info = json.loads(self.run_well("info", "b.nf", "--json").stdout)
        self.assertEqual(info["rows"], rows - 3 + len(self.QUERIES) - 1)
        ids = {key: i for _, i, key in self.keys_found()}
        self.assertEqual({i for key, i in ids.items() if key.startswith("new")},
                         {rows + int(key[4:]) for key in ids if key.startswith("new")})

    def test_keys_that_cannot_be(self):
        rows = len(self.BASE)
        build = ["build", "--vectors", "b.fbin", "--output", "b.nf", "--keys", "k.txt"]
        for lines, says in (([b"a"] * rows, ["k.txt", "lines 1 and 2"]),
                            ([b"%d" % i for i in range(rows - 1)], [f"{rows - 1} keys", f"{rows}"]),
                            ([b"a", b"", b"b"], ["line 2", "empty"]),
                            ([b"a\r", b"b\r"], ["line 1", "carriage return"])):
            self.write_keys("k.txt", lines)
            self.run_badly(*build, code=1, says=says)
        self.path("k.txt").unlink()
        self.run_badly(*build, code=1, says=["k.txt", "No such file"])
        self.build()
        self.write_keys("k.txt", [b"%d" % i for i in range(len(self.QUERIES))])
        self.run_badly("add", "--index", "b.nf", "--vectors", "q.fbin", "--keys", "k.txt", code=1,
                       says=["no keys"])
        self.run_badly("remove", "--index", "b.nf", code=2, says=["--ids", "--keys"])
        self.write_ids("i.ibin", range(len(self.QUERIES)))
        self.run_badly("add", "--index", "b.nf", "--vectors", "q.fbin", "--keys", "k.txt", "--ids",
                       "i.ibin", "--replace", code=2, says=["--replace", "both"])

    def test_vectors_that_begin_as_an_index(self):
        row = [0, 0, 0, 0, ord("{"), ord('"'), 1, 2]
        self.path("v.bvecs").write_bytes((struct.pack("<I", 8) + bytes(row)) * 3)
        info = json.loads(self.run_well("info", "v.bvecs", "--json").stdout)
        self.assertEqual((info["format"], info["rows"], info["cols"]), (".bvecs", 3, 8))

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
