"""Near-duplicates by blocks: the groups of one call."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nearfield as nf
from nearfield import cluster
from nearfield.cluster._duplicates import first_of_groups


@pytest.mark.parametrize("block", [70, 150, 1000])
def test_as_one_call(tmp_path: Path, block: int) -> None:
    draw = np.random.default_rng(0)
    kinds = draw.integers(0, 256, (60, 32), dtype=np.uint8)
    flips = (draw.random((500, 256)) < 0.04).astype(np.uint8)
    codes = kinds[draw.integers(0, 60, 500)] ^ np.packbits(flips, axis=1, bitorder="little")
    path = tmp_path / "codes.u8bin"
    nf.write(path, codes)
    expected = nf.dedup(nf.bits(codes, 256), 18).first_of
    blocks = -(-500 // block)
    parts = cluster.dedup(tmp_path / "job", path, 256, 18, block=block)
    assert parts == max(1, blocks * (blocks - 1) // 2)
    assert cluster.read_first_of(tmp_path / "job").tolist() == expected.tolist()
    assert 60 < len(np.unique(expected)) < 400  # some are joined through others, some are alone


def test_chains_are_followed_to_their_first() -> None:
    rows = 1000
    order = np.random.default_rng(1).permutation(rows)
    assert not first_of_groups(rows, order[1:], order[:-1]).any()
    alone = first_of_groups(4, np.array([3]), np.array([1]))
    assert alone.tolist() == [0, 1, 2, 1]


def test_numbers_are_not_codes(tmp_path: Path) -> None:
    path = tmp_path / "rows.fbin"
    nf.write(path, np.zeros((3, 4), np.float32))
    with pytest.raises(nf.InvalidArgumentError, match="how many there are a row"):
        cluster.dedup(tmp_path / "job", path, 0)
