"""Loops in C++ that belong to the benchmarks: compiled when they are first used."""
import ctypes
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
SOURCES = BENCH / "native" / "cpu"
COMPILED = BENCH.parent / "build" / "bench-native"


def library(name: str, *flags: str) -> ctypes.CDLL:
    """Of bench/native/cpu/NAME.cpp; compiled anew if it, the compiler or the flags are others."""
    source = SOURCES / f"{name}.cpp"
    command = [os.environ.get("CXX", "g++"), "-std=c++20", "-O2", "-shared", "-fPIC", *flags]
    digest = hashlib.sha256(source.read_bytes() + " ".join(command).encode()).hexdigest()[:16]
    target = COMPILED / f"{name}-{digest}.so"
    if not target.exists():
        compile_to(target, [*command, str(source)])
    return ctypes.CDLL(str(target))


def compile_to(target: Path, command: list[str]) -> None:
    """Beside its place, since children of several referees may want it at once."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        beside = Path(folder) / target.name
        try:
            done = subprocess.run([*command, "-o", str(beside)], capture_output=True, text=True)
        except OSError as error:
            raise ImportError(f"no compiler: {error}") from error
        if done.returncode != 0:
            raise ImportError(f"{' '.join(command)}: {done.stderr.strip()[:200]}")
        beside.rename(target)
