"""Independent uniform values in [0, 1): no structure at all, the worst case of every filter."""
from pathlib import Path

import numpy as np

from sets.random_streams import stream
from sets.vector_files import write_rows


def make(folder: Path, rows: int, queries: int, columns: int) -> dict[str, object]:
    for part, count in (("base", rows), ("queries", queries)):
        values = stream("uniform", part).random_sample((count, columns))
        # Rounding to float32 may give 1; one less in the last place keeps the interval open.
        single = np.minimum(values.astype(np.float32), np.nextafter(np.float32(1), np.float32(0)))
        write_rows(folder / f"{part}.fbin", single)
    return {}
