"""Exact similarity search.

    >>> import numpy as np
    >>> import nearfield as nf
    >>> base = np.array([[0, 0], [1, 0], [0, 2], [3, 3], [1, 0]], dtype=np.float32)
    >>> queries = np.array([[1, 1], [3, 2]], dtype=np.float32)
    >>> distances, ids = nf.knn(queries, base, k=3, metric="euclidean")
    >>> ids
    array([[1, 4, 0],
           [3, 1, 4]])

Searches: `knn`, `within`, `graph`, `pairs`, `mutual`, `match`, `match_pairs`, `KnnCursor`;
`dedup` for near-duplicates of binary codes; `select_k` for values you have already; `pairwise` for
all distances. Where they can run: `devices`, and what is fastest there: `tune`.
What a search would do: `plan_knn`, `plan_within`, `plan_graph`, `plan_pairs`, `plan_mutual`,
`plan_match`.
Rows: arrays of any library, `bits` for packed bits, `open_rows` for files, `prepare` for a base
that is searched again and again.
Vectors that are kept under ids, and change: `Index`, `verify_index`; `tune_index` for one that
need not find all.
Vectors as codes of a few bytes: `Quantizer`.
Objects under any metric, words or yours: `MetricIndex`, `CMetric`, `check_metric`,
`object_metrics`.
Files: `read`, `write`, `read_ids`, `write_ids`, `read_truth`, `write_truth`.
"""

from nearfield import _core
from nearfield._cursor import KnnCursor
from nearfield._dedup import dedup
from nearfield._devices import DeviceInfo, DeviceList, MissingDevice, devices
from nearfield._errors import (
    CancelledError,
    CorruptFileError,
    DeadlineError,
    Error,
    FileError,
    InvalidArgumentError,
    MemoryLimitError,
    NotFiniteError,
    UnsupportedError,
)
from nearfield._files import (
    Truth,
    read,
    read_ids,
    read_truth,
    write,
    write_ids,
    write_truth,
)
from nearfield._index import Index, IndexStats, verify_index
from nearfield._info import MetricInfo, isas, metrics
from nearfield._match_pairs import match_pairs
from nearfield._metric_index import (
    MetricIndex,
    MetricIndexStats,
    MetricReport,
    Violation,
    check_metric,
    object_metrics,
)
from nearfield._objects import CMetric
from nearfield._pairwise import pairwise
from nearfield._plans import (
    plan_graph,
    plan_knn,
    plan_match,
    plan_mutual,
    plan_pairs,
    plan_within,
)
from nearfield._prepared import PreparedRows, prepare
from nearfield._quantizer import Quantizer
from nearfield._results import (
    DuplicateGroups,
    MatchPairsStats,
    Neighbors,
    PairMatches,
    Pairs,
    Pairwise,
    Plan,
    Ranges,
    Selected,
    Stats,
)
from nearfield._rows import Bits, FileRows, bits, open_rows
from nearfield._search import graph, knn, match, mutual, pairs, within
from nearfield._select import select_k
from nearfield._tune import tune
from nearfield._tune_index import TunedIndex, tune_index

__version__ = _core.version()

__all__ = [
    "Bits",
    "CMetric",
    "CancelledError",
    "CorruptFileError",
    "DeadlineError",
    "DeviceInfo",
    "DeviceList",
    "DuplicateGroups",
    "Error",
    "FileError",
    "FileRows",
    "Index",
    "IndexStats",
    "InvalidArgumentError",
    "KnnCursor",
    "MatchPairsStats",
    "MemoryLimitError",
    "MetricIndex",
    "MetricIndexStats",
    "MetricInfo",
    "MetricReport",
    "MissingDevice",
    "Neighbors",
    "NotFiniteError",
    "PairMatches",
    "Pairs",
    "Pairwise",
    "Plan",
    "PreparedRows",
    "Quantizer",
    "Ranges",
    "Selected",
    "Stats",
    "Truth",
    "TunedIndex",
    "UnsupportedError",
    "Violation",
    "__version__",
    "bits",
    "check_metric",
    "dedup",
    "devices",
    "graph",
    "isas",
    "knn",
    "match",
    "match_pairs",
    "metrics",
    "mutual",
    "object_metrics",
    "open_rows",
    "pairs",
    "pairwise",
    "plan_graph",
    "plan_knn",
    "plan_match",
    "plan_mutual",
    "plan_pairs",
    "plan_within",
    "prepare",
    "read",
    "read_ids",
    "read_truth",
    "select_k",
    "tune",
    "tune_index",
    "verify_index",
    "within",
    "write",
    "write_ids",
    "write_truth",
]
