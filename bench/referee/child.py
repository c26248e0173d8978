"""A peer in a process of its own: told what to do by lines of JSON, answering by lines of JSON.

Its own process, since each peer brings a BLAS and an OpenMP that read the environment when they are
loaded, and that get in each other's way.
"""
import ctypes
import json
import os
import signal
import sys
import time
import traceback
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TextIO

import numpy as np

from referee import blas
from referee.cases import CODING
from referee.material import Portion, load

PR_SET_PDEATHSIG = 1  # of Linux's prctl.h


class Child:
    def __init__(self, name: str) -> None:
        self.name = name

    def start(self, portion: dict[str, Any], operation: str, threads: int) -> dict[str, Any]:
        """Imports the peer and hands it the data."""
        import peers
        from peers.interface import Data
        self.operation = operation
        before = blas.loaded()
        way = peers.load(self.name)
        material = load(Portion(**portion))
        data = Data(np.array(material.base), np.array(material.queries), material.metric, threads,
                    portion["one_by_one"], portion["index"])
        started = time.perf_counter()
        self.way = way(data)
        seconds = time.perf_counter() - started
        # numpy's own was there before, and is not what the peer calls.
        self.own_blas = {file: name for file, name in blas.loaded().items() if file not in before}
        return {"seconds": seconds, "versions": {name: version_of(name) for name in way.packages},
                "is_limit": way.is_limit, "settings": way.settings, "uses_blas": way.uses_blas}

    def blas(self) -> dict[str, Any]:
        return {"speeds": blas.speeds(self.own_blas)}

    def search(self, question: dict[str, Any]) -> list[Any]:
        """An answer for each call: one, or one for each query."""
        if self.operation in ("graph", "select"):
            return [getattr(self.way, self.operation)(question["k"])]
        if self.operation == "match":
            return [self.way.match(question["ratio"])]
        if self.operation in CODING:
            return [getattr(self.way, self.operation)(question["codebooks"])]
        search = getattr(self.way, self.operation)
        wanted = question["k"] or question["radius"]
        count = len(self.way.data.queries)
        step = 1 if question["one_by_one"] else count
        return [search(slice(first, first + step), wanted) for first in range(0, count, step)]

    def warm(self, question: dict[str, Any], setting: dict[str, int], file: str) -> dict[str, Any]:
        """Answers once, untimed, and leaves the answer in a file."""
        if setting:
            self.way.set(**setting)
        answers = self.search(question)
        if self.operation in CODING:
            np.savez(file, self.way.decoded(answers[0]))
        elif not self.way.is_limit:
            ids = [self.way.ids(answer) for answer in answers]
            arrays = ids[0] if isinstance(ids[0], tuple) else (np.concatenate(ids),)
            np.savez(file, *(np.asarray(array, dtype=np.int64) for array in arrays))
        return {"plan": self.way.plan(answers[0])}

    def run(self, question: dict[str, Any], setting: dict[str, int], least: float
            ) -> dict[str, Any]:
        """Seconds a search: the mean of as many as take `least` seconds."""
        if setting:
            self.way.set(**setting)
        searches, started = 0, time.perf_counter()
        while True:
            self.search(question)
            searches += 1
            passed = time.perf_counter() - started
            if passed >= least:
                return {"seconds": passed / (searches * self.way.times_done)}


def version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not from a package"


def reply(child: Child, line: str) -> dict[str, Any]:
    message = json.loads(line)
    command = message.pop("do")
    try:
        answer: dict[str, Any] = getattr(child, command)(**message)
        return answer
    except Exception as error:
        # Whatever a peer throws is the referee's to report, with where it came from.
        traceback.print_exc()
        first_line = (str(error).strip() or "no message").splitlines()[0]
        return {"error": f"{type(error).__name__}: {first_line}"[:300]}


def serve(child: Child, asked: TextIO, replies: TextIO) -> None:
    for line in asked:
        replies.write(json.dumps(reply(child, line)) + "\n")
        replies.flush()


def end_with_the_referee() -> None:
    """Even if that is killed: it stops its children between turns, and nobody would wake them."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    end_with_the_referee()
    # Peers print; what they print must not look like a reply.
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(Child(sys.argv[1]), sys.stdin, channel)
