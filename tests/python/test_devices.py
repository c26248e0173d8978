"""Devices: what is there, what is not, and the same results on all of them.

What runs on a device is tested where NEARFIELD_TEST_DEVICE names one, such as opencl.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import definition
import nearfield as nf
from definition import integers

DEVICE = os.environ.get("NEARFIELD_TEST_DEVICE", "")
on_a_device = pytest.mark.skipif(not DEVICE, reason="NEARFIELD_TEST_DEVICE names no device")


def test_devices_begin_with_the_cpu() -> None:
    found = nf.devices()
    cpu = found.devices[0]
    assert (cpu.id, cpu.driver) == ("cpu", nf.isas()[-1])
    assert cpu.memory > 0
    assert cpu.units >= 1
    assert cpu.is_cpu


def test_each_kind_is_there_or_missing_with_a_reason() -> None:
    found = nf.devices()
    there = {device.id.split(":")[0] for device in found.devices}
    missing = {kind for kind, _ in found.missing}
    assert there | missing == {"cpu", "cuda", "opencl"}
    assert not there & missing
    for kind, reason in found.missing:
        assert reason
        for call in (
            lambda kind=kind: nf.pairwise(np.eye(2), np.eye(2), device=kind),
            lambda kind=kind: nf.select_k(np.eye(2), device=kind),
        ):
            with pytest.raises(nf.UnsupportedError) as error:
                call()
            assert str(error.value) == reason


def test_a_wheel_without_plugins_says_how_to_get_them() -> None:
    for kind, reason in nf.devices().missing:
        if "is not in" in reason:
            assert f"nearfield_{kind}.so" in reason
            assert "NEARFIELD_PLUGINS" in reason


@pytest.mark.parametrize("metric", ["sqeuclidean", "euclidean", "inner_product", "l1"])
def test_pairwise(metric: str) -> None:
    queries, base = integers(6, 3, seed=2), integers(50, 3)
    keys = definition.keys(queries, base, metric)
    found = nf.pairwise(queries, base, metric)
    np.testing.assert_array_equal(found.values, definition.reported(keys, metric))
    np.testing.assert_array_equal(nf.pairwise(queries, base, metric, keys=True).values, keys)
    assert found.values.dtype == np.float64
    assert found.stats.plan.device == "cpu"
    assert found.stats.plan.pairs == 300
    assert repr(found) == "Pairwise(queries=6, rows=50)"


def test_pairwise_and_select_k_are_knn() -> None:
    queries, base = integers(6, 3, seed=2), integers(50, 3)
    table = nf.pairwise(queries, base).values
    np.testing.assert_array_equal(nf.select_k(table, 9).ids, nf.knn(queries, base, 9).ids)


def test_pairwise_of_other_layouts_and_sources(tmp_path: os.PathLike[str]) -> None:
    rows = integers(8, 3)
    expected = nf.pairwise(rows, rows).values
    fortran = np.asfortranarray(rows)
    np.testing.assert_array_equal(nf.pairwise(fortran, rows).values, expected)
    with pytest.raises(nf.InvalidArgumentError, match="copy=False forbids"):
        nf.pairwise(fortran, rows, copy=False)
    for name in "rows.npy", "rows.fbin":
        nf.write(os.path.join(tmp_path, name), rows)
    mapped = nf.open_rows(os.path.join(tmp_path, "rows.npy"))
    np.testing.assert_array_equal(nf.pairwise(mapped, rows).values, expected)
    in_pieces = nf.open_rows(os.path.join(tmp_path, "rows.fbin"))
    with pytest.raises(nf.UnsupportedError, match=r"nearfield\.read"):
        nf.pairwise(in_pieces, rows)
    packed = nf.bits(np.array([[1], [3]], np.uint8), 8)
    assert nf.pairwise(packed, packed, "hamming").values.tolist() == [[0, 1], [1, 0]]
    with pytest.raises(nf.MemoryLimitError, match="512"):
        nf.pairwise(rows, rows, memory_limit=512)


def test_names_that_are_none() -> None:
    for wrong in "gpu", "opencl:x", "cpu:0":
        with pytest.raises(nf.InvalidArgumentError, match="names no device"):
            nf.select_k(np.eye(2), device=wrong)
        with pytest.raises(nf.InvalidArgumentError, match="names no device"):
            nf.pairwise(np.eye(2), np.eye(2), device=wrong)
    with pytest.raises(TypeError, match="device must be a str, got 1"):
        nf.select_k(np.eye(2), device=1)  # type: ignore[arg-type]
    with pytest.raises(nf.InvalidArgumentError, match="device_memory_limit is 'much'"):
        nf.select_k(np.eye(2), device_memory_limit="much")


def test_tune_needs_a_device() -> None:
    with pytest.raises(nf.InvalidArgumentError, match="tune measures a device"):
        nf.tune("cpu")
    with pytest.raises(nf.InvalidArgumentError, match="'some' is no effort"):
        nf.tune("cpu", "some")
    with pytest.raises(TypeError, match="effort must be a str, got 1"):
        nf.tune("cpu", 1)  # type: ignore[arg-type]


@on_a_device
def test_tune_ends_in_time() -> None:
    with pytest.raises(nf.DeadlineError):
        nf.tune(DEVICE, "quick", timeout=0)


@on_a_device
@pytest.mark.parametrize("metric", [metric.name for metric in nf.metrics() if metric.name != "lp"])
def test_pairwise_has_the_same_bits_on_a_device(metric: str) -> None:
    random = np.random.default_rng(3)
    rows: np.ndarray | nf.Bits = random.normal(size=(30, 20)).astype(np.float32)
    if metric in ("hamming", "jaccard"):
        rows = nf.bits(random.integers(0, 256, (30, 3), np.uint8), 24)
    found = nf.pairwise(rows, rows, metric, device=DEVICE)
    np.testing.assert_array_equal(found.values, nf.pairwise(rows, rows, metric).values)
    assert found.stats.plan.device.startswith(DEVICE)
    assert "device" in str(found.stats.plan)


@on_a_device
def test_searches_have_the_same_bits_on_a_device() -> None:
    random = np.random.default_rng(5)
    base = random.normal(size=(700, 40)).astype(np.float32)
    queries = base[:30] + np.float32(0.1)
    for limit in None, "256K":
        found = nf.knn(queries, base, 7, device=DEVICE, device_memory_limit=limit)
        expected = nf.knn(queries, base, 7)
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.keys, expected.keys)
        assert found.stats.plan.device.startswith(DEVICE)
    ranges = nf.within(queries, base, 60, device=DEVICE)
    np.testing.assert_array_equal(ranges.keys, nf.within(queries, base, 60).keys)
    np.testing.assert_array_equal(nf.graph(base, 3, device=DEVICE).keys, nf.graph(base, 3).keys)
    np.testing.assert_array_equal(
        nf.pairs(base, count=20, device=DEVICE).keys, nf.pairs(base, count=20).keys
    )
    np.testing.assert_array_equal(
        nf.mutual(queries, base, device=DEVICE).keys, nf.mutual(queries, base).keys
    )
    np.testing.assert_array_equal(
        nf.match(queries, base, ratio=0.99, device=DEVICE).keys,
        nf.match(queries, base, ratio=0.99).keys,
    )
    assert nf.plan_knn(queries, base, device=DEVICE).device.startswith(DEVICE)
    cursor = nf.KnnCursor(queries, base)
    np.testing.assert_array_equal(cursor.next(7, device=DEVICE).keys, expected.keys)


@on_a_device
def test_indexes_have_the_same_bits_on_a_device() -> None:
    codes = np.random.default_rng(6).integers(0, 256, (3_000, 8), dtype=np.uint8)
    index = nf.Index("ewh", dim=64, dtype="bits", metric="hamming")
    index.add(nf.bits(codes, 64))
    queries = nf.bits(codes[:20], 64)
    for limit in None, "128K":
        found = index.search(queries, 5, device=DEVICE, device_memory_limit=limit)
        assert found.stats.plan.device.startswith(DEVICE)
        np.testing.assert_array_equal(found.ids, index.search(queries, 5).ids)
        ranges = index.within(queries, 12, device=DEVICE, device_memory_limit=limit)
        np.testing.assert_array_equal(ranges.ids, index.within(queries, 12).ids)
    made_there = nf.Index("ewh", dim=64, dtype="bits", metric="hamming")
    made_there.add(nf.bits(codes, 64), device=f"{DEVICE},cpu")
    np.testing.assert_array_equal(made_there.search(queries, 5).ids, index.search(queries, 5).ids)
    vectors = np.random.default_rng(7).normal(size=(3_000, 12)).astype(np.float32)
    hashed = nf.Index("lsh,tables=4", dim=12)
    hashed.add(vectors)
    near = hashed.search(vectors[:20], 5, device=DEVICE)
    assert near.stats.plan.device.startswith(DEVICE)
    np.testing.assert_array_equal(near.keys, hashed.search(vectors[:20], 5).keys)
    flat = nf.Index("flat", dim=64, dtype="bits", metric="hamming")
    with pytest.raises(nf.UnsupportedError, match="does not run on devices"):
        flat.search(queries, 5, device=DEVICE)


@on_a_device
def test_objects_are_the_same_on_a_device() -> None:
    vectors = np.random.default_rng(8).normal(size=(1_000, 3))

    def cubes(one: definition.Array, others: list[definition.Array]) -> list[float]:
        return [float(np.cbrt((np.abs(one - other) ** 3).sum())) for other in others]

    for index in (nf.MetricIndex(vectors, cubes, pivots=5), nf.MetricIndex(vectors, "lp:2")):
        for limit in None, "128K":
            found = index.search(vectors[:9], 4, device=DEVICE, device_memory_limit=limit)
            assert found.stats.plan.device.startswith(DEVICE)
            np.testing.assert_array_equal(found.keys, index.search(vectors[:9], 4).keys)
        ranges = index.within(vectors[:9], 0.5, device=DEVICE)
        np.testing.assert_array_equal(ranges.ids, index.within(vectors[:9], 0.5).ids)
        pairs = index.pairs(count=5, device=DEVICE)
        np.testing.assert_array_equal(pairs.keys, index.pairs(count=5).keys)

    def broken(one: definition.Array, others: list[definition.Array]) -> list[float]:
        if one[0] > 90:
            raise KeyError("it broke")
        return cubes(one, others)

    failing = nf.MetricIndex(vectors, broken, pivots=5)
    with pytest.raises(KeyError, match="it broke"):
        failing.search([np.full(3, 99.0)], 4, device=DEVICE)


@on_a_device
def test_codes_are_the_same_bytes_on_a_device(tmp_path: Path) -> None:
    vectors = np.random.default_rng(8).normal(size=(400, 12)).astype(np.float32)
    quantizer = nf.Quantizer.train(vectors, codebooks=3, bits=4, iterations=2)
    there = nf.Quantizer.train(vectors, codebooks=3, bits=4, iterations=2, device=DEVICE)
    np.testing.assert_array_equal(there.codebooks, quantizer.codebooks)
    for limit in None, "16K":
        codes = quantizer.encode(vectors, device=DEVICE, device_memory_limit=limit)
        np.testing.assert_array_equal(codes, quantizer.encode(vectors))
    quantizer.encode_index(vectors, tmp_path / "cpu.nf")
    quantizer.encode_index(vectors, tmp_path / "device.nf", device=DEVICE)
    assert (tmp_path / "device.nf").read_bytes() == (tmp_path / "cpu.nf").read_bytes()
    product = nf.Quantizer.train(vectors, kind="pq", codebooks=3, bits=4)
    with pytest.raises(nf.UnsupportedError, match="2 codebooks or more"):
        product.encode(vectors, device=DEVICE)


@on_a_device
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("largest", [False, True])
def test_select_k_is_the_same_on_a_device(dtype: type, largest: bool) -> None:
    values: definition.Array = np.random.default_rng(4).integers(0, 50, (7, 400)).astype(dtype)
    values[2, :390] = np.nan
    for k in 1, 20, 500:
        expected = nf.select_k(values, k, largest)
        found = nf.select_k(values, k, largest, device=DEVICE, device_memory_limit="64K")
        np.testing.assert_array_equal(found.ids, expected.ids)
        np.testing.assert_array_equal(found.values, expected.values)
        np.testing.assert_array_equal(found.counts, expected.counts)
        assert found.stats.plan.device.startswith(DEVICE)


@on_a_device
def test_too_little_memory_of_a_device() -> None:
    with pytest.raises(nf.MemoryLimitError, match="10"):
        nf.select_k(np.eye(2), device=DEVICE, device_memory_limit=10)
