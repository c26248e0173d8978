"""The numbers of the referee: medians, ratios, noise, and when a case fails."""
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Ratio:
    """Another's time over ours, round by round: above 1 we are faster."""
    median: float
    smallest: float
    largest: float


def ratio(theirs: Sequence[float], ours: Sequence[float]) -> Ratio:
    """Of times taken in the same rounds. What slows a round down slows both, and cancels."""
    if len(theirs) != len(ours) or not ours:
        raise ValueError(f"needs times of the same rounds, got {len(theirs)} and {len(ours)}")
    each = [other / own for other, own in zip(theirs, ours, strict=True)]
    return Ratio(median(each), min(each), max(each))


def noise(first: Sequence[float], second: Sequence[float]) -> float:
    """How far Nearfield's ratio to itself is from 1, taken as every other ratio: 0.1 is 10 %."""
    middle = ratio(first, second).median
    return max(middle, 1 / middle) - 1


def spread(times: Sequence[float]) -> float:
    """From the fastest to the slowest, as a part of the median."""
    return (max(times) - min(times)) / median(times)


def fails(measured: float, target: float, noise: float) -> bool:
    """Below half of the target, and noise does not explain it."""
    return measured * (1 + noise) < target / 2
