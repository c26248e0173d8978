"""Whether what a thesis states of its device holds on this one: who wins where, not how fast."""
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from reproduction.measured import Measured, Place, Timing

TIE = 0.95  # from this part of the other's speed on, none of the two has lost


@dataclass(frozen=True)
class Verdict:
    holds: bool | None  # None: nothing to be judged by
    here: str


Judge = Callable[[Measured], Verdict]
Where = Callable[[Place], bool]
NOT_MEASURED = Verdict(None, "not measured")


def everywhere(_: Place) -> bool:
    return True


def fastest(timings: dict[str, Timing], names: Iterable[str]) -> float | None:
    rates = [timings[name].rate for name in names if name in timings]
    return max(rates, default=None)


def ratios(measured: Measured, first: tuple[str, ...], others: tuple[str, ...], where: Where
           ) -> dict[Place, float]:
    """The fastest of the first over the fastest of the others, where there are both."""
    found = {}
    for place, timings in measured.places.items():
        mine = fastest(timings, first)
        theirs = fastest(timings, [name for name in others or timings if name not in first
                                   and timings.get(name) and timings[name].timed != "copy"])
        if where(place) and mine and theirs:
            found[place] = mine / theirs
    return found


def leads(first: tuple[str, ...], others: tuple[str, ...] = (), where: Where = everywhere
          ) -> Judge:
    """At every place that `where` takes. No others: all that computes there."""
    def judge(measured: Measured) -> Verdict:
        found = ratios(measured, first, others, where)
        if not found:
            return NOT_MEASURED
        won = sum(ratio >= TIE for ratio in found.values())
        return Verdict(won == len(found), f"at {won} of {len(found)} places, "
                       f"{min(found.values()):.2f} to {max(found.values()):.2f} times as fast")
    return judge


def of_series(measured: Measured, series: str) -> list[Timing]:
    return [timings[series] for timings in measured.places.values() if series in timings]


def share_of_copy(series: str, copy: str, least: float) -> Judge:
    """A copy reads and writes what a selection only reads. Of copies the fastest counts, as what
    comes nearest to the peak: a slow one would flatter the series."""
    def judge(measured: Measured) -> Verdict:
        rates, copies = ([timing.rate for timing in of_series(measured, name)]
                         for name in (series, copy))
        if not rates or not copies:
            return NOT_MEASURED
        share = max(rates) / (2 * max(copies))
        return Verdict(share >= least, f"{share:.1%} of what a copy within the device moves, at "
                       f"most {max(rates) / 1e9:.3g}·10⁹ distances/s")
    return judge


def best_by(series: str, of: str, by: str, judged: Callable[[dict[int, int]], bool],
            decides: Callable[[set[int]], bool]) -> Judge:
    """For each number `of` a place, the number `by` at which the series is fastest. decides:
    whether the numbers `by` that were measured leave it open how it comes out."""
    def judge(measured: Measured) -> Verdict:
        found: dict[int, Timing] = {}
        for timing in of_series(measured, series):
            number = getattr(timing.place, of)
            if number not in found or timing.rate > found[number].rate:
                found[number] = timing
        best = {number: getattr(timing.place, by) for number, timing in sorted(found.items())}
        if not best:
            return NOT_MEASURED
        said = "; ".join(f"{of} {number:,}: {by} {at:,}" for number, at in best.items())
        open_to = decides({getattr(timing.place, by) for timing in of_series(measured, series)})
        return Verdict(judged(best) if open_to else None, f"fastest at {said}")
    return judge


def falls(quantity: Callable[[dict[str, Timing]], float | None], name: str, by: str) -> Judge:
    """From the least number `by` to the largest, of places that are alike in k."""
    def judge(measured: Measured) -> Verdict:
        lines: dict[int, list[tuple[int, float]]] = {}
        for place, timings in measured.places.items():
            value = quantity(timings)
            if value is not None:
                lines.setdefault(place.k, []).append((getattr(place, by), value))
        ends = {k: (min(line), max(line)) for k, line in sorted(lines.items()) if len(line) > 1}
        if not ends:
            return NOT_MEASURED
        said = "; ".join(f"k {k:,}: {first[1]:.3g} at {by} {first[0]:,}, {last[1]:.3g} at {by} "
                         f"{last[0]:,}" for k, (first, last) in ends.items())
        return Verdict(all(last[1] < first[1] for first, last in ends.values()), f"{name}: {said}")
    return judge


def below(quantity: Callable[[dict[str, Timing]], float | None], name: str, by: str, most: float
          ) -> Judge:
    """At the largest number `by`."""
    def judge(measured: Measured) -> Verdict:
        largest = max((getattr(place, by) for place in measured.places), default=0)
        found = [quantity(timings) for place, timings in measured.places.items()
                 if getattr(place, by) == largest]
        values = [value for value in found if value is not None]
        if not values:
            return NOT_MEASURED
        return Verdict(max(values) < most, f"{name}: {min(values):.3g} to {max(values):.3g} at "
                       f"{by} {largest:,}")
    return judge


def no_such(why: str) -> Judge:
    """What the thesis measured is not there to be measured."""
    return lambda _: Verdict(None, why)


def only_said(series: str, other: str) -> Judge:
    """Where no result is written that ours could be held against."""
    def judge(measured: Measured) -> Verdict:
        found = ratios(measured, (series,), (other,), everywhere)
        if not found:
            return NOT_MEASURED
        return Verdict(None, f"{series} is {min(found.values()):.3g} to {max(found.values()):.3g} "
                       f"times as fast as {other}")
    return judge
