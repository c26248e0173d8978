"""Data sets: the same seed gives the same bytes, whole or not at all."""
import dataclasses
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import cv2
import numpy as np

from sets import (
    bits,
    embeddings,
    image_pairs,
    local_features,
    pictures,
    rootsift,
    store,
    truth,
    uniform,
    words,
)
from sets.definition import differing_bits
from sets.random_streams import stream
from sets.statistics import intrinsic_dimension
from sets.vector_files import read_rows, shape_of, write_rows
from sets.views import back_to_picture, homography

AMOUNTS = local_features.Amounts(base=300, learn=50, queries=40, longer_side=256, strongest=400,
                                 packages=())


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def fresh(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir()
        return folder


class Determinism(Folder):
    def test_uniform(self) -> None:
        for name in ("first", "second"):
            uniform.make(self.fresh(name), 100, 10, 16)
        self.assertEqual(bytes_of(self.folder / "first"), bytes_of(self.folder / "second"))
        rows = read_rows(self.folder / "first" / "base.fbin")
        self.assertTrue((rows >= 0).all())
        self.assertTrue((rows < 1).all())

    def test_embeddings(self) -> None:
        for name in ("first", "second"):
            embeddings.make(self.fresh(name), 400, 10, 32)
        self.assertEqual(bytes_of(self.folder / "first"), bytes_of(self.folder / "second"))

    def test_bits(self) -> None:
        for name in ("first", "second"):
            bits.make(self.fresh(name), 2_000, 20, 64)
        self.assertEqual(bytes_of(self.folder / "first"), bytes_of(self.folder / "second"))
        base, queries = (read_rows(self.folder / "first" / f"{part}.u8bin")
                         for part in ("base", "queries"))
        nearest = [differing_bits(query, base).min() for query in queries]
        self.assertLess(max(nearest[::2]), 40)      # copies with a 32nd of 512 bits turned over
        self.assertGreater(min(nearest[1::2]), 40)  # rows of their own

    def test_so_many_eighths_of_bits(self) -> None:
        eighths = np.repeat([1, 2, 3], 1_000)
        ones = np.bitwise_count(bits.some_bits(eighths, 64, stream("test"))).reshape(3, -1)
        np.testing.assert_allclose(ones.mean(axis=1), [1, 2, 3], atol=0.02)

    def test_embeddings_have_outlier_dimensions(self) -> None:
        rows = embeddings.Mixture(400, 64).draw(400, stream("test"))
        means = np.sort(np.abs(rows.mean(axis=0)))
        self.assertGreater(means[-embeddings.OUTLIERS], 5 * means[-embeddings.OUTLIERS - 1])

    def test_numbers_are_those_of_every_numpy(self) -> None:
        self.assertEqual(stream("a", 1).randint(0, 1000, 4).tolist(), STREAM_A1)
        self.assertNotEqual(stream("a", 2).randint(0, 1000, 4).tolist(), STREAM_A1)

    def pictures(self, count: int) -> list[pictures.Picture]:
        shown = []
        for number in range(count):
            noise = stream("picture", number).randint(0, 256, (32, 48)).astype(np.uint8)
            path = self.folder / f"{number}.png"
            cv2.imwrite(str(path), cv2.resize(noise, (384, 256), interpolation=cv2.INTER_CUBIC))
            shown.append(pictures.Picture(path, 384, 256))
        return shown

    def test_descriptors(self) -> None:
        with mock.patch.object(pictures, "all_pictures", return_value=(self.pictures(9), {})):
            for name in ("first", "second"):
                facts = local_features.make(self.fresh(name), "sift", AMOUNTS, self.folder)
        self.assertEqual(bytes_of(self.folder / "first"), bytes_of(self.folder / "second"))
        self.assertEqual(shape_of(self.folder / "first" / "base.u8bin"), (300, 128))
        self.assertGreater(facts["queries_with_correspondence"], 0)

    def test_two_images(self) -> None:
        amounts = dataclasses.replace(AMOUNTS, base=100, queries=100)
        with mock.patch.object(pictures, "all_pictures", return_value=(self.pictures(2), {})):
            for name in ("first", "second"):
                facts = image_pairs.make(self.fresh(name), amounts, self.folder)
        self.assertEqual(bytes_of(self.folder / "first"), bytes_of(self.folder / "second"))
        for name in ("base", "queries"):
            self.assertEqual(shape_of(self.folder / "first" / f"{name}.u8bin"), (100, 128))
        self.assertGreater(facts["queries_with_correspondence"], 20)

    def test_two_images_are_of_a_picture_that_has_enough(self) -> None:
        shown = self.pictures(1)
        smooth = self.folder / "smooth.png"
        cv2.imwrite(str(smooth), np.full((256, 384), 99, np.uint8))
        amounts = dataclasses.replace(AMOUNTS, base=100, queries=100)
        found, _, _ = image_pairs.images([pictures.Picture(smooth, 384, 256), *shown], amounts)
        self.assertEqual(found, shown[0])
        with self.assertRaisesRegex(RuntimeError, "none of 1 pictures has 9999 keypoints"):
            image_pairs.images(shown, dataclasses.replace(amounts, base=9_999))


STREAM_A1 = [278, 152, 590, 8]


class Views(unittest.TestCase):
    def test_points_come_back(self) -> None:
        to_view = homography((200, 300), stream("test"))
        points = np.array([[10.0, 20.0], [250.0, 150.0]])
        seen = cv2.perspectiveTransform(points[None], to_view)[0]
        np.testing.assert_allclose(back_to_picture(seen, to_view), points, atol=1e-6)

    def test_correspondences_are_near_and_of_the_unwarped_picture(self) -> None:
        def features(places: list[list[float]], picture: list[int], rounds: list[int]
                     ) -> local_features.Features:
            return local_features.Features(np.zeros((len(places), 1), np.uint8), np.array(places),
                                           np.array(picture), np.array(rounds))
        base = features([[10, 10], [11, 10], [10, 10], [10, 10], [50, 50]],
                        [0, 0, 1, 0, 0], [0, 0, 0, 1, 0])
        queries = features([[10.2, 10.0], [90.0, 90.0]], [0, 0], [0, 0])
        found = local_features.rows_at_the_places(queries, base, tolerance=2)
        self.assertEqual([rows.tolist() for rows in found], [[0, 1], []])
        self.assertEqual(local_features.correspondences(found, 4).tolist(),
                         [[0, 1, -1, -1], [-1, -1, -1, -1]])
        self.assertEqual(local_features.correspondences(found, 1).tolist(), [[0], [-1]])


class Words(unittest.TestCase):
    def test_queries_are_at_most_the_edits_away(self) -> None:
        random = stream("test")
        for edits in range(1, words.MOST_EDITS + 1):
            changed = words.edited("neighbour", edits, random)
            self.assertLessEqual(words.edit_distance("neighbour", changed), edits)

    def test_two_ways_to_the_truth_agree(self) -> None:
        base = ["cat", "cart", "dog", "cut", "at"]
        ids = words.nearest_words(["cat", "do"], base, 3)
        words.check_truth(["cat", "do"], base, ids)
        self.assertEqual(ids[0].tolist(), [0, 1, 3])
        with self.assertRaisesRegex(RuntimeError, "disagree about 'do'"):
            words.check_truth(["cat", "do"], base, ids[::-1][[1, 1]])


class Truth(unittest.TestCase):
    def test_a_wrong_id_is_found(self) -> None:
        rows = stream("test").randint(0, 256, (200, 8)).astype(np.uint8)
        ids = np.stack([truth.nearest(query, rows, truth.K, "sqeuclidean") for query in rows[:5]])
        self.assertEqual(truth.check(ids, rows[:5], rows, "sqeuclidean"), 5)
        ids[3, 7] = ids[3, 8]
        with self.assertRaisesRegex(RuntimeError, "query 3: 1 of 100 ids differ"):
            truth.check(ids, rows[:5], rows, "sqeuclidean")


class Store(Folder):
    def test_a_folder_that_fails_is_not_there(self) -> None:
        target = self.folder / "set" / "quick"
        with self.assertRaises(KeyError), store.folder_made_whole(target) as folder:
            (folder / "half").write_text("")
            raise KeyError
        self.assertEqual(list((self.folder / "set").iterdir()), [])

    def test_a_cut_file_is_noticed(self) -> None:
        path = self.folder / "base.fbin"
        write_rows(path, np.zeros((4, 4), np.float32))
        path.write_bytes(path.read_bytes()[:-1])
        with self.assertRaisesRegex(ValueError, "4 x 4 take 72 bytes, the file has 71"):
            shape_of(path)

    def test_changed_bytes_differ_from_the_recorded(self) -> None:
        write_rows(self.folder / "base.ibin", np.zeros((2, 2), np.int32))
        store.write_manifest(self.folder, {"made_with": {"numpy": "1"}})
        manifest = store.read_manifest(self.folder)
        with mock.patch.object(store, "RECORDED", self.folder / "recorded.json"):
            self.assertRegex(store.differences("x quick", manifest)[0], "nothing is recorded")
            store.record("x quick", manifest)
            self.assertEqual(store.differences("x quick", manifest), [])
            manifest["files"]["base.ibin"]["sha256"] = "0" * 64
            self.assertRegex(store.differences("x quick", manifest)[0], "base.ibin is 0000")

    def test_changed_bytes_differ_from_the_manifest(self) -> None:
        for name in ("base.ibin", "truth.ibin"):
            write_rows(self.folder / name, np.zeros((2, 2), np.int32))
        store.write_manifest(self.folder, {})
        self.assertEqual(store.changed(self.folder), [])
        write_rows(self.folder / "base.ibin", np.ones((2, 2), np.int32))
        (self.folder / "truth.ibin").unlink()
        self.assertEqual([line.split()[0] for line in store.changed(self.folder)],
                         ["base.ibin", "truth.ibin"])

    def test_the_recorded_were_made_with_the_required_versions(self) -> None:
        required = (store.RECORDED.parent / "requirements.txt").read_text()
        for key, entry in store.recorded().items():
            for package, version in entry["made_with"].items():
                self.assertRegex(required, rf"(?m)^{package}=={version}\b", key)


class Numbers(unittest.TestCase):
    def test_rootsift_has_unit_length(self) -> None:
        rows = np.array([[1, 3, 0, 12], [0, 0, 0, 0]], dtype=np.uint8)
        lengths = np.linalg.norm(rootsift.rootsift(rows), axis=1)
        np.testing.assert_allclose(lengths, [1, 0], atol=1e-6)

    def test_intrinsic_dimension_of_a_cube(self) -> None:
        rows = stream("cube").random_sample((3000, 3))
        away = np.sort(np.linalg.norm(rows[:100, None] - rows[None], axis=2), axis=1)[:, 1:21]
        self.assertAlmostEqual(intrinsic_dimension(away), 3, delta=0.5)


if __name__ == "__main__":
    unittest.main()
