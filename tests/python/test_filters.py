"""Which rows may be returned: by mask, by packed bits, by ids."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

import definition
import nearfield as nf
from definition import integers
from dlpack_arrays import Tensor

ROWS = integers(77, 3)
ALLOWED = np.random.default_rng(5).random(77) < 0.3
IDS = np.flatnonzero(ALLOWED)


@pytest.mark.parametrize(
    "given",
    [
        ALLOWED,
        np.repeat(ALLOWED, 2)[::2],
        Tensor(ALLOWED),
        nf.bits(np.packbits(ALLOWED, bitorder="little"), 77),
        IDS,
        IDS[::-1].astype(np.uint8),
        IDS.astype(np.uint64),
        IDS.tolist(),
        tuple(IDS.tolist()),
    ],
)
def test_the_same_rows_however_they_are_named(given: Any) -> None:
    ids, _, counts = definition.knn(ROWS[:4], ROWS, 77, allowed=ALLOWED)
    found = nf.knn(ROWS[:4], ROWS, 77, filter=given)
    np.testing.assert_array_equal(found.ids, ids)
    np.testing.assert_array_equal(found.counts, counts)
    within = nf.within(ROWS[:4], ROWS, 1e9, filter=given)
    assert set(within.ids) == set(IDS)
    assert set(nf.graph(ROWS, 3, filter=given).ids.ravel()) <= set(IDS)


def test_no_row_at_all() -> None:
    nothing: Any
    for nothing in [], np.zeros(77, bool), np.array([], np.int64):
        assert nf.knn(ROWS[:2], ROWS, 3, filter=nothing).counts.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (ALLOWED[:76], r"mask of bool of shape \(76,\) for 76 rows.*has 77.*ids"),
        (nf.bits(np.zeros(9, np.uint8), 72), r"packed bits of shape \(9,\) for 72 rows.*has 77"),
        (nf.bits(np.packbits(np.ones(77, bool)), 77), r"after the last of 77.*bitorder=.little"),
        (ALLOWED[None], r"mask of bool of shape \(1, 77\)"),
        (IDS.astype(float), r"dtype float64 .* a mask of bool of shape \(77,\), ids .*integers"),
        (IDS.astype(bfloat16), "dtype bfloat16"),
        (IDS[None], r"dtype int64 and shape \(1, \d+\), expected a mask"),
        ([0.5], "dtype float64"),
        (
            [[1], [2, 3]],
            r"filter is a list of which numpy makes no array .*expected a mask",
        ),
        ([-1], "-1"),
        ([77], "77"),
        (np.array([2**63], np.uint64), "9223372036854775808"),
    ],
)
def test_refused(given: Any, message: str) -> None:
    with pytest.raises(nf.InvalidArgumentError, match=message):
        nf.knn(ROWS, ROWS, filter=given)
