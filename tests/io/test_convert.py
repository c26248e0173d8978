"""nearfield convert: files of other writers become files that other readers read, bit for bit."""
import atexit
import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import numpy as np

import other_hands as other
from command import HAS_HDF5, NEARFIELD, SANITIZED, CommandTest

BIN = (other.write_bin, other.read_bin)
VECS = (other.write_vecs, other.read_vecs)
NPY = (other.write_npy, other.read_npy)
HDF5 = (other.write_hdf5, other.read_hdf5)
TRUTH = (other.write_truth, other.read_truth)

# The type, the name of a file, who writes and reads it.
VECTORS = [
    ("<f4", ".fbin", BIN), ("<f4", ".fvecs", VECS), ("<f4", ".npy", NPY),
    ("<f2", ".f16bin", BIN), ("<f2", ".npy", NPY),
    ("<f8", ".npy", NPY),
    ("u1", ".u8bin", BIN), ("u1", ".bvecs", VECS), ("u1", ".npy", NPY),
    ("i1", ".i8bin", BIN), ("i1", ".npy", NPY),
]
# Of ids, whatever their type, the type is what is read back.
ID_SOURCES = [("<i4", ".ibin", BIN), ("<i4", ".ivecs", VECS), ("<i4", ".npy", NPY),
              ("<i8", ".npy", NPY), ("<i4", "", TRUTH)]
ID_TARGETS = [("<i4", ".ibin", BIN), ("<i4", ".ivecs", VECS), ("<i8", ".npy", NPY),
              ("<i4", "", TRUTH)]
if HAS_HDF5:
    VECTORS += [(dtype, ".hdf5:group/table", HDF5) for dtype in ("<f4", "<f2", "<f8", "u1", "i1")]
    ID_SOURCES += [(dtype, ".h5:neighbors", HDF5) for dtype in ("<i4", "<i8", ">i4", ">i8")]
    ID_TARGETS += [("<i4", ".h5:neighbors", HDF5)]

compared = set()
atexit.register(lambda: print(f"file formats: {len(compared)} round trips, from a format and type "
                              "to a format and type, compared bit for bit"))


class RoundTrips(CommandTest):
    def convert(self, values, source, target, *arguments):
        """What the reader of the target reads of what the writer of the source wrote."""
        (source_type, source_name, (write, _)), (dtype, target_name, (_, read)) = source, target
        for old in self.folder.iterdir():
            old.unlink()
        write(f"{self.folder}/in{source_name}", values)
        self.succeed("convert", f"in{source_name}", f"out{target_name}", "--quiet", *arguments)
        compared.add((source_type, source_name, dtype, target_name))
        return read(f"{self.folder}/out{target_name}", dtype)

    def test_vectors(self):
        random = np.random.default_rng(1)
        for source, target in itertools.product(VECTORS, VECTORS):
            dtype = source[0]
            if target[0] != dtype:
                continue
            with self.subTest(source=source[1], target=target[1], dtype=dtype):
                for shape in (37, 5), (1, 1):
                    values = random.integers(0, 256, (shape[0], shape[1] * np.dtype(dtype).itemsize),
                                             "u1").view(dtype)
                    result = self.convert(values, source, target)
                    self.assertEqual(result.shape, shape)
                    self.assertEqual(result.tobytes(), values.tobytes())

    def test_ids(self):
        random = np.random.default_rng(2)
        values = random.integers(0, 2**31, (37, 5))
        values[3, 2:] = -1
        for source, target in itertools.product(ID_SOURCES, ID_TARGETS):
            if source[2] is TRUTH and target[2] is TRUTH:
                continue  # the same file
            with self.subTest(source=source[:2], target=target[:2]):
                arguments = []
                if target[2] is TRUTH:
                    distances = self.folder.parent / f"{self.folder.name}.fbin"
                    self.addCleanup(distances.unlink, missing_ok=True)
                    other.write_bin(distances, other.distances_of(values))
                    arguments = ["--distances-from", distances]
                result = self.convert(values.astype(source[0]), source, target, *arguments)
                self.assertEqual(result.dtype, target[0])
                np.testing.assert_array_equal(result, values)


class Convert(CommandTest):
    def put(self, name, values, write=other.write_bin):
        write(f"{self.folder}/{name}", values)
        return values

    def test_types_that_hold_every_value(self):
        values = self.put("a.u8bin", np.arange(12, dtype="u1").reshape(3, 4))
        for target, dtype, read in (("f.fvecs", "<f4", other.read_vecs),
                                    ("h.f16bin", "<f2", other.read_bin),
                                    ("d.npy", "<f8", other.read_npy),
                                    ("i.i8bin", "i1", other.read_bin)):
            name = {"<f4": "f32", "<f2": "f16", "<f8": "f64", "i1": "i8"}[dtype]
            self.succeed("convert", "a.u8bin", target, "--type", name)
            np.testing.assert_array_equal(read(self.folder / target, dtype), values)

    def test_rounding_is_that_of_numpy(self):
        random = np.random.default_rng(3)
        values = self.put("a.npy", np.concatenate([
            random.normal(0, 10**exponent, 500) for exponent in range(-9, 4)]).reshape(-1, 10),
            other.write_npy)
        self.succeed("convert", "a.npy", "a.f16bin", "--type", "f16", "--round")
        halves = other.read_bin(self.folder / "a.f16bin", "<f2")
        self.assertEqual(halves.tobytes(), values.astype("<f2").tobytes())
        self.succeed("convert", "a.npy", "a.fbin", "--type", "f32", "--round")
        self.assertEqual(other.read_bin(self.folder / "a.fbin", "<f4").tobytes(),
                         values.astype("<f4").tobytes())
        small = self.put("b.npy", np.arange(-1, 511).reshape(-1, 2) / 2, other.write_npy)
        self.succeed("convert", "b.npy", "b.u8bin", "--type", "u8", "--round")
        np.testing.assert_array_equal(other.read_bin(self.folder / "b.u8bin", "u1"), np.rint(small))

    def test_misfits_are_named(self):
        self.put("a.fbin", np.array([[1, 2], [3, 0.1], [300, 5]], "<f4"))
        self.fail_with(1, ["a.fbin", "0.10000000149011612", "row 1, column 1", "u8", "--round"],
                       "convert", "a.fbin", "a.u8bin", "--type", "u8")
        self.fail_with(1, ["a.fbin", "300", "row 2, column 0", "out of the range of u8"],
                       "convert", "a.fbin", "a.u8bin", "--type", "u8", "--round")
        self.fail_with(1, ["a.u8bin", "f32", ".fbin or .fvecs or .npy", "--type converts"],
                       "convert", "a.fbin", "a.u8bin")

    def test_rows(self):
        values = self.put("a.fbin", np.arange(20, dtype="<f4").reshape(10, 2))
        ids = self.put("a.ibin", np.arange(20, dtype="<i4").reshape(10, 2))
        for arguments, part in ((["--first", 3, "--count", 2], slice(3, 5)),
                                (["--first", 8], slice(8, 10)), (["--count", 1], slice(0, 1)),
                                (["--first", 10], slice(10, 10))):
            self.succeed("convert", "a.fbin", "out.fbin", *arguments)
            np.testing.assert_array_equal(other.read_bin(self.folder / "out.fbin", "<f4"),
                                          values[part])
            self.succeed("convert", "a.ibin", "out.ibin", *arguments)
            np.testing.assert_array_equal(other.read_bin(self.folder / "out.ibin", "<i4"),
                                          ids[part])
        for name in "a.fbin", "a.ibin":
            self.fail_with(1, [name, "3 rows from row 8", "it has 10"],
                           "convert", name, f"x{name}", "--first", 8, "--count", 3)
            self.fail_with(1, [name, "from row 11", "it has 10"],
                           "convert", name, f"x{name}", "--first", 11)

    def test_truth(self):
        ids = np.arange(12).reshape(4, 3)
        self.put("GT.public.ibin", ids, other.write_truth)
        self.succeed("convert", "GT.public.ibin", "ids.ivecs", "--distances-to", "d.npy",
                     "--first", 1)
        np.testing.assert_array_equal(other.read_vecs(self.folder / "ids.ivecs", "<i4"), ids[1:])
        np.testing.assert_array_equal(other.read_npy(self.folder / "d.npy", "<f4"),
                                      other.distances_of(ids[1:]))
        self.put("large", np.array([[2**31]]), other.write_truth)
        self.fail_with(1, ["out.ibin", "2147483648", "row 0, column 0"],
                       "convert", "large", "out.ibin", "--distances-to", "out.fbin")

    def test_truth_gets_no_name_of_another_kind(self):
        self.put("i.ibin", np.zeros((2, 2), "<i4"))
        self.put("d.fbin", np.zeros((2, 2), "<f4"))
        for name in ("t.npy", "t.ibin", "t.bvecs", "t.u8bin", "t.csv", "t.hdf5", "t.hdf5:x",
                     "t.h5:x"):
            with self.subTest(name=name):
                self.fail_with(2, [name, "ground truth", ".bin"], "convert", "i.ibin", name,
                               "--distances-from", "d.fbin")
        self.succeed("convert", "i.ibin", "t.bin", "--distances-from", "d.fbin")
        self.succeed("convert", "t.bin", "/dev/null", "--distances-to", "/dev/null")

    def test_options_that_do_not_apply(self):
        self.put("a.fbin", np.zeros((2, 2), "<f4"))
        self.put("a.ibin", np.zeros((2, 2), "<i4"))
        self.put("d.npy", np.zeros((3, 2), "<f4"), other.write_npy)
        for code, parts, arguments in (
            (1, ["--type is for vectors", "int32 ids"], ["a.ibin", "b.ibin", "--type", "u8"]),
            (1, ["--distances-to is for ground truth"], ["a.ibin", "b.ibin", "--distances-to", "d"]),
            (1, ["--distances-from is for ids"], ["a.fbin", "b", "--distances-from", "d.npy"]),
            (1, ["d.npy", "3 x 2 f32", "2 x 2"], ["a.ibin", "b", "--distances-from", "d.npy"]),
            (2, ["--round", "--type"], ["a.fbin", "b.fbin", "--round"]),
            (2, ["'bf16'", "f32, f16"], ["a.fbin", "b.fbin", "--type", "bf16"]),
            (2, ["'a.fbin'", "would replace the input"], ["a.fbin", "a.fbin"]),
            (2, ["'./a.fbin'", "would replace the input"], ["a.fbin", "./a.fbin"]),
            (2, ["'-1'"], ["a.fbin", "b.fbin", "--first", "-1"]),
            (2, ["OUTPUT"], ["a.fbin"]),
            (1, ["none.fbin", "No such file"], ["none.fbin", "b.fbin"]),
            (1, ["b.fbin", "no/folder"], ["a.fbin", "no/folder/b.fbin"]),
        ):
            with self.subTest(arguments):
                self.fail_with(code, parts, "convert", *arguments)

    def test_json_and_quiet(self):
        self.put("a.u8bin", np.zeros((3, 2), "u1"))
        done = self.run_command("convert", "a.u8bin", "b.fbin", "--type", "f32", "--json", "--quiet")
        self.assertEqual(done.stderr, "")
        said = json.loads(done.stdout)
        self.assertEqual([said[key] for key in ("input", "output", "rows", "cols", "from", "to")],
                         ["a.u8bin", "b.fbin", 3, 2, "u8", "f32"])

    def sparse(self, name, rows, cols):
        """Zeros that take no disk."""
        path = self.folder / name
        if name.endswith(".npy"):
            np.save(path, np.zeros((0, cols), "<f4"))
            header = path.read_bytes()
            header = header.replace(b"(0,", f"({rows},".encode()).replace(
                b" " * (len(str(rows)) - 1) + b"\n", b"\n")
            path.write_bytes(header)
        else:
            np.array([rows, cols], "<u4").tofile(path)
        with open(path, "r+b") as file:
            file.truncate(path.stat().st_size + rows * cols * 4)

    @unittest.skipIf(SANITIZED, "sanitizers take memory of their own")
    def test_memory_does_not_grow_with_the_file(self):
        most = 64 << 10
        self.sparse("a.fbin", 600_000, 128)
        self.sparse("a.npy", 600_000, 128)
        for arguments in (["a.fbin", "/dev/null"], ["a.npy", "/dev/null"],
                          ["a.fbin", "/dev/null", "--type", "f16"]):
            # In a small process of its own: what a process had before it became another counts.
            measure = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True);"
                       "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
            done = subprocess.run([sys.executable, "-ISc", measure, NEARFIELD, "convert",
                                   *arguments, "--quiet"], cwd=self.folder, capture_output=True,
                                  text=True, check=True, timeout=120)
            self.assertLess(int(done.stdout), most, arguments)

    def start(self, *arguments, **options):
        return subprocess.Popen([NEARFIELD, *arguments], cwd=self.folder, text=True,
                                stderr=subprocess.PIPE, **options)

    def test_signals_leave_nothing(self):
        self.sparse("a.fbin", 4_000_000, 128)
        (self.folder / "out.npy").write_bytes(b"old")
        for stop in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            with self.subTest(stop=stop):
                process = self.start("convert", "a.fbin", "out.npy", "--type", "f64")
                while not list(self.folder.glob(".nearfield.*")):
                    time.sleep(0.01)
                process.send_signal(stop)
                _, said = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 130, said)
                self.assertIn("cancelled", said)
                self.assertEqual((self.folder / "out.npy").read_bytes(), b"old")
                self.assertEqual(sorted(path.name for path in self.folder.iterdir()),
                                 ["a.fbin", "out.npy"])

    def test_nohup_is_respected(self):
        self.sparse("a.fbin", 100_000, 128)
        process = self.start("convert", "a.fbin", "out.npy", "--type", "f64",
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        while not list(self.folder.glob(".nearfield.*")) and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGHUP)
        self.assertEqual(process.wait(timeout=60), 0, process.communicate()[1])

    def test_ids_that_were_read_in_vain_are_not_written(self):
        """The signal must come while it reads; where we were too late, once more."""
        self.sparse("a.ibin", 16_000_000, 2)

        def reads(process):
            try:
                links = list(pathlib.Path(f"/proc/{process.pid}/fd").iterdir())
                return any(os.readlink(link).endswith("a.ibin") for link in links)
            except OSError:  # a file was closed, or the process ended, while we looked
                return False

        for _ in range(10):
            process = self.start("convert", "a.ibin", "out.npy")
            while process.poll() is None and not reads(process):
                pass
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
            if process.returncode == 130:
                break
            (self.folder / "out.npy").unlink()
        self.assertEqual(process.returncode, 130, said)
        self.assertIn("cancelled", said)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["a.ibin"])


if __name__ == "__main__":
    unittest.main()
