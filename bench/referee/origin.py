"""When a run was made, and of which state of the project."""
import subprocess
from datetime import UTC, datetime
from pathlib import Path


def commit() -> str | None:
    """Of this clone; None where there is no git to ask."""
    try:
        asked = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=40",
                                "--exclude=*"], cwd=Path(__file__).parent, capture_output=True,
                               text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return asked.stdout.strip()


def facts() -> dict[str, str | None]:
    return {"date": datetime.now(UTC).isoformat(timespec="seconds"), "commit": commit()}
