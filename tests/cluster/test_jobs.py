"""Batch jobs: what they make is what one call makes, however often they were ended."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import nearfield as nf
from conftest import Place
from material import Array, assert_same, run_killed, vectors
from nearfield import cluster
from nearfield.cluster._allocator import OF_TASKS
from nearfield.cluster._graph import lines_of
from nearfield.cluster._tasks import run_tasks, settings_of_tasks
from ray_nodes import Nodes

QUERIES = vectors(25, seed=1)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    path = tmp_path / "base.fbin"
    nf.write(path, vectors(300))
    return path


def parts_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "parts").glob("*.npz"))}


@pytest.mark.parametrize("metric", ["sqeuclidean", "inner_product"])
def test_ground_truth(place: Place, base: Path, metric: str) -> None:
    url = place()
    assert cluster.ground_truth(url, QUERIES, base, 5, metric, block=10) == 3
    assert_same(cluster.read_all_neighbors(url), nf.knn(QUERIES, nf.read(base), 5, metric))
    assert [len(part.ids) for part in cluster.read_neighbors(url)] == [10, 10, 5]


def test_ground_truth_of_bits(tmp_path: Path) -> None:
    """`bits` is of the base, and queries in an array must have as many."""
    packed: Array = np.random.default_rng(0).integers(0, 256, (90, 4)).astype(np.uint8)
    path = tmp_path / "codes.npy"
    nf.write(path, packed)
    queries = nf.bits(packed[:7], 32)
    cluster.ground_truth(tmp_path / "job", queries, path, 4, "hamming", bits=32)
    found = cluster.read_all_neighbors(tmp_path / "job")
    assert_same(found, nf.knn(queries, nf.bits(packed, 32), 4, "hamming"))
    with pytest.raises(nf.InvalidArgumentError, match="bits is 32, but the array has uint8"):
        cluster.ground_truth(tmp_path / "other", packed[:7], path, 4, "hamming", bits=32)


@pytest.mark.parametrize("metric", ["sqeuclidean", "inner_product", "cosine"])
@pytest.mark.parametrize("k", [1, 7, 299, 305])
def test_graph(tmp_path: Path, base: Path, metric: str, k: int) -> None:
    cluster.graph(tmp_path / "job", base, k, metric, block=77)
    found = cluster.read_all_neighbors(tmp_path / "job")
    assert_same(found, nf.graph(nf.read(base), k, metric))


def test_graph_of_bits(tmp_path: Path) -> None:
    packed: Array = np.random.default_rng(0).integers(0, 256, (90, 4)).astype(np.uint8)
    path = tmp_path / "codes.npy"
    nf.write(path, packed)
    cluster.graph(tmp_path / "job", path, 4, "hamming", block=40, bits=30 + 2)
    found = cluster.read_all_neighbors(tmp_path / "job")
    assert_same(found, nf.graph(nf.bits(packed, 32), 4, "hamming"))


def test_only_what_is_missing_is_done_again(tmp_path: Path, base: Path) -> None:
    seen: list[tuple[int, int]] = []
    folder = tmp_path / "job"
    cluster.graph(folder, base, 3, block=50)
    before = parts_of(folder)
    (folder / "parts" / "00000002.npz").unlink()
    with pytest.raises(nf.FileError, match=r"00000002\.npz: is not there yet"):
        cluster.read_all_neighbors(folder)
    cluster.graph(folder, base, 3, block=50, progress=lambda *done: seen.append(done))
    assert (seen[0], seen[-2:]) == ((0, 4), [(0, 1), (1, 1)])  # four lines have this block
    assert parts_of(folder) == before
    assert not list((folder / "lines").iterdir())


@pytest.mark.parametrize("blocks", [1, 2, 3, 4, 5, 20, 25, 49, 50])
def test_any_two_blocks_are_on_one_line(blocks: int) -> None:
    lines = lines_of(blocks)
    together = Counter(pair for line in lines for pair in combinations(line, 2))
    assert set(together.values()) <= {1}
    assert len(together) == blocks * (blocks - 1) // 2
    assert {block for line in lines for block in line} == set(range(blocks))
    assert all(line == sorted(line) for line in lines)


def test_a_place_is_for_one_job(tmp_path: Path, base: Path) -> None:
    cluster.graph(tmp_path / "job", base, 3, block=50)
    for changed in ({"k": 4}, {"block": 60}, {"metric": "l1"}):
        with pytest.raises(cluster.ConflictError, match="holds another job"):
            cluster.graph(tmp_path / "job", base, **{"k": 3, "block": 50, **changed})  # type: ignore[arg-type]


def test_other_queries_of_one_shape_are_another_job(place: Place, base: Path) -> None:
    """Parts of two would be mixed."""
    url = place()
    cluster.ground_truth(url, QUERIES, base, 5, block=10)
    cluster.ground_truth(url, np.asfortranarray(QUERIES), base, 5, block=10)  # the same rows
    with pytest.raises(cluster.ConflictError, match="holds another job"):
        cluster.ground_truth(url, vectors(25, seed=2), base, 5, block=10)


def test_a_function_is_given_to_ray_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the place of Ray, calls that are run at once."""
    given: list[Callable[..., Any]] = []

    def remote(**options: Any) -> Callable[..., Any]:
        def take(function: Callable[..., Any]) -> Any:
            given.append(function)
            called = SimpleNamespace(remote=function)
            return SimpleNamespace(options=lambda **options: called)

        return take

    def wait(calls: list[Any], num_returns: int) -> tuple[list[Any], list[Any]]:
        return calls[:num_returns], calls[num_returns:]

    no_ray = SimpleNamespace(
        is_initialized=lambda: True, cluster_resources=dict, remote=remote, wait=wait,
        put=lambda shared: shared, get=lambda call: call,
        get_runtime_context=lambda: SimpleNamespace(runtime_env={}),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "ray", no_ray)

    def add(shared: int, one: int) -> int:
        return shared + one

    for _ in range(3):
        assert run_tasks(add, 5, [(1,), (2,)]) == [6, 7]
    assert given == [add]


JOB_THAT_NAMES_ARENAS = """
import os
import sys
import ray
from nearfield.cluster._tasks import run_tasks

ray.init(sys.argv[1], log_to_driver=False, runtime_env={"env_vars": {"MALLOC_ARENA_MAX": "3"}})
print(run_tasks(lambda shared: os.environ.get("MALLOC_ARENA_MAX"), None, [()]))
"""


def test_the_allocator_of_tasks(nodes: Nodes) -> None:
    """Without settings their processes grow by nearly a half, with memory that nothing uses."""

    def arenas(shared: None) -> str | None:
        return os.environ.get("MALLOC_ARENA_MAX")

    assert run_tasks(arenas, None, [()]) == [OF_TASKS["MALLOC_ARENA_MAX"]]
    assert run_tasks(arenas, None, [()], own_workers=False) == [None]
    job = [sys.executable, "-I", "-c", JOB_THAT_NAMES_ARENAS, nodes.address]
    assert subprocess.check_output(job, text=True, timeout=120) == "['3']\n"


@pytest.mark.parametrize(
    ("callers", "expected"),
    [
        ({}, {"env_vars": OF_TASKS}),
        ({"env_vars": {"OTHER": "1"}, "pip": ["numpy"]}, {"env_vars": OF_TASKS}),
        ({"env_vars": {"MALLOC_ARENA_MAX": "2"}, "config": {"setup_timeout_seconds": 9}}, {}),
        (
            {"config": {"setup_timeout_seconds": 9}},
            {"env_vars": OF_TASKS, "config": {"setup_timeout_seconds": 9}},
        ),
    ],
)
def test_settings_of_tasks(callers: dict[str, Any], expected: dict[str, Any]) -> None:
    """What Ray adds of the caller's by itself is not repeated: tasks would have other workers."""
    context = SimpleNamespace(runtime_env=callers)
    assert settings_of_tasks(SimpleNamespace(get_runtime_context=lambda: context)) == expected


JOB = """
import sys
from nearfield import cluster

cluster.graph(
    sys.argv[1], sys.argv[2], 3, block=200, progress=lambda done, total: print(done, flush=True)
)
"""


def test_a_driver_that_is_killed_goes_on(tmp_path: Path) -> None:
    """kill -9 after each few parts, until it is through: the same bytes as undisturbed."""
    path = tmp_path / "base.fbin"
    nf.write(path, vectors(4000))
    kills = run_killed(JOB, tmp_path / "job", path)
    assert kills >= 3
    cluster.graph(tmp_path / "whole", path, 3, block=200)
    assert parts_of(tmp_path / "job") == parts_of(tmp_path / "whole")
    assert len(parts_of(tmp_path / "job")) == 20
