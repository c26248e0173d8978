"""A sharded index at one epoch, read and searched on this machine. No Ray is needed."""

from __future__ import annotations

import os
from typing import Any

import nearfield as nf
from nearfield._arguments import integer
from nearfield.cluster._answers import Near, Nearest
from nearfield.cluster._manifest import Manifest, read_latest, read_manifest
from nearfield.cluster._segments import OpenShard, parts_within, search_parts
from nearfield.cluster._store import Store, open_store


class ShardedIndex:
    """Made by `open`. Pinned to its epoch: what others commit later is not seen here."""

    def __init__(self, store: Store, manifest: Manifest) -> None:
        self._store = store
        self._manifest = manifest
        self._opened: dict[int, OpenShard] = {}

    @property
    def url(self) -> str:
        return self._store.url

    @property
    def manifest(self) -> Manifest:
        return self._manifest

    @property
    def epoch(self) -> int:
        return self._manifest.epoch

    @property
    def next_id(self) -> int:
        """The first that was never used."""
        return self._manifest.next_id

    def shard(self, number: int) -> OpenShard:
        if not 0 <= number < self._manifest.shards:
            raise nf.InvalidArgumentError(
                f"number is {number}, expected 0 to {self._manifest.shards - 1}"
            )
        if number not in self._opened:
            self._opened[number] = OpenShard(self._store, self._manifest, number)
        return self._opened[number]

    def search(self, queries: Any, k: int = 10, **options: Any) -> Nearest:
        """As of `nearfield.Index`, over the files of all shards, one after the other.

        The result has no `stats`. `timeout` is that of the call, `progress` is of vectors, and
        `memory_limit` is of the search of one file: answers of the others are beside it.
        """
        return search_parts(self._parts(), self._manifest.spec, queries, k, **options)

    def within(self, queries: Any, radius: float, **options: Any) -> Near:
        """As of `nearfield.Index`, over the files of all shards, with the options of `search`."""
        return parts_within(self._parts(), self._manifest.spec, queries, radius, **options)

    def verify(self) -> None:
        """Reads every file and compares its sums: `CorruptFileError` if one was changed."""
        for segment in self._manifest.segments:
            path = self._store.local(segment.name, segment.bytes, segment.sha256)
            nf.verify_index(path)
        for dead in self._manifest.tombstones:
            self._store.local(dead.name, dead.bytes, dead.sha256)

    def __len__(self) -> int:
        """Vectors that may be found."""
        return sum(map(len, self._shards()))

    def __repr__(self) -> str:
        spec = self._manifest.spec
        return (
            f"ShardedIndex({self.url!r}, epoch={self.epoch}, shards={self._manifest.shards}, "
            f"family={spec.family!r}, dim={spec.dim}, dtype={spec.dtype!r}, "
            f"metric={spec.metric!r})"
        )

    def _shards(self) -> list[OpenShard]:
        return [self.shard(number) for number in range(self._manifest.shards)]

    def _parts(self) -> list[nf.Index]:
        return [part for shard in self._shards() for part in shard.parts]


def open_index(
    url: str | os.PathLike[str],
    epoch: int | None = None,
    *,
    cache: str | os.PathLike[str] | None = None,
) -> ShardedIndex:
    """A sharded index, to be read and searched on this machine.

    epoch: the newest if None; of an earlier one, what `clean` has left.
    cache: where files of a bucket are kept; in the temporary folder if None. What this opens stays
        there: remove it when nothing is open.
    """
    store = open_store(url, cache)
    if epoch is None:
        return ShardedIndex(store, read_latest(store))
    return ShardedIndex(store, read_manifest(store, integer("epoch", epoch)))
