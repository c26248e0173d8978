#!/usr/bin/env python3
"""Executes the layer rules over the C++ sources: check_layers.py [ROOT].

One line a violation, `path:line: rule: explanation`, and exit code 1; else one line of summary.
"""

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from posixpath import dirname, normpath

# The one statement of the order: a folder of src/ includes itself and what stands before it.
LAYERS = ("include", "core", "io", "device", "distance", "select", "filter", "scan", "object",
          "search", "code", "hash", "dedup", "index", "eval")

ROOTS = ("include", "src", "cli", "plugins", "python", "tests", "bench", "examples")

# What plugins implement, the one file of cli/ they see.
PLUGIN_INTERFACE = "cli/file_plugin.hpp"
SUFFIXES = {".h", ".hh", ".hpp", ".inl", ".def", ".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".cl", ".in"}
NEVER = r"(?!)"


@dataclass(frozen=True)
class Ban:
    """Something only some files may hold; all fields with a default are patterns."""
    rule: str
    explanation: str
    include: str = NEVER  # the whole name of a header
    code: str = NEVER     # anywhere in a line, comments and literals removed
    file: str = NEVER     # anywhere in the path of the file itself
    bound: str = ""       # the start of the paths under the ban
    free: str = NEVER     # anywhere in the paths that are free of it all the same


BANS = (
    Ban("intrinsics", "CPU-specific code outside a cpu/ folder; move it into the stage's cpu/",
        include=r"\w*intrin\.h|arm_(neon|sve)\.h|cpuid\.h|hwy/.*",
        code=r"\b_mm\d*_\w+\s*\(|\b_tile_\w+\s*\(|\b__m(128|256|512)|\b__builtin_ia32_",
        free=r"/cpu/|^tests/"),
    Ban("device-code", "device code outside a gpu/ folder; move it into the stage's gpu/",
        include=r"cu(da|blas)\w*\.h|(cuda|cub|CL)/.*",
        code=r"\b(__global__|__device__|__kernel)\b",
        file=r"\.(cu|cuh|cl)$",
        free=r"/gpu/|^tests/"),
    Ban("freestanding", "a metric is included inside the namespace of every target, so it includes "
        "nothing; put the include before the one of the metric",
        code=r"#\s*include\b",
        bound="src/distance/metrics/"),
    Ban("tbb", "only src/core/tasks_tbb.cpp names TBB; use core/tasks",
        include=r"(oneapi/)?tbb(/.*|\.h)",
        free=r"^src/core/tasks_tbb\.cpp$"),
    Ban("python", "only python/ knows Python; the library and the command line do not",
        include=r"nanobind/.*|Python\.h",
        free=r"^python/"),
    Ban("openmp", "OpenMP brings a second thread pool into the user's process; use core/tasks",
        include=r"omp\.h",
        code=r"#\s*pragma\s+omp\b"),
    Ban("threads", "only src/core/tasks_*.cpp start threads; use core/tasks",
        include=r"thread",
        code=r"\bstd::j?thread\b|\bpthread_create\b",
        bound="src/",
        free=r"^src/core/tasks_\w+\.cpp$"),
    Ban("hdf5", "HDF5 is for trusted files and drags much along; use it in plugins/hdf5/ only",
        include=r"(.*/)?(hdf5|H5\w*)\.h(pp)?",
        free=r"^plugins/hdf5/"),
    Ban("sqlite", "SQLite is set up for hostile files in one place; use io/sqlite",
        include=r"sqlite3(ext)?\.h",
        free=r"^src/io/sqlite\.cpp$|^tests/"),
    Ban("print", "the library never prints; return the text or throw an Error that holds it",
        code=r"\bstd::(cout|cerr|clog)\b|\bv?f?printf\s*\(|\bfmt::print\w*\s*\(",
        bound="(src|include|plugins)/"),
    Ban("exit", "the library never aborts or exits; throw an Error",
        code=r"(?<![.>])\b(abort|_?exit|_Exit|quick_exit|std::terminate)\s*\(",
        bound="(src|include)/"),
)


@dataclass(frozen=True)
class Include:
    path: str    # of the including file, from the root of the repository
    name: str    # as written
    angled: bool
    target: str  # the path of the included file if it is ours, else ""


def layer(path: str) -> str:
    """The folder of src/ a path lies in; outside src/ its first folder."""
    first, *rest = path.split("/")
    return rest[0] if first == "src" else first


def wrong_layer(include: Include) -> str | None:
    own, other = layer(include.path), layer(include.target)
    if own not in LAYERS or not include.target:  # an unknown layer is reported once for the file
        return None
    allowed = LAYERS[:LAYERS.index(own) + 1]
    if other in allowed:
        return None
    return (f"{own} may not include {other}, only {', '.join(allowed)}; "
            "move the shared part up or this file down")


def sibling_backend(include: Include) -> str | None:
    backend = re.match("(.*?)/[cg]pu/", include.target)
    if not backend or include.path.startswith(backend[1] + "/"):
        return None
    # What one stage leaves in the memory of a device, the next one reads there; wrong_layer holds the order.
    if "/gpu/" in include.target and "/gpu/" in include.path:
        return None
    return (f'"{include.name}" is private to {backend[1]}/; '
            "include the header there that dispatches to it")


def mixed_backends(include: Include) -> str | None:
    for own, other in (("cpu", "gpu"), ("gpu", "cpu")):
        if f"/{own}/" in include.path and f"/{other}/" in include.target:
            return f"a {own}/ file includes a {other}/ file; move the shared part above both"
    return None


def private_in_public(include: Include) -> str | None:
    # The headers of the standard library are the ones with neither folder nor suffix.
    if include.angled and re.fullmatch(r"nearfield/.+|[a-z0-9_]+", include.name):
        return None
    return ("a public header includes only <nearfield/...> and the C++ standard library; "
            f"hide {include.name} in src/")


def past_the_public(include: Include) -> str | None:
    own = layer(include.path)
    if not include.target or layer(include.target) in ("include", own):
        return None
    if own == "plugins" and include.target == PLUGIN_INTERFACE:
        return None
    return (f"{own}/ sees <nearfield/...>, its own files and third parties; "
            f"make public what it needs of {include.name}")


# Rule, the start of the paths it binds, and the check. Tests may look into any backend.
INCLUDE_RULES: tuple[tuple[str, str, Callable[[Include], str | None]], ...] = (
    ("layer", "src/", wrong_layer),
    ("sibling-backend", "(?!tests/)", sibling_backend),
    ("mixed-backends", "(?!tests/)", mixed_backends),
    ("public-header", "include/", private_in_public),
    ("public-only", "(cli|plugins|python|examples)/", past_the_public),
)

# The start of the paths bound, and the most lines a file of theirs may have.
LENGTHS = (("include/", 300), ("(?!include/)", 600))

# A number is matched only so that its digit separators do not open a character literal.
TOKEN = re.compile(r"""
    (?P<number>\b\d(?:'?[\w.])*)
  | //(?:\\\n|[^\n])*
  | /\*.*?\*/
  | \b(?:u8|[uUL])?R"(?P<mark>[^()\s]*)\(.*?\)(?P=mark)"
  | "(?:\\.|[^"\\\n])*"
  | '(?:\\.|[^'\\\n])+'
""", re.DOTALL | re.VERBOSE)

DIRECTIVE = re.compile(r"\s*#\s*include\b")
HEADER = re.compile(r"""include\s*(?:<(?P<angled>[^>]+)>|"(?P<quoted>[^"]+)")""")


def strip(text: str) -> str:
    """Code without comments and literals, on the same lines."""
    return TOKEN.sub(lambda token: token["number"] or " " + "\n" * token[0].count("\n"), text)


def resolve(root: Path, path: str, name: str, angled: bool) -> str:
    """The path of an included file of ours, "" if it is someone else's."""
    beside = normpath(f"{dirname(path)}/{name}")
    if not angled and (root / beside).is_file():
        return beside
    first = name.split("/")[0]
    if first in ROOTS:
        return normpath(name)
    return "src/" + normpath(name) if first in LAYERS else ""


def file_violations(root: Path, path: str) -> Iterator[tuple[int, str, str]]:
    """The line, rule and explanation of each violation in one file."""
    text = (root / path).read_text(encoding="utf-8", errors="replace").removesuffix("\n")
    lines = text.split("\n")

    if path.startswith("src/") and layer(path) not in LAYERS:
        yield 1, "unknown-layer", (f"src/{layer(path)} is no layer; add it to LAYERS in "
                                   "tools/check_layers.py or move the file into a layer")
    for bound, most in LENGTHS:
        if re.match(bound, path) and len(lines) > most:
            yield most + 1, "length", f"{len(lines)} lines, at most {most}; split the file"

    bans = [ban for ban in BANS if re.match(ban.bound, path) and not re.search(ban.free, path)]
    yield from ((1, ban.rule, ban.explanation) for ban in bans if re.search(ban.file, path))
    rules = [(rule, check) for rule, bound, check in INCLUDE_RULES if re.match(bound, path)]
    for number, (raw, code) in enumerate(zip(lines, strip(text).split("\n")), start=1):
        header = HEADER.search(raw) if DIRECTIVE.match(code) else None
        name = header and (header["angled"] or header["quoted"])
        for ban in bans:
            if re.search(ban.code, code) or (name and re.fullmatch(ban.include, name)):
                yield number, ban.rule, ban.explanation
        if name:
            angled = header["angled"] is not None
            include = Include(path, name, angled, resolve(root, path, name, angled))
            for rule, check in rules:
                if explanation := check(include):
                    yield number, rule, explanation


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    paths = sorted(file.relative_to(root).as_posix() for top in ROOTS
                   for file in (root / top).rglob("*") if file.suffix in SUFFIXES)
    if not paths:  # a mistyped ROOT must not look like a clean one
        print(f"layers: no sources under {root}")
        return 1
    violations = [f"{path}:{line}: {rule}: {explanation}" for path in paths
                  for line, rule, explanation in file_violations(root, path)]
    print("\n".join(violations) or f"layers: {len(paths)} files, 0 violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
