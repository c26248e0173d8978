"""Finds a device, and runs the program that measures on it."""
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KINDS = ("cuda", "opencl")  # the first that is found is taken
HOW_TO_BUILD = ("cmake --preset release -DNEARFIELD_TESTS=ON -DNEARFIELD_OPENCL=ON && "
                "cmake --build --preset release "
                "(on a machine with nvcc: the preset gpu, --build build/gpu)")


class CannotRunError(RuntimeError):
    """A sentence for the user."""


def program(build: Path, name: str) -> Path:
    path = build / name
    if not path.is_file():
        raise CannotRunError(f"there is no {path}: {HOW_TO_BUILD}")
    return path


def listed(build: Path) -> dict[str, Any]:
    """What `nearfield devices` lists."""
    done = subprocess.run([program(build, "nearfield"), "devices", "--json"], capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise CannotRunError(f"nearfield devices failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def choose(devices: dict[str, Any]) -> str:
    """The first, of the kinds in their order."""
    found = [device["id"] for device in devices["devices"]]
    for kind in KINDS:
        for name in found:
            if name.partition(":")[0] == kind:
                return name
    missing = "; ".join(f"{one['kind']}: {one['reason']}" for one in devices["missing"])
    raise CannotRunError(
        "no device to measure on was found. Needed is a GPU with its driver, or an OpenCL runtime "
        f"for CPUs, which eval \"$(tools/opencl_runtime)\" installs and sets ({missing})")


def lines(path: Path, arguments: list[str]) -> Iterator[str]:
    """In one process: a driver compiles each kernel once."""
    with subprocess.Popen([path, *arguments], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        try:
            yield from running.stdout
        except BaseException:
            running.terminate()
            raise
    if running.returncode != 0:
        raise CannotRunError(f"{path.name} ended with {running.returncode}, see above")
