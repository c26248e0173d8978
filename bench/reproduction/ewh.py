"""Error-weighted hashing on a GPU: what is measured again, and what the text states of it.

S. Bhatia, M. P. K. Badarla, Parallelization of Error Weighted Hashing for Approximate k-Nearest
Neighbour Search on GPU-CPU Hybrid, section IV. It has one setting, 4 tables of 4 bits, times of
building and of one query, and no recall, no weights and no threshold.
"""
from referee.report import three_digits
from reproduction.measured import Measured, Place, Timing
from reproduction.shapes import NOT_MEASURED, Judge, Verdict, of_series
from reproduction.thesis import Figure, Stated, Thesis

# Series, as the program names them.
ONE, ALL = "one thread", "all threads"
MADE_THERE, MADE_BY_BOTH, MADE_SHARED = "device", "device and CPU", "tables, shared"
LSH, EWH, EWH_ALL = "LSH, one thread", "EWH, one thread", "EWH, all threads"
DEVICE, BOTH, SHARED = "EWH, device", "EWH, device and CPU", "EWH, shared"
EXACT, EXACT_ALL = "exact, one thread", "exact, all threads"
SCAN, HASHED = "exact", "EWH"
ROWS = 4_000_000
SETTING = "4,000,000 x 512 bits, 4 tables of 4 bits, e = 2"
DATA = ("--bits", "bits-512")


def seconds(series: str, most: float) -> Judge:
    """Only a run of the paper's size is judged."""
    def judge(measured: Measured) -> Verdict:
        timings = of_series(measured, series)
        if not timings:
            return NOT_MEASURED
        timing = timings[0]
        return Verdict(timing.seconds <= most if timing.place.n == ROWS else None,
                       f"{three_digits(timing.seconds)} s, {timing.place.n:,} rows")
    return judge


def times_as_fast(series: str, other: str, least: float = 1) -> Judge:
    def judge(measured: Measured) -> Verdict:
        mine, theirs = of_series(measured, series), of_series(measured, other)
        if not mine or not theirs:
            return NOT_MEASURED
        ratio = theirs[0].seconds / mine[0].seconds
        return Verdict(ratio > least, f"{ratio:.3g} times as fast")
    return judge


def best_share(series: str) -> Judge:
    def judge(measured: Measured) -> Verdict:
        timings = of_series(measured, series)
        if not timings:
            return NOT_MEASURED
        best = min(timings, key=lambda timing: timing.seconds)
        return Verdict(0 < best.place.share < 100,
                       f"{best.place.share} %: {three_digits(1e3 * best.seconds)} ms")
    return judge


def setting(place: Place) -> str:
    """As the program names it where it says a recall."""
    if place.near:
        return f"ewh,near={place.near}"
    return f"ewh,tables={place.tables},bits={place.bits}"


def by_setting(measured: Measured, series: str, one_by_one: bool) -> dict[str, Timing]:
    return {setting(timing.place): timing for timing in of_series(measured, series)
            if (timing.place.q == 1) == one_by_one}


def recalls(measured: Measured) -> dict[str, float]:
    return {recall.data: recall.value for recall in measured.recalls if recall.value is not None}


def crossover(one_by_one: bool) -> Judge:
    """Of the settings that are faster than a scan, the one that finds most."""
    def judge(measured: Measured) -> Verdict:
        mine, scan = (by_setting(measured, series, one_by_one) for series in (HASHED, SCAN))
        if not mine:
            return NOT_MEASURED
        found = recalls(measured)
        faster = {name: found[name] for name, timing in mine.items()
                  if name in found and timing.seconds < scan[name].seconds}
        if not faster:
            return Verdict(False, "none is faster than a scan")
        best = max(faster, key=lambda name: faster[name])
        return Verdict(None, f"{len(faster)} of {len(mine)} are faster than a scan; of these "
                       f"{best} finds most, {faster[best]:.3f}")
    return judge


def paper_recall(measured: Measured) -> Verdict:
    found = recalls(measured).get("ewh,tables=4,bits=4")
    return NOT_MEASURED if found is None else Verdict(None, f"{found:.3f} of the nearest")


OF_RECALL = (
    Stated("-", "(one query at a time, beside an exact scan: not in the paper)", crossover(True)),
    Stated("-", "(all queries at once: not in the paper)", crossover(False)))

FIGURES = {
    "hashing": Figure(
        "building the tables (first table of section IV)", SETTING,
        "whole tables of bits-512 of bench/datasets, rows rising in each bucket; codes are copied "
        "to the device and tables back in each call",
        (Stated("IV.B", "sequential: 26.6 s (LSH), 26.9 s (EWH)", seconds(ONE, 26.6)),
         Stated("IV.B", "MPI LSH, 4 CPUs: 10.5 s", seconds(ALL, 10.5)),
         Stated("IV.B", "CUDA: 0.7 s", seconds(MADE_THERE, 0.7)),
         Stated("IV.B", "CUDA, with 6 % on 16 cores: 0.6 s", seconds(MADE_BY_BOTH, 0.6)),
         Stated("-", "(the same on all threads of this CPU)", seconds(ALL, 0.6))),
        in_milliseconds=True, data_set=DATA),
    "hashing-shares": Figure(
        "building the tables, the CPU's share of the rows", "6 % of the hashing on the CPU were "
        "best", "a thread of the CPU beside the device, and both parts joined",
        (Stated("III.C", "a share of the CPU is best, 6 %", best_share(MADE_SHARED)),),
        x="share", in_milliseconds=True, data_set=DATA),
    "retrieval": Figure(
        "one query (second table of section IV)", SETTING,
        "the 10 nearest; weights and threshold are chosen to find what differs in 51 bits with the "
        "chance 0.9; tables and codes are on the device before, as in every call but the first",
        (Stated("IV.B", "sequential LSH: 19.3 s", seconds(LSH, 19.3)),
         Stated("IV.B", "MPI LSH, 4 CPUs: 6.4 s", seconds(EWH_ALL, 6.4)),
         Stated("IV.B", "sequential EWH: 7.6 s", seconds(EWH, 7.6)),
         Stated("IV.B", "sequential EWH is 2.5 times as fast as LSH", times_as_fast(EWH, LSH)),
         Stated("IV.B", "CUDA EWH: 0.8 s", seconds(DEVICE, 0.8)),
         Stated("IV.B", "CUDA and OpenMP EWH: 0.8 s", seconds(BOTH, 0.8)),
         Stated("-", "(beside an exact scan: not in the paper)", times_as_fast(EWH, EXACT)),
         Stated("-", "(the same on all threads)", times_as_fast(EWH_ALL, EXACT_ALL))),
        in_milliseconds=True, data_set=DATA),
    "shares": Figure(
        "one query, the CPU's share of the rows", "said of building the tables: 6 %",
        "of one query; a thread of the CPU beside the device",
        (Stated("III.C", "a share of the CPU is best, 6 %", best_share(SHARED)),),
        x="share", in_milliseconds=True, data_set=DATA),
    "tables": Figure(
        "recall of the nearest and time, by tables and bits", "no recall is reported",
        "chosen for what differs in 51 bits, chance 0.9; true nearest by an exact scan, one as "
        "near is as good",
        (Stated("-", "(4 tables of 4 bits)", paper_recall), *OF_RECALL),
        in_milliseconds=True, data_set=DATA, setting_of=setting),
    "nearness": Figure(
        "recall of the nearest and time, by how far is looked", "no recall is reported",
        "tables, bits, weights and threshold are chosen", OF_RECALL,
        in_milliseconds=True, data_set=DATA, setting_of=setting),
}

THESIS = Thesis(
    "S. Bhatia, M. P. K. Badarla, Parallelization of Error Weighted Hashing for Approximate "
    "k-Nearest Neighbour Search on GPU-CPU Hybrid", "Tesla K20m and 2 x Xeon E5-2670",
    "measure_ewh", FIGURES)
