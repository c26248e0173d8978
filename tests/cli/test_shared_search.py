"""Searches that several devices share, of which one fails, or has less memory than it says.

Runs where NEARFIELD_TEST_DEVICE is opencl: devices are parts of the one there is, and those that fail
are a plugin around them (tests/plugins/failing.cpp).
"""
import json
import os
import pathlib
import random
import shutil
import tempfile
import unittest

from support import NEARFIELD, CommandLine, write_bin

PROGRAM = pathlib.Path(NEARFIELD).resolve()
KNN = ["knn", "--queries", "q.fbin", "--base", "b.fbin", "-k", 7, "--output"]
ALL = "opencl:0,opencl:1,cpu"


def failing(**environment):
    return {"NEARFIELD_PLUGINS": str(PROGRAM.parent / "tests" / "failing"),
            "NEARFIELD_TEST_WRAPPED": str(PROGRAM.parent / "nearfield_opencl.so"), **environment}


@unittest.skipUnless(os.environ.get("NEARFIELD_TEST_DEVICE") == "opencl", "no OpenCL device is named")
class SharedSearch(CommandLine):
    def setUp(self):
        super().setUp()
        numbers = random.Random(1)
        for name, rows in ("q.fbin", 400), ("b.fbin", 6000):
            write_bin(self.path(name), [[numbers.gauss(0, 1) for _ in range(24)]
                                        for _ in range(rows)], "f")
        self.run_well(*KNN, "cpu.npy", "--distances", "cpu-d.npy")
        # Beside itself, a program finds the plugin that does not fail.
        self.own = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()), "nearfield")
        shutil.copy(PROGRAM, self.own)

    def search(self, device, *options, **environment):
        done = self.run_well(*KNN, "device.npy", "--distances", "device-d.npy", "--device", device,
                             "--json", *options,
                             environment={"NEARFIELD_OPENCL_PARTS": "2",
                                          "NEARFIELD_PLUGINS": str(PROGRAM.parent),
                                          **environment}, program=self.own)
        for name in "npy", "d.npy":
            join = "-" if name == "d.npy" else "."
            self.assertEqual(self.path(f"device{join}{name}").read_bytes(),
                             self.path(f"cpu{join}{name}").read_bytes())
        return json.loads(done.stdout)

    def test_all_take_part(self):
        plan = self.search(ALL)["plan"]
        self.assertEqual(plan["device"], ALL)
        for device in ALL.split(","):
            self.assertRegex(plan["note"], rf"\b{device} looked at [\d.]+ % of the pairs")
        self.assertNotIn("failed", plan["note"])

    def test_one_fails_midway(self):
        note = self.search(ALL, **failing(NEARFIELD_TEST_RUNS="1"))["plan"]["note"]
        self.assertRegex(note, r"opencl:1 looked at [\d.]+ % of the pairs, then failed \(the device "
                               r"has stopped working\)")

    def test_one_fails_before_it_has_begun(self):
        note = self.search("opencl:0,opencl:1", **failing(NEARFIELD_TEST_RUNS="0"))["plan"]["note"]
        self.assertIn("opencl:1 looked at 0.0 % of the pairs, then failed", note)
        self.assertIn("opencl:0 looked at 100.0 % of the pairs", note)

    def test_less_memory_than_it_says(self):
        plan = self.search("opencl:0", **failing(NEARFIELD_TEST_MEMORY="200000"))["plan"]
        self.assertLessEqual(plan["base_chunk"], 6000 / 4)

    def test_the_only_one_fails(self):
        self.run_badly(*KNN, "d.npy", "--device", "opencl:1", code=1,
                       says=["the device has stopped working"],
                       environment={"NEARFIELD_OPENCL_PARTS": "2",
                                    **failing(NEARFIELD_TEST_RUNS="1")}, program=self.own)

    def test_names_that_do_not_make_sense(self):
        for names, says in (("opencl:0,opencl", "names the device opencl twice"),
                            ("cpu,gpu", "'gpu' names no device"), ("opencl,", "'' names no device")):
            self.run_badly(*KNN, "d.npy", "--device", names, code=1, says=[says])
        self.run_badly("pairwise", "--queries", "q.fbin", "--base", "b.fbin", "--output", "t.npy",
                       "--device", "opencl,cpu", code=1, says=["one device at a time"])

@unittest.skipUnless(os.environ.get("NEARFIELD_TEST_DEVICE") == "opencl", "no OpenCL device is named")
class LittleMemory(CommandLine):
    """What an index has copied fits the device, and what a search takes beside it does not."""

    def setUp(self):
        super().setUp()
        self.own = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()), "nearfield")
        shutil.copy(PROGRAM, self.own)
        numbers = random.Random(2)
        for name, rows in ("q.u8bin", 9), ("b.u8bin", 12000):
            write_bin(self.path(name), [[numbers.randrange(256) for _ in range(8)]
                                        for _ in range(rows)], "B")

    def expect_as_on_cpu(self, memory, *build):
        self.run_well("build", "--vectors", "b.u8bin", *build, "--output", "index.nf")
        search = ["search", "--index", "index.nf", "--queries", "q.u8bin", "-k", 20, "--output"]
        self.run_well(*search, "cpu.npy")
        self.run_well(*search, "device.npy", "--device", "opencl:0", program=self.own,
                      environment=failing(NEARFIELD_TEST_MEMORY=str(memory)))
        self.assertEqual(self.path("device.npy").read_bytes(), self.path("cpu.npy").read_bytes())

    def test_scores(self):
        # All rows are found of every query, 8 bytes each; one's fit a buffer, not those of two.
        self.expect_as_on_cpu(100_000, "--bits", 64, "--metric", "hamming", "--family",
                              "ewh,tables=1,bits=4,errors=4,threshold=1")

    def test_lists(self):
        self.expect_as_on_cpu(100_000, "--family", "lsh,bits=2,tables=1,probes=4,match=sort")


if __name__ == "__main__":
    unittest.main()
