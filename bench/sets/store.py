"""Where data sets are kept: a folder for each name and size, complete or not there at all."""
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sets import vector_files

SIZES = ("quick", "full")
MANIFEST = "manifest.json"
RECORDED = Path(__file__).resolve().parent.parent / "checksums.json"


def root(chosen: str | None = None) -> Path:
    default = os.environ.get("NEARFIELD_DATASETS", "~/.cache/nearfield-datasets")
    return Path(chosen or default).expanduser()


@contextmanager
def folder_made_whole(target: Path) -> Iterator[Path]:
    """A folder beside the target, renamed to it if nothing fails, else removed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        yield beside
        beside.chmod(0o755)
        beside.rename(target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def describe_files(folder: Path) -> dict[str, dict[str, Any]]:
    described = {}
    for path in sorted(folder.iterdir()):
        entry: dict[str, Any] = {"bytes": path.stat().st_size, "sha256": sha256(path)}
        if path.suffix in vector_files.TYPES:
            entry["rows"], entry["columns"] = vector_files.shape_of(path)
        described[path.name] = entry
    return described


def write_manifest(folder: Path, facts: dict[str, Any]) -> None:
    manifest = facts | {"files": describe_files(folder)}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")


def read_manifest(folder: Path) -> dict[str, Any]:
    return json.loads((folder / MANIFEST).read_text())


def checksums(manifest: dict[str, Any]) -> dict[str, str]:
    return {name: entry["sha256"] for name, entry in manifest["files"].items()}


def changed(folder: Path) -> list[str]:
    """Files whose bytes are no longer those of the manifest, a sentence each."""
    return [f"{name} has changed since it was made: delete {folder} and make it again"
            for name, expected in checksums(read_manifest(folder)).items()
            if not (folder / name).exists() or sha256(folder / name) != expected]


def recorded() -> dict[str, Any]:
    return json.loads(RECORDED.read_text()) if RECORDED.exists() else {}


def record(key: str, manifest: dict[str, Any]) -> None:
    entry = {"made_with": manifest["made_with"], "files": checksums(manifest)}
    everything = recorded() | {key: entry}
    RECORDED.write_text(json.dumps(dict(sorted(everything.items())), indent=1) + "\n")


def differences(key: str, manifest: dict[str, Any]) -> list[str]:
    """What differs from the recorded set, a sentence each; nothing recorded is a difference."""
    entry = recorded().get(key)
    if entry is None:
        return [f"{key}: nothing is recorded in {RECORDED.name}"]
    found = checksums(manifest)
    return [f"{key}: {name} is {found.get(name, 'missing')[:16]}, recorded is {expected[:16]}"
            for name, expected in entry["files"].items() if found.get(name) != expected]


def checked_sums(name: str, size: str, folder: Path) -> dict[str, str]:
    """Of the bytes that are there: a changed file would be measured for what it no longer is."""
    wrong = changed(folder)
    if wrong:
        raise ValueError("; ".join(wrong))
    manifest = read_manifest(folder)
    for line in differences(f"{name} {size}", manifest) or [f"{name} {size} as recorded"]:
        print(f"data: {line}")
    return checksums(manifest)
