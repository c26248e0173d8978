"""Local search quantization: what is measured again, and what the paper states.

J. Martinez, H. H. Hoos and J. J. Little, Solving Multi-codebook Quantization in the GPU, ECCV 2016
Workshops, LNCS 9913, pages 638 to 650: tables 1 and 2, figure 1. Its recalls are of 10,000 queries,
those of CQ as it reports them from T. Zhang, C. Du and J. Wang (ICML 2014).
"""
from collections.abc import Iterable
from itertools import pairwise

from referee.report import three_digits
from reproduction.measured import Measured, Recall, Timing
from reproduction.shapes import NOT_MEASURED, Judge, Verdict
from reproduction.thesis import Figure, Printed, Stated, Thesis

PQ, OPQ, CQ, LSQ_16, LSQ_32 = "PQ", "OPQ", "CQ", "LSQ-16", "LSQ-32"
ALONE = ", one core, one by one"
ONE_CORE = ", one core"
DEVICE = ", on the device"
QUERIES = 10_000
SIFT = ("--sift", "sift-1m")
SIFT_10M = ("--sift-10m", "sift-10m")
# Percent, of SIFT10M: series, 64 bits @1, @10, @100, 128 bits @1, @2, @5.
TABLE_1 = ((PQ, 15.79, 50.86, 86.57, 39.31, 54.74, 74.89),
           (OPQ, 17.49, 54.92, 89.41, 40.80, 56.73, 77.15),
           (CQ, 21, 63, 93, 47, 64, 84),
           (LSQ_16, 22.51, 64.62, 94.67, 49.26, 66.75, 85.36),
           (LSQ_32, 22.94, 65.20, 94.85, 49.50, 67.31, 86.33))
COLUMNS = (("64 bits", 1), ("64 bits", 10), ("64 bits", 100),
           ("128 bits", 1), ("128 bits", 2), ("128 bits", 5))
BITS = ("64 bits", "128 bits")
Z = 1.96  # of an interval of 95 %


def printed(bits: tuple[str, ...] = BITS) -> tuple[Printed, ...]:
    """Table 1 as counts."""
    found = []
    for series, *percents in TABLE_1:
        for (data, first), percent in zip(COLUMNS, percents, strict=True):
            correct = round(percent * QUERIES / 100)
            if data in bits:
                found.append(Printed(Recall(data, series, first, correct, QUERIES - correct, 0)))
    return tuple(found)


def interval(recall: Recall) -> tuple[float, float]:
    """Wilson's, of 95 %."""
    queries, share = recall.accepted, recall.correct / recall.accepted
    middle = (share + Z * Z / (2 * queries)) / (1 + Z * Z / queries)
    half = (Z / (1 + Z * Z / queries)
            * (share * (1 - share) / queries + Z * Z / (4 * queries * queries)) ** 0.5)
    return middle - half, middle + half


def said(recalls: Iterable[Recall]) -> str:
    return ", ".join(f"{recall.series} {100 * recall.correct / recall.accepted:.2f} "
                     f"({100 * interval(recall)[0]:.1f} to {100 * interval(recall)[1]:.1f})"
                     for recall in recalls)


def rise(lower: Recall, higher: Recall) -> tuple[float, float]:
    """How much more the second finds, an interval of 95 %. Both are asked the same: where it is
    known which queries one of them alone finds, only these count. Else it is wider than need be."""
    shares = [(recall.correct / recall.accepted, recall.accepted) for recall in (lower, higher)]
    difference = shares[1][0] - shares[0][0]
    if higher.gained or higher.lost:
        queries = higher.accepted
        variance = ((higher.gained + higher.lost) / queries - difference**2) / queries
    else:
        variance = sum(share * (1 - share) / queries for share, queries in shares)
    half = Z * variance ** 0.5
    return difference - half, difference + half


def in_order(data: str, first: int) -> Judge:
    """PQ < OPQ < LSQ-16 ≤ LSQ-32: the first three surely rise, and the last does not surely fall.
    Not judged where a rise may be none: queries are too few."""
    def judge(measured: Measured) -> Verdict:
        found = [measured.recall(data, series, first) for series in (PQ, OPQ, LSQ_16, LSQ_32)]
        recalls = [recall for recall in found if recall is not None]
        if len(recalls) < len(found):
            return NOT_MEASURED
        rises = [rise(*pair) for pair in pairwise(recalls)]
        if any(most < 0 for _, most in rises):
            return Verdict(False, said(recalls))
        return Verdict(all(least > 0 for least, _ in rises[:-1]) or None, said(recalls))
    return judge


def timing_of(measured: Measured, series: str, codebooks: int) -> Timing | None:
    return next((timings[series] for place, timings in measured.places.items()
                 if place.codebooks == codebooks and series in timings), None)


def as_fast(series: str, codebooks: int, microseconds: float) -> Judge:
    def judge(measured: Measured) -> Verdict:
        timing = timing_of(measured, series, codebooks)
        if timing is None:
            return NOT_MEASURED
        here = 1e6 * timing.seconds / timing.place.n
        return Verdict(here <= microseconds, f"{three_digits(here)} µs a vector")
    return judge


def orders(bits: tuple[str, ...] = BITS) -> tuple[Stated, ...]:
    stated = []
    for column, (data, first) in enumerate(COLUMNS):
        if data not in bits:
            continue
        rows = "; ".join(f"{series} {percents[column]:g}" for series, *percents in TABLE_1)
        stated.append(Stated("Table 1", f"{data} @{first}: {rows}", in_order(data, first)))
    return tuple(stated)


def smaller_errors(data: str) -> Judge:
    """PQ > OPQ > LSQ with 16 rounds > with 32."""
    def judge(measured: Measured) -> Verdict:
        found = [(name, measured.error(data, series, rounds)) for name, series, rounds in (
            (PQ, PQ, 16), (OPQ, OPQ, 16), (LSQ_16, "LSQ", 16), (LSQ_32, "LSQ", 32))]
        errors = [error for _, error in found if error is not None]
        if len(errors) < len(found):
            return NOT_MEASURED
        falls = all(after < before for before, after in pairwise(errors))
        return Verdict(falls, ", ".join(f"{name} {three_digits(error)}" for (name, _), error
                                        in zip(found, errors, strict=True)))
    return judge


def times() -> tuple[Stated, ...]:
    """Of CPUs and of the GPU, beside two cores of this CPU, or one; of the GPU also beside a device
    where one is named."""
    sequential = {(LSQ_16, 7): 1_520, (LSQ_16, 15): 7_020, (LSQ_32, 7): 3_010, (LSQ_32, 15): 13_930}
    batched = {(LSQ_16, 7): 530, (LSQ_16, 15): 2_010, (LSQ_32, 7): 1_050, (LSQ_32, 15): 4_030}
    card = {(LSQ_16, 7): 17.9, (LSQ_16, 15): 67.2, (LSQ_32, 7): 35.7, (LSQ_32, 15): 134.3}
    exhaustive = {(PQ, 8): 42.6, (PQ, 16): 77.9, (OPQ, 8): 49.2, (OPQ, 16): 90.3}
    kinds = (("sequential, one core", sequential, ALONE), ("batched, one core", batched, ONE_CORE),
             ("batched, Titan X", card, ""), ("batched, Titan X, beside a device", card, DEVICE),
             ("exhaustive", exhaustive, ""))
    return tuple(Stated("Table 2", f"{series}, {codebooks} codebooks, {how}: {micros:g} µs",
                        as_fast(series + suffix, codebooks, micros))
                 for how, rows, suffix in kinds for (series, codebooks), micros in rows.items())


SIFT10M = ("SIFT10M: 10,000,000 descriptors and 10,000 queries, codebooks learned on 1,000,000 "
           "others; LSQ of 7 and 15 codebooks with a byte of the norm, PQ and OPQ of 8 and 16")
AS_HERE = ("Codebooks of LSQ are trained with the noise of LSQ++. CQ is not built, its recalls are "
           "the paper's. The nearest, or one as near, is among the first N. Queries are of other "
           "pictures than the base, as there: the first of `learn`. Codebooks are trained on the "
           "rest of it: on other descriptors of the same pictures, none of the base. "
           "Beside them stand views: queries of pictures of the base, seen from elsewhere, whose "
           "nearest lies nearer than what codes stand for, and of which the paper says nothing")


def ten_million(bits: str) -> Figure:
    return Figure(
        f"recall@N of codes of {bits}, 10,000,000 descriptors (and table 1)", SIFT10M,
        "the set sift-10m of bench/datasets, which is not SIFT10M: at full size 10,000,000 "
        f"descriptors, learned on 990,000 of other pictures. {AS_HERE}",
        data_set=SIFT_10M, printed=printed((bits,)), over="N", stated=orders((bits,)))


THESIS = Thesis(
    title="solving multi-codebook quantization in the GPU (ECCV workshops, 2016)",
    device="Core i7-3930K and GTX Titan X",
    program="measure_lsq",
    on_cpu=True,
    keeps=True,
    figures={
        "1": Figure(
            "recall@N of codes of 64 and of 128 bits (and table 1)", SIFT10M,
            "the set sift-1m of bench/datasets, which is neither SIFT10M nor SIFT1B: 1,000,000 "
            f"descriptors at full size, learned on 90,000 others. {AS_HERE}",
            data_set=SIFT, printed=printed(), over="N", stated=orders()),
        "2": Figure(
            "encoding (table 2)", "a vector of 128 columns",
            "two cores, or one where it says so, and a device that --device names; milliseconds "
            "are of all n vectors. PQ and OPQ find the nearest codewords by products",
            data_set=SIFT, in_milliseconds=True, stated=times()),
        "errors": Figure(
            "mean squared errors", "not in the paper, which has recalls alone",
            "the set sift-1m: of what codebooks are trained on after each iteration, with the "
            "noise that an iteration of LSQ++ has on codebooks; and of 10,000 others, by rounds",
            data_set=SIFT, over="iterations, rounds",
            stated=tuple(Stated("Table 1", f"{bits}: recalls rise from PQ to OPQ, LSQ-16, LSQ-32",
                                smaller_errors(f"encoding, {bits}")) for bits in BITS)),
        "large-64": ten_million("64 bits"),
        "large-128": ten_million("128 bits"),
    })
