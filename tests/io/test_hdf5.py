"""HDF5 files of ann-benchmarks, through the plugin; h5py is the other hand."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

import h5py
import numpy as np

import other_hands as other
from command import HAS_HDF5, NEARFIELD, CommandTest

TRAIN = np.array([[0, 0], [3, 4], [1, 0], [0, 0], [7, 7]], "<f4")
TEST = np.array([[0, 0], [3, 3]], "<f4")
NEIGHBORS = np.array([[0, 3, 2], [1, 2, 0]], "<i4")


@unittest.skipUnless(HAS_HDF5, "built with NEARFIELD_HDF5=OFF")
class Hdf5(CommandTest):
    def setUp(self):
        super().setUp()
        with h5py.File(self.folder / "a.hdf5", "w") as file:
            file.attrs["distance"] = "euclidean"
            file.attrs["dimension"] = 2
            file["train"] = TRAIN
            file["test"] = TEST
            file["neighbors"] = NEIGHBORS

    def read(self, path):
        file, dataset = path.split(":")
        with h5py.File(self.folder / file) as hdf5:
            return hdf5[dataset][:]

    def test_other_files_are_recognised(self):
        (self.folder / "a.hdf5").write_text("version https://git-lfs.github.com/spec/v1\n"
                                            "oid sha256:0\nsize 9\n")
        (self.folder / "b.h5").write_text("<!DOCTYPE html><html></html>")
        self.fail_with(1, ["a.hdf5", "git-lfs pointer"], "info", "a.hdf5")
        self.fail_with(1, ["a.hdf5", "git-lfs pointer"], "convert", "a.hdf5:train", "a.fbin")
        self.fail_with(1, ["b.h5", "HTML"], "info", "b.h5:train")

    def test_search(self):
        self.succeed("knn", "--queries", "a.hdf5:test", "--base", "a.hdf5:train", "-k", "3",
                     "--metric", "sqeuclidean", "--output", "i.ibin")
        np.testing.assert_array_equal(other.read_bin(self.folder / "i.ibin", "<i4"), NEIGHBORS)

    def test_every_byte_order_and_layout(self):
        values = np.arange(60).reshape(20, 3)
        with h5py.File(self.folder / "b.h5", "w") as file:
            for dtype in "f2", "f4", "f8":
                file[f"big {dtype}"] = values.astype(">" + dtype)
            file.create_dataset("packed f4", data=values.astype("f4"), chunks=(7, 2),
                                compression="gzip", shuffle=True)
            file.create_dataset("growing i8", data=values.astype("i8"), maxshape=(None, 3))
            file["one dimension i8"] = np.arange(20)
            file["deep/er/u1"] = values.astype("u1")
        for name in "big f2", "big f4", "big f8", "packed f4", "deep/er/u1":
            self.succeed("convert", f"b.h5:{name}", "b.npy", "--first", 5, "--count", 9)
            np.testing.assert_array_equal(np.load(self.folder / "b.npy"), values[5:14])
        self.succeed("convert", "b.h5:growing i8", "b.ibin")
        np.testing.assert_array_equal(other.read_bin(self.folder / "b.ibin", "<i4"), values)
        self.succeed("convert", "b.h5:one dimension i8", "b.ibin")
        np.testing.assert_array_equal(other.read_bin(self.folder / "b.ibin", "<i4").T, [range(20)])

    def test_adding_keeps_what_is_there(self):
        self.succeed("convert", "a.hdf5:train", "a.hdf5:copies/train", "--type", "u8")
        np.testing.assert_array_equal(self.read("a.hdf5:copies/train"), TRAIN)
        np.testing.assert_array_equal(self.read("a.hdf5:train"), TRAIN)
        with h5py.File(self.folder / "a.hdf5") as file:
            self.assertEqual(file.attrs["distance"], "euclidean")
            self.assertEqual(file["copies/train"].dtype, "u1")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["a.hdf5"])

    def test_both_parts_of_truth_in_one_file(self):
        other.write_truth(self.folder / "truth", NEIGHBORS)
        (self.folder / "link.hdf5").symlink_to("s.hdf5")
        for ids, distances in (("a.hdf5:i", "a.hdf5:d"), ("s.hdf5:i", "s.hdf5:d"),
                               ("s.hdf5:j", "link.hdf5:e")):
            with self.subTest(ids=ids):
                self.succeed("convert", "truth", ids, "--distances-to", distances)
                np.testing.assert_array_equal(self.read(ids), NEIGHBORS)
                np.testing.assert_array_equal(self.read(distances), other.distances_of(NEIGHBORS))

    def test_what_others_add_meanwhile_is_not_lost(self):
        """Another program adds to the output, or makes it, while ours writes."""
        rows = 1_500_000
        np.array([rows, 128], "<u4").tofile(self.folder / "large.fbin")
        os.truncate(self.folder / "large.fbin", 8 + rows * 128 * 4)
        for name, said in (("a.hdf5", "has changed"), ("new.hdf5", "has appeared")):
            with self.subTest(name=name):
                process = subprocess.Popen([NEARFIELD, "convert", "large.fbin", f"{name}:x",
                                            "--type", "u8", "--quiet"], cwd=self.folder,
                                           stderr=subprocess.PIPE, text=True)
                while not list(self.folder.glob(".nearfield.*")):
                    time.sleep(0.01)
                process.send_signal(signal.SIGSTOP)
                with h5py.File(self.folder / name, "a") as file:
                    file["theirs"] = NEIGHBORS
                process.send_signal(signal.SIGCONT)
                errors = process.communicate(timeout=120)[1]
                self.assertEqual(process.returncode, 1, errors)
                self.assertIn(f"{name}: {said}", errors)
                np.testing.assert_array_equal(self.read(f"{name}:theirs"), NEIGHBORS)
                self.assertEqual(list(self.folder.glob(".nearfield.*")), [])

    def test_outputs_are_checked_before_the_search(self):
        """The base is not there: a search that had begun would say so."""
        (self.folder / "page.h5").write_text("<!DOCTYPE html>")
        (self.folder / "folder.h5").mkdir()
        knn = ["knn", "--queries", "a.hdf5:test", "--base", "none.fbin"]
        for path, says in (("a.hdf5:train", "a dataset of this name"),
                           ("a.hdf5:train/x", "cannot"), ("page.h5:x", "HDF5"),
                           ("folder.h5:x", "is a folder"), ("a.hdf5", "name one")):
            for option in "--output", "--distances":
                with self.subTest(path=path, option=option):
                    self.fail_with(1, [path.split(":")[0], says], *knn, option, path)
        self.fail_with(2, ["each needs its own"], *knn, "--output", "b.h5:x", "--distances",
                       "./b.h5:x")

    def test_outputs_of_convert_are_checked_before_it_reads(self):
        other.write_truth(self.folder / "truth", NEIGHBORS)
        self.fail_with(1, ["a.hdf5:train", "a dataset of this name"], "convert", "truth", "i.ibin",
                       "--distances-to", "a.hdf5:train")
        self.fail_with(1, ["a.hdf5:train", "a dataset of this name"], "convert", "none.fbin",
                       "a.hdf5:train")
        (self.folder / "dd.hdf5").mkdir()
        self.fail_with(1, ["dd.hdf5", "is a folder"], "convert", "a.hdf5:train", "dd.hdf5:x")
        (self.folder / "loop.hdf5").symlink_to("loop.hdf5")
        self.fail_with(1, ["loop.hdf5:x: ", "symbolic links"], "convert", "a.hdf5:train", "loop.hdf5:x")
        self.fail_with(1, ["File name too long"], "convert", "a.hdf5:train", "a" * 300 + ".hdf5:x")

    def test_a_dataset_may_be_called_as_a_file(self):
        self.succeed("knn", "--queries", "a.hdf5:test", "--base", "a.hdf5:train", "-k", "3",
                     "--output", "k.hdf5:a.csv", "--distances", "k.hdf5:a.npy")
        np.testing.assert_array_equal(self.read("k.hdf5:a.csv"), NEIGHBORS)
        self.assertEqual(self.read("k.hdf5:a.npy").dtype, "f4")
        self.fail_with(2, ["--offsets"], "range", "--queries", "a.hdf5:test", "--base",
                       "a.hdf5:train", "--radius", "1", "--output", "k.hdf5:r.csv")

    def test_empty(self):
        self.succeed("convert", "a.hdf5:train", "b.h5:none", "--count", 0)
        self.assertEqual(self.read("b.h5:none").shape, (0, 2))
        self.succeed("convert", "b.h5:none", "none.fbin")
        self.assertEqual(other.read_bin(self.folder / "none.fbin", "<f4").shape, (0, 2))

    def test_rows_of_many_pieces(self):
        values = np.random.default_rng(1).random((3_000_000, 2), "f4")
        np.save(self.folder / "a.npy", values)
        self.succeed("convert", "a.npy", "b.h5:x", "--quiet")
        self.assertEqual(self.read("b.h5:x").tobytes(), values.tobytes())
        self.succeed("convert", "b.h5:x", "c.fbin", "--quiet")
        self.assertEqual(other.read_bin(self.folder / "c.fbin", "<f4").tobytes(), values.tobytes())

    def test_info(self):
        self.assertEqual(
            self.succeed("info", "a.hdf5").splitlines()[1:],
            ["  neighbors: int32 ids, 2 x 3", "  test: f32, 2 x 2", "  train: f32, 5 x 2",
             "  attribute dimension = 2", "  attribute distance = euclidean"])
        said = json.loads(self.succeed("info", "a.hdf5", "--json"))
        self.assertEqual(said["datasets"][0],
                         {"name": "neighbors", "type": "int32 ids", "shape": [2, 3]})
        self.assertEqual(said["attributes"]["distance"], "euclidean")
        self.assertIn("f32, 5 rows x 2 columns", self.succeed("info", "a.hdf5:train"))
        self.fail_with(1, ["--values", "a.hdf5:train"], "info", "--values", "a.hdf5")

    def test_what_is_wrong_is_named(self):
        with h5py.File(self.folder / "a.hdf5", "a") as file:
            file["cube"] = np.zeros((2, 3, 4))
            file["line"] = np.zeros(3)
            file["flags"] = np.zeros((2, 2), bool)
            file["words"] = np.zeros((2, 2), "u2")
            file["names"] = ["a", "b"]
            file["thin"] = np.zeros((2, 0))
            file.create_dataset("wide", (1, 65537), "f4")
            file.create_dataset("huge", (2**41, 1), "f4", chunks=(1024, 1))
        (self.folder / "page.h5").write_text("<!DOCTYPE html>")
        np.save(self.folder / "large.npy", np.array([[0, 2**31]]))
        whole = (self.folder / "a.hdf5").read_bytes()
        (self.folder / "cut.h5").write_bytes(whole[:len(whole) // 2])
        for parts, source, target in (
            (["a.hdf5:nothing", "no such dataset", "neighbors", "train"], "a.hdf5:nothing", "x.npy"),
            (["a.hdf5", "a.hdf5:train", "neighbors"], "a.hdf5", "x.npy"),
            (["a.hdf5:cube", "(2, 3, 4)", "3 dimensions"], "a.hdf5:cube", "x.npy"),
            (["a.hdf5:line", "(3)", "1 dimensions"], "a.hdf5:line", "x.npy"),
            (["a.hdf5:flags", "bool"], "a.hdf5:flags", "x.npy"),
            (["a.hdf5:words", "unsigned integers of 2 bytes"], "a.hdf5:words", "x.npy"),
            (["a.hdf5:names", "texts"], "a.hdf5:names", "x.npy"),
            (["a.hdf5:thin", "2 rows of 0 columns"], "a.hdf5:thin", "x.npy"),
            (["a.hdf5:wide", "65537", "65536"], "a.hdf5:wide", "x.npy"),
            (["a.hdf5:huge", "2199023255552", "1099511627776"], "a.hdf5:huge", "x.npy"),
            (["page.h5", "HTML"], "page.h5:x", "x.npy"),
            (["cut.h5", "cannot read as HDF5", "truncated"], "cut.h5:train", "x.npy"),
            (["none.h5", "No such file"], "none.h5:x", "x.npy"),
            (["a.hdf5:train", "a dataset of this name"], "a.hdf5:test", "a.hdf5:train"),
            (["a.hdf5:train/x", "cannot"], "a.hdf5:test", "a.hdf5:train/x"),
            (["page.h5", "HDF5"], "a.hdf5:test", "page.h5:x"),
            (["no/b.h5", "No such file"], "a.hdf5:test", "no/b.h5:x"),
            (["b.h5:x", "2147483648", "row 0, column 1", "int32"], "large.npy", "b.h5:x"),
        ):
            with self.subTest(source=source, target=target):
                self.fail_with(1, parts, "convert", source, target)
        self.fail_with(1, ["a.hdf5:neighbors", "int32 ids", "not vectors"], "knn", "--queries",
                       "a.hdf5:neighbors", "--base", "a.hdf5:train", "--json")
        self.fail_with(1, ["a.hdf5:train", "f32 vectors, not ids"], "eval", "--results",
                       "a.hdf5:train", "--truth", "a.hdf5:neighbors")
        self.fail_with(1, ["a.hdf5:train", "packed bits"], "knn", "--queries", "a.hdf5:train",
                       "--base", "a.hdf5:train", "--bits", 16, "--metric", "hamming", "--json")

    def test_plugin_is_found_or_missed(self):
        alone = self.folder / "nearfield"
        shutil.copy(NEARFIELD, alone)
        beside = pathlib.Path(NEARFIELD).parent

        def run(plugins, *arguments):
            done = subprocess.run([alone, *(arguments or ("info", "a.hdf5"))], cwd=self.folder,
                                  text=True, capture_output=True, timeout=60,
                                  env=os.environ | {"NEARFIELD_PLUGINS": plugins})
            return done.returncode, done.stderr

        code, said = run("")
        self.assertEqual(code, 1)
        for part in "nearfield_hdf5.so", str(self.folder), "-DNEARFIELD_HDF5=ON", "NEARFIELD_PLUGINS":
            self.assertIn(part, said)
        self.assertIn("nearfield_hdf5.so", run("", "knn", "--queries", "none.fbin", "--base",
                                               "none.fbin", "--output", "new.hdf5:x")[1])
        self.assertEqual(run(f"/nowhere:{beside}"), (0, ""))
        (self.folder / "nearfield_hdf5.so").write_text("no library")
        self.assertIn("cannot load", run("")[1])


if __name__ == "__main__":
    unittest.main()
