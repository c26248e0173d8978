"""Objects of any kind as the bytes that the engine keeps, and metrics of them."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AnySet
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from nearfield import _core
from nearfield._arguments import flag, integer, real, text
from nearfield._errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

NUMBER_BYTES = 8
# Of a callable: that of any metric that says nothing else.
USUAL_SLACK = 2.0**-40

BatchedMetric: TypeAlias = Callable[[Any, list[Any]], "ArrayLike"]


class HasAddress(Protocol):
    """What numba.cfunc returns."""

    @property
    def address(self) -> int: ...


@dataclass(frozen=True)
class CMetric:
    """A C function as a metric.

    double f(const void* a, int64_t a_bytes, const void* b, int64_t b_bytes)

    It is called from several threads at once, without Python's lock. Objects are bytes, str (as
    UTF-8) or arrays.

    function: what numba.cfunc made, which an index keeps; or an address, whose code the caller must
        keep for as long as the index: of cffi int(ffi.cast("uintptr_t", f)).
    name: for files, which are opened under the metric of the same name only. Two functions without
        one are told apart by the distances between the first objects of a file, if by anything.
    whole_numbers: whether all distances are.
    slack: the part of a distance by which rounding breaks the triangle inequality.
    alignment: objects begin at a multiple of so many bytes, and have one: 8 for float64.
    device_source: the same in OpenCL C, for searches on devices: a function double
        nearfield_distance(__global const uchar* a, uint a_bytes, __global const uchar* b, uint
        b_bytes) that gives the same bits. Some distances are compared; one that differs is an
        error. Without it the CPU computes distances.
    """

    function: int | HasAddress
    name: str = "a C function"
    whole_numbers: bool = False
    slack: float | None = None
    alignment: int = 1
    device_source: str = ""

    def __post_init__(self) -> None:
        checked = {
            "name": text("name", self.name),
            "whole_numbers": flag("whole_numbers", self.whole_numbers),
            "slack": None if self.slack is None else real("slack", self.slack),
            "alignment": integer("alignment", self.alignment),
            "device_source": text("device_source", self.device_source),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if self.address < 1:
            raise InvalidArgumentError(
                f"function is {self.address}, expected the address of a C function: what "
                "numba.cfunc made, or of cffi int(ffi.cast('uintptr_t', f))"
            )

    @property
    def address(self) -> int:
        given: Any = self.function
        return integer("function", getattr(given, "address", given))


MetricLike: TypeAlias = str | CMetric | BatchedMetric


class Objects:
    """How objects become the bytes that the engine keeps, and back."""

    metric: _core.ObjectMetric

    def packed(self, objects: Sequence[Any]) -> list[bytes]:
        raise NotImplementedError

    def unpacked(self, kept: bytes) -> Any:
        raise NotImplementedError

    def forget(self, packed: list[bytes]) -> None:
        """Those of a call that is over."""

    @contextmanager
    def lent(self, name: str, objects: Iterable[Any]) -> Iterator[list[bytes]]:
        """Packed for one call."""
        packed = self.packed(listed(name, objects))
        try:
            yield packed
        finally:
            self.forget(packed)


class _BytesOf(Objects):
    """Objects of a metric that reads bytes."""

    def __init__(self, metric: _core.ObjectMetric, dtype: type[Any] | None = None) -> None:
        self.metric = metric
        self.dtype = dtype  # of arrays; None: bytes or text

    def packed(self, objects: Sequence[Any]) -> list[bytes]:
        return [self._pack(one) for one in objects]

    def _pack(self, one: Any) -> bytes:
        if isinstance(one, bytes):
            return one
        if self.dtype is not None:
            return self._numbers(one, self.dtype).tobytes()
        if isinstance(one, str):
            return one.encode("utf-8", "surrogateescape")
        if isinstance(one, (np.ndarray, bytearray, memoryview)):
            return np.ascontiguousarray(one).tobytes()
        raise TypeError(f"an object must be a str, bytes or an array, got {one!r}")

    @staticmethod
    def _numbers(one: Any, dtype: type[Any]) -> NDArray[Any]:
        if isinstance(one, str):
            raise TypeError(f"an object of this metric must be numbers, got {one!r}")
        return _members(one) if dtype is np.uint64 else np.ascontiguousarray(one, dtype=dtype)

    def unpacked(self, kept: bytes) -> Any:
        if self.dtype is None:
            return kept
        return np.frombuffer(kept, dtype=self.dtype)


class _TextsOf(_BytesOf):
    def _pack(self, one: Any) -> bytes:
        if not isinstance(one, (str, bytes)):
            raise TypeError(
                f"an object is a {type(one).__name__}, and this metric compares texts, str or "
                'bytes: for vectors name a metric of them, such as metric="lp:2"'
            )
        return super()._pack(one)

    def unpacked(self, kept: bytes) -> str:
        return kept.decode("utf-8", "surrogateescape")


class NumberedObjects(Objects):
    """Objects of any kind, which stay here: the engine keeps their numbers."""

    def __init__(self, call: BatchedMetric, batched: bool, slack: float) -> None:
        self.call = call
        self.batched = batched
        self.objects: dict[int, Any] = {}
        self.numbers = itertools.count()
        # Weakly: the collector does not see through the engine, and a circle would stay for ever.
        method = weakref.WeakMethod(self._distances)

        def distances(one: int, others: list[int]) -> NDArray[np.float64]:
            alive = method()
            assert alive is not None  # who asks holds the index
            return alive(one, others)

        self.metric = _core.callable_metric(distances, slack)

    def _distances(self, one: int, others: list[int]) -> NDArray[np.float64]:
        first = self.objects[one]
        seconds = [self.objects[other] for other in others]
        found: Any = (
            self.call(first, seconds)
            if self.batched
            else [self.call(first, second) for second in seconds]
        )
        return np.ascontiguousarray(found, dtype=np.float64).reshape(-1)

    def packed(self, objects: Sequence[Any]) -> list[bytes]:
        packed = []
        for one in objects:
            number = next(self.numbers)
            self.objects[number] = one
            packed.append(number.to_bytes(NUMBER_BYTES, "little"))
        return packed

    def unpacked(self, kept: bytes) -> Any:
        return self.objects[int.from_bytes(kept, "little")]

    def forget(self, packed: list[bytes]) -> None:
        for kept in packed:
            del self.objects[int.from_bytes(kept, "little")]


def objects_of(metric: MetricLike, batched: bool = True, slack: float | None = None) -> Objects:
    if isinstance(metric, (str, CMetric)):
        _refuse_options_of_callables(metric, batched, slack)
    if isinstance(metric, str):
        made = _core.object_metric(text("metric", metric))
        inputs = {name.partition(":")[0]: kind for name, _, kind in _core.object_metrics()}
        kind = inputs[metric.partition(":")[0]]
        if kind == "text":
            return _TextsOf(made)
        return _BytesOf(made, np.uint64 if kind == "members" else np.float64)
    if isinstance(metric, CMetric):
        return _BytesOf(
            _core.function_metric(
                metric.address,
                metric.name,
                metric.alignment,
                metric.whole_numbers,
                metric.slack,
                metric.device_source,
            ),
        )
    if not callable(metric):
        raise TypeError(f"metric must be a name, a callable or a CMetric, got {metric!r}")
    return NumberedObjects(metric, batched, USUAL_SLACK if slack is None else real("slack", slack))


def _refuse_options_of_callables(metric: str | CMetric, batched: bool, slack: float | None) -> None:
    if not batched:
        raise InvalidArgumentError(
            f"batched=False is for a Python callable, and the metric is {metric!r}: leave it out"
        )
    if slack is None:
        return
    if isinstance(metric, CMetric):
        raise InvalidArgumentError(f"slack is {slack!r}: give it to the CMetric, as slack={slack}")
    raise InvalidArgumentError(
        f"slack is {slack!r}, and the metric '{metric}' has its own: leave it out"
    )


def _members(one: Any) -> NDArray[np.uint64]:
    """NumPy would cut off what is behind a point, and take a negative one for a large one."""
    if isinstance(one, np.ndarray) and one.dtype.kind == "u":
        return np.ascontiguousarray(one, dtype=np.uint64)
    members = []
    for member in one.reshape(-1).tolist() if isinstance(one, np.ndarray) else one:
        whole = isinstance(member, (int, np.integer)) or (
            isinstance(member, (float, np.floating)) and float(member).is_integer()
        )
        if not whole or not 0 <= int(member) < 1 << 64:
            raise InvalidArgumentError(
                f"a member of a set must be a whole number of 0 to 2^64 - 1, got {member!r}"
            )
        members.append(int(member))
    if isinstance(one, AnySet):  # whose order says nothing
        members.sort()
    return np.array(members, dtype=np.uint64)


def listed(name: str, given: Iterable[Any]) -> list[Any]:
    if isinstance(given, (str, bytes)):
        raise TypeError(f"{name} must be a list of objects, got {given!r}")
    return list(given)
