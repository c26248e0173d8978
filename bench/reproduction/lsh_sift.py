"""Matching SIFT by locality-sensitive hashing: what is measured again, and what the text states.

S. M. Richards, Comparing LSH and brute-force on GPU for SIFT feature point matching, University of
Oslo, 2022, sections 5.5 and 5.6, on ANN_SIFT1M. The numbers of its figures are only drawn.
"""
from collections.abc import Callable
from itertools import takewhile

from referee.report import three_digits
from reproduction.measured import Measured, Place, Timing
from reproduction.shapes import NOT_MEASURED, Judge, Verdict
from reproduction.thesis import Figure, Stated, Thesis

ONE, TEN, HUNDRED, RATIO = "@1", "@10", "@100", "@1, ratio 0.8"
TUNED, EXACT = "lsh, tuned", "exact scan"
SIFT = ("--sift", "sift-1m")
SETTING = ("10,000 queries, 1,000,000 descriptors, signs of products with vectors of ±1, one table "
           "an iteration, a query looks into one bucket of it")
HERE = ("two cores instead of a GPU; the set sift-1m of bench/datasets, which is not ANN_SIFT1M. "
        "Iterations are counted by hashing 2,000 queries (of @10 and @100 200) and their "
        "neighbours; seconds are those of so many iterations, of which a few were timed")


def timings_of(measured: Measured, series: str) -> list[Timing]:
    return [timings[series] for timings in measured.places.values() if series in timings]


def fastest(measured: Measured, series: str) -> Timing | None:
    return min(timings_of(measured, series), key=lambda timing: timing.seconds, default=None)


def best_time(series: str, theirs: float) -> Judge:
    """Whether it is as fast."""
    def judge(measured: Measured) -> Verdict:
        best = fastest(measured, series)
        if best is None:
            return NOT_MEASURED
        return Verdict(best.seconds <= theirs, f"{three_digits(best.seconds)} s, "
                       f"{best.place.bits} bits, {best.place.tables:,} iterations")
    return judge


def best_bits(least: int, most: int) -> Judge:
    def judge(measured: Measured) -> Verdict:
        found = {series: best.place.bits for series in (ONE, TEN, HUNDRED, RATIO)
                 if (best := fastest(measured, series))}
        if not found:
            return NOT_MEASURED
        said = "; ".join(f"{series}: {bits}" for series, bits in found.items())
        return Verdict(all(least <= bits <= most for bits in found.values()), said)
    return judge


def times_as_long(series: str, other: str, holds: Callable[[float], bool]) -> Judge:
    def judge(measured: Measured) -> Verdict:
        first, second = fastest(measured, series), fastest(measured, other)
        if first is None or second is None:
            return NOT_MEASURED
        ratio = first.seconds / second.seconds
        return Verdict(holds(ratio), f"{ratio:.2f} times")
    return judge


def iterations_at_most_bits() -> Judge:
    def judge(measured: Measured) -> Verdict:
        bits = max((timing.place.bits for timing in timings_of(measured, HUNDRED)), default=0)
        found = {series: timing.place.tables for series in (ONE, HUNDRED)
                 for timing in timings_of(measured, series) if timing.place.bits == bits}
        if not found:
            return NOT_MEASURED
        return Verdict(None, f"{bits} bits: " + "; ".join(
            f"{series}: {tables:,}" for series, tables in found.items()))
    return judge


def best_recall(series: str, theirs: float) -> Judge:
    def judge(measured: Measured) -> Verdict:
        found = [(recall.value, recall.data) for recall in measured.recalls
                 if recall.series == series and recall.value is not None]
        if not found:
            return NOT_MEASURED
        value, data = max(found)
        return Verdict(value >= theirs, f"{value:.3f}, {data}")
    return judge


def share_of_short_list(series: str, theirs: float) -> Judge:
    def judge(measured: Measured) -> Verdict:
        whole = fastest(measured, f"{series}: all")
        short = fastest(measured, f"{series}: short list")
        if whole is None or short is None:
            return NOT_MEASURED
        share = short.seconds / whole.seconds
        return Verdict(share >= theirs, f"{share:.1%} of {three_digits(whole.seconds)} s")
    return judge


def tiles_beside_pairs(series: str) -> Judge:
    def judge(measured: Measured) -> Verdict:
        pairs = fastest(measured, f"{series}: short list")
        tiles = fastest(measured, f"{series}: short list, by tiles")
        if pairs is None or tiles is None:
            return NOT_MEASURED
        return Verdict(None, f"by tiles {tiles.seconds / pairs.seconds:.2f} times as long")
    return judge


def times_as_fast(timings: dict[str, Timing]) -> float | None:
    """As the exact scan."""
    if TUNED not in timings or EXACT not in timings:
        return None
    return timings[EXACT].seconds / timings[TUNED].seconds


def beside_exact(theirs: float) -> Judge:
    """How many times as long as the exact search, all queries at once; the thesis's was slower."""
    def judge(measured: Measured) -> Verdict:
        found = {place.k: 1 / speed for place, timings in measured.places.items()
                 if place.q > 1 and (speed := times_as_fast(timings))}
        if not found:
            return NOT_MEASURED
        said = "; ".join(f"k {k}: {ratio:.3g}" for k, ratio in found.items())
        return Verdict(found.get(1, theirs) >= theirs, said)
    return judge


def tuned_time(k: int, theirs: float) -> Judge:
    def judge(measured: Measured) -> Verdict:
        found = [timings[TUNED] for place, timings in measured.places.items()
                 if place.k == k and place.q > 1 and TUNED in timings]
        recall = measured.recall(f"k {k}", TUNED, 0)
        if not found or recall is None:
            return NOT_MEASURED
        return Verdict(found[0].seconds <= theirs, f"{three_digits(found[0].seconds)} s, recall "
                       f"{recall.value:.4f}")
    return judge


def asked(place: Place) -> str:
    """As the program names it where it says a recall."""
    return f"asked, {place.asked} %"


def wins_up_to(one_by_one: bool) -> Judge:
    """The largest recall up to which every index is faster than the scan."""
    def judge(measured: Measured) -> Verdict:
        found = sorted((recall.value or 0, speed) for place, timings in measured.places.items()
                       if (place.q == 1) == one_by_one
                       and (recall := measured.recall(asked(place), TUNED, 0))
                       and (speed := times_as_fast(timings)))
        if not found:
            return NOT_MEASURED
        won = list(takewhile(lambda point: point[1] > 1, found))
        if not won:
            return Verdict(None, f"at none, {found[0][1]:.3g} times as fast at {found[0][0]:.3f}")
        most, faster = won[-1]
        return Verdict(None, f"up to a recall of {most:.3f}, there {faster:.3g} times as fast: "
                       f"{len(won)} of {len(found)} indexes")
    return judge


def wins_where(one_by_one: bool) -> Judge:
    """For each number of columns, from how many rows on it is faster than the scan."""
    def judge(measured: Measured) -> Verdict:
        by_cols: dict[int, dict[int, float]] = {}
        for place, timings in measured.places.items():
            if (place.q == 1) == one_by_one:  # 0: no parameters reach the recall
                by_cols.setdefault(place.d, {})[place.n] = times_as_fast(timings) or 0
        if not by_cols:
            return NOT_MEASURED
        return Verdict(None, "; ".join(f"d {cols}: {from_rows(speeds)}"
                                       for cols, speeds in sorted(by_cols.items())))
    return judge


def from_rows(speeds: dict[int, float]) -> str:
    """Of speeds by rows: the least number from which on all are above 1."""
    lost = [rows for rows, speed in speeds.items() if speed <= 1]
    won = [rows for rows in speeds if not lost or rows > max(lost)]
    most = max(speeds)
    said = f"{speeds[most]:.3g} times as fast" if speeds[most] else "not in reach of hashing"
    return f"{f'from {min(won):,} rows on' if won else 'nowhere'}, {said} at {most:,}"


THESIS = Thesis(
    title="locality-sensitive hashing for SIFT (Oslo, 2022)",
    device="GeForce RTX 3060 12 GB",
    program="measure_lsh_sift",
    on_cpu=True,
    figures={
        "5.14": Figure(
            "best recall within 4 seconds", SETTING, HERE, data_set=SIFT,
            stated=(
                Stated("5.5.1", "0.47 @1", best_recall(ONE, 0.47)),
                Stated("5.5.1", "0.65 @1 of pairs that pass the ratio 0.8",
                       best_recall(RATIO, 0.65)),
                Stated("5.5.1", "0.899 @100", best_recall(HUNDRED, 0.899)))),
        "5.16": Figure(
            "time and iterations to a recall of 0.8", SETTING, HERE, data_set=SIFT,
            in_milliseconds=True, x="bits",
            stated=(
                Stated("5.5.6", "12.7 s @1", best_time(ONE, 12.728130)),
                Stated("5.5.6", "1.9 s @100", best_time(HUNDRED, 1.897476)),
                Stated("5.5.2", "19 to 22 bits are fastest", best_bits(19, 22)),
                Stated("5.5.2", "@1 takes about 4 times as long as @10",
                       times_as_long(ONE, TEN, lambda ratio: ratio > 2)),
                Stated("5.5.2", "pairs that pass the ratio 0.8 take about half of @1",
                       times_as_long(RATIO, ONE, lambda ratio: ratio < 0.75)),
                Stated("5.5.3", "27 bits: about 3,000 iterations @1, 250 @100",
                       iterations_at_most_bits()))),
        "stages": Figure(
            "time by stage to a recall of 0.8 (table 5.14)", SETTING, HERE, data_set=SIFT,
            in_milliseconds=True,
            stated=(
                Stated("5.5.6", "the short list takes 82 % of 12.7 s @1, sorting 11 %",
                       share_of_short_list(ONE, 0.5)),
                Stated("5.5.6", "and 75 % of 1.9 s @100", share_of_short_list(HUNDRED, 0.5)),
                Stated("6.5", "(by products, its future work: @1)", tiles_beside_pairs(ONE)),
                Stated("6.5", "(@100)", tiles_beside_pairs(HUNDRED)))),
        "tuned": Figure(
            "an index tuned to recall 0.8, beside the exact search", SETTING,
            "two cores instead of a GPU; the set sift-1m of bench/datasets. The index is built "
            "before, and so is that of the exact search; it is tuned by its own rows; recall@k, of "
            "the k nearest",
            data_set=SIFT, in_milliseconds=True,
            stated=(
                Stated("5.5.6", "12.7 s to a recall of 0.8 @1", tuned_time(1, 12.728130)),
                Stated("5.6.1", "70 times as slow as its brute force by products, @1",
                       beside_exact(1)))),
        "curve": Figure(
            "recall and time of indexes tuned to several recalls, beside the exact search", SETTING,
            "as above, of the nearest",
            data_set=SIFT, in_milliseconds=True, setting_of=asked,
            stated=(
                Stated("-", "(one query at a time, faster than the exact search: not in the "
                       "thesis)", wins_up_to(True)),
                Stated("-", "(all queries at once: not in the thesis)", wins_up_to(False)))),
        "where": Figure(
            "from how many rows and columns on hashing is faster than the exact search", SETTING,
            "bytes made by the program: clusters of 200 rows on average, by Zipf's law, whose "
            "columns have falling spreads; every second query is a row that was moved a little. An "
            "index is tuned to find 0.8 of the nearest, by other queries of the same kind; 1,000 "
            "queries, at once and one at a time",
            in_milliseconds=True, x="n", panel="q", line="d",
            derived={"times as fast as the scan": times_as_fast},
            stated=(
                Stated("-", "(one query at a time: not in the thesis)", wins_where(True)),
                Stated("-", "(1,000 at once: not in the thesis)", wins_where(False)))),
    })
