"""Errors: what they are, and what they say."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import nearfield as nf
from definition import integers

ROWS = integers(20, 3)


@pytest.mark.parametrize(
    ("kind", "base", "code"),
    [
        (nf.InvalidArgumentError, ValueError, "invalid_argument"),
        (nf.UnsupportedError, NotImplementedError, "unsupported"),
        (nf.NotFiniteError, ValueError, "not_finite"),
        (nf.MemoryLimitError, MemoryError, "memory_limit"),
        (nf.CancelledError, Exception, "cancelled"),
        (nf.DeadlineError, TimeoutError, "deadline_exceeded"),
        (nf.FileError, OSError, "io"),
        (nf.CorruptFileError, ValueError, "corrupt_file"),
    ],
)
def test_each_is_what_python_calls_it(kind: type[nf.Error], base: type, code: str) -> None:
    assert issubclass(kind, nf.Error)
    assert issubclass(kind, base)
    assert kind.code == code
    copy = pickle.loads(pickle.dumps(kind("12 rows")))
    assert type(copy) is kind
    assert str(copy) == "12 rows"


def test_every_code_of_the_library_has_one() -> None:
    from pathlib import Path

    header = Path(__file__).parents[2] / "include" / "nearfield" / "error.hpp"
    lines = header.read_text().partition("enum class ErrorCode {")[2].partition("}")[0]
    codes = {line.split(",")[0].strip() for line in lines.strip().splitlines()}
    from nearfield._errors import BY_CODE

    assert set(BY_CODE) == codes


def test_check_finite_names_the_row() -> None:
    rows = ROWS.copy()
    rows[7, 1] = np.nan
    with pytest.raises(nf.NotFiniteError, match="7") as raised:
        nf.knn(ROWS, rows, check_finite=True)
    assert raised.value.code == "not_finite"


def test_an_unknown_metric_lists_the_known() -> None:
    with pytest.raises(nf.InvalidArgumentError, match=r"'l3'.*sqeuclidean.*lp:P"):
        nf.knn(ROWS, ROWS, metric="l3")


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"k": 2.5}, TypeError, r"k must be an integer, got 2\.5"),
        ({"k": True}, TypeError, "k must be an integer, got True"),
        ({"k": -1}, nf.InvalidArgumentError, "-1"),
        ({"k": 2**70}, nf.InvalidArgumentError, f"k is {2**70}, expected at most"),
        ({"metric": 3}, TypeError, "metric must be a str, got 3"),
        ({"exclude_self": 1}, TypeError, "exclude_self must be True or False, got 1"),
        ({"copy": None}, TypeError, "copy must be True or False, got None"),
        ({"check_finite": None}, TypeError, "check_finite must be True or False"),
        ({"threads": -1}, nf.InvalidArgumentError, "-1"),
        ({"threads": 2**31}, nf.InvalidArgumentError, "threads is 2147483648"),
        ({"threads": "2"}, TypeError, "threads must be an integer, got '2'"),
        ({"isa": "mmx"}, nf.InvalidArgumentError, "mmx"),
        ({"memory_limit": "12X"}, nf.InvalidArgumentError, r"memory_limit is '12X'.*'512M'"),
        ({"memory_limit": "M"}, nf.InvalidArgumentError, "memory_limit is 'M'"),
        ({"memory_limit": 1.5}, TypeError, "memory_limit must be an integer"),
        ({"memory_limit": -5}, nf.Error, "-5"),
        ({"timeout": -1}, nf.InvalidArgumentError, r"timeout is -1\.0, expected 0 to"),
        ({"timeout": float("nan")}, nf.InvalidArgumentError, "timeout is nan"),
        ({"timeout": float("inf")}, nf.InvalidArgumentError, "timeout is inf"),
        ({"timeout": "1"}, TypeError, "timeout must be a number, got '1'"),
        ({"progress": 5}, TypeError, r"progress must be True or a callable\(done, total\), got 5"),
    ],
)
def test_plain_arguments(arguments: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        nf.knn(ROWS, ROWS, **arguments)


def test_radius_and_count() -> None:
    with pytest.raises(TypeError, match="radius must be a number, got 'far'"):
        nf.within(ROWS, ROWS, "far")  # type: ignore[arg-type]
    with pytest.raises(nf.InvalidArgumentError, match="NaN"):
        nf.within(ROWS, ROWS, float("nan"))
    with pytest.raises(nf.InvalidArgumentError, match=r"radius is larger than any float64.*1\.79"):
        nf.within(ROWS, ROWS, 10**400)
    with pytest.raises(TypeError, match="count must be an integer"):
        nf.pairs(ROWS, count=1.5)  # type: ignore[arg-type]


def test_an_unknown_argument_is_not_ignored() -> None:
    with pytest.raises(TypeError, match="n_jobs"):
        nf.knn(ROWS, ROWS, n_jobs=2)  # type: ignore[call-arg]
