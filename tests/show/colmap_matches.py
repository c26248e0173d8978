"""What the commands that compare with COLMAP share: programs, matches of a database."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
NEARFIELD = os.environ.get("NEARFIELD", str(ROOT / "build/release/nearfield"))
MAX_PAIR = 2147483647
LEAST_MATCHES = 15  # COLMAP empties the list of a pair that has fewer

Matches = dict[tuple[int, int], set[tuple[int, int]]]


def run(*command: str | Path) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        text=True,
        capture_output=True,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
    )
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def read_matches(database: Path) -> Matches:
    connection = sqlite3.connect(database)
    found: Matches = {}
    for pair_id, rows, data in connection.execute("SELECT pair_id, rows, data FROM matches"):
        numbers = np.frombuffer(data or b"", np.uint32).reshape(rows, 2)
        found[divmod(pair_id, MAX_PAIR)] = {(int(one), int(two)) for one, two in numbers}
    connection.close()
    return found


def differences(ours: Matches, theirs: Matches) -> list[str]:
    """Of pairs that COLMAP did not empty."""
    found = []
    for pair in sorted(ours.keys() | theirs.keys()):
        mine, other = ours.get(pair), theirs.get(pair)
        if mine is None or other is None:
            found.append(f"images {pair}: only one of the two has the pair")
        elif mine != other and not (not other and len(mine) < LEAST_MATCHES):
            found.append(
                f"images {pair}: {len(mine - other)} matches are ours only, "
                f"{len(other - mine)} theirs only, {len(mine & other)} both"
            )
    return found
