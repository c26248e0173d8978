"""The GIL, signals, time, progress, memory, threads and forks."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import nearfield as nf
from definition import integers

ROWS = integers(400, 8)
EXPECTED = nf.knn(ROWS, ROWS, 5).ids

# A minute of work for one thread, if nothing ends it: no filter knows l1.
LONG: dict[str, Any] = {
    "queries": np.zeros((20_000, 64)),
    "base": np.random.default_rng(1).random((200_000, 64)),
    "metric": "l1",
    "threads": 1,
}

# Seconds, by tiles where there is AMX.
TILES: dict[str, Any] = {"queries": LONG["base"], "base": LONG["base"], "threads": 1}


def search(_: object = None) -> Any:
    found = nf.knn(ROWS, ROWS, 5)
    return found.ids, found.stats.plan.threads


def interrupt_after(seconds: float, sent: list[float]) -> threading.Thread:
    def send() -> None:
        time.sleep(seconds)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


@pytest.fixture
def sigint_raises() -> Iterator[None]:
    """As in a shell: a process started in the background ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def ctrl_c_latency(search: dict[str, Any]) -> float:
    sent: list[float] = []
    thread = interrupt_after(0.2, sent)
    with pytest.raises(KeyboardInterrupt):
        nf.knn(**search, timeout=60)
    stopped = time.perf_counter()
    thread.join()
    return stopped - sent[0]


WIDE = np.random.default_rng(1).random((2000, 4096), dtype=np.float32)


@pytest.mark.usefixtures("sigint_raises")
@pytest.mark.parametrize(
    "search",
    [
        LONG,
        TILES,
        {"queries": WIDE, "base": WIDE, "metric": "lp:1.37", "threads": 1},
        {"queries": np.zeros((40_000, 0)), "base": np.zeros((40_000, 0)), "threads": 1},
    ],
    ids=["many rows", "tiles", "a costly metric", "no values at all"],
)
def test_ctrl_c_stops_a_search_within_100_ms(search: dict[str, Any]) -> None:
    # Of five, since other programs may hold both cores for longer than that.
    latencies = [ctrl_c_latency(search) for _ in range(5)]
    print("Ctrl-C:", *(f"{1000 * seconds:.0f} ms" for seconds in latencies))
    assert min(latencies) < 0.1, latencies
    np.testing.assert_array_equal(nf.knn(ROWS, ROWS, 5).ids, EXPECTED)


def test_a_signal_handler_that_raises_nothing_stops_nothing() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        thread = interrupt_after(0.1, [])
        with pytest.raises(nf.DeadlineError):
            nf.knn(**LONG, timeout=0.5)
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]


def test_other_threads_run_meanwhile() -> None:
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks
    with pytest.raises(nf.DeadlineError):
        nf.knn(**LONG, timeout=0.5)
    during = ticks - before
    done.set()
    thread.join()
    assert during > 50


def test_timeout() -> None:
    start = time.perf_counter()
    with pytest.raises(TimeoutError) as raised:
        nf.knn(**LONG, timeout=0.1)
    assert 0.1 <= time.perf_counter() - start < 5
    assert isinstance(raised.value, nf.DeadlineError)
    np.testing.assert_array_equal(nf.knn(ROWS, ROWS, 5, timeout=60).ids, EXPECTED)


def test_progress_is_called_in_this_thread_and_ends_at_the_total() -> None:
    calls: list[tuple[int, int, int]] = []
    nf.knn(
        LONG["queries"][:100],
        LONG["base"][:5_000],
        metric="lp:0.7",  # slow: it is reported on a few times a second
        threads=1,
        progress=lambda done, total: calls.append((done, total, threading.get_ident())),
    )
    done = [call[0] for call in calls]
    assert {call[1:] for call in calls} == {(100 * 5_000, threading.get_ident())}
    assert done == sorted(set(done))
    assert done[-1] == 100 * 5_000
    assert len(done) > 1


def test_what_progress_raises_ends_the_search() -> None:
    def stop(done: int, total: int) -> None:
        raise LookupError(f"{done} of {total} are enough")

    with pytest.raises(LookupError, match="are enough"):
        nf.knn(**LONG, progress=stop, timeout=60)


def test_a_bar(capsys: pytest.CaptureFixture[str]) -> None:
    nf.knn(ROWS, ROWS, 5, progress=True)
    written = capsys.readouterr()
    assert written.err.endswith("[####################] 100 %\n")
    assert written.out == ""
    nf.knn(ROWS, ROWS, 5, progress=False)
    assert capsys.readouterr().err == ""


def test_a_bar_of_a_search_that_raises_ends_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(nf.DeadlineError):
        nf.knn(**LONG, progress=True, timeout=0.5)
    assert capsys.readouterr().err.endswith(" %\r\n")


def test_memory_limit() -> None:
    queries, base = np.zeros((100, 16)), np.random.default_rng(1).random((5000, 16))
    free = nf.knn(queries, base, 10)
    limited = nf.knn(queries, base, 10, memory_limit="64K")
    plan = limited.stats.plan
    assert plan.result_bytes + plan.working_bytes <= 65_536
    np.testing.assert_array_equal(limited.ids, free.ids)
    with pytest.raises(MemoryError, match=r"1024.*bytes|bytes.*1024") as raised:
        nf.knn(queries, base, 10, memory_limit="1KiB")
    assert isinstance(raised.value, nf.MemoryLimitError)
    with pytest.raises(nf.MemoryLimitError, match="1536"):
        nf.knn(queries, base, 10, memory_limit="1.5k")


DAEMON = """
import os, sys, threading, time
import numpy as np
import nearfield as nf

def search():
    try:
        nf.knn(np.zeros((20_000, 64)), np.zeros((200_000, 64)), metric="l1", threads=1)
    except nf.CancelledError:
        nf.knn(np.zeros((20_000, 64)), np.zeros((200_000, 64)), metric="l1", threads=1)

threading.Thread(target=search, daemon=True).start()
time.sleep(0.3)
child = os.fork()
if child:
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
sys.exit(7)
"""


def test_the_interpreter_ends_under_a_daemon_that_searches() -> None:
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", DAEMON], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 7, done.stderr
        assert "nanobind" not in done.stderr, done.stderr


def test_threads_share_an_array() -> None:
    with ThreadPoolExecutor(8) as pool:
        for ids, _ in pool.map(search, range(40)):
            np.testing.assert_array_equal(ids, EXPECTED)


def long_step() -> tuple[nf.KnnCursor, threading.Thread]:
    """A cursor, and the thread that is in a step of it for a second."""
    cursor = nf.KnnCursor(LONG["queries"], LONG["base"], metric="l1")
    begun = threading.Event()

    def step() -> None:
        with pytest.raises(nf.DeadlineError):
            cursor.next(5, threads=1, timeout=1, progress=lambda done, total: begun.set())

    thread = threading.Thread(target=step)
    thread.start()
    assert begun.wait(timeout=10)
    return cursor, thread


def test_two_threads_in_one_cursor_is_an_error_at_once() -> None:
    cursor, thread = long_step()
    start = time.perf_counter()
    with pytest.raises(nf.UnsupportedError, match=r"another thread is in a step.*lock of yours"):
        cursor.next(5)
    assert time.perf_counter() - start < 0.5
    thread.join()
    assert cursor.next(0).ids.shape == (20_000, 0)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_cursor_in_a_child_forked_during_a_step() -> None:
    cursor, thread = long_step()
    rested = nf.KnnCursor(ROWS, ROWS)
    child = os.fork()
    if child == 0:
        try:
            cursor.next(5)
        except nf.UnsupportedError as error:
            found = rested.next(5).ids
            os._exit(0 if "forked" in str(error) and (found == EXPECTED).all() else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    thread.join()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_searches_with_all_its_threads() -> None:
    _, threads = search()
    with multiprocessing.get_context("fork").Pool(3) as pool:
        for ids, child_threads in pool.map_async(search, range(6)).get(timeout=60):
            np.testing.assert_array_equal(ids, EXPECTED)
            assert child_threads == threads


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_forked_during_a_search_can_search() -> None:
    def search_for_a_second() -> None:
        with pytest.raises(nf.DeadlineError):
            nf.knn(**LONG, timeout=1)

    thread = threading.Thread(target=search_for_a_second)
    thread.start()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        ids, _ = pool.apply_async(search).get(timeout=60)
    thread.join()
    np.testing.assert_array_equal(ids, EXPECTED)
