"""nf.match: descriptors of two images that belong together."""

import numpy as np
import pytest

import nearfield as nf


def descriptors(count: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 40, (count, 16), dtype=np.uint8)


def by_hand(
    first: np.ndarray, second: np.ndarray, ratio: float, check: str
) -> set[tuple[int, int]]:
    differences = first.astype(float)[:, None] - second.astype(float)[None]
    distances = np.sqrt((differences**2).sum(axis=2))

    def tested(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        two = np.sort(table, axis=1)[:, :2]
        return table.argmin(axis=1), two[:, 0] < ratio * two[:, 1]

    (forward, passes), (backward, passes_back) = tested(distances), tested(distances.T)
    found = {(i, int(j)) for i, j in enumerate(forward) if passes[i]}
    if check == "nearest":
        found = {(i, j) for i, j in found if backward[j] == i}
    if check == "tested":
        found = {(i, j) for i, j in found if backward[j] == i and passes_back[j]}
    return found


@pytest.mark.parametrize("check", ["none", "nearest", "tested"])
@pytest.mark.parametrize("ratio", [0.85, 0.97, 1.0])
def test_equals_numpy(ratio: float, check: str) -> None:
    first, second = descriptors(300), descriptors(250, seed=2)
    for kind in np.uint8, np.float32:
        found = nf.match(first.astype(kind), second.astype(kind), ratio=ratio, cross_check=check)
        expected = by_hand(first, second, ratio, check)
        assert set(zip(found.first.tolist(), found.second.tolist(), strict=True)) == expected
        assert expected
        assert found.exact
        assert (np.diff(found.distances) >= 0).all()


def test_a_ratio_of_one_rejects_ties() -> None:
    same = np.zeros((2, 4), np.uint8)
    assert len(nf.match(same, same, ratio=1).first) == 0
    assert nf.match(same, same, ratio=None).first.tolist() == [0]


def test_binary_descriptors_by_margin() -> None:
    bits = np.random.default_rng(3).integers(0, 256, (50, 32), dtype=np.uint8)
    noisy = bits.copy()
    noisy[:, 0] ^= 1
    first, second = nf.bits(bits, 256), nf.bits(noisy, 256)
    found = nf.match(first, second, ratio=None, margin=20, metric="hamming")
    assert found.first.tolist() == found.second.tolist() == list(range(50))
    assert (found.distances == 1).all()


def test_an_image_without_descriptors() -> None:
    none = np.empty((0, 16), np.uint8)
    some = descriptors(5)
    for found in nf.match(none, some), nf.match(some, none), nf.match(none, none):
        assert len(found.first) == len(found.second) == len(found.distances) == 0
        assert found.exact


def test_mistakes() -> None:
    rows = descriptors(5)
    with pytest.raises(nf.InvalidArgumentError, match=r"ratio.*0"):
        nf.match(rows, rows, ratio=0)
    with pytest.raises(nf.InvalidArgumentError, match="true distances"):
        nf.match(rows, rows, metric="sqeuclidean")
    with pytest.raises(nf.InvalidArgumentError, match="none, nearest and tested"):
        nf.match(rows, rows, cross_check="both")
