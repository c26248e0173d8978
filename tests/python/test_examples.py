"""What the examples print holds. That all of them run is tested with the package."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import cv2

EXAMPLES = Path(__file__).parents[2] / "examples" / "python"


def number_after(words: str, text: str) -> float:
    found = re.search(rf"^{re.escape(words)} +([\d.]+)", text, re.MULTILINE)
    assert found, f"no {words!r} in:\n{text}"
    return float(found[1])


def test_depth_from_a_stereo_pair(tmp_path: Path) -> None:
    drawn = tmp_path / "depth.png"
    command = [sys.executable, str(EXAMPLES / "stereo_depth.py"), "--draw", str(drawn)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")

    matches = number_after("matches", done.stdout)
    on_the_line = number_after("on the epipolar line", done.stdout)
    assert matches > 2000
    assert 0.97 * matches < on_the_line <= matches
    assert 3 < number_after("depth error, median", done.stdout) < 20  # mm, of some metres
    assert number_after("within 1 % of the truth", done.stdout) > 90
    assert number_after("within 5 % of the truth", done.stdout) > 99

    # Noise below a fifth of a pixel, about the same along rows as between them; and errors as it
    # predicts, which grow with the depth.
    seen = number_after("noise between the rows", done.stdout)
    assert 0.05 < seen < 0.2
    assert 0.7 < number_after("noise of the disparity", done.stdout) / seen < 1.4
    table = re.findall(r"m +\d+ +([\d.]+) mm +([\d.]+) mm$", done.stdout, re.MULTILINE)
    errors = [float(error) for error, _ in table]
    assert len(errors) == 4
    assert errors == sorted(errors)
    for error, expected in table:
        assert 0.6 < float(error) / float(expected) < 1.6

    picture = cv2.imread(str(drawn))
    assert picture is not None
    assert picture.shape == (300, 1200, 3)
