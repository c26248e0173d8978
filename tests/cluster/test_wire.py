"""What clients of the service send, however wrong it is."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest

import nearfield as nf
from nearfield import cluster
from nearfield.cluster._wire import (
    Limits,
    Question,
    RefusedError,
    read_json,
    read_npy,
    write_json,
    write_npz,
)

FLOATS = cluster.Spec("flat", 3, "f32", "sqeuclidean")
BYTES = cluster.Spec("flat", 3, "u8", "sqeuclidean")
BITS = cluster.Spec("flat", 12, "bits", "hamming")
LIMITS = Limits(body=10_000, k=50, queries=4, results=100)


def ask(spec: cluster.Spec = FLOATS, **asked: Any) -> Question:
    return read_json(json.dumps(asked).encode(), spec, LIMITS)


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def values(question: Question) -> tuple[str, list[Any]]:
    queries = question.queries
    assert isinstance(queries, np.ndarray)
    return queries.dtype.name, queries.tolist()


def test_numbers_have_the_type_that_holds_them() -> None:
    assert values(ask(queries=[[1, 2.5, -3]])) == ("float32", [[1, 2.5, -3]])
    assert values(ask(BYTES, queries=[[0, 255, 7]])) == ("uint8", [[0, 255, 7]])
    assert values(ask(BYTES, queries=[[0, 255.5, 7]])) == ("float32", [[0, 255.5, 7]])
    assert values(ask(BYTES, queries=[[0, 256, -7]])) == ("float32", [[0, 256, -7]])
    wide = cluster.Spec("flat", 1, "f64", "l1")
    assert values(ask(wide, queries=[[0.1], [1e300]])) == ("float64", [[0.1], [1e300]])
    assert values(ask(queries=[])) == ("float32", [])
    asked = ask(queries=[[1, 2, 3]], k=7, partial=True, only=[5, 2**63 - 1], without=[])
    assert (asked.k, asked.partial, len(asked)) == (7, True, 1)
    assert asked.only is not None
    assert asked.only.tolist() == [5, 2**63 - 1]
    assert asked.without is not None
    assert asked.without.size == 0
    assert ask(queries=[[1, 2, 3]]).k == 10


def test_bits_are_hexadecimal() -> None:
    question = ask(BITS, queries=["ff0f", "0100"])
    assert isinstance(question.queries, nf.Bits)
    assert question.queries.nbits == 12
    assert question.queries.packed.tolist() == [[255, 15], [1, 0]]
    for wrong, message in (
        (["ff1f"], "bits beyond its 12"),
        (["ff"], "has 1 bytes, expected 2"),
        (["xy00"], "hexadecimal"),
        ([15], "hexadecimal"),
    ):
        with pytest.raises(RefusedError, match=message):
            ask(BITS, queries=wrong)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe\xfd", "not JSON"),
        (b"[" * 9_000, "not JSON"),
        (b'{"queries": [[NaN, 1, 2]]}', "NaN is not a number of JSON"),
        (b'{"queries": [[1, 2, Infinity]]}', "Infinity is not a number"),
        (b'{"queries": [[1e999, 1, 2]]}', "that no float32 holds"),
        (b'{"queries": [[1e39, 1, 2]]}', "that no float32 holds"),
        (b'{"queries": [[1' + b"0" * 400 + b", 1, 2]]}", "that no float64 holds"),
        (b'{"queries": [[1' + b"0" * 5_000 + b", 1, 2]]}", "not JSON"),
        (b"[[1, 2, 3]]", "not an object"),
        (b"{}", "queries is not a list"),
        (b'{"queries": {"0": [1, 2, 3]}}', "queries is not a list"),
        (b'{"queries": [[1, 2, 3], [1, 2]]}', "query 1 has 2 values, expected 3"),
        (b'{"queries": ["abc"]}', "query 0 is no list"),
        (b'{"queries": [[1, 2, "3"]]}', "not a number"),
        (b'{"queries": [[1, 2, true]]}', "not a number"),
        (b'{"queries": [[1, 2, null]]}', "not a number"),
        (b'{"queries": [[1, 2, [3]]]}', "not a number"),
        (b'{"queries": [[1, 2, 3]], "radius": 3}', r"unknown \['radius'\]"),
        (b'{"queries": [[1, 2, 3]], "k": -1}', "k is -1, expected 0 to 50"),
        (b'{"queries": [[1, 2, 3]], "k": 1.0}', "k is 1.0"),
        (b'{"queries": [[1, 2, 3]], "k": true}', "k is True"),
        (b'{"queries": [[1, 2, 3]], "k": 51}', "k is 51, the service allows at most 50"),
        (b'{"queries": [[1, 2, 3]], "partial": 1}', "partial is 1"),
        (b'{"queries": [[1, 2, 3]], "only": [1.5]}', "only is not a list of ids"),
        (b'{"queries": [[1, 2, 3]], "only": [9223372036854775808]}', "that no int64 holds"),
        (b'{"queries": [[], [], [], [], []]}', "5 queries, the service allows at most 4"),
        (b'{"queries": [[], [], []], "k": 34}', "102 results, the service allows at most 100"),
    ],
)
def test_json_that_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(RefusedError, match=message) as raised:
        read_json(body, FLOATS, LIMITS)
    assert raised.value.status in (400, 413)
    assert set(json.loads(raised.value.body)["error"]) == {"code", "message"}


def test_a_refusal_is_short() -> None:
    """Whatever was sent, and however deep."""
    long, deep = "x" * 8_000, "[" * 500 + "]" * 500
    for sent in (
        f'{{"queries": [], "{long}": 1}}',
        f'{{"queries": [], "k": "{long}"}}',
        f'{{"queries": [], "k": 1{"0" * 4_000}}}',
        f'{{"queries": [], "partial": ["{long}"]}}',
        f'{{"queries": [], "k": {deep}}}',
        f'{{"queries": [], "partial": {deep}}}',
    ):
        with pytest.raises(RefusedError) as raised:
            read_json(sent.encode(), FLOATS, LIMITS)
        assert raised.value.status == 400
        assert len(raised.value.body) < 300


def test_arrays_of_numpy() -> None:
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    question = read_npy(npy(rows), {"k": "7", "partial": "true"}, FLOATS, LIMITS)
    assert values(question) == ("float32", rows.tolist())
    assert (question.k, question.partial) == (7, True)
    packed = read_npy(npy(np.array([[255, 15]], np.uint8)), {}, BITS, LIMITS)
    assert isinstance(packed.queries, nf.Bits)
    assert len(read_npy(npy(rows[:0]), {}, FLOATS, LIMITS)) == 0


def with_header(text: str, data: bytes = b"") -> bytes:
    header = text.encode() + b" " * (117 - len(text)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


HUGE = "0x" + "f" * 5000  # which Python reads, but does not write in decimal
LIES = "{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not a .npy"),
        (b"\x93NUMPY\x09\x00", "not a .npy"),
        (npy(np.zeros((2, 3), np.float32))[:-1], "24 bytes; 23 follow it"),
        (npy(np.zeros((2, 3), np.float32)) + b"0", "24 bytes; 25 follow it"),
        (npy(np.zeros((2, 4), np.float32)), r"expected \(rows, 3\)"),
        (npy(np.zeros(3, np.float32)), r"expected \(rows, 3\)"),
        (npy(np.zeros((2, 3), ">f4")), "expected"),
        (npy(np.zeros((2, 3), np.complex64)), "complex64"),
        (npy(np.asfortranarray(np.zeros((2, 3), np.float32))), "by columns"),
        (npy(np.array([[None, 1, 2]], object)), "object"),
        (npy(np.zeros((5, 3), np.float32)), "5 queries, the service allows at most 4"),
        (with_header(LIES.format("'<f4'", False, (4, 3))), "48 bytes; 0 follow it"),
        (with_header(LIES.format("'<f4'", False, (2**40, 3))), "at most 4"),
        (with_header(LIES.format("'<f4'", False, (-1, 3))), "expected"),
        (with_header(LIES.format("'<f4'", False, (1, 2**62))), "expected"),
        (with_header(LIES.format("'<f4'", False, (True, 3)), b"0" * 12), "not a .npy|shape"),
        (with_header(LIES.format("'<f4'", False, f"({HUGE}, 3)")), "a shape that no array has"),
        (with_header(LIES.format("'<f4'", False, f"(-{HUGE}, 3)")), "a shape that no array has"),
        (with_header(LIES.format("'<f4'", False, f"(1, {HUGE})")), "a shape that no array has"),
        (with_header("__import__('os').abort()"), "not a .npy"),
        (with_header("(" * 100), "not a .npy"),
    ],
)
def test_arrays_that_are_refused(body: bytes, message: str) -> None:
    with pytest.raises(RefusedError, match=message):
        read_npy(body, {}, FLOATS, LIMITS)


@pytest.mark.parametrize(
    "parameters", [{"k": "-1"}, {"k": "51"}, {"k": "²"}, {"partial": "1"}, {"radius": "3"}]
)
def test_parameters_that_are_refused(parameters: dict[str, str]) -> None:
    with pytest.raises(RefusedError):
        read_npy(npy(np.zeros((1, 3), np.float32)), parameters, FLOATS, LIMITS)


def test_many_results_are_refused() -> None:
    rows = npy(np.zeros((3, 3), np.float32))
    assert read_npy(rows, {"k": "33"}, FLOATS, LIMITS).k == 33
    with pytest.raises(RefusedError, match="102 results, the service allows at most 100") as raised:
        read_npy(rows, {"k": "34"}, FLOATS, LIMITS)
    assert raised.value.status == 413


def test_any_bytes_are_refused_or_a_question() -> None:
    """Bytes of a valid body are changed, many times: nothing else may be raised."""
    draw = np.random.default_rng(3)
    json_body = json.dumps({"queries": [[1, 2.5, 3]], "k": 3, "only": [1, 2]}).encode()
    npy_body = npy(np.ones((2, 3), np.float32))
    refused = 0
    for _ in range(2000):
        for whole in (json_body, npy_body):
            body = bytearray(whole)
            for _ in range(draw.integers(1, 4)):
                body[draw.integers(len(body))] = draw.integers(256)
            try:
                if whole is json_body:
                    read_json(bytes(body), FLOATS, LIMITS)
                else:
                    read_npy(bytes(body), {}, FLOATS, LIMITS)
            except RefusedError:
                refused += 1
    assert refused > 1000


def test_answers() -> None:
    found = cluster.Found(
        np.array([[4, 9], [5, -1]]),
        np.array([[0.1, np.inf], [2, np.inf]], np.float32),
        np.array([[0.1, 1e300], [2, np.inf]]),
        np.array([2, 1]),
        True,
        7,
        (3,),
        0,
    )
    answer = json.loads(write_json(found))
    assert answer == {
        "ids": [[4, 9], [5, -1]],
        "distances": [[float(np.float32(0.1)), None], [2, None]],
        "counts": [2, 1],
        "exact": True,
        "epoch": 7,
        "missing": [3],
    }
    with np.load(io.BytesIO(write_npz(found)), allow_pickle=False) as arrays:
        for name in ("ids", "distances", "keys", "counts"):
            assert arrays[name].tobytes() == getattr(found, name).tobytes()
        about = json.loads(arrays["about"].tobytes())
    assert about == {"exact": True, "epoch": 7, "missing": [3]}


def test_clients_learn_nothing_of_other_errors() -> None:
    refused = RefusedError.of(RuntimeError("/secret/path"))
    assert refused.status == 500
    assert b"secret" not in refused.body
    assert RefusedError.of(nf.DeadlineError("late")).status == 504
    assert RefusedError.of(cluster.BusyError("busy")).status == 503
    assert RefusedError.of(cluster.LostShardError("lost", (1,))).status == 503
    assert RefusedError.of(nf.InvalidArgumentError("wrong")).status == 400
