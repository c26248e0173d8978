"""Pivots for similarity search: what is measured again, and what the text states.

A. Genç, Hardware acceleration of similarity queries using graphic processor units, Bilkent
University, 2010: Fig. 2.4 and chapter 5. The columns of the CPU; those of the GPU are kvp_gpu's.
Radius, pool and pivots kept are stated for Fig. 2.4 only.
"""
from reproduction.measured import Measured, Place, Timing
from reproduction.shapes import NOT_MEASURED, Judge, Verdict, falls, leads, no_such
from reproduction.thesis import Figure, Quantity, Stated, Thesis

# Series, as the program names them.
SCAN, KVP, TILES = "linear scan", "KVP", "exact tile scan"
KVP_50, KVP_200, RANDOM = "KVP 50", "KVP 200", "random"
SMALL_POOL = 50
RADII = ("0.2", "0.4", "0.8")

SETTING = "1,000 radius queries, vectors uniform in [0, 1]^d, Euclidean distance, one thread"
HERE = ("all cores. Radius 0.4, 50 pivots of which an object keeps 8, 8 bits a distance: the text "
        "says none of these. Linear scan and KVP call the same function for a distance; the exact "
        "tile scan is `within`, which knows that these are vectors. Times of a linear scan are "
        "those of 100 queries, times ten")
ON_DEVICES = no_such("measured by bench/reproduce kvp-gpu")


def times_as_long(first: str, second: str) -> Quantity:
    def quantity(timings: dict[str, Timing]) -> float | None:
        if first not in timings or second not in timings:
            return None
        return timings[first].seconds / timings[second].seconds
    return quantity


def share(series: str) -> Quantity:
    """Of all distances, those that a query computes."""
    def quantity(timings: dict[str, Timing]) -> float | None:
        timing = timings.get(series)
        return timing and timing.distances / timing.place.n
    return quantity


def grows_with_objects(series: str) -> Judge:
    """By as much as their number, give or take a quarter."""
    def judge(measured: Measured) -> Verdict:
        found = sorted((place.n, timings[series].seconds)
                       for place, timings in measured.places.items() if series in timings)
        if len(found) < 2:
            return NOT_MEASURED
        (few, soon), (many, late) = found[0], found[-1]
        objects, time = many / few, late / soon
        return Verdict(objects / 1.25 <= time <= 1.25 * objects,
                       f"{objects:.3g} times as many objects: {time:.3g} times as long")
    return judge


def fewer_distances(first: str, second: str) -> Judge:
    """Wherever an object keeps fewer than all of the smaller pool."""
    def judge(measured: Measured) -> Verdict:
        found: dict[Place, float] = {
            place: timings[first].distances / timings[second].distances
            for place, timings in measured.places.items()
            if first in timings and second in timings and place.kept < SMALL_POOL}
        if not found:
            return NOT_MEASURED
        fewer = sum(ratio < 1 for ratio in found.values())
        best = min(found, key=lambda place: found[place])
        return Verdict(fewer == len(found), f"at {fewer} of {len(found)} places; at best "
                       f"{found[best]:.2f} times as many, {best.kept} kept")
    return judge


def on_devices(section: str, says: str) -> Stated:
    return Stated(section, says, ON_DEVICES)


THESIS = Thesis(
    title="A. Genç, Hardware acceleration of similarity queries using graphic processor units, "
          "Bilkent University, 2010",
    device="Core i7-920 with Radeon HD 5870",
    program="measure_kvp",
    on_cpu=True,
    figures={
        "2.4": Figure(
            "distances by the pivots that an object keeps",
            "20 dimensions, radius 0.4; pivots in random order, and of a pool of 50 the closest "
            "and the farthest first",
            "also of a pool of 200. Random: so many pivots, the same of all objects. Pivots are "
            "chosen at random throughout",
            in_milliseconds=True, x="kept",
            derived={f"share, {series}": share(series) for series in (KVP_50, KVP_200, RANDOM)},
            stated=(
                Stated("2.3.1", "KVP eliminates objects much faster than random order",
                       fewer_distances(KVP_50, RANDOM)),
                Stated("2.3.1", "a larger pool has better pivots",
                       fewer_distances(KVP_200, KVP_50)))),
        "5.1": Figure(
            "1,000 radius queries by dimension (tables 5.3, 5.5 and 5.8)",
            f"{SETTING}; 2^20 objects, d 16 to 160", HERE, in_milliseconds=True, x="d",
            stated=(
                Stated("5.1", "KVP is faster: 35.3 s instead of 59.1 at d 16, 39.7 instead of "
                       "427 at d 160", leads((KVP,), (SCAN,))),
                Stated("5.1", "and the more, the more dimensions",
                       falls(times_as_long(KVP, SCAN), "KVP over scan", "d")),
                on_devices("5.1", "KVP on a GPU, filtered on the host: 22.2 s at d 16, 20.0 at "
                           "d 160"),
                on_devices("5.2", "without the transfer of distances: 2.54 and 3.60 s"),
                Stated("-", "(KVP beside an exact tile scan: not in the thesis)",
                       leads((KVP,), (TILES,))))),
        "5.3": Figure(
            "1,000 radius queries by the number of objects (tables 5.4, 5.7 and 5.9)",
            f"{SETTING}; 1 to 10 times 2^20 objects, d 16", HERE, in_milliseconds=True, x="n",
            stated=(
                Stated("5.1", "KVP is faster: 363 s instead of 614 at 10 times 2^20",
                       leads((KVP,), (SCAN,))),
                Stated("5.1", "the scan's time grows with the objects", grows_with_objects(SCAN)),
                Stated("5.1", "and KVP's", grows_with_objects(KVP)),
                on_devices("5.1", "KVP on a GPU, filtered on the host: 188 s at 10 times 2^20"),
                Stated("-", "(KVP beside an exact tile scan: not in the thesis)",
                       leads((KVP,), (TILES,))))),
        "sweep": Figure(
            "what the tables leave out: the radius, and the pivots an object keeps",
            "neither is stated", "2^20 objects at full size, d 16, a pool of 50",
            in_milliseconds=True, x="kept",
            derived={f"share, radius {radius}": share(f"KVP, radius {radius}")
                     for radius in RADII},
            stated=(
                Stated("2.3.1", "the more pivots are kept, the fewer distances are computed",
                       falls(share("KVP, radius 0.4"), "share at radius 0.4", "kept")),)),
    })
