"""The files of a sharded index: written once, opened as one shard of one epoch."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

import nearfield as nf
from nearfield.cluster._answers import Near, Nearest, merge_near, merge_nearest
from nearfield.cluster._in_turn import search_in_turn
from nearfield.cluster._manifest import DATA, Manifest, Segment, Spec, Tombstones
from nearfield.cluster._store import Store, sum_file
from nearfield.cluster._tasks import task_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_RECORD_BYTES = 1 << 16

Opened = TypeVar("Opened")


def new_index(spec: Spec) -> nf.Index:
    return nf.Index(spec.family, dim=spec.dim, dtype=spec.dtype, metric=spec.metric)


def spec_of(index: nf.Index) -> Spec:
    return Spec(index.family, index.dim, index.dtype, index.metric)


def write_segment(store: Store, index: nf.Index, shard: int, epoch: int) -> Segment:
    """Under a name that nobody else has: writers never meet, and what is written twice is two."""
    name = f"{DATA}/{uuid.uuid4().hex}.nf"
    ids = index.ids
    with store.writing(name) as path:
        index.save(path, threads=task_threads())
        size, sha256 = sum_file(path)
    return Segment(name, size, sha256, shard, epoch, len(index), int(ids.min()), int(ids.max()))


def write_tombstones(store: Store, ids: NDArray[np.int64], epoch: int) -> Tombstones:
    name = f"{DATA}/{uuid.uuid4().hex}.npy"
    with store.writing(name) as path:
        draft = path.with_suffix(".npy")  # the ending says the format
        nf.write_ids(draft, ids.reshape(-1, 1))
        draft.replace(path)
        size, sha256 = sum_file(path)
    return Tombstones(name, size, sha256, epoch, len(ids))


def write_once(store: Store, record: str, make: Callable[[], Segment | None]) -> Segment | None:
    """What `make` makes, or what it made when this was first done under the name of the record. A
    record whose file is gone counts for nothing."""
    found = _read_record(store, record)
    if found is not None:
        return found[0]
    made = make()
    if not store.create(record, json.dumps(made and asdict(made)).encode()):
        found = _read_record(store, record)
        if found is not None:
            if made is not None:
                store.remove(made.name)
            return found[0]
    return made


def _read_record(store: Store, record: str) -> tuple[Segment | None] | None:
    try:
        fields = json.loads(store.read(record, MOST_RECORD_BYTES))
    except FileNotFoundError:
        return None
    if not fields:
        return (None,)
    segment = Segment(**fields)
    if not is_there(store, segment):
        store.remove(record)  # that of the file in its place is created
        return None
    return (segment,)


def is_there(store: Store, file: Segment | Tombstones) -> bool:
    return store.size(file.name) == file.bytes


class OpenShard:
    """The vectors of one shard at one epoch, mapped; what tombstones name is removed."""

    def __init__(
        self,
        store: Store,
        manifest: Manifest,
        shard: int,
        checked: Mapping[str, Path] | None = None,
        segments: Sequence[Segment] | None = None,
    ) -> None:
        """checked: files that others have open, by name, which are not read again to check them.
        segments: of the shard; all if None."""
        self.identity = manifest.identity
        self._spec = manifest.spec
        chosen = manifest.of_shard(shard) if segments is None else segments
        tombstones = {
            file.name: file for segment in chosen for file in manifest.tombstones_of(segment)
        }
        self.files: dict[str, Path] = {}
        known = checked or {}
        dead = {
            file.name: self._take(store, file, known, _read_dead) for file in tombstones.values()
        }
        self.parts: list[nf.Index] = []
        for segment in chosen:
            part = self._take(store, segment, known, partial(self._open, segment))
            for file in manifest.tombstones_of(segment):
                part.remove(dead[file.name])
            self.parts.append(part)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def search(self, queries: Any, k: int, **options: Any) -> Nearest:
        return search_parts(self.parts, self._spec, queries, k, **options)

    def within(self, queries: Any, radius: float, **options: Any) -> Near:
        return parts_within(self.parts, self._spec, queries, radius, **options)

    def close(self) -> None:
        for part in self.parts:
            part.close()

    def _take(
        self,
        store: Store,
        file: Segment | Tombstones,
        checked: Mapping[str, Path],
        opening: Callable[[Path], Opened],
    ) -> Opened:
        """A file, opened. Others that share a cache may remove it between its check and that: then
        it is downloaded again. What is mapped stays."""
        while True:
            path = self.files[file.name] = _local(store, file, checked)
            try:
                return opening(path)
            except nf.FileError:
                if path.exists():
                    raise

    def _open(self, segment: Segment, path: Path) -> nf.Index:
        part = nf.Index.open(path, max_bytes=segment.bytes, max_dim=self._spec.dim)
        actual = spec_of(part)
        if (actual, len(part)) != (self._spec, segment.rows):
            raise nf.CorruptFileError(
                f"{path}: has {len(part)} vectors of {actual}, the manifest says {segment.rows} of "
                f"{self._spec}"
            )
        return part


def search_parts(
    parts: Sequence[nf.Index], spec: Spec, queries: Any, k: int, **options: Any
) -> Nearest:
    """Of files that have no id in common, and may be none."""

    def search(part: nf.Index, **run: Any) -> Nearest:
        return Nearest.of(part.search(queries, k, **run))

    return merge_nearest(search_in_turn(parts or [new_index(spec)], search, **options))


def parts_within(
    parts: Sequence[nf.Index], spec: Spec, queries: Any, radius: float, **options: Any
) -> Near:
    def within(part: nf.Index, **run: Any) -> Near:
        return Near.of(part.within(queries, radius, **run))

    return merge_near(search_in_turn(parts or [new_index(spec)], within, **options))


def _read_dead(path: Path) -> NDArray[np.int64]:
    return nf.read_ids(path).ravel()


def _local(store: Store, file: Segment | Tombstones, checked: Mapping[str, Path]) -> Path:
    path = checked.get(file.name)
    if path is None or not path.exists():
        path = store.local(file.name, file.bytes, file.sha256)
    return path
