"""Vectors that are kept under ids."""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfield as nf


def _vectors(rows: int, cols: int = 8, seed: int = 0, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 50, size=(rows, cols)).astype(dtype)


def _index(vectors: np.ndarray, ids: object = None, **options: object) -> nf.Index:
    index = nf.Index(dim=vectors.shape[1], dtype=vectors.dtype, **options)  # type: ignore[arg-type]
    index.add(vectors, ids)  # type: ignore[arg-type]
    return index


@pytest.mark.parametrize("metric", ["sqeuclidean", "cosine", "l1"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "uint8"])
def test_answers_are_those_of_knn(metric: str, dtype: str) -> None:
    vectors = _vectors(400, dtype=dtype)
    index = _index(vectors, metric=metric)
    expected = nf.knn(vectors[:30], vectors, 7, metric)
    found = index.search(vectors[:30], k=7)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.keys, expected.keys)
    assert found.exact
    radius = float(expected.distances[0, 3])
    np.testing.assert_array_equal(
        index.within(vectors[:3], radius).ids, nf.within(vectors[:3], vectors, radius, metric).ids
    )


def test_ties_are_by_id() -> None:
    index = _index(np.zeros((4, 2), np.float32), [9, 3, -7, 5])
    assert index.search(np.zeros((1, 2), np.float32), k=3).ids.tolist() == [[-7, 3, 5]]


def test_ids_are_kept() -> None:
    vectors = _vectors(6)
    index = nf.Index("flat", dim=8, dtype="float32")
    assert index.add(vectors[:2]).tolist() == [0, 1]
    assert index.add(vectors[2:4], ids=[100, 50]).tolist() == [100, 50]
    assert index.add(vectors[4:5]).tolist() == [101]
    assert index.remove([101, 777]) == 1
    assert index.add(vectors[5:6]).tolist() == [102]
    assert sorted(index.ids.tolist()) == [0, 1, 50, 100, 102]
    assert 50 in index
    assert 101 not in index
    assert len(index) == 5
    np.testing.assert_array_equal(index.get([50, 0]), vectors[[3, 0]])
    assert index.upsert(vectors[:2], ids=np.array([50, 60], np.int32)) == 1
    np.testing.assert_array_equal(index.get(range(50, 61, 10)), vectors[:2])


def test_changes_by_as_many_threads_as_are_given(tmp_path: Path) -> None:
    saved = []
    for threads in (0, 1, 3):
        index = _index(_vectors(300))
        index.add(_vectors(200), threads=threads)
        index.upsert(_vectors(2), ids=[7, 900], threads=threads)
        index.remove([3])
        index.compact(threads=threads)
        index.save(tmp_path / "index.nf", threads=threads)
        saved.append((tmp_path / "index.nf").read_bytes())
    assert saved[0] == saved[1] == saved[2]
    changes: list[Callable[[Any], object]] = [
        lambda threads: index.add(_vectors(1), threads=threads),
        lambda threads: index.upsert(_vectors(1), ids=[0], threads=threads),
        lambda threads: index.compact(threads=threads),
        lambda threads: index.save(tmp_path / "other.nf", threads=threads),
    ]
    for change in changes:
        with pytest.raises(TypeError, match="threads must be an integer, got 'two'"):
            change("two")
    with pytest.raises(nf.InvalidArgumentError, match=r"threads are 0 .* got -1"):
        index.save(tmp_path / "other.nf", threads=-1)
    assert len(index) == 500
    assert not (tmp_path / "other.nf").exists()


def test_changes_keep_to_a_memory_limit(tmp_path: Path) -> None:
    index = _index(_vectors(3000))
    index.remove(range(100))
    path = tmp_path / "index.nf"
    changes: list[Callable[[Any], object]] = [
        lambda limit: index.compact(memory_limit=limit),
        lambda limit: index.add(_vectors(3000), memory_limit=limit),
        lambda limit: index.upsert(_vectors(3000), ids=range(3000), memory_limit=limit),
        lambda limit: index.save(path, memory_limit=limit),
    ]
    for change in changes:
        size = len(index)
        with pytest.raises(nf.MemoryLimitError, match="limit is 1000"):
            change(1000)
        assert len(index) == size
        assert not path.exists()
        change("64M")

    coded = nf.Index("coded,codebooks=2,bits=4,iterations=1,train=300", dim=8)
    coded.add(_vectors(3000))
    coded.save(path)
    with pytest.raises(nf.MemoryLimitError, match="limit is 1000"):
        nf.verify_index(path, memory_limit=1000)
    nf.verify_index(path, threads=1, memory_limit="64M")
    with pytest.raises(TypeError, match="threads must be an integer, got 'two'"):
        nf.verify_index(path, threads="two")  # type: ignore[arg-type]


def test_vectors_are_replaced_where_they_are_added() -> None:
    with pytest.raises(nf.UnsupportedError, match="device"):
        _index(_vectors(3)).upsert(_vectors(1), ids=[0], device="opencl")


def test_what_is_refused_changes_nothing() -> None:
    index = _index(_vectors(3))
    with pytest.raises(nf.InvalidArgumentError, match="the id 1 is in the index already"):
        index.add(_vectors(2), ids=[7, 1])
    with pytest.raises(nf.InvalidArgumentError, match="the id 7 is given to more than one"):
        index.upsert(_vectors(2), ids=[7, 7])
    with pytest.raises(nf.InvalidArgumentError, match='the id -1 stands for "not found"'):
        index.add(_vectors(1), ids=[-1])
    with pytest.raises(nf.InvalidArgumentError, match="there are 3 ids for 2 vectors"):
        index.add(_vectors(2), ids=[7, 8, 9])
    with pytest.raises(nf.InvalidArgumentError, match="8 columns of f32, the vectors have 5"):
        index.add(_vectors(2, 5))
    with pytest.raises(nf.InvalidArgumentError, match="the id 5 is not in the index"):
        index.get([0, 5])
    with pytest.raises(nf.InvalidArgumentError, match="ids has dtype float64"):
        index.remove(np.zeros(2))
    with pytest.raises(nf.InvalidArgumentError, match="only and without"):
        index.search(_vectors(1), only=[1], without=[2])
    with pytest.raises(nf.InvalidArgumentError, match="there is no index 'tree': there are flat"):
        nf.Index("tree", dim=3)
    with pytest.raises(nf.InvalidArgumentError, match="dtype is 'complex64'"):
        nf.Index(dim=3, dtype="complex64")
    assert index.ids.tolist() == [0, 1, 2]


def test_filters_are_of_ids() -> None:
    vectors = _vectors(200)
    index = _index(vectors, np.arange(200) * 3)
    allowed = [6, 9, 300, 5]  # 5 is none
    rows = [2, 3, 100]
    expected = nf.knn(vectors[:4], vectors[rows], 3)
    found = index.search(vectors[:4], k=3, only=allowed)
    np.testing.assert_array_equal(found.ids, np.array(rows)[expected.ids] * 3)
    without = index.search(vectors[:4], k=1, without=(0, 3, 6, 9))
    assert not set(without.ids.ravel()) & {0, 3, 6, 9}
    assert (index.search(vectors[:2], k=2, only=[]).counts == 0).all()


def test_bits_and_bfloat16() -> None:
    packed = np.random.default_rng(0).integers(0, 256, size=(30, 2)).astype(np.uint8)
    packed[:, 1] &= 0x0F
    index = nf.Index(dim=12, dtype="bits", metric="hamming")
    index.add(nf.bits(packed, 12))
    got = index.get([3])
    assert isinstance(got, nf.Bits)
    assert got.nbits == 12
    np.testing.assert_array_equal(got.packed, packed[3:4])
    ml_dtypes = pytest.importorskip("ml_dtypes")
    half = _vectors(5).astype(ml_dtypes.bfloat16)
    index = _index(half)
    assert index.dtype == "bf16"
    np.testing.assert_array_equal(index.get([2]), half[2:3])


def test_saved_and_opened(tmp_path: Path) -> None:
    vectors = _vectors(500)
    index = _index(vectors, metric="euclidean")
    index.remove(range(0, 500, 7))
    path = tmp_path / "things.nf"
    index.save(path)
    nf.verify_index(path)
    with nf.Index.open(path) as opened:
        assert repr(opened) == "Index('flat', size=428, dim=8, dtype='f32', metric='euclidean')"
        assert opened.stats.mapped == opened.stats.nbytes > 0
        np.testing.assert_array_equal(opened.search(vectors[:9]).ids, index.search(vectors[:9]).ids)
        assert opened.add(vectors[:1]).tolist() == [500]
        opened.remove([1])
        assert opened.stats.parts == 2
        assert len(opened) == 428
    with pytest.raises(nf.InvalidArgumentError, match="the index is closed"):
        len(opened)
    assert len(nf.Index.open(path)) == 428  # the file stays as it was


def test_any_reader_of_safetensors_opens_it(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    vectors = _vectors(33, 5)
    _index(vectors, np.arange(33) + 1000).save(tmp_path / "a.nf")
    tensors = safetensors.load_file(tmp_path / "a.nf")
    np.testing.assert_array_equal(tensors["rows"], vectors)
    np.testing.assert_array_equal(tensors["ids"], np.arange(33) + 1000)


@pytest.mark.parametrize("columns", [5, 8])
def test_bytes_are_taken_out_of_the_tiles_of_a_file(tmp_path: Path, columns: int) -> None:
    """As docs/indexes.md has it."""
    safetensors = pytest.importorskip("safetensors.numpy")
    vectors = _vectors(99, columns, dtype="uint8")
    _index(vectors).save(tmp_path / "a.nf")
    tensors = safetensors.load_file(tmp_path / "a.nf")
    assert "rows" not in tensors
    tiles = tensors["packed.values"][:-1024].reshape(-1, (columns + 3) // 4, 16, 4)
    rows = tiles.transpose(0, 2, 1, 3).reshape(-1, (columns + 3) // 4 * 4)[:99, :columns] ^ 128
    np.testing.assert_array_equal(rows, vectors)


def test_changed_bytes_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.nf"
    _index(_vectors(20)).save(path)
    good = path.read_bytes()
    path.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    with pytest.raises(nf.CorruptFileError, match=r"packed\.centre"):
        nf.verify_index(path)
    path.write_bytes(good[:-1])
    with pytest.raises(nf.CorruptFileError):
        nf.Index.open(path)
    with pytest.raises(nf.FileError):
        nf.Index.open(tmp_path / "none")


def test_pickled() -> None:
    vectors = _vectors(40)
    index = _index(vectors, np.arange(40) - 100)
    copy = pickle.loads(pickle.dumps(index))
    np.testing.assert_array_equal(copy.search(vectors[:3]).ids, index.search(vectors[:3]).ids)
    copy.remove([-100])
    assert -100 in index


def test_readers_beside_a_writer() -> None:
    vectors = _vectors(50)
    index = _index(vectors)
    errors = []

    def read() -> None:
        for _ in range(50):
            if (index.search(vectors[:2], k=200).counts % 50).any():
                errors.append("half of a call")

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(20):
        ids = index.add(vectors)
        index.remove(ids)
    for reader in readers:
        reader.join()
    assert not errors


def test_keys_lead_to_ids_and_back(tmp_path: Path) -> None:
    vectors = _vectors(300)
    names = [f"image-{i}.jpg" for i in range(300)]
    index = nf.Index(dim=8, dtype="float32", keys=True)
    ids = index.add(vectors, keys=names)
    assert index.has_keys
    assert "image-7.jpg" in index
    assert b"image-7.jpg" in index
    assert "image-300.jpg" not in index
    found = index.search(vectors[:20], k=3)
    assert index.keys_of(found.ids[:, 0]) == [names[i].encode() for i in found.ids[:, 0]]
    assert index.upsert(vectors[:2], keys=["image-5.jpg", "new\0\xff"]) == 1
    assert index.ids_of(["image-5.jpg", "new\0\xff", "nothing"]).tolist() == [ids[5], 300, -1]
    np.testing.assert_array_equal(index.get([ids[5]]), vectors[:1])
    assert index.upsert(vectors[9:10], ids=[ids[5]]) == 1
    assert index.keys_of([ids[5], -1]) == [b"image-5.jpg", b""]
    assert index.remove(keys=["image-0.jpg", "image-0.jpg", "nothing"]) == 1
    index.save(tmp_path / "index.nf")
    nf.verify_index(tmp_path / "index.nf")
    with nf.Index.open(tmp_path / "index.nf") as opened:
        assert opened.has_keys
        assert len(opened) == 300
        assert "image-0.jpg" not in opened
        assert opened.ids_of(names[1:]).tolist() == list(range(1, 300))
        assert opened.keys_of(opened.ids) == index.keys_of(index.ids)
        assert opened.add(vectors[:1], keys=["image-0.jpg"]).tolist() == [301]
        opened.compact()
        assert opened.ids_of(["image-0.jpg", "image-1.jpg"]).tolist() == [301, 1]
    with pytest.raises(nf.InvalidArgumentError, match=r"image-9\.jpg"):
        index.add(vectors[:1], keys=["image-9.jpg"])
    with pytest.raises(nf.InvalidArgumentError, match="more than one"):
        index.add(vectors[:2], keys=["a", "a"])
    with pytest.raises(nf.InvalidArgumentError, match="2 keys for 1"):
        index.add(vectors[:1], keys=["a", "b"])
    with pytest.raises(nf.InvalidArgumentError, match="has keys"):
        index.add(vectors[:1])
    with pytest.raises(nf.InvalidArgumentError, match="has no keys"):
        _index(vectors).keys_of([1])
    with pytest.raises(TypeError, match="list"):
        index.ids_of("image-1.jpg")
    assert len(index) == 300


def test_vectors_of_another_type_say_how_to_convert_them() -> None:
    packed = np.zeros((3, 4), np.uint8)
    index = nf.Index(dim=32, dtype="bits", metric="hamming")
    wrong = r"{} has dtype uint8: pass nearfield\.bits\({}, 32\)"
    with pytest.raises(nf.InvalidArgumentError, match=wrong.format("vectors", "vectors")):
        index.add(packed)
    with pytest.raises(nf.InvalidArgumentError, match=wrong.format("vectors", "vectors")):
        index.upsert(packed, ids=[1, 2, 3])
    index.add(nf.bits(packed, 32))
    with pytest.raises(nf.InvalidArgumentError, match=wrong.format("queries", "queries")):
        index.search(packed)
    with pytest.raises(nf.InvalidArgumentError, match=wrong.format("queries", "queries")):
        index.within(packed, 3)

    index = nf.Index(dim=4)
    with pytest.raises(
        nf.InvalidArgumentError,
        match=r"holds float32, .* float64: convert with vectors\.astype\(numpy\.float32\)",
    ):
        index.add(np.zeros((2, 4)))
    with pytest.raises(nf.InvalidArgumentError, match="vectors are packed bits: make an index of"):
        index.add(nf.bits(packed, 32))
    with pytest.raises(nf.InvalidArgumentError, match=r"astype\(ml_dtypes\.bfloat16\)"):
        nf.Index(dim=4, dtype="bf16").add(np.zeros((2, 4)))


@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "float16", "uint8", "int8", "bfloat16", "bits"]
)
def test_types_are_told_to_numpy(dtype: str, tmp_path: Path) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    metric = "hamming" if dtype == "bits" else "sqeuclidean"
    index = nf.Index(dim=8, dtype=dtype, metric=metric)
    expected = "uint8" if dtype == "bits" else dtype
    assert index.numpy_dtype.name == expected
    rows = np.zeros((3, 8), index.numpy_dtype)
    index.add(nf.bits(rows[:, :1], 8) if dtype == "bits" else rows)
    held = index.get([0])
    assert (held.packed if isinstance(held, nf.Bits) else held).dtype == index.numpy_dtype
    if dtype in ("float32", "uint8"):
        nf.write(tmp_path / "rows.npy", rows)
        assert nf.open_rows(tmp_path / "rows.npy").numpy_dtype == index.numpy_dtype


def test_bfloat16_wants_ml_dtypes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    index = nf.Index(dim=8, dtype="bf16")
    with pytest.raises(nf.UnsupportedError, match="install ml_dtypes"):
        _ = index.numpy_dtype


def test_what_is_neither_true_nor_false(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="keys must be True or False, got 'no'"):
        nf.Index(dim=2, keys="no")  # type: ignore[arg-type]
    nf.Index(dim=2).save(tmp_path / "index.nf")
    with pytest.raises(TypeError, match="read_only must be True or False, got 'no'"):
        nf.Index.open(tmp_path / "index.nf", read_only="no")  # type: ignore[arg-type]


def test_limits_and_read_only(tmp_path: Path) -> None:
    index = _index(_vectors(20))
    path = tmp_path / "index.nf"
    index.save(path)
    with pytest.raises(nf.UnsupportedError, match="limit"):
        nf.Index.open(path, max_bytes=100)
    with pytest.raises(nf.UnsupportedError, match="limit"):
        nf.Index.open(path, max_dim=7)
    with nf.Index.open(path, read_only=True, max_dim=8) as opened:
        with pytest.raises(nf.InvalidArgumentError, match="read only"):
            opened.remove([1])
        assert opened.search(_vectors(1), k=1).ids.tolist() == [[0]]
