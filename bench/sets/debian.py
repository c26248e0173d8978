"""Files of Debian packages, without installing them or what they depend on."""
import subprocess
from dataclasses import dataclass
from pathlib import Path

from sets.store import folder_made_whole


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    folder: Path


def run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"`{' '.join(command)}` ended with {done.returncode}: "
                           f"{done.stderr.strip()[-500:]}")
    return done.stdout


def unpack(name: str, cache: Path) -> Package:
    """The package from the cache, or downloaded into it."""
    folder = cache / "packages" / name
    if not folder.exists():
        with folder_made_whole(folder) as beside:
            try:
                run("apt-get", "download", name, cwd=beside)
            except RuntimeError as error:
                raise RuntimeError(f"package {name}: {error}. If apt does not know it, run "
                                   "`apt-get update` as root first") from error
            archive = next(beside.glob("*.deb"))
            (beside / "version").write_text(run("dpkg-deb", "-f", str(archive), "Version"))
            run("dpkg-deb", "-x", str(archive), str(beside / "files"))
            archive.unlink()
    return Package(name, (folder / "version").read_text().strip(), folder / "files")
