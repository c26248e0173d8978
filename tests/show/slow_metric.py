"""What an index of objects adds to a metric of a millisecond that is written in Python.

python tests/show/slow_metric.py: exit code 1 where a search takes more than 1.2 times what its
distances cost.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence

import nearfield as nf

COST = 1e-3  # at least: a machine that is busy takes longer
OBJECTS, QUERIES, K = 300, 20, 5
MOST = 1.2
Point = tuple[float, float]


class Clock:
    inside = 0.0  # seconds that distances took


def distance(a: Point, b: Point) -> float:
    begin = now = time.perf_counter()
    while now - begin < COST:
        now = time.perf_counter()
    Clock.inside += now - begin
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


def distances(one: Point, others: Sequence[Point]) -> list[float]:
    return [distance(one, other) for other in others]


def main() -> int:
    draw = random.Random(1)
    points = [(draw.random(), draw.random()) for _ in range(OBJECTS + QUERIES)]
    objects, queries = points[:OBJECTS], points[OBJECTS:]
    worst = 0.0
    for name, metric, batched in (("batched", distances, True), ("one by one", distance, False)):
        index = nf.MetricIndex(objects, metric, batched=batched, pivots=8, choice_budget=500)
        started, Clock.inside = time.perf_counter(), 0.0
        found = index.search(queries, k=K)
        seconds = time.perf_counter() - started
        computed = found.stats.pairs_verified
        ratio = seconds / Clock.inside
        worst = max(worst, ratio)
        print(
            f"{name}: {computed} of {OBJECTS * QUERIES} distances in {seconds:.3f} s, "
            f"{ratio:.3f} times {Clock.inside / computed * 1e3:.3f} ms each"
        )
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main())
