"""Who changes a sharded index: build, append, upsert, delete, compact, clean.

A change is files under new names, then one manifest, created under the number of the next epoch. Of
writers that meet there one wins, and the others apply their change to what it made. A change whose
idempotency key is in the manifest was made already, and is not made again. One without a key is
known by the commit of its manifest, for as long as the call that makes it.
"""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np

import nearfield as nf
from nearfield._arguments import integer, real, text
from nearfield._run import Progress
from nearfield.cluster._errors import ConflictError, NoIndexError
from nearfield.cluster._manifest import (
    DATA,
    FOLDER,
    MOST_BYTES,
    MOST_GROWN_BYTES,
    MOST_SHARDS,
    Manifest,
    Segment,
    Spec,
    encode,
    latest_epoch,
    manifest_name,
    read_latest,
    read_manifest,
)
from nearfield.cluster._segments import (
    OpenShard,
    is_there,
    new_index,
    spec_of,
    write_once,
    write_segment,
    write_tombstones,
)
from nearfield.cluster._sources import Source, SourceLike, sum_array, take_source
from nearfield.cluster._store import DAY, Store, open_store
from nearfield.cluster._tasks import run_tasks, task_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

Url: TypeAlias = Union[str, "os.PathLike[str]"]

JOBS = "jobs"
ATTEMPTS = 20  # of a commit, when others win
# Fewer rows a shard than this are not divided: each file is searched by itself.
LEAST_PIECE = 4_096


def build(
    url: Url,
    rows: SourceLike,
    *,
    shards: int,
    family: str = "flat",
    metric: str = "sqeuclidean",
    ids: NDArray[np.int64] | None = None,
    bits: int = 0,
    key: str | None = None,
    progress: Progress = None,
) -> int:
    """Makes a sharded index of rows, and returns its epoch, 1.

    url: a folder, or `s3://bucket/prefix`. It holds one index.
    rows: an array of numpy, or `nearfield.bits`; or the name of a vector file, or a list of them,
        under which all machines see them. A shard gets rows that follow each other.
    shards: as many actors search it. It is not changed later.
    family, metric: as of `nearfield.Index`.
    ids: one for each row, no two the same; their numbers if None.
    bits: of files of packed bits, how many there are a row. An array says so itself: it is an
        error where they differ.
    key: whoever calls again with the same key gets the same index: shards that are written are not
        written again, and one that is there is not an error. Of other rows or ids, an index that
        is not there yet is written from the beginning.
    progress: as of `nearfield.knn`; it counts shards.
    """
    store = open_store(url)
    source = take_source(rows, bits)
    count = integer("shards", shards)
    if not 1 <= count <= MOST_SHARDS:
        raise nf.InvalidArgumentError(f"shards is {count}, expected 1 to {MOST_SHARDS}")
    given = None if ids is None else _take_unique(ids, source.rows)
    spec = spec_of(new_index(Spec(text("family", family), source.dim, source.dtype, metric)))
    _check_key(key)
    if latest_epoch(store):
        return _built_already(store, key)
    ids_sum = None if given is None else sum_array(given)
    job = _job(key, "build", source.describe(), ids_sum, str(spec), count)
    cuts = [source.rows * shard // count for shard in range(count + 1)]
    calls = [
        (store.url, spec, shard, cuts[shard], cuts[shard + 1], 0, f"{job}{shard:08d}.json")
        for shard in range(count)
    ]
    made = run_tasks(_build_segment, (source, given), calls, progress=progress)
    first = Manifest(0, "", spec, count, 0)
    segments = tuple(replace(segment, epoch=1) for segment in made if segment)
    built = first.next(key, segments=segments, next_id=_next_id(0, segments))
    if not _create(store, first, built):
        return _built_already(store, key)
    _remove_job(store, job)
    return 1


def append(
    url: Url,
    rows: SourceLike,
    *,
    bits: int = 0,
    key: str | None = None,
    progress: Progress = None,
) -> int:
    """Adds rows under ids that were never used, the next ones, and returns the new epoch.

    They follow each other from `open(url, epoch - 1).next_id` on. The other arguments are those of
    `build`.
    """
    return _add(url, take_source(rows, bits), None, key, progress)


def upsert(
    url: Url,
    rows: SourceLike,
    ids: NDArray[np.int64],
    *,
    bits: int = 0,
    key: str | None = None,
    progress: Progress = None,
) -> int:
    """Adds rows under these ids, in the place of what is there under them; the new epoch."""
    source = take_source(rows, bits)
    return _add(url, source, _take_unique(ids, source.rows), key, progress)


def delete(url: Url, ids: NDArray[np.int64] | Sequence[int], *, key: str | None = None) -> int:
    """Removes what is there under these ids, and returns the new epoch. Unknown ones are no error.

    The vectors stay in their files until `compact`, and those until `clean`.
    """
    store = open_store(url)
    dead = np.unique(_take_ids(ids))

    def change(now: Manifest) -> Manifest:
        tombstones = write_tombstones(store, dead, now.epoch + 1)
        return now.next(key, tombstones=(*now.tombstones, tombstones))

    return _commit(store, change, key)


def compact(
    url: Url,
    *,
    key: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> int:
    """Writes the shards anew that have more than one file, or vectors that are removed; the epoch.

    Readers of earlier epochs go on with the files they have. A shard is held in memory, one for
    each task.

    cache: a folder on each machine for files of a bucket, while they are opened; in the machine's
        temporary folder if None.
    """
    store = open_store(url)
    base = read_latest(store)
    _check_key(key)
    done = base.epoch_of(key)
    if done is not None:
        return done
    worn = [shard for shard in range(base.shards) if _is_worn(base, shard)]
    if not worn:
        return base.epoch
    job = _job(key, "compact", base.commit)
    calls = [(store.url, base.epoch, shard, f"{job}{shard:08d}.json") for shard in worn]
    folder = None if cache is None else os.path.abspath(cache)  # a worker has another directory
    made = run_tasks(_compact_shard, folder, calls, progress=progress)
    before = {segment.name for shard in worn for segment in base.of_shard(shard)}

    def change(now: Manifest) -> Manifest:
        if not before <= {segment.name for segment in now.segments}:
            raise ConflictError(
                f"{store.url}: was compacted by another writer, at epoch {now.epoch}; nothing is "
                "lost, and nothing more is to be done"
            )
        kept = tuple(segment for segment in now.segments if segment.name not in before)
        return now.next(key, segments=kept + tuple(segment for segment in made if segment))

    epoch = _commit(store, change, key)
    _remove_job(store, job)
    return epoch


def clean(url: Url, *, keep: int = 2, older_than: float = DAY) -> int:
    """Removes files that none of the `keep` newest epochs is made of; how many.

    Readers that are pinned to an earlier epoch lose it. Manifests are never removed: their numbers
    are what keeps a writer that slept from committing over others.

    older_than: seconds; younger files may be those of a writer that has not committed yet. One
        that finds its files removed, when it commits, raises a `ConflictError`: nothing is lost.
    """
    store = open_store(url)
    count = integer("keep", keep)
    if count < 1:
        raise nf.InvalidArgumentError(f"keep is {count}, expected at least 1")
    before = time.time() - real("older_than", older_than)
    newest = latest_epoch(store)
    if newest == 0:
        raise NoIndexError(f"{store.url}: holds no sharded index")
    # Listed first: what is committed meanwhile is newer than this list.
    listed = [file for folder in (DATA, JOBS) for file in store.files(folder)]
    listed += [file for folder in (DATA, JOBS, FOLDER) for file in store.drafts(folder)]
    newest = latest_epoch(store, newest)
    needed: set[str] = set()
    for epoch in range(max(1, newest - count + 1), newest + 1):
        needed.update(file.name for file in read_manifest(store, epoch).files)
    removed = 0
    for file in listed:
        if file.name not in needed and file.written < before:
            store.remove(file.name)
            removed += 1
    return removed


def _add(
    url: Url,
    source: Source,
    ids: NDArray[np.int64] | None,
    key: str | None,
    progress: Progress,
) -> int:
    store = open_store(url)
    spec = read_latest(store).spec
    if (source.dim, source.dtype) != (spec.dim, spec.dtype):
        raise nf.InvalidArgumentError(
            f"rows has {source.dim} columns of {source.dtype}, the index {spec.dim} of {spec.dtype}"
        )
    written: dict[int, list[Segment]] = {}  # by the first id, which another writer may take

    def change(now: Manifest) -> Manifest:
        first = now.next_id if ids is None else 0
        if first not in written:
            calls = _pieces(store, now, source.rows, first)
            made = run_tasks(_build_segment, (source, ids), calls, progress=progress)
            written[first] = [segment for segment in made if segment]
        epoch = now.epoch + 1
        segments = tuple(replace(segment, epoch=epoch) for segment in written[first])
        tombstones = now.tombstones
        if ids is not None and _may_replace(now, ids):
            tombstones += (write_tombstones(store, ids, epoch),)
        return now.next(
            key,
            segments=now.segments + segments,
            tombstones=tombstones,
            next_id=_next_id(now.next_id, segments),
        )

    return _commit(store, change, key)


def _commit(store: Store, change: Callable[[Manifest], Manifest], key: str | None) -> int:
    _check_key(key)
    now = read_latest(store)
    for _ in range(ATTEMPTS):
        done = now.epoch_of(key)
        if done is not None:
            return done
        after = change(now)
        if _create(store, now, after):
            return after.epoch
        now = read_latest(store, at_least=now.epoch)
    raise ConflictError(
        f"{store.url}: {ATTEMPTS} times another writer committed first, the last time epoch "
        f"{now.epoch}: try again, or write from fewer places"
    )


def _create(store: Store, before: Manifest, after: Manifest) -> bool:
    """The manifest of an epoch, unless there is one. Its new files may be older than `clean` lets
    files be that no manifest names: they are looked for, at the last moment."""
    old = {file.name for file in before.files}
    new = [file for file in after.files if file.name not in old]
    gone = [file.name for file in new if not is_there(store, file)]
    if gone:
        raise ConflictError(
            f"{store.url}: {len(gone)} of {len(new)} files that were written for epoch "
            f"{after.epoch} are gone, the first {gone[0]}: clean removes those of changes that "
            "took longer than its older_than; call again, with the same key: they are made again"
        )
    data = encode(after)
    _check_bytes(store, before, after, len(data))
    if store.create(manifest_name(after.epoch), data):
        return True
    # A link whose answer was lost is made again by a network file system, and finds its own file.
    return read_manifest(store, after.epoch).commit == after.commit


def _check_bytes(store: Store, before: Manifest, after: Manifest, size: int) -> None:
    """A manifest that is larger than what is read would be the end of the index: no writer could
    change it either. What names more files is refused long before, `compact` is not."""
    grows = len(after.files) > len(before.files)
    most = MOST_GROWN_BYTES if grows else MOST_BYTES
    if size > most:
        raise nf.FileError(
            f"{store.url}: the manifest of epoch {after.epoch} would have {size} bytes, of "
            f"{len(after.files)} files, at most {most} are written: compact first, then try again"
        )


def _build_segment(
    shared: tuple[Source, NDArray[np.int64] | None],
    url: str,
    spec: Spec,
    shard: int,
    begin: int,
    end: int,
    first_id: int,
    record: str | None,
) -> Segment | None:
    """Runs as a task: rows begin to end as a file of the shard."""
    source, ids = shared
    store = open_store(url)

    def make() -> Segment | None:
        if begin == end:
            return None
        own = np.arange(first_id + begin, first_id + end) if ids is None else ids[begin:end]
        index = new_index(spec)
        index.add(source.piece(begin, end), own, threads=task_threads())
        return write_segment(store, index, shard, 0)

    return make() if record is None else write_once(store, record, make)


def _compact_shard(
    cache: str | None, url: str, epoch: int, shard: int, record: str
) -> Segment | None:
    """Runs as a task: the living vectors of a shard as one file, in which all tombstones of the
    epoch are applied."""
    store = open_store(url, cache)

    def make() -> Segment | None:
        opened = OpenShard(store, read_manifest(store, epoch), shard)
        for path in opened.files.values():  # which are mapped, and end with this epoch
            store.forget(path)
        parts = [part for part in opened.parts if len(part)]
        if not parts:
            return None
        whole, *others = parts
        for part in others:
            own = part.ids
            whole.add(part.get(own), own, threads=task_threads())
        whole.compact(threads=task_threads())
        return write_segment(store, whole, shard, epoch)

    return write_once(store, record, make)


def _is_worn(manifest: Manifest, shard: int) -> bool:
    segments = manifest.of_shard(shard)
    return len(segments) > 1 or any(map(manifest.tombstones_of, segments))


def _pieces(store: Store, now: Manifest, rows: int, first_id: int) -> list[tuple[Any, ...]]:
    """Few rows go to the shard that has the fewest, many are dealt to all."""
    sizes = [sum(segment.rows for segment in now.of_shard(s)) for s in range(now.shards)]
    chosen = [int(np.argmin(sizes))]
    if rows >= LEAST_PIECE * now.shards:
        chosen = list(range(now.shards))
    cuts = [rows * piece // len(chosen) for piece in range(len(chosen) + 1)]
    return [
        (store.url, now.spec, shard, cuts[at], cuts[at + 1], first_id, None)
        for at, shard in enumerate(chosen)
    ]


def _may_replace(now: Manifest, ids: NDArray[np.int64]) -> bool:
    return any(
        bool(((ids >= segment.first_id) & (ids <= segment.last_id)).any())
        for segment in now.segments
    )


def _next_id(now: int, segments: Sequence[Segment]) -> int:
    return min(max([now, *(segment.last_id + 1 for segment in segments)]), 2**63 - 1)


def _built_already(store: Store, key: str | None) -> int:
    now = read_latest(store)
    done = now.epoch_of(key)
    if done is not None:
        return done
    raise ConflictError(
        f"{store.url}: holds an index already, at epoch {now.epoch}: add to it, or build elsewhere"
    )


def _check_key(key: str | None) -> None:
    if key is not None and (not 1 <= len(text("key", key)) <= 200 or "\n" in key):
        raise nf.InvalidArgumentError(
            f"key has {len(key)} characters, expected 1 to 200 in one line"
        )


def _job(key: str | None, *what: object) -> str:
    """What names of the records of a job begin with: another if anything about it is different, and
    of one without a key always."""
    name = uuid.uuid4().hex if key is None else key
    return f"{JOBS}/{hashlib.sha256(repr((name, what)).encode()).hexdigest()[:32]}-"


def _remove_job(store: Store, job: str) -> None:
    for file in store.files(JOBS, after=job):
        if file.name.startswith(job):
            store.remove(file.name)


def _take_ids(ids: NDArray[np.int64] | Sequence[int]) -> NDArray[np.int64]:
    array = np.asarray(ids)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise nf.InvalidArgumentError(
            f"ids has dtype {array.dtype} and shape {array.shape}, expected integers of one "
            "dimension"
        )
    if array.dtype.kind == "u" and array.size and array.max() > 2**63 - 1:
        raise nf.InvalidArgumentError(f"ids holds {array.max()}, expected at most {2**63 - 1}")
    return np.ascontiguousarray(array, np.int64)


def _take_unique(ids: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    own = _take_ids(ids)
    if len(own) != rows:
        raise nf.InvalidArgumentError(f"ids has {len(own)} values for {rows} rows")
    values, counts = np.unique(own, return_counts=True)
    if (counts > 1).any():
        twice = int(values[counts > 1][0])
        raise nf.InvalidArgumentError(f"ids holds {twice} more than once")
    if -1 in values:
        raise nf.InvalidArgumentError("ids holds -1, which stands for none")
    return own
