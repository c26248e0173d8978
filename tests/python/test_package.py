"""The package as installed: what it imports, its types, its documentation."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from importlib.metadata import requires, version
from pathlib import Path

import pytest

import nearfield as nf
from nearfield import _core

ROOT = Path(__file__).parents[2]
PACKAGE = Path(nf.__file__).parent
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(nf.__path__, "nearfield.")
    if not module.name.endswith(("__main__", "_core"))
)


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True)


def test_the_installed_package_is_tested() -> None:
    assert ROOT not in PACKAGE.parents or "build" in PACKAGE.parts


def test_version() -> None:
    assert nf.__version__ == version("nearfield") == (ROOT / "VERSION").read_text().strip()


def test_numpy_is_the_only_dependency() -> None:
    needed = [line for line in requires("nearfield") or [] if "extra ==" not in line]
    assert [line.split(">")[0] for line in needed] == ["numpy"]
    script = (
        "import numpy, sys; had = set(sys.modules); import nearfield; print(*sys.modules - had)"
    )
    script = script.replace("sys.modules - had", "(set(sys.modules) - had)")
    new = {name.split(".")[0] for name in run("-c", script).stdout.split()}
    assert "nearfield" in new
    assert new - {"nearfield"} <= sys.stdlib_module_names


def test_import_takes_less_than_100_ms_more_than_numpy() -> None:
    script = (
        "import time, numpy; start = time.perf_counter(); import nearfield; "
        "print(time.perf_counter() - start)"
    )
    best = min(float(run("-c", script).stdout) for _ in range(5))
    print(f"import nearfield after numpy: {1000 * best:.1f} ms")
    assert best < 0.1


def test_every_public_name_is_there_and_documented() -> None:
    for name in nf.__all__:
        thing = getattr(nf, name)
        assert name.startswith("__") or thing.__doc__, name


def test_help_names_all_families() -> None:
    lines = (ROOT / "include" / "nearfield" / "indexes.def").read_text()
    families = re.findall(r"^NEARFIELD_INDEX\((\w+)", lines, re.MULTILINE)
    assert len(families) > 5
    assert [name for name in families if f'"{name}"' not in (nf.Index.__doc__ or "")] == []


def test_the_stub_names_what_the_extension_has() -> None:
    stub = ast.parse((PACKAGE / "_core.pyi").read_text())
    named = {node.name for node in stub.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert named == {name for name in vars(_core) if not name.startswith("__")}


@pytest.mark.parametrize("name", ["nearfield", *MODULES])
def test_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_examples_of_the_searches_are_found() -> None:
    tried = sum(doctest.testmod(importlib.import_module(name)).attempted for name in MODULES)
    assert tried > 40


def test_the_guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(
        r"^```python\n(.*)", (ROOT / "docs" / "python.md").read_text(), re.MULTILINE
    )
    assert all(first.startswith(">>> ") for first in blocks)
    guide = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False)
    assert guide.failed == 0
    assert guide.attempted > 20


def test_the_example_runs() -> None:
    for example in sorted((ROOT / "examples" / "python").glob("*.py")):
        done = run(example)
        assert done.returncode == 0, done.stderr
        assert done.stdout


def test_types_hold_and_are_seen_by_users(tmp_path: Path) -> None:
    config = ("--config-file", ROOT / "pyproject.toml", "--cache-dir", tmp_path)
    done = run("-m", "mypy", *config, "-p", "nearfield")
    assert done.returncode == 0, done.stdout
    user = tmp_path / "user.py"
    user.write_text(
        "import numpy as np\n"
        "import nearfield as nf\n"
        "rows = np.zeros((2, 2))\n"
        "found: nf.Neighbors = nf.knn(rows, rows, k=1, progress=lambda done, total: None)\n"
        "reveal_type(found.ids)\n"
        "nf.knn(rows, 5)\n"
        'nf.knn(rows, rows, k="1")\n'
    )
    examples = sorted((ROOT / "examples" / "python").glob("*.py"))
    done = run("-m", "mypy", *config, "--strict", user, *examples)
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 2, done.stdout
    assert 'user.py:6: error: Argument 2 to "knn" has incompatible type "int"' in errors[0]
    assert 'user.py:7: error: Argument "k" to "knn" has incompatible type "str"' in errors[1]
    assert "int64" in done.stdout or "signedinteger" in done.stdout
