"""nf.dedup against comparing every code with every other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearfield as nf

Array = np.ndarray[Any, Any]


def some_codes(rows: int, nbytes: int, most: int) -> Array:
    """Half of them are others with a few bits changed."""
    random = np.random.default_rng(rows + nbytes)
    codes = random.integers(0, 256, (rows, nbytes), dtype=np.uint8)
    for row in range(1, rows, 2):
        codes[row] = codes[random.integers(0, row)]
        for bit in random.integers(0, 8 * nbytes, random.integers(0, most + 1)):
            codes[row, bit // 8] ^= np.uint8(1 << (bit % 8))
    return codes


def first_by_hand(codes: Array, radius: int) -> list[int]:
    unpacked = np.unpackbits(codes, axis=1).astype(np.int64)
    ones = unpacked.sum(axis=1)
    near = ones[:, None] + ones - 2 * (unpacked @ unpacked.T) <= radius
    first = np.arange(len(codes))
    while True:
        after = np.where(near, first, len(codes)).min(axis=1)
        if np.array_equal(after, first):
            return [int(row) for row in first]
        first = after


@pytest.mark.parametrize("nbytes", [1, 8, 32])
@pytest.mark.parametrize("radius", [0, 2, 9, 300])
def test_groups_are_those_by_hand(nbytes: int, radius: int) -> None:
    codes = some_codes(300, nbytes, radius + 2)
    groups = nf.dedup(nf.bits(codes, 8 * nbytes), radius)
    expected = first_by_hand(codes, radius)
    assert groups.first_of.tolist() == expected
    assert groups.kept.tolist() == sorted(set(expected))
    assert groups.duplicates.tolist() == [i for i, first in enumerate(expected) if first != i]
    assert groups.distinct == len(np.unique(codes, axis=0))
    several = [first for first in sorted(set(expected)) if expected.count(first) > 1]
    assert len(groups) == len(several)
    for number, (first, rows) in enumerate(zip(several, groups, strict=True)):
        assert rows.tolist() == [i for i, other in enumerate(expected) if other == first]
        part = slice(groups.offsets[number], groups.offsets[number + 1])
        differing = np.unpackbits(codes[rows] ^ codes[first], axis=1).sum(axis=1)
        assert groups.distances[part].tolist() == differing.tolist()


def test_like_a_list() -> None:
    codes = np.array([[0], [255], [1], [254], [60]], np.uint8)
    groups = nf.dedup(nf.bits(codes, 8), radius=1, threads=2)
    assert [rows.tolist() for rows in groups[:]] == [[0, 2], [1, 3]]
    assert groups[-1].tolist() == [1, 3]
    assert repr(groups) == "DuplicateGroups(groups=2, duplicates=2)"
    with pytest.raises(IndexError, match="2"):
        groups[2]


def test_of_a_file(tmp_path: Path) -> None:
    codes = some_codes(200, 32, 12)
    nf.write(tmp_path / "codes.u8bin", codes)
    rows = nf.open_rows(tmp_path / "codes.u8bin", bits=256)
    assert nf.dedup(rows).first_of.tolist() == first_by_hand(codes, 31)


def test_says_what_it_did() -> None:
    seen: list[tuple[int, int]] = []
    codes = some_codes(2000, 32, 12)
    groups = nf.dedup(nf.bits(codes, 256), progress=lambda *done: seen.append(done))
    assert seen[-1][0] == seen[-1][1] > 0
    assert groups.stats.pairs_considered > 0
    assert "every code" in groups.stats.plan.filter


def test_errors() -> None:
    codes = some_codes(20, 8, 2)
    with pytest.raises(nf.InvalidArgumentError, match="packed bits"):
        nf.dedup(codes)
    with pytest.raises(nf.InvalidArgumentError, match="-1"):
        nf.dedup(nf.bits(codes, 64), radius=-1)
    with pytest.raises(TypeError, match="radius"):
        nf.dedup(nf.bits(codes, 64), radius=1.5)  # type: ignore[arg-type]
    with pytest.raises(nf.MemoryLimitError, match="20 codes of 64 bits"):
        nf.dedup(nf.bits(codes, 64), memory_limit=100)
