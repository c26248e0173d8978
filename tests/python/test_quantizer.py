"""Vectors as codes."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import nearfield as nf

KINDS = ["pq", "opq", "rq", "lsq"]
SMALL: dict[str, Any] = {"codebooks": 4, "bits": 4, "iterations": 3}


@pytest.fixture(scope="module")
def vectors() -> NDArray[np.float32]:
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(10, 12)) * 5
    return (centres[rng.integers(10, size=500)] + rng.normal(size=(500, 12))).astype(np.float32)


@pytest.mark.parametrize("kind", KINDS)
def test_decoded_codes_are_sums_of_codewords(vectors: NDArray[np.float32], kind: str) -> None:
    quantizer = nf.Quantizer.train(vectors, kind=kind, **SMALL)
    codes = quantizer.encode(vectors)
    assert codes.shape == (500, quantizer.code_bytes) == (500, 2)
    books = quantizer.codebooks
    assert books.shape == (4, 16, 12)
    unpacked = np.stack([codes[:, 0] & 15, codes[:, 0] >> 4, codes[:, 1] & 15, codes[:, 1] >> 4])
    expected = sum(books[k][unpacked[k]] for k in range(4))
    np.testing.assert_allclose(quantizer.decode(codes), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        quantizer.squared_errors(vectors, codes),
        ((vectors - expected) ** 2).sum(1),
        rtol=1e-3,
        atol=1e-4,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_opened(vectors: NDArray[np.float32], kind: str, tmp_path: Path) -> None:
    quantizer = nf.Quantizer.train(vectors, kind=kind, seed=3, **SMALL)
    quantizer.save(tmp_path / "quantizer.safetensors")
    opened = nf.Quantizer.open(tmp_path / "quantizer.safetensors")
    assert opened.options == quantizer.options
    assert opened.options["seed"] == 3
    np.testing.assert_array_equal(opened.errors, quantizer.errors)
    np.testing.assert_array_equal(opened.encode(vectors), quantizer.encode(vectors))


def test_pickled(vectors: NDArray[np.float32]) -> None:
    quantizer = nf.Quantizer.train(vectors, seed=3, **SMALL)
    copy = pickle.loads(pickle.dumps(quantizer))
    assert copy.options == quantizer.options
    np.testing.assert_array_equal(copy.codebooks, quantizer.codebooks)
    np.testing.assert_array_equal(copy.encode(vectors), quantizer.encode(vectors))


@pytest.mark.parametrize("kind", KINDS)
def test_options_train_another_like_it(vectors: NDArray[np.float32], kind: str) -> None:
    quantizer = nf.Quantizer.train(vectors, kind=kind, seed=3, **SMALL)
    again = nf.Quantizer.train(vectors, **quantizer.options)
    assert again.options == quantizer.options
    np.testing.assert_array_equal(again.codebooks, quantizer.codebooks)


def test_codes_hang_on_values_alone(vectors: NDArray[np.float32]) -> None:
    quantizer = nf.Quantizer.train(vectors, rounds=4, train_rounds=2, **SMALL)
    codes = quantizer.encode(vectors, threads=1)
    np.testing.assert_array_equal(quantizer.encode(vectors[::-1].copy(), threads=3)[::-1], codes)
    np.testing.assert_array_equal(quantizer.encode(vectors[7:8]), codes[7:8])


def test_goes_on_from_a_checkpoint(vectors: NDArray[np.float32], tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    first = nf.Quantizer.train(vectors, checkpoint=path, **SMALL)
    assert path.exists()
    again = nf.Quantizer.train(vectors, checkpoint=path, **SMALL)
    np.testing.assert_array_equal(again.codebooks, first.codebooks)
    with pytest.raises(nf.InvalidArgumentError, match="seed"):
        nf.Quantizer.train(vectors, checkpoint=path, seed=1, **SMALL)


@pytest.mark.parametrize("kind", ["opq", "lsq"])
def test_each_iteration_says_its_error(vectors: NDArray[np.float32], kind: str) -> None:
    heard: list[tuple[int, float]] = []
    quantizer = nf.Quantizer.train(
        vectors, kind=kind, iteration=lambda number, error: heard.append((number, error)), **SMALL
    )
    assert heard == list(enumerate(quantizer.errors.tolist(), 1))
    assert len(heard) == 3


def test_what_an_iteration_raises_ends_the_training(vectors: NDArray[np.float32]) -> None:
    heard: list[int] = []

    def stop_at_two(number: int, error: float) -> None:
        heard.append(number)
        if number == 2:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):  # of 10,000 iterations, which take a minute
        nf.Quantizer.train(vectors, **{**SMALL, "iterations": 10_000}, iteration=stop_at_two)
    assert heard == [1, 2]
    # Also in the last, when training has ended.
    with pytest.raises(KeyError, match="enough"):
        nf.Quantizer.train(vectors, **{**SMALL, "iterations": 2}, iteration=stop_at_two)
    for kind in "pq", "rq":
        with pytest.raises(nf.UnsupportedError, match="iteration"):
            nf.Quantizer.train(vectors, kind=kind, **SMALL, iteration=stop_at_two)
    with pytest.raises(TypeError, match="iteration"):
        nf.Quantizer.train(vectors, **SMALL, iteration=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_writes_an_index(vectors: NDArray[np.float32], kind: str, tmp_path: Path) -> None:
    quantizer = nf.Quantizer.train(vectors, kind=kind, **SMALL)
    done: list[tuple[int, int]] = []
    assert (
        quantizer.encode_index(
            vectors,
            tmp_path / "codes.nf",
            metric="euclidean",
            progress=lambda now, total: done.append((now, total)),
        )
        == 0
    )
    assert done[-1][0] == done[-1][1] > 500  # bytes
    assert all(now <= total for now, total in done)
    nf.verify_index(tmp_path / "codes.nf")
    about = quantizer.decode(quantizer.encode(vectors))
    expected = nf.knn(vectors[:20], about, k=5, metric="euclidean")
    with nf.Index.open(tmp_path / "codes.nf") as index:
        assert index.metric == "euclidean"
        np.testing.assert_array_equal(index.ids, np.arange(500))
        found = index.search(vectors[:20], k=5)
        np.testing.assert_allclose(found.distances, expected.distances, atol=0.01)
    nf.write(tmp_path / "vectors.fbin", vectors)
    rows = nf.open_rows(tmp_path / "vectors.fbin")
    assert quantizer.encode_index(rows, tmp_path / "again.nf", metric="euclidean") == 0
    assert (tmp_path / "again.nf").read_bytes() == (tmp_path / "codes.nf").read_bytes()


def test_an_index_has_a_metric_and_norms_of_its_kind(
    vectors: NDArray[np.float32], tmp_path: Path
) -> None:
    quantizer = nf.Quantizer.train(vectors, **SMALL)
    path = tmp_path / "codes.nf"
    quantizer.encode_index(vectors, path)
    exact = path.stat().st_size
    quantizer.encode_index(vectors, path, byte_norms=True)
    assert path.stat().st_size < exact
    with pytest.raises(nf.InvalidArgumentError, match="l1"):
        quantizer.encode_index(vectors, path, metric="l1")
    product = nf.Quantizer.train(vectors, kind="pq", **SMALL)
    with pytest.raises(nf.InvalidArgumentError, match="norms"):
        product.encode_index(vectors, path, byte_norms=True)
    with pytest.raises(nf.MemoryLimitError, match="500 codes"):
        quantizer.encode_index(vectors, path, memory_limit="1M")


def test_errors_name_what_is_wrong(vectors: NDArray[np.float32]) -> None:
    with pytest.raises(nf.InvalidArgumentError, match="pq, opq, rq, lsq"):
        nf.Quantizer.train(vectors, kind="aq")
    with pytest.raises(nf.InvalidArgumentError, match="bits is 5"):
        nf.Quantizer.train(vectors, bits=5)
    with pytest.raises(nf.InvalidArgumentError, match="seed is -1"):
        nf.Quantizer.train(vectors, seed=-1)
    with pytest.raises(nf.InvalidArgumentError, match=r"^rounds belongs to lsq, .* of pq: leave"):
        nf.Quantizer.train(vectors, kind="pq", rounds=4)
    with pytest.raises(nf.InvalidArgumentError, match=r"^beam belongs to rq, .* of lsq: leave"):
        nf.Quantizer.train(vectors, beam=4)
    with pytest.raises(TypeError, match="sweeps must be an integer"):
        nf.Quantizer.train(vectors, sweeps="4")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="train or"):
        nf.Quantizer()
    quantizer = nf.Quantizer.train(vectors, **SMALL)
    with pytest.raises(nf.InvalidArgumentError, match="12 columns"):
        quantizer.encode(vectors[:, :5].copy())
    no_codes: Any = [[1, 2]]
    with pytest.raises(TypeError, match="codes is a list, expected an array of uint8, as encode"):
        quantizer.decode(no_codes)
    with pytest.raises(nf.InvalidArgumentError, match="codes has dtype int64, expected an array"):
        quantizer.squared_errors(vectors[:1], np.array(no_codes))
    wrong = vectors.copy()
    wrong[3, 2] = np.nan
    with pytest.raises(nf.NotFiniteError, match="row 3"):
        quantizer.encode(wrong)
    with pytest.raises(nf.MemoryLimitError):
        quantizer.encode(vectors, memory_limit=1000)


def test_says_what_it_is(vectors: NDArray[np.float32]) -> None:
    quantizer = nf.Quantizer.train(vectors, kind="pq", **SMALL)
    assert repr(quantizer) == "<nearfield.Quantizer pq: 4 codebooks of 4 bits, dim=12>"
    assert quantizer.dim == 12
    assert len(quantizer.errors) == 1


GOLDEN = Path(__file__).parent / "golden_quantizers"
GOLDEN_CODES = {
    "pq": [[255, 0], [205, 0], [0, 10], [15, 1], [155, 9], [171, 2]],
    "opq": [[255, 0], [205, 0], [0, 10], [15, 1], [155, 2], [171, 2]],
    "rq": [[253, 0], [88, 5], [140, 2], [15, 1], [121, 2], [147, 2]],
    "lsq": [[122, 14], [58, 2], [251, 3], [175, 0], [5, 11], [251, 14]],
}


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_earlier_versions_code_as_they_did(kind: str) -> None:
    """Codes that are stored must not change their meaning, nor vectors their codes."""
    quantizer = nf.Quantizer.open(GOLDEN / f"v1-{kind}.safetensors")
    numbers = np.arange(6 * 5)
    vectors = ((numbers * 37 % 101) * (numbers % 7 + 1) % 50).astype(np.float32).reshape(6, 5)
    np.testing.assert_array_equal(quantizer.encode(vectors), GOLDEN_CODES[kind])
