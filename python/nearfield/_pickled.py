"""Pickling of what has a file: as the bytes of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, TypeVar

Opened = TypeVar("Opened")


def file_bytes(save: Callable[[str], object]) -> bytes:
    with _memory_file() as (file, path):
        save(path)
        file.seek(0)  # what was written through the path may have moved it
        return file.read()


def from_bytes(open_file: Callable[[str], Opened], saved: bytes) -> Opened:
    with _memory_file() as (_file, path):
        with open(path, "wb") as out:
            out.write(saved)
        return open_file(path)


@contextmanager
def _memory_file() -> Iterator[tuple[BinaryIO, str]]:
    """A file without a name on any disk, and a path that leads to it."""
    with open(os.memfd_create("nearfield"), "rb") as file:
        yield file, f"/proc/self/fd/{file.fileno()}"
