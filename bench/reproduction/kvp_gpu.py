"""Pivots on a GPU: what is measured again, and what the text states.

A. Genç, Hardware acceleration of similarity queries using graphic processor units, Bilkent
University, 2010, chapter 5: the columns of the GPU, in its three modes. Those of the CPU are kvp's.
"""
from collections.abc import Callable

from reproduction.measured import Measured, Timing
from reproduction.shapes import NOT_MEASURED, Judge, Verdict, falls, leads
from reproduction.thesis import Figure, Quantity, Stated, Thesis

# Series, as the program names them.
HOST, NO_TRANSFER, DEVICE = "filter on host", "no transfer", "filter on device"
MODES = (HOST, NO_TRANSFER, DEVICE)
SCAN, KVP = "scan", "KVP"

SETTING = "1,000 radius queries, vectors uniform in [0, 1]^d, Euclidean distance"
HERE = ("float64. Radius 0.4, 50 pivots of which an object keeps 8, 8 bits a distance: the text "
        "says none of these. Every eighth query is an object, so that something is found. What "
        "comes back of a distance are 16 bytes, of those that were computed: in the thesis 4 of "
        "every object, also of those that pivots drop")


def name(what: str, mode: str) -> str:
    return f"{what}, {mode}"


def transfers(what: str) -> Quantity:
    """The share of time that is gone where nothing comes back."""
    def quantity(timings: dict[str, Timing]) -> float | None:
        both = timings.get(name(what, HOST)), timings.get(name(what, NO_TRANSFER))
        if not both[0] or not both[1]:
            return None
        return 1 - both[1].seconds / both[0].seconds
    return quantity


def most_of_the_time(what: str, by: str, end: Callable[[list[tuple[int, float]]],
                                                       tuple[int, float]]) -> Judge:
    """At one end of the numbers `by`: min or max."""
    def judge(measured: Measured) -> Verdict:
        found = [(getattr(place, by), share) for place, timings in measured.places.items()
                 if (share := transfers(what)(timings)) is not None]
        if not found:
            return NOT_MEASURED
        number, share = end(found)
        return Verdict(share > 0.5, f"{share:.0%} at {by} {number:,}")
    return judge


def filtered_there(what: str, says: str) -> Stated:
    return Stated("5.3", f"{what}: filtering on the device is faster than on the host: {says}",
                  leads((name(what, DEVICE),), (name(what, HOST),)))


def figure(title: str, setting: str, by: str, *stated: Stated) -> Figure:
    return Figure(
        title, f"{SETTING}; {setting}", HERE, in_milliseconds=True, x=by, stated=stated,
        derived={f"time in transfers, {what}": transfers(what) for what in (SCAN, KVP)})


THESIS = Thesis(
    title="A. Genç, Hardware acceleration of similarity queries using graphic processor units, "
          "Bilkent University, 2010",
    device="Core i7-920 with Radeon HD 5870",
    program="measure_kvp_gpu",
    figures={
        "5.1": figure(
            "1,000 radius queries by dimension (tables 5.3, 5.5, 5.6 and 5.8)",
            "2^20 objects, d 16 to 160", "d",
            Stated("5.2", "transfers take most of a scan's time at d 16, filtered on the host: 89 "
                   "%; 52 % at d 160", most_of_the_time(SCAN, "d", min)),
            Stated("5.2", "and less, the more dimensions",
                   falls(transfers(SCAN), "time in transfers", "d")),
            Stated("5.2", "without transfers KVP is faster than the scan from d 32 on: 2.70 s "
                   "instead of 3.81, 3.60 instead of 14.8 at d 160",
                   leads((name(KVP, NO_TRANSFER),), (name(SCAN, NO_TRANSFER),),
                         lambda place: place.d >= 32)),
            filtered_there(SCAN, "13.6 s instead of 20.2 at d 16"),
            filtered_there(KVP, "14.0 s instead of 22.2 at d 16")),
        "5.3": figure(
            "1,000 radius queries by the number of objects (tables 5.4, 5.6, 5.7 and 5.9)",
            "1 to 10 times 2^20 objects, d 16", "n",
            Stated("5.2", "transfers take most of a scan's time, filtered on the host: 94 % at 10 "
                   "times 2^20", most_of_the_time(SCAN, "n", max)),
            Stated("5.2", "without transfers the scan is faster than KVP at d 16: 12.0 s instead "
                   "of 15.2 at 10 times 2^20",
                   leads((name(SCAN, NO_TRANSFER),), (name(KVP, NO_TRANSFER),))),
            filtered_there(SCAN, "92.1 s instead of 190 at 10 times 2^20"),
            filtered_there(KVP, "96.1 s instead of 188 at 10 times 2^20")),
    })
