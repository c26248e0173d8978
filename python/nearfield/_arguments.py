"""Plain arguments, checked: the errors name the argument and what it got."""

from __future__ import annotations

import operator
import os
import re
import sys
from typing import SupportsFloat, SupportsIndex

import numpy as np

from nearfield._errors import InvalidArgumentError

MOST_INT32 = 2**31 - 1
MOST_INT64 = 2**63 - 1


def integer(name: str, value: SupportsIndex, most: int = MOST_INT64) -> int:
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {value!r}") from None
    if abs(number) > most:
        raise InvalidArgumentError(f"{name} is {number}, expected at most {most}")
    return number


def seed_number(seed: SupportsIndex) -> int:
    number = integer("seed", seed)
    if number < 0:
        raise InvalidArgumentError(f"seed is {number}, expected at least 0")
    return number


def real(name: str, value: SupportsFloat) -> float:
    if isinstance(value, (str, bytes, bytearray)):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        return float(value)
    except TypeError:
        raise TypeError(f"{name} must be a number, got {value!r}") from None
    except OverflowError:
        raise InvalidArgumentError(
            f"{name} is larger than any float64, expected at most {sys.float_info.max}"
        ) from None


def flag(name: str, value: bool) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def text(name: str, value: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, got {value!r}")
    return value


def file_name(name: str, value: str | os.PathLike[str]) -> bytes:
    try:
        return os.fsencode(value)
    except TypeError:
        raise TypeError(f"{name} must be a str or an os.PathLike, got {value!r}") from None


def byte_count(name: str, value: int | str) -> int:
    """A number, or a text such as "512M" or "1.5GiB": powers of 1024, as on the command line."""
    if not isinstance(value, str):
        return integer(name, value)
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)(?:B|([KMGT])(?:i?B)?)?", value, re.IGNORECASE)
    if not parts:
        raise InvalidArgumentError(
            f"{name} is {value!r}, expected a number of bytes: 1048576, '512M' or '1.5GiB' "
            "(powers of 1024)"
        )
    power = "KMGT".index(parts[2].upper()) + 1 if parts[2] else 0
    whole, _, fraction = parts[1].partition(".")
    unit = 1024**power
    return integer(name, int(whole) * unit + int(float(f"0.{fraction or 0}") * unit))
