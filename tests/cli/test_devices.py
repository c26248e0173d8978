"""nearfield select, pairwise, devices and tune; train and encode on devices.

What runs on a device is tested where NEARFIELD_TEST_DEVICE names one, such as opencl.
"""
import json
import math
import os
import pathlib
import struct
import subprocess
import unittest

from support import (NEARFIELD, CommandLine, float32, in_rows, measure, read_bin, read_csv,
                     read_npy, read_vecs, write_bin)

DEVICE = os.environ.get("NEARFIELD_TEST_DEVICE")
METRICS = ["sqeuclidean", "euclidean", "l1", "linf", "inner_product"]
PAIRWISE = ["pairwise", "--queries", "q.fbin", "--base", "b.fbin"]
TRAIN = ["train", "--vectors", "b.fbin", "--code-bits", 4, "--iterations", 2]


def write_npy(path, rows, code):
    """Rows of float64 ("d") or float32 ("f")."""
    flat = [value for row in rows for value in row]
    kind = {"d": "<f8", "f": "<f4"}[code]
    shape = (len(rows), len(rows[0]))
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
                     + struct.pack(f"<{len(flat)}{code}", *flat))


def first(row, k, largest):
    """(id, value) in the order of every search; a NaN is never found."""
    sign = -1 if largest else 1
    order = sorted((sign * value, i) for i, value in enumerate(row) if not math.isnan(value))
    return [(i, sign * value) for value, i in order[:k]]


class Select(CommandLine):
    VALUES = [[0.1, 3, -2, math.nan, 3], [5, 5, 5, 5, 5], [math.inf, -1, 0.7, 0.3, 0.2]]

    def expected(self, k, largest):
        empty = (-1, -math.inf if largest else math.inf)
        return [(first(row, k, largest) + k * [empty])[:k] for row in self.VALUES]

    def test_finds_the_first(self):
        write_npy(self.path("v.npy"), self.VALUES, "d")
        for largest in [], ["--largest"]:
            expected = self.expected(4, bool(largest))
            self.run_well("select", "v.npy", "-k", 4, *largest, "--output", "i.ibin", "--distances",
                          "d.npy")
            self.assertEqual(read_bin(self.path("i.ibin"), "i"),
                             [[i for i, _ in row] for row in expected])
            self.assertEqual(read_npy(self.path("d.npy")),
                             ("<f8", [[value for _, value in row] for row in expected]))

    def test_writes_values_in_their_type(self):
        values = in_rows([float32(value) for row in self.VALUES for value in row], 5)
        write_bin(self.path("v.fbin"), values, "f")
        self.run_well("select", "v.fbin", "-k", 2, "--output", "s.csv", "--distances", "d.fvecs")
        header, lines = read_csv(self.path("s.csv"))
        self.assertEqual(header, "row,rank,id,value")
        self.assertEqual([(row, rank, i) for row, rank, i, _ in lines],
                         [(0, 1, 2), (0, 2, 0), (1, 1, 0), (1, 2, 1), (2, 1, 1), (2, 2, 4)])
        self.assertIn("0,2,0,0.1\n", self.path("s.csv").read_text())  # digits of a float32
        self.assertEqual(read_vecs(self.path("d.fvecs"), "f"),
                         [[value for _, value in first(row, 2, False)] for row in values])
        write_npy(self.path("v.npy"), self.VALUES, "d")
        self.run_badly("select", "v.npy", "--distances", "d.fbin", code=1, says=["float64", ".npy"])

    def test_says_what_was_done(self):
        done = self.run_well("select", "b.fbin", "-k", 2, "--json")
        self.assertIn("select: 40 rows, 3 columns, k 2: 80 found in ", done.stderr)
        said = json.loads(done.stdout)
        self.assertEqual((said["rows"], said["cols"], said["k"], said["found"]), (40, 3, 2, 80))
        self.assertEqual(said["plan"]["device"], "cpu")
        self.assertNotIn("metric", said)

    def test_mistakes(self):
        self.run_badly("select", "--json", code=2, says=["VALUES is required"])
        self.run_badly("select", "b.fbin", code=2, says=["--output", "--json"])
        self.run_badly("select", "b.fbin", "--output", "b.fbin", code=2, says=["b.fbin"])
        self.run_badly("select", "none.npy", "--json", code=1, says=["none.npy"])
        self.run_badly("select", "b.fbin", "--json", "--memory-limit", 100, code=4,
                       says=["480 bytes", "100"])
        self.path("u.u8bin").write_bytes(struct.pack("<II2B", 1, 2, 7, 8))
        self.run_badly("select", "u.u8bin", "--json", code=1, says=["u8"])


class Pairwise(CommandLine):
    def test_is_all_distances(self):
        for metric in METRICS:
            with self.subTest(metric=metric):
                table = [[measure(metric, query, row) for row in self.BASE]
                         for query in self.QUERIES]
                self.run_well(*PAIRWISE, "--metric", metric, "--output", "t.npy")
                self.assertEqual(read_npy(self.path("t.npy")), ("<f8", table))
                self.run_well(*PAIRWISE, "--metric", metric, "--output", "t.fbin")
                self.assertEqual(read_bin(self.path("t.fbin"), "f"),
                                 [[float32(value) for value in row] for row in table])

    def test_keys(self):
        self.run_well(*PAIRWISE, "--metric", "inner_product", "--as-keys", "--output", "t.npy")
        self.assertEqual(read_npy(self.path("t.npy"))[1],
                         [[-measure("inner_product", query, row) for row in self.BASE]
                          for query in self.QUERIES])

    def test_select_of_it_is_knn(self):
        self.run_well(*PAIRWISE, "--output", "t.npy")
        self.run_well("select", "t.npy", "-k", 5, "--output", "selected.ibin")
        self.run_well("knn", *PAIRWISE[1:], "-k", 5, "--output", "found.ibin")
        self.assertEqual(self.path("selected.ibin").read_bytes(),
                         self.path("found.ibin").read_bytes())

    def test_in_little_memory(self):
        done = self.run_well(*PAIRWISE, "--output", "whole.npy", "--json")
        self.assertEqual(json.loads(done.stdout)["found"], 240)
        # 552 bytes of vectors, 320 of each query's distances, and one thread's work.
        self.run_well(*PAIRWISE, "--output", "pieces.npy", "--threads", 1, "--memory-limit", 6000)
        self.assertEqual(self.path("pieces.npy").read_bytes(), self.path("whole.npy").read_bytes())
        self.run_badly(*PAIRWISE, "--output", "no.npy", "--memory-limit", 600, code=4,
                       says=["limit"])
        self.run_badly(*PAIRWISE, "--output", "no.npy", "--memory-limit", 500, code=4,
                       says=["q.fbin", "72 bytes"])

    def test_no_queries(self):
        self.path("none.fbin").write_bytes(struct.pack("<II", 0, 3))
        self.run_well("pairwise", "--queries", "none.fbin", "--base", "b.fbin", "--output",
                      "t.fbin")
        self.assertEqual(self.path("t.fbin").read_bytes(), struct.pack("<II", 0, 40))

    def test_mistakes(self):
        self.run_badly(*PAIRWISE, "--output", "t.csv", code=2, says=["t.csv", ".npy or .fbin"])
        self.run_badly(*PAIRWISE, code=2, says=["--output", "--json"])
        self.run_badly("pairwise", "--queries", "q.fbin", "--json", code=2, says=["--base"])
        with open(self.path("long.u8bin"), "wb") as out:
            out.write(struct.pack("<II", 65_537, 1))
            out.truncate(8 + 65_537)
        self.run_badly("pairwise", "--queries", "long.u8bin", "--base", "long.u8bin", "--output",
                       "t.npy", code=1, says=["65536", "65537"])


class Devices(CommandLine):
    def test_are_listed(self):
        said = json.loads(self.run_well("devices", "--json").stdout)
        cpu = said["devices"][0]
        self.assertEqual(cpu["id"], "cpu")
        self.assertGreater(cpu["memory"], 0)
        self.assertGreaterEqual(cpu["units"], 1)
        self.assertTrue(cpu["is_cpu"])
        text = self.run_well("devices").stdout
        for device in said["devices"]:
            self.assertRegex(text, rf"(?m)^{device['id']} .* \d+ (cores|units), [\d.]+ GiB, ")
        for missing in said["missing"]:
            self.assertRegex(text, rf"(?m)^{missing['kind']} +none: ")
            self.assertIn(missing["reason"], text)
        kinds = {one["id"].split(":")[0] for one in said["devices"]}
        self.assertEqual(kinds | {one["kind"] for one in said["missing"]},
                         {"cpu", "cuda", "opencl"})

    def test_plugins_are_looked_for_beside_the_program(self):
        """Whatever it is called by."""
        program = pathlib.Path(NEARFIELD).resolve()
        if all(program.with_name(f"nearfield_{kind}.so").exists() for kind in ("cuda", "opencl")):
            self.skipTest("all plugins are there")
        self.path("link").symlink_to(program)
        for executable in program, self.path("link"):
            done = subprocess.run(["any text", "devices"], executable=executable, cwd="/",
                                  text=True, capture_output=True, timeout=60,
                                  env={**os.environ, "NEARFIELD_PLUGINS": "/none"})
            self.assertIn(f"is not in '{program.parent}', '/none': ", done.stdout)

    def test_that_are_not_there(self):
        missing = {one["kind"]: one["reason"]
                   for one in json.loads(self.run_well("devices", "--json").stdout)["missing"]}
        self.run_well(*TRAIN, "--output", "q.safetensors")
        commands = [[*PAIRWISE, "--output", "t.npy"], ["select", "b.fbin", "--output", "i.npy"],
                    [*TRAIN, "--output", "other.safetensors"],
                    ["encode", "--vectors", "b.fbin", "--quantizer", "q.safetensors", "--output",
                     "c.nf"]]
        for command in commands:
            for kind, reason in missing.items():
                self.run_badly(*command, "--device", kind, code=1, says=[reason])
            self.run_badly(*command, "--device", "gpu", code=1, says=["'gpu' names no device"])
            self.run_badly(*command, "--device", "", code=2, says=["--device", "is empty"])
            self.run_badly(*command, "--device-memory-limit", "much", code=2, says=["much"])
            self.run_well(*command, "--device", "cpu")

    @unittest.skipUnless(DEVICE, "NEARFIELD_TEST_DEVICE names no device")
    def test_give_the_same_bytes(self):
        for metric in METRICS:
            for limit in [], ["--device-memory-limit", "4K"]:
                self.run_well(*PAIRWISE, "--metric", metric, "--output", "cpu.npy")
                done = self.run_well(*PAIRWISE, "--metric", metric, "--output", "device.npy",
                                     "--device", DEVICE, *limit, "--json")
                self.assertTrue(json.loads(done.stdout)["plan"]["device"].startswith(DEVICE))
                self.assertIn(f", {DEVICE}", done.stderr)
                self.assertEqual(self.path("device.npy").read_bytes(),
                                 self.path("cpu.npy").read_bytes())
        searches = [["knn", "--queries", "q.fbin", "-k", 5], ["graph", "-k", 3],
                    ["mutual", "--queries", "q.fbin"],
                    ["match", "--queries", "q.fbin", "--ratio", 0.95],
                    ["pairs", "--count", 9],
                    ["range", "--queries", "q.fbin", "--radius", 30]]
        for search in searches:
            offsets = ["--offsets", "offsets.npy"] if search[0] == "range" else []
            for name, device in ("cpu.npy", []), ("device.npy", ["--device", DEVICE]):
                done = self.run_well(*search, "--base", "b.fbin", "--output", name, *offsets,
                                     *device, "--json")
            self.assertTrue(json.loads(done.stdout)["plan"]["device"].startswith(DEVICE), search)
            self.assertEqual(self.path("device.npy").read_bytes(),
                             self.path("cpu.npy").read_bytes(), search)
        self.run_well(*PAIRWISE, "--output", "cpu.npy")
        for largest in [], ["--largest"]:
            select = ["select", "cpu.npy", "-k", 7, *largest]
            self.run_well(*select, "--output", "cpu.csv")
            self.run_well(*select, "--output", "device.csv", "--device", DEVICE)
            self.assertEqual(self.path("device.csv").read_bytes(),
                             self.path("cpu.csv").read_bytes())

    @unittest.skipUnless(DEVICE, "NEARFIELD_TEST_DEVICE names no device")
    def test_indexes_find_the_same(self):
        state, codes = 1, []
        for _ in range(3_000):
            state = state * 6364136223846793005 % 2**64 + 1
            codes.append(list(struct.pack("<Q", state)))
        write_bin(self.path("codes.u8bin"), codes, "B")
        write_bin(self.path("asked.u8bin"), codes[:20], "B")
        self.run_well("build", "--vectors", "codes.u8bin", "--bits", 64, "--metric", "hamming",
                      "--family", "ewh", "--output", "codes.nf")
        search = ["search", "--index", "codes.nf", "--queries", "asked.u8bin", "-k", 5]
        self.run_well(*search, "--output", "cpu.csv")
        done = self.run_well(*search, "--output", "device.csv", "--device", DEVICE, "--json")
        self.assertTrue(json.loads(done.stdout)["plan"]["device"].startswith(DEVICE))
        self.assertEqual(self.path("device.csv").read_bytes(), self.path("cpu.csv").read_bytes())

    @unittest.skipUnless(DEVICE, "NEARFIELD_TEST_DEVICE names no device")
    def test_objects_are_found_the_same(self):
        words = [f"{number * 7919 % 10_007:x}" for number in range(400)]
        self.path("words.txt").write_text("\n".join(words))
        self.path("asked.txt").write_text("\n".join(word + "0" for word in words[:20]))
        for asking in (["search", "-k", 3], ["search", "--radius", 1], ["pairs", "--count", 9]):
            command = ["metric", *asking, "words.txt", "--queries", "asked.txt", "--pivots", 8]
            self.run_well(*command, "--output", "cpu.csv")
            done = self.run_well(*command, "--output", "device.csv", "--device", DEVICE, "--json")
            self.assertTrue(json.loads(done.stdout)["device"].startswith(DEVICE))
            self.assertEqual(self.path("device.csv").read_bytes(),
                             self.path("cpu.csv").read_bytes())

    @unittest.skipUnless(DEVICE, "NEARFIELD_TEST_DEVICE names no device")
    def test_codes_are_the_same(self):
        for name, device in ("cpu", []), ("device", ["--device", DEVICE]):
            self.run_well(*TRAIN, "--output", f"{name}.safetensors", *device)
            encode = ["encode", "--vectors", "b.fbin", "--quantizer", f"{name}.safetensors"]
            for ending in "u8bin", "nf":
                self.run_well(*encode, "--output", f"{name}.{ending}", *device)
        for ending in "safetensors", "u8bin", "nf":
            self.assertEqual(self.path(f"device.{ending}").read_bytes(),
                             self.path(f"cpu.{ending}").read_bytes(), ending)

    def test_codes_of_other_kinds_are_not_for_devices(self):
        self.run_badly(*TRAIN, "--kind", "pq", "--codebooks", 3, "--device", "opencl", "--output",
                       "pq.safetensors", code=1, says=["for lsq of 2 codebooks or more", "pq of 3"])
        self.run_well(*TRAIN, "--kind", "pq", "--codebooks", 3, "--output", "pq.safetensors")
        self.run_badly("encode", "--vectors", "b.fbin", "--quantizer", "pq.safetensors", "--device",
                       "opencl", "--output", "c.u8bin", code=1, says=["encoding", "pq of 3"])
        self.run_badly(*TRAIN, "--device", "opencl:0,opencl:1", "--output", "q.safetensors",
                       code=1, says=["one device at a time"])

    @unittest.skipUnless(DEVICE == "opencl", "NEARFIELD_TEST_DEVICE is not opencl")
    def test_compiled_kernels_are_kept(self):
        """Those of another process are loaded, and damaged ones are compiled again."""
        kernels = self.path("kernels")
        select = ["select", "b.fbin", "-k", 2, "--output"]
        on_device = ["--device", DEVICE]
        kept = {"NEARFIELD_KERNEL_CACHE": str(kernels)}
        self.run_well(*select, "cpu.ibin")

        def kernels_after(name):
            self.run_well(*select, name, *on_device, environment=kept)
            self.assertEqual(self.path(name).read_bytes(), self.path("cpu.ibin").read_bytes())
            return {file.name: file.stat().st_ino for file in kernels.iterdir()}

        written = kernels_after("first.ibin")
        self.assertTrue(written)
        self.assertEqual(kernels_after("second.ibin"), written)  # the same files: none is replaced
        for file in kernels.iterdir():
            file.write_bytes(file.read_bytes()[:-1])
        replaced = kernels_after("third.ibin")
        self.assertEqual(replaced.keys(), written.keys())
        self.assertTrue(all(replaced[name] != written[name] for name in written))
        self.run_badly(*select, "fourth.ibin", *on_device, code=1,
                       says=["NEARFIELD_KERNEL_CACHE", "cpu.ibin"],
                       environment={"NEARFIELD_KERNEL_CACHE": str(self.path("cpu.ibin"))})


class Tune(CommandLine):
    def test_mistakes(self):
        self.run_badly("tune", "--output", "t.json", code=2, says=["--device is required"])
        self.run_badly("tune", "--device", "opencl", code=2, says=["--output is required"])
        self.run_badly("tune", "--device", "opencl", "--output", "t.txt", code=2, says=[".json"])
        tune = ["tune", "--output", "t.json", "--device"]
        self.run_badly(*tune, "opencl", "--effort", "some", code=2, says=["some", "quick and full"])
        self.run_badly(*tune, "cpu", code=1, says=["tune measures a device"])
        self.run_badly(*tune, "cpu,opencl", code=1, says=["one device at a time"])

    @unittest.skipUnless(DEVICE, "NEARFIELD_TEST_DEVICE names no device")
    def test_ends_in_time(self):
        """All of it takes a minute: tests/unit/search/device_tune_test.cpp does less."""
        self.run_badly("tune", "--device", DEVICE, "--output", "t.json", "--timeout", 0.5, code=3,
                       says=["deadline"])

    @unittest.skipUnless(DEVICE, "NEARFIELD_TEST_DEVICE names no device")
    def test_wrong_table(self):
        self.path("t.json").write_text('{"device": 3}')
        command = ["select", "b.fbin", "--output", "i.npy"]
        for path, says in ("t.json", "'device'"), ("none.json", "none.json"):
            named = {"NEARFIELD_TUNING": str(self.path(path))}
            self.run_badly(*command, "--device", DEVICE, environment=named, code=1,
                           says=["NEARFIELD_TUNING", says])
            self.run_well(*command, environment=named)
            self.path("i.npy").unlink()


if __name__ == "__main__":
    unittest.main()
