"""The data sets by name: what each is, and how it is made in each size."""
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sets import bits, embeddings, fingerprints, rootsift, store, truth, uniform, words


@dataclass(frozen=True)
class DataSet:
    summary: str
    packages: tuple[str, ...]                       # of PyPI, whose version may change the bytes
    make: Callable[[Path, str, Path], dict[str, Any]]  # folder, size, cache


def make_sift_10m(folder: Path, size: str, cache: Path) -> dict[str, Any]:
    """Keypoints of a quarter of the contrast too: more of each view, so that fewer are needed."""
    from sets import local_features, pictures
    amounts = {
        "quick": local_features.Amounts(200_000, 20_000, 1_000, 800, 6_000,
                                        ("lomiri-wallpapers-16.04",), contrast=0.01),
        "full": local_features.Amounts(10_000_000, 1_000_000, 10_000, 2_000, 20_000,
                                       pictures.PACKAGES, contrast=0.01),
    }[size]
    facts = local_features.make(folder, "sift", amounts, cache)
    return facts | truth.make(folder, "sqeuclidean")


def descriptors_by(detector: str) -> Callable[[Path, str, Path], dict[str, Any]]:
    def make(folder: Path, size: str, cache: Path) -> dict[str, Any]:
        from sets import local_features, pictures  # OpenCV, which other sets do without
        amounts = {
            "quick": local_features.Amounts(20_000, 2_000, 1_000, 800, 1_500,
                                            ("lomiri-wallpapers-16.04",)),
            "full": local_features.Amounts(1_000_000, 100_000, 10_000, 2_000, 20_000,
                                           pictures.PACKAGES),
        }[size]
        facts = local_features.make(folder, detector, amounts, cache)
        return facts | truth.make(folder, {"sift": "sqeuclidean", "orb": "hamming"}[detector])
    return make


def pair_of(rows_at_quick: int, rows_at_full: int) -> Callable[[Path, str, Path], dict[str, Any]]:
    def make(folder: Path, size: str, cache: Path) -> dict[str, Any]:
        from sets import image_pairs, local_features
        rows, longer_side = {"quick": (rows_at_quick, 1_600), "full": (rows_at_full, 4_000)}[size]
        # A quarter more than wanted: a view loses what lies outside of its picture.
        amounts = local_features.Amounts(rows, 0, rows, longer_side, rows * 5 // 4,
                                         ("lomiri-wallpapers-16.04",))
        return image_pairs.make(folder, amounts, cache)
    return make


def make_rootsift(folder: Path, size: str, cache: Path) -> dict[str, Any]:
    return rootsift.make(folder, made("sift-1m", size, cache)) | truth.make(folder, "sqeuclidean")


def make_words(folder: Path, size: str, cache: Path) -> dict[str, Any]:
    rows, queries = {"quick": (20_000, 200), "full": (None, 10_000)}[size]
    return words.make(folder, rows, queries, truth.K, cache)


def make_embeddings(folder: Path, size: str, cache: Path) -> dict[str, Any]:
    rows, queries = {"quick": (10_000, 500), "full": (500_000, 10_000)}[size]
    return embeddings.make(folder, rows, queries, 768) | truth.make(folder, "sqeuclidean")


def make_bits(folder: Path, size: str, cache: Path) -> dict[str, Any]:
    rows, queries = {"quick": (40_000, 1_000), "full": (4_000_000, 1_000)}[size]
    return bits.make(folder, rows, queries, 512 // 8) | truth.make(folder, "hamming")


def make_fingerprints(folder: Path, size: str, cache: Path) -> dict[str, Any]:
    rows, queries = {"quick": (100_000, 1_000), "full": (10_000_000, 1_000)}[size]
    return fingerprints.make(folder, rows, queries, 256 // 8) | truth.make(folder, "hamming")


def make_uniform(folder: Path, size: str, cache: Path) -> dict[str, Any]:
    rows, queries = {"quick": (20_000, 1_000), "full": (1_000_000, 1_000)}[size]
    return uniform.make(folder, rows, queries, 128) | truth.make(folder, "sqeuclidean")


DATA_SETS = {
    "sift-1m": DataSet("SIFT of photographs and paintings, 128 x u8, with known correspondences",
                       ("numpy", "opencv-python-headless"), descriptors_by("sift")),
    "sift-10m": DataSet("the same of more views, with fainter keypoints",
                        ("numpy", "opencv-python-headless"), make_sift_10m),
    "sift-pair-8k": DataSet("SIFT of two images, 128 x u8, with known correspondences",
                            ("numpy", "opencv-python-headless"), pair_of(2_000, 8_000)),
    "sift-pair-45k": DataSet("the same of images with more keypoints",
                             ("numpy", "opencv-python-headless"), pair_of(6_000, 45_000)),
    "rootsift-1m": DataSet("square-rooted sift-1m of unit length, 128 x f32",
                           ("numpy", "opencv-python-headless"), make_rootsift),
    "orb-1m": DataSet("ORB of the same pictures, 256 bits packed in 32 x u8",
                      ("numpy", "opencv-python-headless"), descriptors_by("orb")),
    "bits-512": DataSet("synthetic codes: clusters and near duplicates, 512 bits packed in 64 x u8",
                        ("numpy",), make_bits),
    "bits-256": DataSet("synthetic fingerprints: random codes and near duplicates, 256 bits packed "
                        "in 32 x u8", ("numpy",), make_fingerprints),
    "words": DataSet("English words, and queries one to three edits away",
                     ("numpy", "rapidfuzz"), make_words),
    "emb-768": DataSet("synthetic embeddings: clusters and outlier dimensions, 768 x f32",
                       ("numpy",), make_embeddings),
    "uniform": DataSet("independent uniform values, 128 x f32", ("numpy",), make_uniform),
}


def known(name: str) -> DataSet:
    if name not in DATA_SETS:
        raise ValueError(f"no data set is called {name!r}: there are {', '.join(DATA_SETS)}")
    return DATA_SETS[name]


def folder_of(name: str, size: str, cache: Path) -> Path:
    return cache / name / size


def made(name: str, size: str, cache: Path) -> Path:
    """The folder of the data set, made now if it is not there."""
    data_set, target = known(name), folder_of(name, size, cache)
    if target.exists():
        return target
    print(f"{name} {size}: making it in {target}", flush=True)
    with store.folder_made_whole(target) as folder:
        facts = data_set.make(folder, size, cache)
        used = {package: version(package) for package in data_set.packages}
        store.write_manifest(folder, {"name": name, "size": size, "made_with": used} | facts)
    return target
