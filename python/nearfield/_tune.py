"""What is fastest on a device."""

from __future__ import annotations

import json
from typing import Any

from nearfield import _core
from nearfield._arguments import text
from nearfield._copies import Copies
from nearfield._run import Progress, running


def tune(
    device: str,
    effort: str = "full",
    *,
    device_memory_limit: int | str | None = None,
    timeout: float | None = None,
    progress: Progress = None,
) -> dict[str, Any]:
    """Times every way to select and to search on a device, and says what each took.

    Written to a file by `json.dump`, and named by the environment variable NEARFIELD_TUNING, it
    decides what runs on this device. Nothing else should run meanwhile.

    device: one of `devices`, such as "opencl" or "cuda:1".
    effort: "quick" takes two to three minutes on a CPU that is a device, "full" more.
    progress: counts shapes that were measured.

    The other arguments are those of `select_k`.
    """
    with running(
        Copies(True),
        timeout=timeout,
        progress=progress,
        device=device,
        device_memory_limit=device_memory_limit,
    ) as run:
        found: dict[str, Any] = json.loads(_core.tune(text("effort", effort), run))
    return found
