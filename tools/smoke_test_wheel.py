"""Run by the Python of an environment that has the wheel and nothing else: does it work alone?"""

import subprocess
import sys
import time
from importlib.metadata import files

import numpy as np

MOST_IMPORT_SECONDS = 0.1
SYSTEM_LIBRARIES = ("libc.", "libm.", "libstdc++.", "libgcc_s.", "ld-linux", "linux-vdso.")


def loaded_libraries() -> set[str]:
    """But for those of Python itself."""
    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if ".so" in line}
    return {path.rsplit("/", 1)[-1] for path in paths if "/lib-dynload/" not in path}


before = loaded_libraries()
start = time.perf_counter()
import nearfield as nf  # noqa: E402

seconds = time.perf_counter() - start
print(f"import nearfield, after numpy: {1000 * seconds:.1f} ms")
assert seconds < MOST_IMPORT_SECONDS, seconds

rows = np.arange(3000, dtype=np.float32).reshape(1000, 3)
found = nf.knn(rows[:5], rows, k=2)
assert found.ids.tolist() == [[0, 1], [1, 0], [2, 1], [3, 2], [4, 3]], found.ids

devices = nf.devices()
assert devices.devices[0].id == "cpu", devices
print("devices:", *devices.devices, *devices.missing)

new = {name for name in loaded_libraries() - before if not name.startswith(SYSTEM_LIBRARIES)}
print("loaded:", *sorted(new))
foreign = {name for name in new if not name.startswith(("_core.", "libfmt-", "libhwy-", "libtbb-"))}
assert not foreign, f"not from the wheel: {foreign}"

LICENCES = {
    "cli11": "Redistribution and use in source and binary forms",
    "libfmt": "MIT",
    "libhwy": "Apache",
    "libtbb": "Apache",
    "nanobind": "Redistribution and use in source and binary forms",
    "nlohmann-json": "Permission is hereby granted, free of charge",
    "robin_map": "Permission is hereby granted, free of charge",
    "xxhash": "Redistribution and use in source and binary forms",
}
carried = {
    path.stem: path.read_text()
    for path in files("nearfield") or ()
    if path.parent.name == "carried"
}
assert carried.keys() == LICENCES.keys(), f"licences of what is carried: {sorted(carried)}"
for name, words in LICENCES.items():
    assert words in " ".join(carried[name].split()), f"{name}: no licence in {carried[name]!r}"

command = [sys.executable, "-m", "nearfield", "--version"]
version = subprocess.run(command, capture_output=True, text=True, check=True).stdout
assert version == f"nearfield {nf.__version__}\n", version
