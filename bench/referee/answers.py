"""Answers against the truth. A tie is forgiven only where distances are equal as numbers."""
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

# What is known of a mean: 1.96 standard deviations of it to either side hold it in 95 % of cases.
SURE = 1.96
# Keys of some base rows for one query.
KeysOf = Callable[[int, np.ndarray | slice], np.ndarray]
# What peers that claim to be exact lose to rounding stays far above this.
LEAST_AGREEMENT_OF_EXACT = 0.99


@dataclass(frozen=True)
class Correctness:
    """Matches against what both images show, which is known."""
    precision: float   # part of the matches whose two rows show the same place
    recall: float      # such matches, as a part of the queries whose place some base row shows


@dataclass(frozen=True)
class Truth:
    """The right ids of some queries, or of all."""
    queries: np.ndarray
    ids: Sequence[np.ndarray]
    keys_of: KeysOf
    base_rows: int
    by_definition: int = 0   # of the queries; the others are the file's
    # Of images: the base rows that show the place of a query, each query in a row filled up by -1.
    correspondences: np.ndarray | None = None

    def of_first(self, queries: int) -> "Truth":
        """Of those of the first queries alone."""
        kept = int(np.searchsorted(self.queries, queries))
        return replace(self, queries=self.queries[:kept], ids=self.ids[:kept])

    def correctness_of(self, first: np.ndarray, second: np.ndarray) -> Correctness | None:
        """Of matches of the queries `first` with the base rows `second`, where it is known."""
        if self.correspondences is None:
            return None
        right = int((self.correspondences[first] == second[:, None]).any(axis=1).sum())
        possible = int((self.correspondences >= 0).any(axis=1).sum())
        return Correctness(right / max(len(first), 1), right / max(possible, 1))

    def own_correctness(self) -> Correctness | None:
        if self.correspondences is None:   # also where there is no truth, of codes
            return None
        counts = [len(ids) for ids in self.ids]
        return self.correctness_of(np.repeat(self.queries, counts), np.concatenate(self.ids))


@dataclass(frozen=True)
class Verdict:
    mismatches: int    # positions that do not hold what they should
    positions: int
    recall: float
    agreement: float   # 1 is right: the recall or, of sets, 1 - mismatches / positions
    correctness: Correctness | None = None
    error: tuple[float, float] | None = None   # of codes: mean squared, and half its 95 % interval
    squares: np.ndarray | None = field(default=None, compare=False, repr=False)   # of each vector

    def error_above(self, other: "Verdict") -> tuple[float, float] | None:
        """Of codes of the same vectors: the mean of how much larger each one's error is, and half
        its 95 % interval. What vectors differ in is in both, and cancels."""
        if self.squares is None or other.squares is None:
            return None
        return mean_of(self.squares - other.squares)

    def refuses(self, approximate: bool) -> bool:
        """Whether the time of this answer means nothing."""
        return not approximate and self.agreement < LEAST_AGREEMENT_OF_EXACT


def mean_of(values: np.ndarray) -> tuple[float, float]:
    """And half of its 95 % interval."""
    return float(values.mean()), SURE * float(values.std()) / len(values) ** 0.5


def first_occurrences(ids: np.ndarray, base_rows: int) -> np.ndarray:
    """True where an id is one of the base and was not given before."""
    fresh = np.zeros(len(ids), dtype=bool)
    fresh[np.unique(ids, return_index=True)[1]] = True
    return fresh & (ids >= 0) & (ids < base_rows)


def judge_nearest(found: np.ndarray, truth: Truth, ties_forgiven: bool) -> Verdict:
    """Position by position. `found`: the ids of all queries, nearest first.

    Ties are not forgiven to one who promises the smaller id.
    """
    mismatches = positions = within_reach = 0
    for query, right in zip(truth.queries, truth.ids, strict=True):
        got = np.asarray(found[query])
        if len(got) != len(right):
            raise ValueError(f"query {query}: expected {len(right)} ids, got {len(got)}")
        positions += len(right)
        if np.array_equal(got, right):
            within_reach += len(right)
            continue
        usable = first_occurrences(got, truth.base_rows)
        right_keys = truth.keys_of(query, right)
        got_keys = truth.keys_of(query, np.where(usable, got, right))
        wrong = got_keys != right_keys if ties_forgiven else got != right
        mismatches += int((~usable | wrong).sum())
        within_reach += int((usable & (got_keys <= right_keys[-1])).sum())
    recall = within_reach / positions if positions else 1.0
    return Verdict(mismatches, positions, recall, recall)


def judge_ranges(offsets: np.ndarray, found: np.ndarray, truth: Truth) -> Verdict:
    """As sets, since a radius promises no order. Ids too many count: else every row would do."""
    mismatches = positions = common = 0
    for query, right in zip(truth.queries, truth.ids, strict=True):
        got = found[offsets[query]:offsets[query + 1]]
        shared = len(np.intersect1d(got, right))
        mismatches += len(got) + len(right) - 2 * shared
        positions += len(right)
        common += shared
    return Verdict(mismatches, positions, common / positions if positions else 1.0,
                   1 - mismatches / max(positions, 1))


def judge_codes(decoded: np.ndarray, vectors: np.ndarray) -> Verdict:
    """There are no right codes: how far what they stand for is from the vectors."""
    if decoded.shape != vectors.shape:
        raise ValueError(f"expected {vectors.shape} values of what codes stand for, "
                         f"got {decoded.shape}")
    squares = ((decoded.astype(np.float64) - vectors) ** 2).sum(axis=1)
    return Verdict(0, 0, 1.0, 1.0, error=mean_of(squares), squares=squares)


def judge_matches(first: np.ndarray, second: np.ndarray, truth: Truth) -> Verdict:
    """As sets: `first` are rows of the queries, `second` those of the base that belong to them."""
    queries = len(truth.queries)
    if len(first) and not 0 <= first.min() <= first.max() < queries:
        raise ValueError(f"matches of rows {first.min()} to {first.max()}, of {queries}")
    offsets = np.searchsorted(np.sort(first), np.arange(queries + 1))
    verdict = judge_ranges(offsets, second[np.argsort(first, kind="stable")], truth)
    return replace(verdict, correctness=truth.correctness_of(first, second))
