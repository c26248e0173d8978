"""The referee's side of a child: starts it, asks it, and notices that it died or hangs."""
import json
import os
import selectors
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from peers import VARIABLES

BENCH = Path(__file__).resolve().parent.parent
LOGS = BENCH.parent / "build" / "bench-logs"
THREAD_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class PeerError(Exception):
    """A peer that is missing, died, hangs, or cannot do what it was asked; the text says why."""


def thread_counts(threads: int) -> dict[str, str]:
    return dict.fromkeys(THREAD_COUNTS, str(threads))


def environment(chosen: dict[str, str]) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    return plain | {"PYTHONPATH": str(BENCH)} | chosen


class Process:
    def __init__(self, name: str, label: str, chosen: dict[str, str], patience: float) -> None:
        """`chosen`: environment variables, besides those of the referee."""
        LOGS.mkdir(parents=True, exist_ok=True)
        self.log = LOGS / f"{label.replace('/', '-').replace(' ', '-')}.log"
        self.patience = patience
        with open(self.log, "w") as log:
            self.child = subprocess.Popen(
                [sys.executable, "-m", "referee.child", name], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=log, text=True, env=environment(chosen))

    def ask(self, **message: Any) -> dict[str, Any]:
        """The reply. A child runs only while it is asked: see `pause`."""
        self.child.send_signal(signal.SIGCONT)
        try:
            return self.reply_to(message)
        finally:
            self.pause()

    def pause(self) -> None:
        """Stops the child, whose threads may spin on: those of MKL and OpenBLAS do, for 0.1 s."""
        if self.child.poll() is None:
            # Not send_signal, which would reap one that has just died.
            os.kill(self.child.pid, signal.SIGSTOP)
            os.waitid(os.P_PID, self.child.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def reply_to(self, message: dict[str, Any]) -> dict[str, Any]:
        assert self.child.stdin
        assert self.child.stdout
        try:
            self.child.stdin.write(json.dumps(message) + "\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            raise PeerError(self.how_it_ended()) from None
        # A reply is one line, written at once, and nothing else is on this pipe.
        with selectors.DefaultSelector() as waiting:
            waiting.register(self.child.stdout, selectors.EVENT_READ)
            if not waiting.select(self.patience):
                self.end()
                raise PeerError(f"no answer in {self.patience:.0f} s (--patience)")
        line = self.child.stdout.readline()
        if not line:
            raise PeerError(self.how_it_ended())
        reply = json.loads(line)
        if "error" in reply:
            raise PeerError(reply["error"])
        return reply

    def how_it_ended(self) -> str:
        status = self.child.wait()
        how = f"signal {-status}" if status < 0 else f"exit code {status}"
        return f"its process ended with {how}: see {self.log.relative_to(BENCH.parent)}"

    def end(self) -> None:
        self.child.kill()
        self.child.communicate()
