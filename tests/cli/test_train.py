"""nearfield train: a quantizer of a file, also after it was killed."""
import json
import random
import re
import struct
import subprocess
import unittest

from support import NEARFIELD, CommandLine, write_bin

TRAIN = ["train", "--vectors", "v.fbin", "--codebooks", "3", "--code-bits", "4", "--output"]


class Train(CommandLine):
    def setUp(self):
        super().setUp()
        some = random.Random(1)
        values = [some.gauss(0, 1) for _ in range(6 * 4_000)]
        self.path("v.fbin").write_bytes(struct.pack("<II24000f", 4_000, 6, *values))

    def test_says_how_the_error_falls(self):
        said = self.run_well(*TRAIN, "q.safetensors", "--iterations", "4").stderr
        errors = re.findall(r"iteration (\d) of 4: mean squared error ([\d.]+)", said)
        self.assertEqual([number for number, _ in errors], ["1", "2", "3", "4"])
        self.assertIn("lsq of 3 codebooks, 2 bytes a vector, of 4000 vectors of 6 columns: "
                      f"mean squared error {errors[-1][1]} in ", said)
        said = self.run_well("encode", "--vectors", "v.fbin", "--quantizer", "q.safetensors",
                             "--output", "c.u8bin").stderr
        self.assertIn("4000 vectors of 6 columns to 2 bytes each", said)
        self.assertEqual(self.run_well(*TRAIN, "q.safetensors", "--quiet").stderr, "")

    def test_trains_every_kind_on_some_of_the_vectors(self):
        for kind in "pq", "opq", "rq", "lsq":
            said = self.run_well(*TRAIN, "q.safetensors", "--kind", kind, "--rows", "500",
                                 "--iterations", "2", "--seed", "7").stderr
            self.assertIn(f"{kind} of 3 codebooks, 2 bytes a vector, of 500 vectors", said)
            self.assertEqual("iteration" in said, kind in ("opq", "lsq"))

    def test_goes_on_after_it_was_killed(self):
        more = ["--iterations", "40", "--rounds", "2", "--train-rounds", "4"]
        self.run_well(*TRAIN, "whole.safetensors", *more)
        kept = [*TRAIN, "q.safetensors", *more, "--checkpoint", "kept"]
        process = subprocess.Popen([NEARFIELD, *kept, "--threads", "1"], cwd=self.folder,
                                   stderr=subprocess.PIPE, text=True)
        while "iteration 3 " not in process.stderr.readline():
            self.assertIsNone(process.poll())
        process.kill()
        process.communicate()
        self.assertTrue(self.path("kept").exists())
        self.run_badly(*kept, "--seed", "1", code=1, says=["kept", "seed", "remove"])
        said = self.run_well(*kept).stderr
        self.assertNotIn("iteration 1 ", said)
        self.assertIn("iteration 40 of 40", said)
        self.assertEqual(self.path("q.safetensors").read_bytes(),
                         self.path("whole.safetensors").read_bytes())
        self.assertFalse(self.path("kept").exists())

    def test_info_and_verify_know_the_quantizer(self):
        self.run_well(*TRAIN, "q.safetensors", "--kind", "pq", "--quiet")
        size = self.path("q.safetensors").stat().st_size
        told = json.loads(self.run_well("info", "--json", "q.safetensors").stdout)
        error = told.pop("mean_squared_error")
        self.assertGreater(error, 0)
        self.assertEqual(told, {"file": "q.safetensors", "format": "quantizer", "kind": "pq",
                                "codebooks": 3, "code_bits": 4, "code_bytes": 2, "cols": 6,
                                "bytes": size})
        self.assertEqual(self.run_well("info", "q.safetensors").stdout,
                         "q.safetensors: quantizer, pq, 3 codebooks of 4 bits, 2 bytes a vector, "
                         f"6 columns, mean squared error {error:.6g}, {size} bytes\n")
        self.run_badly("info", "--values", "q.safetensors", code=1, says=["quantizer"])
        self.assertIn("as it was written", self.run_well("verify", "q.safetensors").stdout)
        self.run_badly("verify", "q.safetensors", "--timeout", 0, code=3, says=["deadline"])
        self.run_badly("verify", "q.safetensors", "--memory-limit", 100, code=4, says=[str(size)])
        self.run_badly("search", "--index", "q.safetensors", "--queries", "v.fbin", "--json",
                       code=1, says=["no index", "nearfield-quantizer"])
        flipped = bytearray(self.path("q.safetensors").read_bytes())
        flipped[-5] ^= 1
        self.path("q.safetensors").write_bytes(flipped)
        self.run_badly("verify", "q.safetensors", code=1, says=["q.safetensors"])

    def test_says_what_is_wrong(self):
        for option, value, says in (("--codebooks", 65, "from 1 to 64"),
                                    ("--code-bits", 5, "not 4 or 8"),
                                    ("--threads", 1025, "from 0 to 1024")):
            self.run_badly("train", "--vectors", "v.fbin", "--output", "q.safetensors", option,
                           value, code=2, says=[option, f"'{value}'", says])
        self.run_badly(*TRAIN, "q.bin", code=2, says=["--output", ".safetensors"])
        self.run_badly(*TRAIN, "q.safetensors", "--kind", "cq", code=2, says=["cq", "lsq"])
        self.run_badly(*TRAIN, "q.safetensors", "--rows", "5000", code=1, says=["4000", "5000"])
        self.run_badly(*TRAIN, "q.safetensors", "--rows", "9", code=1, says=["9", "16"])
        self.run_badly(*TRAIN, "q.safetensors", "--kind", "pq", "--checkpoint", "kept", code=1,
                       says=["pq", "no checkpoint"])
        for kind, option in ("pq", ["--rounds", "3"]), ("rq", ["--random-order"]), \
                ("lsq", ["--beam", "2"]), ("opq", ["--relaxation", "none"]):
            self.run_badly(*TRAIN, "q.safetensors", "--kind", kind, *option, code=2,
                           says=[option[0], f"--kind is {kind}"])
        self.run_badly(*TRAIN, "q.safetensors", "--checkpoint", "q.safetensors", code=2,
                       says=["--checkpoint", "--output"])
        self.run_badly(*TRAIN, "q.safetensors", "--memory-limit", "1000", code=4,
                       says=["vectors to train on", "--rows"])
        write_bin(self.path("n.fbin"), [[float("nan")] * 6] * 30, "f")
        self.run_badly("train", "--vectors", "n.fbin", "--code-bits", "4", "--output",
                       "q.safetensors", code=1, says=["row 0", "not finite"])


if __name__ == "__main__":
    unittest.main()
