"""What the figures were measured on."""
import os
import platform
from pathlib import Path


def cpu_fact(name: str) -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    found = next((line for line in lines if line.startswith(name)), ": unknown")
    return found.partition(":")[2].strip()


def has_avx512() -> bool:
    return "avx512f" in cpu_fact("flags").split()


def facts() -> dict[str, object]:
    return {"cpu": cpu_fact("model name"), "family": cpu_fact("cpu family"),
            "model": cpu_fact("model"), "cores": len(os.sched_getaffinity(0)),
            "load_before": round(os.getloadavg()[0], 2), "system": platform.release(),
            "python": platform.python_version()}


def keep_to_cores(count: int) -> None:
    """This process and all that it starts, so that nobody runs more threads than were given."""
    allowed = sorted(os.sched_getaffinity(0))
    if count > len(allowed):
        raise ValueError(f"--threads {count}: this process may use {len(allowed)} cores")
    os.sched_setaffinity(0, allowed[:count])
