"""The memory that a call takes for its arguments: counted before it is allocated."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearfield._arguments import byte_count, flag
from nearfield._errors import InvalidArgumentError, MemoryLimitError


class Copies:
    """Of one call: whether arrays may be copied, and how many bytes that took of its limit."""

    def __init__(
        self, allowed: bool, memory_limit: int | str | None = None, *, for_plan: bool = False
    ) -> None:
        self.allowed = flag("copy", allowed)
        self.limit = None if memory_limit is None else byte_count("memory_limit", memory_limit)
        self.nbytes = 0
        self.for_plan = for_plan  # a plan looks at shapes and types: rows are counted, not copied

    def count(self, nbytes: int) -> None:
        """Raises if so much more is beyond the limit."""
        self.nbytes += nbytes
        if self.limit is not None and self.nbytes > self.limit:
            raise MemoryLimitError(
                f"memory_limit is {self.limit} bytes, and the copies of arrays that cannot be read "
                f"in place take {self.nbytes}: pass rows in C order, or raise the limit"
            )

    def left(self) -> int | None:
        return None if self.limit is None else self.limit - self.nbytes

    def announce(self, name: str, array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> None:
        """Raises if a copy of this type in C order is forbidden or beyond the limit."""
        if not self.allowed:
            other_type = "" if dtype == array.dtype else f", dtype=numpy.{dtype}"
            raise InvalidArgumentError(
                f"{name} of shape {array.shape} and strides {array.strides} cannot be read in "
                "place, and copy=False forbids a copy: pass "
                f"numpy.array({name}{other_type}, order='C')"
            )
        self.count(array.size * dtype.itemsize)

    def copy(
        self, name: str, array: np.ndarray[Any, Any], dtype: np.dtype[Any]
    ) -> np.ndarray[Any, Any]:
        self.announce(name, array, dtype)
        return np.array(array, dtype, order="C")

    def contiguous(
        self, name: str, array: np.ndarray[Any, Any], dtype: np.dtype[Any]
    ) -> np.ndarray[Any, Any]:
        """The array itself if it is of this type, in C order and aligned, else a copy that is."""
        if array.dtype == dtype and array.flags.c_contiguous and array.flags.aligned:
            return array
        return self.copy(name, array, dtype)

    def explain(self, error: MemoryLimitError) -> MemoryLimitError:
        """An error of the engine, which knows only what the copies left, in the caller's terms."""
        if self.nbytes == 0:
            return error
        return MemoryLimitError(
            f"{error}; memory_limit is {self.limit} bytes, and copies of arrays take {self.nbytes}"
        )
