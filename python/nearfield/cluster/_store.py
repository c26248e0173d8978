"""Where the files of a sharded index are: a folder, or a bucket of an object store.

Files are written once and never changed. Two things are asked of a store beyond reading and
writing: that a name is created by one writer only (`create`), which is what commits, and that a
file that is there is whole.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from nearfield import CorruptFileError, FileError, InvalidArgumentError

READ_BYTES = 1 << 20
DAY = 86_400.0  # seconds, after which a draft is one of a writer that has died
DRAFT = ".draft-"  # what names of files begin with that are not whole yet


@dataclass(frozen=True)
class Listed:
    name: str
    written: float  # seconds since 1970, by the store's clock


class Store(ABC):
    """Names are relative, with slashes."""

    url: str

    @abstractmethod
    def create(self, name: str, data: bytes) -> bool:
        """Writes a small file, unless there is one: False. Of many who try, one succeeds."""

    @abstractmethod
    def writing(self, name: str) -> AbstractContextManager[Path]:
        """A context: what is written to the path it gives is in the store when it ends well."""

    @abstractmethod
    def read(self, name: str, most_bytes: int) -> bytes:
        """All of a small file; FileNotFoundError if there is none."""

    @abstractmethod
    def local(self, name: str, size: int, sha256: str) -> Path:
        """A file on this machine with these bytes, to be mapped: checked, or an error."""

    def forget(self, path: Path) -> None:
        """A path that `local` gave is needed no more: a copy made for this machine may go. Whoever
        has it mapped keeps what it has, others get another."""
        return

    @abstractmethod
    def size(self, name: str) -> int | None:
        """Bytes of a file; None if there is none."""

    @abstractmethod
    def files(self, folder: str, after: str = "") -> list[Listed]:
        """The files of a folder in the order of their names; those after one, if it is given."""

    def drafts(self, folder: str) -> list[Listed]:
        """What writers that were killed have left there; of buckets that is the store's matter."""
        return []

    @abstractmethod
    def remove(self, name: str) -> None:
        """No error if it is not there."""


class Folder(Store):
    """A folder that all machines see under the same path. Files are mapped where they lie."""

    def __init__(self, path: Path) -> None:
        self._root = path.absolute()
        self.url = str(self._root)

    def create(self, name: str, data: bytes) -> bool:
        target = self._target(name)
        with _beside(target) as draft:
            with open(draft, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            # A rename would replace the commit of another writer; a link refuses to.
            try:
                os.link(draft, target)
            except FileExistsError:
                return False
        _flush_folder(target.parent)
        return True

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        target = self._target(name)
        with _beside(target) as draft:
            yield draft
            _flush(draft)
            os.rename(draft, target)
        _flush_folder(target.parent)

    def read(self, name: str, most_bytes: int) -> bytes:
        with open(self._root / name, "rb") as file:
            check_size(os.fstat(file.fileno()).st_size, most_bytes, f"{self.url}/{name}")
            return file.read()

    def local(self, name: str, size: int, sha256: str) -> Path:
        path = self._root / name
        check_file(path, size, sha256)
        return path

    def size(self, name: str) -> int | None:
        try:
            return (self._root / name).stat().st_size
        except FileNotFoundError:
            return None

    def files(self, folder: str, after: str = "") -> list[Listed]:
        return self._list(folder, lambda name: name > after and not _is_draft(name))

    def drafts(self, folder: str) -> list[Listed]:
        return self._list(folder, _is_draft)

    def _list(self, folder: str, is_wanted: Callable[[str], bool]) -> list[Listed]:
        """The others are not looked at: that is a call for each, and manifests may be thousands."""
        found = []
        with suppress(FileNotFoundError), os.scandir(self._root / folder) as entries:
            for entry in entries:
                name = f"{folder}/{entry.name}"
                if is_wanted(name):
                    with suppress(FileNotFoundError):  # a draft that was just renamed
                        found.append(Listed(name, entry.stat().st_mtime))
        return sorted(found, key=lambda listed: listed.name)

    def remove(self, name: str) -> None:
        (self._root / name).unlink(missing_ok=True)

    def _target(self, name: str) -> Path:
        target = self._root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        return target


def open_store(url: str | os.PathLike[str], cache: str | os.PathLike[str] | None = None) -> Store:
    """Of a path or `file://` a folder; of `s3://`, `gs://` or `az://` a bucket.

    cache: where files of a bucket are kept on this machine; a folder of the user's in the
        machine's temporary folder if None.
    """
    text = os.fspath(url)
    scheme = urlsplit(text).scheme
    if not scheme or scheme == "file":
        return Folder(Path(unquote(urlsplit(text).path) if scheme else text))
    from nearfield.cluster._bucket import SCHEMES, Bucket

    if scheme not in SCHEMES:
        raise InvalidArgumentError(
            f"url is {text!r}, expected a folder, or one of {', '.join(SCHEMES)} with ://"
        )
    return Bucket(text, Path(cache) if cache is not None else _own_cache())


def check_file(path: Path, size: int, sha256: str) -> None:
    """CorruptFileError unless it has this size and this sum."""
    try:
        with open(path, "rb") as file:
            actual = os.fstat(file.fileno()).st_size
            if actual != size:
                raise CorruptFileError(
                    f"{path}: has {actual} bytes, the manifest says {size}: it was cut short or "
                    "replaced: restore it from a copy"
                )
            digest = hashlib.sha256()
            while piece := file.read(READ_BYTES):
                digest.update(piece)
    except FileNotFoundError:
        raise CorruptFileError(f"{path}: is in the manifest but not there: restore it") from None
    if digest.hexdigest() != sha256:
        raise CorruptFileError(
            f"{path}: its SHA-256 is {digest.hexdigest()}, the manifest says {sha256}: it was "
            "changed: restore it from a copy"
        )


def sum_file(path: Path) -> tuple[int, str]:
    """Bytes and SHA-256."""
    digest = hashlib.sha256()
    size = 0
    with open(path, "rb") as file:
        while piece := file.read(READ_BYTES):
            digest.update(piece)
            size += len(piece)
    return size, digest.hexdigest()


def _is_draft(name: str) -> bool:
    return name.rpartition("/")[2].startswith(DRAFT)


def check_size(size: int, most_bytes: int, name: str) -> None:
    if size > most_bytes:
        raise CorruptFileError(f"{name}: has {size} bytes, at most {most_bytes} are read")


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A name for a draft in the same folder; what is left of it is removed."""
    handle, name = tempfile.mkstemp(prefix=DRAFT, dir=target.parent)
    os.close(handle)
    os.chmod(name, 0o644)  # as files of `save`; the folder says who may read
    try:
        yield Path(name)
    except OSError as error:
        raise FileError(f"{target}: cannot write: {error}") from error
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_flush_folder = _flush  # a folder is flushed as a file is: its names are on the disk then


def _own_cache() -> Path:
    folder = Path(tempfile.gettempdir()) / f"nearfield-cache-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid() or folder.is_symlink():
        raise FileError(f"{folder}: belongs to someone else: name a folder of your own with cache=")
    return folder
