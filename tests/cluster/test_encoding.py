"""Codes of all rows, however often the job was ended."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nearfield as nf
from conftest import Place
from material import run_killed, vectors
from nearfield import cluster
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


def test_wrong_questions(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(nf.InvalidArgumentError, match="rows has 9 columns, the quantizer 8"):
        cluster.encode(tmp_path / "job", vectors(10, cols=9), saved)
    with pytest.raises(nf.InvalidArgumentError, match="block is 0, expected at least 1"):
        cluster.encode(tmp_path / "job", ROWS, saved, block=0)
    cluster.encode(tmp_path / "job", ROWS, saved)
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


def test_a_driver_that_is_killed_goes_on(saved: Path, tmp_path: Path) -> None:
    """kill -9 after each few parts, until it is through: the same bytes as undisturbed."""
    rows = tmp_path / "rows.fbin"
    nf.write(rows, ROWS)
    job, whole = tmp_path / "job", tmp_path / "whole"
    kills = run_killed(JOB, job, rows, saved)
    assert kills == 5  # 20 parts, 4 at a time
    assert cluster.encode(whole, rows, saved, block=250) == 20
    for folder in (job, whole):
        assert len(list((folder / "parts").iterdir())) == 20
    for path in (whole / "parts").iterdir():
        assert (job / "parts" / path.name).read_bytes() == path.read_bytes()
