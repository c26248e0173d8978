"""The arrays of a group, the same for the referee and for every child: mapped from files."""
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from referee.cases import Group
from sets.vector_files import read_rows


@dataclass(frozen=True)
class Material:
    metric: str
    base: np.ndarray
    queries: np.ndarray
    # None: the set has no such file, or it is not about these rows.
    truth: np.ndarray | None
    correspondences: np.ndarray | None = None


@dataclass(frozen=True)
class Portion:
    """Which part of a data set; what children are told."""
    folder: str
    metric: str
    queries: int
    base_rows: int | None
    columns: int | None
    one_by_one: bool = False
    index: str = ""


def portion_of(group: Group, folder: Path, size: str) -> Portion:
    pick = {"quick": 0, "full": 1}[size]
    return Portion(str(folder), group.metric, group.queries[pick], group.base_rows[pick],
                   group.columns[pick] if group.columns else None,
                   all(question.one_by_one for question in group.asked(size)), group.index)


def rows_if_there(path: Path) -> np.ndarray | None:
    return read_rows(path) if path.exists() else None


def lines_of(path: Path, count: int | None) -> np.ndarray:
    return np.array(path.read_text(encoding="utf-8").split("\n")[:-1][:count], dtype=object)


def load_texts(portion: Portion) -> Material:
    folder = Path(portion.folder)
    queries = lines_of(folder / "queries.txt", portion.queries)
    if len(queries) < portion.queries:
        raise ValueError(f"{folder}: {portion.queries} queries were asked for, "
                         f"there are {len(queries)}: if the set is older than this clone, delete "
                         "its folder and make it again")
    truth = rows_if_there(folder / "truth.ibin") if portion.base_rows is None else None
    return Material(portion.metric, lines_of(folder / "base.txt", portion.base_rows), queries,
                    truth)


def load(portion: Portion) -> Material:
    folder = Path(portion.folder)
    if (folder / "base.txt").exists():
        return load_texts(portion)
    ending = next(folder.glob("base.*bin")).suffix
    base = read_rows(folder / f"base{ending}")
    queries = read_rows(folder / f"queries{ending}")
    if len(queries) < portion.queries:
        raise ValueError(f"{folder}: {portion.queries} queries were asked for, "
                         f"there are {len(queries)}: if the set is older than this clone, delete "
                         "its folder and make it again")
    if portion.columns:
        rows = base.size // portion.columns
        if rows == 0:
            raise ValueError(f"{folder}: {portion.columns} values a row were asked for, "
                             f"there are {base.size}")
        base = base.reshape(-1)[:rows * portion.columns].reshape(rows, portion.columns)
    whole = portion.base_rows is None and portion.columns is None
    return Material(portion.metric, base[:portion.base_rows], queries[:portion.queries],
                    *(rows_if_there(folder / name) if whole else None
                      for name in ("truth.ibin", "correspondences.ibin")))
