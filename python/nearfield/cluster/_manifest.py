"""What a sharded index is made of at one epoch. It may come from others: all of it is checked."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from operator import itemgetter
from typing import Any

from nearfield import CorruptFileError
from nearfield.cluster._errors import NoIndexError
from nearfield.cluster._store import Store

FORMAT = "nearfield shards"
VERSION = 1
FOLDER = "manifests"
DATA = "data"

MOST_BYTES = 64 << 20  # of a manifest that is read: about 200,000 files
# Of one that names more files than the epoch before. Above it there is room for `compact`.
MOST_GROWN_BYTES = MOST_BYTES // 2
MOST_SHARDS = 65_536
# Keys of the last commits that have one are remembered: one that comes back later is applied.
MOST_REMEMBERED = 1_000

# An epoch and its commit. Of an index that was removed and built again in the same place the epochs
# begin at 1 again; the commits are others.
Identity = tuple[int, str]

# A name that a manifest may hold: nothing that leads out of the folder.
SEGMENT_NAME = re.compile(rf"{DATA}/[0-9a-f]{{32}}\.nf")
TOMBSTONES_NAME = re.compile(rf"{DATA}/[0-9a-f]{{32}}\.npy")
SUM = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Spec:
    """What the vectors are, as of `nearfield.Index`."""

    family: str
    dim: int
    dtype: str
    metric: str


@dataclass(frozen=True)
class Segment:
    """An index file: some vectors of one shard."""

    name: str
    bytes: int
    sha256: str
    shard: int
    epoch: int  # tombstones of later epochs apply to it
    rows: int
    first_id: int  # the smallest
    last_id: int  # the largest


@dataclass(frozen=True)
class Tombstones:
    """A file of ids that are removed from the segments of earlier epochs."""

    name: str
    bytes: int
    sha256: str
    epoch: int
    rows: int


@dataclass(frozen=True)
class Manifest:
    epoch: int
    commit: str  # of the writer that made this epoch: no two the same
    spec: Spec
    shards: int
    next_id: int  # the first that was never used
    segments: tuple[Segment, ...] = ()
    tombstones: tuple[Tombstones, ...] = ()
    applied: Mapping[str, int] = field(default_factory=dict)  # idempotency key: its epoch

    @property
    def identity(self) -> Identity:
        return self.epoch, self.commit

    @property
    def rows(self) -> int:
        """In all segments; those that tombstones remove are among them."""
        return sum(segment.rows for segment in self.segments)

    @property
    def files(self) -> list[Segment | Tombstones]:
        return [*self.segments, *self.tombstones]

    def of_shard(self, shard: int) -> list[Segment]:
        return [segment for segment in self.segments if segment.shard == shard]

    def tombstones_of(self, segment: Segment) -> list[Tombstones]:
        return [dead for dead in self.tombstones if dead.epoch > segment.epoch]

    def epoch_of(self, key: str | None) -> int | None:
        """Of the change that this key has made, if it is remembered."""
        return None if key is None else self.applied.get(key)

    def next(self, key: str | None, **changes: Any) -> Manifest:
        """The manifest of the epoch that follows, with these changes and this key remembered."""
        epoch = self.epoch + 1
        applied = {**self.applied, key: epoch} if key is not None else self.applied
        # By epochs: in the file keys are in the order of their letters.
        remembered = sorted(applied.items(), key=itemgetter(1))[-MOST_REMEMBERED:]
        after = replace(
            self, epoch=epoch, commit=uuid.uuid4().hex, applied=dict(remembered), **changes
        )
        oldest = min((segment.epoch for segment in after.segments), default=epoch)
        needed = tuple(dead for dead in after.tombstones if dead.epoch > oldest)
        return replace(after, tombstones=needed)


def encode(manifest: Manifest) -> bytes:
    fields = {"format": FORMAT, "version": VERSION, **asdict(manifest)}
    return _text({**fields, "sha256": hashlib.sha256(_text(fields)).hexdigest()})


def decode(data: bytes, name: str) -> Manifest:
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _wrong(name, f"no JSON: {error}") from None
    if not isinstance(fields, dict):
        raise _wrong(name, "an object is expected")
    if fields.get("format") != FORMAT:
        raise _wrong(name, f"its format is {fields.get('format')!r}, expected {FORMAT!r}")
    if fields.get("version") != VERSION:
        raise _wrong(
            name,
            f"its version is {fields.get('version')!r}, this program knows {VERSION}: use a newer "
            "one",
        )
    expected = fields.pop("sha256", None)
    if hashlib.sha256(_text(fields)).hexdigest() != expected:
        raise _wrong(name, "its sum is not that of its text: it was changed")
    return _Reader(name).manifest(fields)


def manifest_name(epoch: int) -> str:
    return f"{FOLDER}/{epoch:020d}.json"


def latest_epoch(store: Store, at_least: int = 0) -> int:
    """The newest epoch, 0 if there is none. `at_least` is one that is known to be there."""
    found = store.files(FOLDER, after=manifest_name(at_least) if at_least else "")
    names = [listed.name for listed in found]
    for name in reversed(names):
        if re.fullmatch(rf"{FOLDER}/\d{{20}}\.json", name):
            return int(name[len(FOLDER) + 1 : -len(".json")])
    return at_least


def read_manifest(store: Store, epoch: int) -> Manifest:
    name = manifest_name(epoch)
    try:
        data = store.read(name, MOST_BYTES)
    except FileNotFoundError:
        raise NoIndexError(f"{store.url}: has no epoch {epoch}") from None
    manifest = decode(data, f"{store.url}/{name}")
    if manifest.epoch != epoch:
        raise _wrong(f"{store.url}/{name}", f"it is that of epoch {manifest.epoch}")
    return manifest


def sum_of_first(store: Store) -> str | None:
    """SHA-256 of the manifest of epoch 1, if there is one: it tells an index from one that was
    built again in its place. Manifests are never removed but with their index."""
    try:
        return hashlib.sha256(store.read(manifest_name(1), MOST_BYTES)).hexdigest()
    except FileNotFoundError:
        return None


def read_latest(store: Store, at_least: int = 0) -> Manifest:
    epoch = latest_epoch(store, at_least)
    if epoch == 0:
        raise NoIndexError(f"{store.url}: holds no sharded index: make one with cluster.build")
    return read_manifest(store, epoch)


def _text(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()


def _wrong(name: str, what: str) -> CorruptFileError:
    return CorruptFileError(f"{name}: not a manifest of a sharded index: {what}")


class _Reader:
    """Every value of a manifest, checked; errors say which."""

    def __init__(self, name: str) -> None:
        self._name = name

    def manifest(self, fields: dict[str, Any]) -> Manifest:
        epoch = self.number(fields, "epoch", 1)
        shards = self.number(fields, "shards", 1, MOST_SHARDS)
        spec = self.table(fields, "spec")
        return Manifest(
            epoch=epoch,
            commit=self.text(fields, "commit"),
            spec=Spec(
                self.text(spec, "family"),
                self.number(spec, "dim", 1),
                self.text(spec, "dtype"),
                self.text(spec, "metric"),
            ),
            shards=shards,
            next_id=self.number(fields, "next_id"),
            segments=tuple(
                self.segment(entry, shards, epoch) for entry in self.tables(fields, "segments")
            ),
            tombstones=tuple(
                self.dead(entry, epoch) for entry in self.tables(fields, "tombstones")
            ),
            applied={
                key: self.number(self.table(fields, "applied"), key, 1, epoch)
                for key in self.table(fields, "applied")
            },
        )

    def segment(self, fields: dict[str, Any], shards: int, epoch: int) -> Segment:
        least = -(2**63)
        return Segment(
            name=self.text(fields, "name", SEGMENT_NAME),
            bytes=self.number(fields, "bytes"),
            sha256=self.text(fields, "sha256", SUM),
            shard=self.number(fields, "shard", 0, shards - 1),
            epoch=self.number(fields, "epoch", 0, epoch),
            rows=self.number(fields, "rows"),
            first_id=self.number(fields, "first_id", least),
            last_id=self.number(fields, "last_id", least),
        )

    def dead(self, fields: dict[str, Any], epoch: int) -> Tombstones:
        return Tombstones(
            name=self.text(fields, "name", TOMBSTONES_NAME),
            bytes=self.number(fields, "bytes"),
            sha256=self.text(fields, "sha256", SUM),
            epoch=self.number(fields, "epoch", 1, epoch),
            rows=self.number(fields, "rows"),
        )

    def number(
        self, fields: dict[str, Any], key: str, least: int = 0, most: int = 2**63 - 1
    ) -> int:
        value = fields.get(key)
        if type(value) is not int or not least <= value <= most:
            raise _wrong(self._name, f"{key} is {value!r}, expected {least} to {most}")
        return value

    def text(
        self, fields: dict[str, Any], key: str, form: re.Pattern[str] = re.compile(r".{1,200}")
    ) -> str:
        value = fields.get(key)
        if not isinstance(value, str) or not form.fullmatch(value):
            raise _wrong(self._name, f"{key} is {value!r}, expected a text like {form.pattern}")
        return value

    def table(self, fields: dict[str, Any], key: str) -> dict[str, Any]:
        value = fields.get(key)
        if not isinstance(value, dict):
            raise _wrong(self._name, f"{key} is {value!r}, expected an object")
        return value

    def tables(self, fields: dict[str, Any], key: str) -> list[dict[str, Any]]:
        value = fields.get(key)
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            raise _wrong(self._name, f"{key} is {value!r}, expected a list of objects")
        return value
