"""A bucket of an object store, through obstore. Files are downloaded, checked, then mapped.

Credentials, region and endpoint come from each machine's environment (AWS_ACCESS_KEY_ID,
AWS_REGION, AWS_ENDPOINT_URL ...), never through Ray: what an actor is started with can be read by
everyone on the cluster.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import from_url

from nearfield import CorruptFileError, FileError
from nearfield.cluster._store import DAY, DRAFT, Listed, Store, check_file, check_size

SCHEMES = ("s3", "gs", "az")


class Bucket(Store):
    def __init__(self, url: str, cache: Path) -> None:
        self.url = url.rstrip("/")
        self._bucket: Any = from_url(self.url)
        self._cache = cache / hashlib.sha256(self.url.encode()).hexdigest()[:16]
        _remove_old_drafts(self._cache)

    def create(self, name: str, data: bytes) -> bool:
        try:
            obstore.put(self._bucket, name, data, mode="create")
        except AlreadyExistsError:
            # A put whose answer was lost is sent again by the client, and then finds its own file.
            return self.size(name) == len(data) and self.read(name, len(data)) == data
        except BaseError as error:
            raise self._failed("write", name, error) from error
        return True

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="nearfield-") as folder:
            draft = Path(folder) / Path(name).name
            yield draft
            try:
                obstore.put(self._bucket, name, draft)
            except BaseError as error:
                raise self._failed("write", name, error) from error

    def read(self, name: str, most_bytes: int) -> bytes:
        try:
            found = obstore.get(self._bucket, name)
            check_size(found.meta["size"], most_bytes, f"{self.url}/{name}")
            return bytes(found.bytes())
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{self.url}/{name}") from error
        except BaseError as error:
            raise self._failed("read", name, error) from error

    def local(self, name: str, size: int, sha256: str) -> Path:
        kept = self._cache / f"{sha256}{Path(name).suffix}"
        if kept.exists():
            with suppress(CorruptFileError):  # then it is downloaded again
                check_file(kept, size, sha256)
                return kept
        kept.parent.mkdir(parents=True, exist_ok=True)
        self._download(name, kept, size, sha256)
        return kept

    def forget(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def size(self, name: str) -> int | None:
        try:
            return int(obstore.head(self._bucket, name)["size"])
        except FileNotFoundError:
            return None
        except BaseError as error:
            raise self._failed("look for", name, error) from error

    def files(self, folder: str, after: str = "") -> list[Listed]:
        offset = after or None
        try:
            pages = obstore.list(self._bucket, prefix=folder, offset=offset)
            found = [
                Listed(entry["path"], entry["last_modified"].timestamp())
                for page in pages
                for entry in page
            ]
        except BaseError as error:
            raise self._failed("list", folder, error) from error
        return sorted(found, key=lambda listed: listed.name)

    def remove(self, name: str) -> None:
        try:
            obstore.delete(self._bucket, name)
        except FileNotFoundError:
            pass
        except BaseError as error:
            raise self._failed("remove", name, error) from error

    def _download(self, name: str, kept: Path, size: int, sha256: str) -> None:
        """Renamed when it is whole: actors of one machine may do this at the same time."""
        handle, draft = tempfile.mkstemp(prefix=DRAFT, dir=kept.parent)
        try:
            with open(handle, "wb") as file:
                found = obstore.get(self._bucket, name)
                if found.meta["size"] != size:
                    raise CorruptFileError(
                        f"{self.url}/{name}: has {found.meta['size']} bytes, the manifest says "
                        f"{size}: it was replaced: restore it from a copy"
                    )
                for piece in found.stream():
                    file.write(piece)
            check_file(Path(draft), size, sha256)
            os.rename(draft, kept)
        except FileNotFoundError as error:
            raise CorruptFileError(
                f"{self.url}/{name}: is in the manifest but not there: restore it"
            ) from error
        except BaseError as error:
            raise self._failed("read", name, error) from error
        except CorruptFileError as error:
            raise CorruptFileError(str(error).replace(draft, f"{self.url}/{name}")) from None
        except OSError as error:
            raise FileError(f"{kept}: cannot write: {error}") from error
        finally:
            with suppress(FileNotFoundError):
                os.unlink(draft)

    def _failed(self, verb: str, name: str, error: Exception) -> FileError:
        reason = str(error).partition("\n\nDebug source")[0]
        return FileError(f"{self.url}/{name}: cannot {verb}: {reason}")


def _remove_old_drafts(cache: Path) -> None:
    """Downloads that were killed."""
    for draft in cache.glob(f"{DRAFT}*"):
        with suppress(FileNotFoundError):  # others do this, too
            if draft.stat().st_mtime < time.time() - DAY:
                draft.unlink()
