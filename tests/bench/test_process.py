"""Children of the referee: asleep between questions, gone with it."""
import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path
from unittest import mock

from referee.process import BENCH, PeerError, Process

# A child of the referee that spins on after its reply, as some OpenMP do.
SPINNING = """
import sys
for line in sys.stdin:
    if "die" in line:
        break
    print("{}", flush=True)
    while "spin" in line:
        pass
"""
REFEREE = """
import sys, time
from referee.process import Process
process = Process("numpy/partition", "test of the end", {}, 10)
try:
    process.ask(do="blas")
except Exception:
    pass
print(process.child.pid, flush=True)
time.sleep(60)
"""


def state(pid: int) -> str:
    """As in ps: T is stopped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "gone"


class Pausing(unittest.TestCase):
    def start(self) -> Process:
        start = subprocess.Popen
        with mock.patch("subprocess.Popen", lambda command, **how: start(
                [sys.executable, "-c", SPINNING], **how)):
            process = Process("any/way", "test of pausing", {}, 10)
        self.addCleanup(process.end)
        return process

    def test_a_child_is_stopped_after_its_reply_and_wakes_for_the_next(self) -> None:
        process = self.start()
        for _ in range(3):
            self.assertEqual(process.ask(do="nothing"), {})
            self.assertEqual(state(process.child.pid), "T")

    def test_one_that_spins_takes_no_time_of_others(self) -> None:
        process = self.start()
        process.ask(do="spin")
        ticks = Path(f"/proc/{process.child.pid}/stat").read_text().split()[13]
        time.sleep(0.1)
        self.assertEqual(Path(f"/proc/{process.child.pid}/stat").read_text().split()[13], ticks)

    def test_one_that_died_is_reported_again(self) -> None:
        process = self.start()
        for _ in range(2):
            with self.assertRaisesRegex(PeerError, "ended with exit code 0"):
                process.ask(do="die")

    def test_children_end_with_a_referee_that_is_killed(self) -> None:
        with subprocess.Popen([sys.executable, "-c", REFEREE], stdout=subprocess.PIPE, text=True,
                              env=os.environ | {"PYTHONPATH": str(BENCH)}) as referee:
            assert referee.stdout
            child = int(referee.stdout.readline())
            self.assertEqual(state(child), "T")
            referee.send_signal(signal.SIGKILL)
        until = time.monotonic() + 10
        while state(child) not in ("gone", "Z") and time.monotonic() < until:
            time.sleep(0.01)
        self.assertIn(state(child), ("gone", "Z"))


if __name__ == "__main__":
    unittest.main()
