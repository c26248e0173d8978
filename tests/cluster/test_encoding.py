"""Codes of all rows, however often the job was ended."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import nearfield as nf
from conftest import Place
from material import Array, run_killed, vectors
from nearfield import cluster
from nearfield.cluster._datasets import Dataset
from nearfield.cluster._store import DRAFT
from ray_nodes import Nodes

ROWS = vectors(5000)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("quantizer") / "rq.safetensors"
    nf.Quantizer.train(ROWS, kind="rq", codebooks=4, bits=4, iterations=3).save(path)
    return path


def test_codes_are_those_of_one_call(place: Place, saved: Path, tmp_path: Path) -> None:
    files = [tmp_path / "first.fbin", tmp_path / "second.fbin"]
    nf.write(files[0], ROWS[:1700])
    nf.write(files[1], ROWS[1700:])
    expected = nf.Quantizer.open(saved).encode(ROWS)
    for rows in (ROWS, files):
        url = place()
        assert cluster.encode(url, rows, saved, block=800) == 7
        parts = list(cluster.read_codes(url))
        assert [len(part) for part in parts] == [800] * 6 + [200]
        assert np.concatenate(parts).tobytes() == expected.tobytes()


def test_codes_by_tasks(nodes: Nodes, saved: Path, tmp_path: Path) -> None:
    cluster.encode(tmp_path / "job", ROWS, saved, block=1200)
    codes = np.concatenate(list(cluster.read_codes(tmp_path / "job")))
    assert codes.tobytes() == nf.Quantizer.open(saved).encode(ROWS).tobytes()


@pytest.mark.filterwarnings("ignore")  # Ray Data's own
def test_a_dataset_of_ray_data(nodes: Nodes, saved: Path, tmp_path: Path) -> None:
    """Of tensors and of lists, in blocks that are not those of the job."""
    import pyarrow
    import pyarrow.parquet
    import ray.data

    expected = nf.Quantizer.open(saved).encode(ROWS)
    for number, begin in enumerate(range(0, 5000, 700)):
        lists = pyarrow.array(list(ROWS[begin : begin + 700]), pyarrow.list_(pyarrow.float32()))
        table = pyarrow.table({"id": range(len(lists)), "vector": lists})
        pyarrow.parquet.write_table(table, tmp_path / f"{number}.parquet")
    files = sorted(str(path) for path in tmp_path.glob("*.parquet"))
    datasets = {
        "lists": ray.data.read_parquet(files),
        "tensors": ray.data.from_numpy([ROWS[:1], ROWS[1:3100], ROWS[3100:]]),
    }
    done: list[tuple[int, int]] = []

    def report(now: int, total: int) -> None:
        done.append((now, total))

    for name, dataset in datasets.items():
        column = "vector" if name == "lists" else "data"
        done.clear()
        job = tmp_path / name
        parts = cluster.encode(job, dataset, saved, column=column, block=800, progress=report)
        assert (parts, done[0], done[-1]) == (7, (0, 7), (7, 7))
        codes = list(cluster.read_codes(job))
        assert [len(part) for part in codes] == [800] * 6 + [200]
        assert np.concatenate(codes).tobytes() == expected.tobytes()
    # What is lost is made again, and nothing else.
    lost = tmp_path / "lists" / "parts" / "00000003.npz"
    before = {path.name: path.stat().st_mtime_ns for path in lost.parent.iterdir()}
    lost.unlink()
    cluster.encode(tmp_path / "lists", datasets["lists"], saved, column="vector", block=800)
    after = {path.name: path.stat().st_mtime_ns for path in lost.parent.iterdir()}
    assert {name for name in after if after[name] != before[name]} == {lost.name}
    codes = list(cluster.read_codes(tmp_path / "lists"))
    assert np.concatenate(codes).tobytes() == expected.tobytes()
    with pytest.raises(nf.InvalidArgumentError, match="column is 'other', expected one of"):
        cluster.encode(tmp_path / "x", datasets["lists"], saved, column="other")
    with pytest.raises(nf.InvalidArgumentError, match="id has values of int64"):
        cluster.encode(tmp_path / "x", datasets["lists"], saved, column="id")


class Shrinking:
    """As of Ray Data: 1000 rows when they are counted, fewer when they are read."""

    def __init__(self, rows: list[int], first: float = 0) -> None:
        self._rows, self._first = rows, first
        self.context = SimpleNamespace(execution_options=SimpleNamespace())

    def count(self) -> int:
        return 1000

    def columns(self) -> list[str]:
        return ["v"]

    def select_columns(self, names: list[str]) -> Shrinking:
        return self

    def take_batch(self, count: int, batch_format: str) -> dict[str, Array]:
        return {"v": np.full((count, 8), self._first, np.float32)}

    def repartition(self, **_: object) -> Shrinking:
        return self

    def iter_internal_ref_bundles(self) -> list[SimpleNamespace]:
        entries = [
            SimpleNamespace(metadata=SimpleNamespace(num_rows=count), ref=count)
            for count in self._rows
        ]
        return [SimpleNamespace(blocks=entries)]


def test_a_dataset_that_changes_is_an_error() -> None:
    assert list(Dataset(Shrinking([400, 400, 0, 200]), "v").blocks(400)) == [400, 400, 200]
    for rows, message in (([400, 400], "0 rows at row 800"), ([400, 300], "300 rows at row 400")):
        with pytest.raises(nf.InvalidArgumentError, match=message):
            list(Dataset(Shrinking(rows), "v").blocks(400))


def test_a_dataset_is_known_by_its_first_rows() -> None:
    """Of one shape, in one place: parts of two would be mixed."""
    one, same, other = (Dataset(Shrinking([], first), "v").describe() for first in (0, 0, 1))
    assert one == same
    assert one != other


def test_wrong_questions(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(nf.InvalidArgumentError, match="rows has 9 columns, the quantizer 8"):
        cluster.encode(tmp_path / "job", vectors(10, cols=9), saved)
    with pytest.raises(nf.InvalidArgumentError, match="block is 0, expected at least 1"):
        cluster.encode(tmp_path / "job", ROWS, saved, block=0)
    with pytest.raises(nf.InvalidArgumentError, match="column is 'a', and rows is no dataset"):
        cluster.encode(tmp_path / "job", ROWS, saved, column="a")
    cluster.encode(tmp_path / "job", ROWS, saved)
    with pytest.raises(cluster.ConflictError, match="holds another job"):
        cluster.encode(tmp_path / "job", vectors(5000, seed=2), saved)
    other = tmp_path / "other.safetensors"
    nf.Quantizer.train(ROWS, kind="pq", codebooks=4, bits=4, iterations=1).save(other)
    with pytest.raises(cluster.ConflictError, match="holds another job"):
        cluster.encode(tmp_path / "job", ROWS, other)


JOB = """
import sys
import time
from nearfield import cluster


def report(done, total):
    print(done, flush=True)
    if done == 4:
        time.sleep(600)  # until it is killed


cluster.encode(*sys.argv[1:4], block=250, progress=report)
"""


def same_parts(job: Path, whole: Path) -> int:
    """How many there are; an error unless they are the same bytes. What a killed task was
    writing is no part."""
    for path in (whole / "parts").iterdir():
        assert (job / "parts" / path.name).read_bytes() == path.read_bytes()
    parts, expected = (
        {path.name for path in (of / "parts").iterdir() if not path.name.startswith(DRAFT)}
        for of in (job, whole)
    )
    assert parts == expected
    return len(parts)


def test_a_driver_that_is_killed_goes_on(saved: Path, tmp_path: Path) -> None:
    """kill -9 after each few parts, until it is through: the same bytes as undisturbed."""
    rows = tmp_path / "rows.fbin"
    nf.write(rows, ROWS)
    job, whole = tmp_path / "job", tmp_path / "whole"
    kills = run_killed(JOB, job, rows, saved)
    assert kills == 5  # 20 parts, 4 at a time
    assert cluster.encode(whole, rows, saved, block=250) == 20
    assert same_parts(job, whole) == 20


def test_a_driver_of_tasks_that_is_killed_goes_on(
    nodes: Nodes, saved: Path, tmp_path: Path
) -> None:
    """Its tasks may end what they have begun, or die with it."""
    rows = tmp_path / "rows.fbin"
    nf.write(rows, ROWS)
    job, whole = tmp_path / "job", tmp_path / "whole"
    connect = f"import ray; ray.init({nodes.address!r}, log_to_driver=False)\n"
    assert run_killed(connect + JOB, job, rows, saved) >= 1
    assert cluster.encode(whole, rows, saved, block=250) == 20
    assert same_parts(job, whole) == 20
