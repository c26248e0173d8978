"""What removing costs: the call itself, and the searches after it.

    python tests/show/index_removal.py [ROUNDS]

1,000,000 x 128 bytes. Fails if removing 10,000 ids takes 50 ms, or if a search after some of the
vectors were removed, up to a fifth, takes more than 1.1 times as long as before, by the median of
rounds in turns with an index of which nothing was removed.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

import nearfield as nf

ROWS, DIM, QUERIES = 1_000_000, 128, 1_000


def seconds(call) -> float:  # type: ignore[no-untyped-def]
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    random = np.random.default_rng(1)
    vectors = random.integers(0, 256, size=(ROWS, DIM), dtype=np.uint8)
    queries = random.integers(0, 256, size=(QUERIES, DIM), dtype=np.uint8)
    whole = nf.Index("flat", dim=DIM, dtype="u8")
    whole.add(vectors)
    order = random.permutation(ROWS)
    failed = False
    index = nf.Index("flat", dim=DIM, dtype="u8")
    index.add(vectors)
    removed = 0
    for count in (10_000, 40_000, 150_000):
        took = seconds(lambda: index.remove(order[removed : removed + count]))
        removed += count
        print(f"removing {count:,} ids: {took * 1e3:.1f} ms")
        failed |= count == 10_000 and took >= 0.050
        for asked in (queries, queries[:1]):
            for k in (10, 1000):
                pairs = [
                    (seconds(lambda: index.search(asked, k)), seconds(lambda: whole.search(asked, k)))
                    for _ in range(rounds)
                ]
                ratio = statistics.median(after / before for after, before in pairs)
                print(f"  {removed / ROWS:.0%} removed, {len(asked)} queries, k = {k}: {ratio:.3f}")
                failed |= ratio > 1.1
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
