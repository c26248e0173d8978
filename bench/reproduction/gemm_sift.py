"""Matching SIFT by matrix products: what is measured again, and what the text states of it.

S. M. Richards, Comparing LSH and brute-force on GPU for SIFT feature point matching, University of
Oslo, 2022, sections 5.2, 5.4 and 5.6. Its brute force drops all norms: a distance is
sqrt(2 - 2 x y), as if every vector had the norm 1. The numbers of most figures are only drawn.
"""
from referee.report import three_digits
from reproduction.measured import Measured, Recall
from reproduction.shapes import NOT_MEASURED, Judge, Verdict, everywhere, leads, of_series, ratios
from reproduction.thesis import Figure, Printed, Stated, Thesis

# Series, as the program names them.
TYPES = ("half, 16-bit", "half, 32-bit", "float, 16-bit", "float, 32-bit")
NAIVE, EXACT = "naive", "knn, exact"
BATCHED = "products, 16-bit sums"
SUMS_16, SUMS_32, SUMS_64 = "16-bit sums", "32-bit sums", "64-bit sums"
FROM_HOST = "16-bit sums, from the host"
QUEUED = "on the device, 16-bit sums"
SIFT, RANDOM = "sift", "random"
PAYS = 1.05  # times as fast as with one queue: less is noise

# Tables 5.4 to 5.9: wrong, correct, no match and recall, of each of TYPES.
SIFT_TABLES: dict[float, tuple[tuple[int, int, int, float], ...]] = {
    0: ((1229, 8771, 0, 0.8771), (1186, 8814, 0, 0.8814), (1173, 8827, 0, 0.8827),
        (1173, 8827, 0, 0.8827)),
    0.8: ((6, 720, 9274, 0.991735537), (6, 719, 9275, 0.991724137), (0, 487, 9513, 1.0),
          (0, 487, 9513, 1.0)),
    0.9: ((23, 1825, 8152, 0.9875541125541125), (27, 1832, 8141, 0.9854760623991393),
          (0, 1256, 8744, 1.0), (0, 1256, 8744, 1.0)),
    0.95: ((113, 4004, 5883, 0.9725528297303863), (107, 4015, 5878, 0.9740417273168365),
           (6, 2910, 7084, 0.9979423868312757), (6, 2910, 7084, 0.9979423868312757)),
    0.99: ((561, 7792, 1647, 0.9328385011373159), (523, 7813, 1664, 0.9372600767754319),
           (268, 7247, 2485, 0.964337990685296), (268, 7247, 2485, 0.964337990685296)),
    # The float column is misprinted: 0.98427 is 8760 / (8760 + 140), correct over correct and
    # unmatched. That the counts are the right ones and not exchanged: a larger ratio only accepts
    # more, and at 0.99 there were 268 wrong ones already. So it is 8760 / 9860 = 0.8884.
    1: ((945, 8558, 497, 0.9005577186151742), (905, 8593, 502, 0.9047167824805222),
        (1100, 8760, 140, 0.9842696629213483), (1100, 8760, 140, 0.9842696629213483)),
}
# Table 5.1, of its naive kernel: wrong, correct, no match.
NAIVE_TABLE = {0: (73, 9927, 0), 0.8: (0, 706, 9294), 0.9: (0, 1643, 8357), 0.95: (0, 3470, 6530),
               0.99: (0, 7820, 2180), 1: (0, 9854, 146)}
# Table 5.10: wrong, correct and recall.
RANDOM_TABLE = ((554, 9446, 0.9446), (263, 9737, 0.9737), (36, 9964, 0.9964), (0, 10000, 1.0))


def printed_of_sift() -> tuple[Printed, ...]:
    of_types = [Printed(Recall(SIFT, series, ratio, correct, wrong, none), recall)
                for ratio, columns in SIFT_TABLES.items()
                for series, (wrong, correct, none, recall) in zip(TYPES, columns, strict=True)]
    return (*of_types, *(Printed(Recall(SIFT, NAIVE, ratio, correct, wrong, none))
                         for ratio, (wrong, correct, none) in NAIVE_TABLE.items()))


def printed_of_random() -> tuple[Printed, ...]:
    return tuple(Printed(Recall(RANDOM, series, 0, correct, wrong, 0), recall)
                 for series, (wrong, correct, recall) in zip(TYPES, RANDOM_TABLE, strict=True))


def values(measured: Measured, data: str, ratio: float) -> dict[str, float]:
    found = {series: measured.recall(data, series, ratio) for series in TYPES}
    return {series: recall.value for series, recall in found.items()
            if recall is not None and recall.value is not None}


def said(recalls: dict[str, float]) -> str:
    return "; ".join(f"{series}: {value:.4f}" for series, value in recalls.items())


def alike(data: str, most: float) -> Judge:
    """Without a ratio, whatever the type."""
    def judge(measured: Measured) -> Verdict:
        found = values(measured, data, 0)
        if len(found) < len(TYPES):
            return NOT_MEASURED
        return Verdict(max(found.values()) - min(found.values()) <= most, said(found))
    return judge


def at_least(least: float, ratios_of: tuple[float, ...]) -> Judge:
    def judge(measured: Measured) -> Verdict:
        found = [value for ratio in ratios_of for value in values(measured, SIFT, ratio).values()]
        if not found:
            return NOT_MEASURED
        return Verdict(min(found) >= least, f"{min(found):.4f} to {max(found):.4f}")
    return judge


def grows_with_precision(measured: Measured) -> Verdict:
    found = values(measured, RANDOM, 0)
    if len(found) < len(TYPES):
        return NOT_MEASURED
    in_order = [found[series] for series in TYPES]
    return Verdict(in_order == sorted(in_order), said(found))


def nobody_passes(measured: Measured) -> Verdict:
    passed = [recall.accepted for recall in measured.recalls if recall.ratio == 0.8]
    return Verdict(not any(passed), f"{max(passed)} at most") if passed else NOT_MEASURED


def norms_cost(measured: Measured) -> Verdict:
    """By sets whose norms differ more and more; their names say by how much."""
    found = {recall.data.rpartition("norms ")[2]: recall.value for recall in measured.recalls
             if recall.series == "float, 16-bit" and recall.ratio == 0 and "norms" in recall.data
             and recall.value is not None}
    as_it_is = values(measured, SIFT, 0).get("float, 16-bit")
    if not found or as_it_is is None:
        return NOT_MEASURED
    falling = [as_it_is, *found.values()]
    return Verdict(falling == sorted(falling, reverse=True),
                   f"as it is {as_it_is:.4f}; rows times 1 {said(found)}")


def ties_alone(measured: Measured) -> Verdict:
    found = measured.recall(SIFT, NAIVE, 0)
    if found is None:
        return NOT_MEASURED
    if not found.wrong:
        return Verdict(None, f"none of {found.accepted:,}: of rows that are equally near the first "
                       "is found, and is the true one")
    return Verdict(found.wrong == found.tied,
                   f"{found.wrong} of {found.accepted} wrong, {found.tied} of them as near")


def passing(measured: Measured) -> Verdict:
    found = measured.recall(SIFT, EXACT, 0.8)
    if found is None:
        return NOT_MEASURED
    return Verdict(None, f"{found.accepted:,} of {found.accepted + found.none:,}, by the exact "
                   "answer on another set")


def best_batch_is_small(measured: Measured) -> Verdict:
    timings = of_series(measured, BATCHED)
    if len(timings) < 3:
        return NOT_MEASURED
    best = min(timings, key=lambda timing: timing.seconds)
    slowest = max(timings, key=lambda timing: timing.seconds)
    largest = max(timing.place.batch for timing in timings)
    return Verdict(best.place.batch <= 0.2 * largest,
                   f"{best.place.batch:,} of up to {largest:,}; {slowest.place.batch:,} takes "
                   f"{slowest.seconds / best.seconds:.2f} times as long")


def queues_pay(expected: bool) -> Judge:
    def judge(measured: Measured) -> Verdict:
        timings = {timing.place.queues: timing for timing in of_series(measured, QUEUED)}
        if 1 not in timings or len(timings) < 2:
            return NOT_MEASURED
        gains = {queues: timings[1].seconds / timing.seconds
                 for queues, timing in timings.items() if queues > 1}
        best = max(gains, key=lambda queues: gains[queues])
        return Verdict((gains[best] >= PAYS) == expected,
                       f"{best} queues: {gains[best]:.2f} times as fast as one")
    return judge


def times_as_fast(series: str, other: str) -> Judge:
    """Who is faster is judged, by how much is said."""
    def judge(measured: Measured) -> Verdict:
        found = ratios(measured, (series,), (other,), everywhere)
        if not found:
            return NOT_MEASURED
        least = min(found.values())
        return Verdict(least > 1, f"{least:.3g} times as fast")
    return judge


def milliseconds(series: str, queries: int, most: float) -> Judge:
    """Only a run of the thesis's size is judged."""
    def judge(measured: Measured) -> Verdict:
        timings = of_series(measured, series)
        if not timings:
            return NOT_MEASURED
        timing = max(timings, key=lambda one: one.place.q)
        return Verdict(timing.seconds <= 1e-3 * most if timing.place.q == queries else None,
                       f"{three_digits(1e3 * timing.seconds)} ms, "
                       f"{timing.place.q:,} x {timing.place.n:,}")
    return judge


def batches(title: str, setting: str, best: str) -> Figure:
    return Figure(
        f"products over the queries of a batch, {title}", setting,
        "random vectors of norm 1, as there; tables are float32, where cublasHgemm writes halves",
        (Stated("5.4.2", f"the best batch is among the first fifth of what is possible{best}",
                best_batch_is_small),),
        x="batch", panel="n", in_milliseconds=True)


def queues(title: str, size: str, expected: bool, says: str) -> Figure:
    return Figure(
        f"concurrent streams, {title}", f"{size}, 1 to some streams, batches go round",
        "a stream is a queue: of CUDA a stream, of OpenCL a command queue; each has its table",
        (Stated("5.4.5", says, queues_pay(expected)),),
        x="queues", panel="n", in_milliseconds=True)


MANY_ROWS, MANY_QUERIES, FEW = "many rows", "many queries", "few of both"

FIGURES = {
    "recall-sift": Figure(
        "recall on SIFT (Tables 5.1 and 5.4 to 5.9)",
        "10⁴ queries, 10⁶ rows of ANN_SIFT1M, whose norms are 508.64 and 512.59 on average",
        "sift-1m of bench/datasets, whose norms are nearly equal; recalls of the thesis are "
        "computed again from its counts",
        (Stated("5.4.1", "without a ratio types differ little (0.8771 to 0.8827)",
                alike(SIFT, 0.01)),
         Stated("5.4.1", "with a ratio recall is above 0.9 (but 0.8884 is what floats have at 1)",
                at_least(0.9, (0.8, 0.9, 0.95, 0.99, 1))),
         Stated("5.4.1", "at 0.8 it is 0.99 or more", at_least(0.99, (0.8,))),
         Stated("5.4.1", "what is lost is lost by norms that are not equal", norms_cost),
         Stated("5.2", "73 of 10,000 are wrong by the naive kernel, by ties", ties_alone),
         Stated("5.2", "706 of 10,000 pass 0.8", passing)),
        data_set=("--sift", "sift-1m"), printed=printed_of_sift()),
    "recall-random": Figure(
        "recall on random vectors of norm 1 (Table 5.10)", "10⁴ queries, 10⁶ rows",
        "uniform values of [0, 1), each vector divided by its norm",
        (Stated("5.4.1", "recall grows with precision: 0.9446, 0.9737, 0.9964, 1",
                grows_with_precision),
         Stated("5.4.1", "nobody passes 0.8", nobody_passes)),
        printed=printed_of_random()),
    "5.2": batches(MANY_ROWS, "10⁴ x 10⁶, batches of 40 to 4,200", ": 383 (section 4.1.7)"),
    "5.5": batches(MANY_QUERIES, "10⁶ x 10⁴, batches of 40 to 400,000",
                   "; the worst takes 5 times as long"),
    "5.7": batches(FEW, "10⁴ x 10⁴, batches of 40 to 10,500", ""),
    "5.9": Figure(
        "padding", "10⁴ queries, 7 to 1,040,007 rows, padded with zeros to a multiple of 16",
        "products here always pad to tiles of 128 as they convert: padded to 16 beside as given "
        "shows whether more is needed, of cuBLAS too, which takes 32-bit sums; no copy is timed",
        (Stated("5.4.3", "padding pays, the more the more rows there are (16-bit sums)",
                leads(("padded, 16-bit sums",), ("as given, 16-bit sums",))),
         Stated("5.4.3", "(32-bit sums)",
                leads(("padded, 32-bit sums",), ("as given, 32-bit sums",)))),
        x="n", in_milliseconds=True),
    "5.11": queues(MANY_ROWS, "10⁴ x 10⁶", False, "streams do not pay"),
    "5.12": queues(MANY_QUERIES, "10⁶ x 10⁴", True, "two streams pay"),
    "5.13": queues(FEW, "10⁴ x 10⁴", False, "streams do not pay"),
    "times": Figure(
        "times on SIFT (Tables 5.11 and 5.12, Figure 5.20)", "10⁴ queries, 10⁶ rows",
        "half data with 32-bit sums and float data with 16-bit calculations are the same kernels "
        "here (32-bit sums: products of halves); floats with 32-bit calculations are float64 "
        "(64-bit sums); exact answers are whole calls",
        (Stated("5.4.6", "halves, 16-bit, on the device: 177 ms", milliseconds(SUMS_16, 10_000,
                                                                               177.09)),
         Stated("5.4.6", "floats on the host: 209 ms, 1.18 times as long",
                times_as_fast(SUMS_16, FROM_HOST)),
         Stated("5.4.6", "halves, 32-bit: 1.15 times as long as 16-bit; floats, 16-bit: 2.4 times",
                times_as_fast(SUMS_16, SUMS_32)),
         Stated("5.4.6", "floats, 32-bit: 4.9 times as long", times_as_fast(SUMS_16, SUMS_64)),
         Stated("5.6.1", "products are 86 times as fast as the naive kernel",
                times_as_fast(SUMS_16, NAIVE)),
         Stated("-", "(the exact answer beside its products: not in the thesis)",
                times_as_fast(EXACT, SUMS_16))),
        in_milliseconds=True, data_set=("--sift", "sift-1m")),
    "frames": Figure(
        "frames in real time (section 5.4.7)", "45,000 descriptors of each of two frames",
        "sift-pair-45k of bench/datasets; match has the ratio 0.8 and is exact, a whole call",
        (Stated("5.4.7", "36.5 ms a frame: 27 a second", milliseconds(SUMS_16, 45_000, 36.53)),
         Stated("-", "(the exact match: not in the thesis)",
                milliseconds("match, exact", 45_000, 36.53))),
        in_milliseconds=True, data_set=("--frames", "sift-pair-45k")),
}

THESIS = Thesis(
    "S. M. Richards, Comparing LSH and brute-force on GPU for SIFT feature point matching, "
    "University of Oslo, 2022", "GeForce RTX 3060 12 GB", "measure_gemm_sift", FIGURES)
