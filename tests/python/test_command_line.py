"""`python -m nearfield`: arguments, output and exit codes pass through."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import nearfield as nf
from definition import integers


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nearfield", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_version() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"nearfield {nf.__version__}\n")


def test_a_search(tmp_path: Path) -> None:
    rows = integers(50, 4)
    nf.write(tmp_path / "rows.fbin", rows)
    files = ("--queries", tmp_path / "rows.fbin", "--base", tmp_path / "rows.fbin")
    done = run("knn", *files, "-k", "5", "--output", tmp_path / "ids.ibin")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(nf.read_ids(tmp_path / "ids.ibin"), nf.knn(rows, rows, 5).ids)


def test_exit_codes() -> None:
    assert run("knn", "--no-such-option").returncode == 2
    done = run("knn", "--queries", "no.fbin", "--base", "no.fbin", "--output", "/dev/null")
    assert done.returncode == 1
    assert "no.fbin" in done.stderr


def test_ctrl_c(tmp_path: Path) -> None:
    nf.write(tmp_path / "rows.npy", np.random.default_rng(1).random((100_000, 64)))
    rows = str(tmp_path / "rows.npy")
    command = [sys.executable, "-m", "nearfield", "knn", "--base", rows, "--queries", rows]
    slow = ("--metric", "lp:0.7")  # hours: it is not done before it is stopped
    child = subprocess.Popen([*command, *slow, "--output", "/dev/null"], stderr=subprocess.PIPE)
    time.sleep(2)  # the interpreter is gone by then
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=10)
    assert child.returncode == 130
