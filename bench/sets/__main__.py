"""The command bench/datasets."""
import argparse
import signal
import sys
from pathlib import Path

from sets import store
from sets.catalogue import DATA_SETS, folder_of, known, made


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/datasets", description="Makes data sets offline, "
                                     "from packages and a seed. See docs/datasets.md.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="names, and which sizes are made")
    for command, meaning in {
            "make": "make a data set if it is not there, and say if it differs from the recorded",
            "info": "what is in a data set, and where it is from",
            "path": "the folder of a data set",
            "check": "compare all bytes with the manifest and the recorded checksums",
            "record": "write the checksums of a data set into checksums.json",
            "statistics": "norms, intrinsic dimension, and a picture of distances"}.items():
        sub = commands.add_parser(command, help=meaning)
        sub.add_argument("name", metavar="NAME", help=", ".join(DATA_SETS))
        sub.add_argument("--size", choices=store.SIZES, default="quick")
        if command == "statistics":
            sub.add_argument("--picture", type=Path, metavar="PNG")
    for sub in commands.choices.values():
        sub.add_argument("--dir", help="where data sets are kept; else $NEARFIELD_DATASETS, else "
                         "~/.cache/nearfield-datasets")
    return parser.parse_args()


def list_all(cache: Path) -> None:
    for name, data_set in DATA_SETS.items():
        sizes = [size for size in store.SIZES if folder_of(name, size, cache).exists()]
        print(f"{name:14} {data_set.summary}; made: {', '.join(sizes) or 'no'}")


def existing(name: str, size: str, cache: Path) -> Path:
    folder = folder_of(name, size, cache)
    if not folder.exists():
        raise ValueError(f"{folder} is not there: run `bench/datasets make {name} --size {size}`")
    return folder


def print_info(folder: Path) -> None:
    manifest = store.read_manifest(folder)
    for key, value in manifest.items():
        if key == "pictures":
            print(f"pictures: {len(value)}, each with its SHA-256 in {store.MANIFEST}")
        elif key != "files":
            print(f"{key}: {value}")
    for name, entry in manifest["files"].items():
        shape = f"{entry['rows']} x {entry['columns']}, " if "rows" in entry else ""
        print(f"{name}: {shape}{entry['bytes']} bytes, SHA-256 {entry['sha256'][:16]}…")


def check(folder: Path, key: str) -> int:
    manifest = store.read_manifest(folder)
    wrong = store.changed(folder) + store.differences(key, manifest)
    print("\n".join(wrong) or f"{key}: {len(manifest['files'])} files are as recorded")
    return 1 if wrong else 0


def make(name: str, size: str, cache: Path) -> None:
    folder = made(name, size, cache)
    manifest = store.read_manifest(folder)
    print(folder)
    different = store.differences(f"{name} {size}", manifest)
    if different:
        used = store.recorded().get(f"{name} {size}", {}).get("made_with", "nothing")
        print(f"note: not the recorded set, which was made with {used}; here "
              f"{manifest['made_with']}. Figures are not comparable.", *different,
              sep="\n", file=sys.stderr)


def run(asked: argparse.Namespace) -> int:
    cache = store.root(asked.dir)
    if asked.command == "list":
        list_all(cache)
        return 0
    known(asked.name)
    if asked.command == "make":
        make(asked.name, asked.size, cache)
        return 0
    folder, key = existing(asked.name, asked.size, cache), f"{asked.name} {asked.size}"
    if asked.command == "check":
        return check(folder, key)
    if asked.command == "info":
        print_info(folder)
    elif asked.command == "path":
        print(folder)
    elif asked.command == "record":
        store.record(key, store.read_manifest(folder))
    elif asked.command == "statistics":
        from sets import statistics  # matplotlib, which making does without
        statistics.report(folder, asked.picture)
    return 0


if __name__ == "__main__":
    # As an exception, so that a half-made folder goes away.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench/datasets: terminated"))
    try:
        sys.exit(run(arguments()))
    except (ValueError, RuntimeError) as error:
        sys.exit(f"bench/datasets: {error}")
