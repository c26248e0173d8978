"""The k nearest of every query: by Nearfield, and of some queries by the definition in numpy."""
from pathlib import Path

import numpy as np

from sets.definition import nearest
from sets.random_streams import stream
from sets.vector_files import read_rows, write_rows

K = 100
CHECKED = 50


def by_nearfield(queries: np.ndarray, base: np.ndarray, metric: str) -> np.ndarray:
    import nearfield
    if metric == "hamming":
        bits = 8 * base.shape[1]
        queries, base = nearfield.bits(queries, bits), nearfield.bits(base, bits)
    return np.asarray(nearfield.knn(queries, base, k=K, metric=metric).ids)


def check(ids: np.ndarray, queries: np.ndarray, base: np.ndarray, metric: str) -> int:
    """How many queries were checked; the first wrong one is an error."""
    chosen = stream("spot check").permutation(len(queries))[:CHECKED]
    for query in chosen:
        expected = nearest(queries[query], base, K, metric)
        wrong = np.flatnonzero(ids[query, :len(expected)] != expected)
        if len(wrong):
            raise RuntimeError(
                f"query {query}: {len(wrong)} of {K} ids differ from the definition, first at "
                f"{wrong[0]}: {ids[query, wrong[0]]} instead of {expected[wrong[0]]}")
    return len(chosen)


def make(folder: Path, metric: str) -> dict[str, object]:
    ending = next(folder.glob("base.*bin")).suffix
    queries, base = (np.asarray(read_rows(folder / f"{part}{ending}"))
                     for part in ("queries", "base"))
    ids = by_nearfield(queries, base, metric)
    checked = check(ids, queries, base, metric)
    write_rows(folder / "truth.ibin", ids.astype(np.int32))
    return {"truth": f"Nearfield, {checked} of {len(queries)} queries checked", "metric": metric}
