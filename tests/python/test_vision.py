"""nearfield.vision: the matcher against OpenCV's, conversions, two images, the command."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import nearfield as nf
from nearfield.vision import Matcher, from_dmatches, match_images, to_dmatches

Match = tuple[int, int, int, float]
Rows = np.ndarray[Any, Any]

LEFT, RIGHT = 90, 70


def rows_of(kind: str, count: int, seed: int) -> Rows:
    random = np.random.default_rng(seed)
    if kind == "f32":  # as a network gives them
        return random.normal(size=(count, 64)).astype(np.float32)
    if kind == "sift":  # whole numbers as floats
        return random.integers(0, 256, (count, 128)).astype(np.float32)
    if kind == "ties":  # nearly all distances are equal to others
        return random.integers(0, 3, (count, 4), dtype=np.uint8)
    return random.integers(0, 256, (count, 32), dtype=np.uint8)


def left_of(kind: str) -> Rows:
    return rows_of(kind, LEFT, seed=1)


def right_of(kind: str) -> Rows:
    return rows_of(kind, RIGHT, seed=2)


def fields(matches: Sequence[cv2.DMatch]) -> list[Match]:
    return [(one.queryIdx, one.trainIdx, one.imgIdx, one.distance) for one in matches]


def flat(lists: Sequence[Sequence[cv2.DMatch]]) -> list[Match]:
    return [match for one in lists for match in fields(one)]


def by_distance(lists: Sequence[Sequence[cv2.DMatch]]) -> list[Match]:
    """OpenCV's radiusMatch leaves ties in any order; ours has the smaller index first."""
    ordered = [sorted(fields(one), key=lambda match: (match[3], *match[2:0:-1])) for one in lists]
    return [match for one in ordered for match in one]


def assert_same(ours: list[Match], theirs: list[Match], kind: str) -> None:
    assert [match[:3] for match in ours] == [match[:3] for match in theirs]
    distances = [match[3] for match in ours], [match[3] for match in theirs]
    # OpenCV adds up in float32, which is exact for whole numbers only.
    np.testing.assert_allclose(*distances, rtol=1e-6 if kind == "f32" else 0)


MODES = pytest.mark.parametrize(
    ("norm", "kind"),
    [
        (norm, kind)
        for norm in (cv2.NORM_L2, cv2.NORM_L1, cv2.NORM_HAMMING)
        for kind in ("u8", "ties", "f32", "sift")
        if norm != cv2.NORM_HAMMING or kind in ("u8", "ties")
    ],
)


@MODES
@pytest.mark.parametrize("cross_check", [False, True])
def test_match_equals_opencv(norm: int, kind: str, cross_check: bool) -> None:
    ours = Matcher(norm, cross_check).match(left_of(kind), right_of(kind))
    theirs = cv2.BFMatcher(norm, cross_check).match(left_of(kind), right_of(kind))
    assert_same(fields(ours), fields(theirs), kind)
    assert len(ours) == LEFT or (cross_check and 0 < len(ours) < LEFT)


@MODES
@pytest.mark.parametrize("k", [1, 2, 5, RIGHT + 10])
def test_knn_match_equals_opencv(norm: int, kind: str, k: int) -> None:
    ours = Matcher(norm).knnMatch(left_of(kind), right_of(kind), k)
    theirs = cv2.BFMatcher(norm).knnMatch(left_of(kind), right_of(kind), k)
    assert [len(one) for one in ours] == [len(one) for one in theirs] == [min(k, RIGHT)] * LEFT
    assert_same(flat(ours), flat(theirs), kind)


@MODES
@pytest.mark.parametrize("compact", [False, True])
def test_knn_match_with_cross_check_equals_opencv(norm: int, kind: str, compact: bool) -> None:
    both = left_of(kind), right_of(kind)
    ours = Matcher(norm, crossCheck=True).knnMatch(*both, k=1, compactResult=compact)
    theirs = cv2.BFMatcher(norm, crossCheck=True).knnMatch(*both, k=1, compactResult=compact)
    assert [len(one) for one in ours] == [len(one) for one in theirs]
    assert_same(flat(ours), flat(theirs), kind)


@MODES
def test_radius_match_equals_opencv(norm: int, kind: str) -> None:
    both = left_of(kind), right_of(kind)
    matcher = cv2.BFMatcher(norm)
    distances = np.unique([match.distance for match in matcher.match(*both)])
    # A distance itself is included, also where its float32 is below the true root.
    radii = distances[distances > 0] + (1e-3 if kind == "f32" else 0)
    for radius in radii[:20].tolist():
        ours = Matcher(norm).radiusMatch(*both, radius)
        theirs = matcher.radiusMatch(*both, radius)
        assert [len(one) for one in ours] == [len(one) for one in theirs]
        assert_same(flat(ours), by_distance(theirs), kind)
        assert flat(ours)
        compact = Matcher(norm).radiusMatch(*both, radius, compactResult=True)
        assert flat(compact) == flat(ours)
        assert all(compact)


def test_any_radius() -> None:
    rows = left_of("u8")
    for radius in 1e300, float("inf"), float(np.finfo(np.float32).max):
        assert [len(one) for one in Matcher().radiusMatch(rows, rows, radius)] == [LEFT] * LEFT
    assert [one[:2] for one in flat(Matcher().radiusMatch(rows, rows, 0))] == [
        (row, row) for row in range(LEFT)
    ]
    for radius in -1.0, float("nan"):
        with pytest.raises(nf.InvalidArgumentError, match="maxDistance is"):
            Matcher().radiusMatch(rows, rows, radius)


@MODES
def test_several_train_images_equal_opencv(norm: int, kind: str) -> None:
    query, train = left_of(kind), right_of(kind)
    images = [train[:30], train[30:31], train[31:]]
    ours, theirs = Matcher(norm), cv2.BFMatcher(norm)
    for matcher in ours, theirs:
        matcher.add(images[:1])
        matcher.add(images[1:])
        matcher.train()
    assert_same(fields(ours.match(query)), fields(theirs.match(query)), kind)
    assert_same(flat(ours.knnMatch(query, 1)), flat(theirs.knnMatch(query, 1)), kind)
    radius = float(np.median([match.distance for match in theirs.match(query)])) + 0.5
    within = ours.radiusMatch(query, maxDistance=radius)
    assert_same(flat(within), by_distance(theirs.radiusMatch(query, radius)), kind)
    assert {match[2] for match in flat(within)} >= {0, 2}
    # Given train descriptors, what was added is not searched.
    assert fields(ours.match(query, images[2])) == fields(Matcher(norm).match(query, images[2]))


@pytest.mark.parametrize("kind", ["u8", "ties", "f32"])
def test_several_train_images_are_one_below_the_other(kind: str) -> None:
    """Also where OpenCV's answer is none: fewer rows than k, an image without, a cross check."""
    query, train = left_of(kind), right_of(kind)
    for k, cross_check in (1, False), (3, False), (1, True):
        joined, several = (Matcher(crossCheck=cross_check) for _ in range(2))
        joined.add([train])
        several.add([train[:30], None, train[30:31], np.empty((0, 4), np.float32), train[31:]])
        starts = [0, 30, 30, 31, 31]
        found = [
            (query_id, starts[image] + row, 0, distance)
            for query_id, row, image, distance in flat(several.knnMatch(query, k=k))
        ]
        assert found == flat(joined.knnMatch(query, k=k))
        assert found


def test_the_collection() -> None:
    matcher = Matcher()
    assert matcher.empty()
    assert matcher.match(left_of("u8")) == []
    matcher.add([right_of("u8"), None])
    assert not matcher.empty()
    kept = matcher.getTrainDescriptors()
    np.testing.assert_array_equal(kept[0], right_of("u8"))
    assert len(kept[1]) == 0
    assert {match.imgIdx for match in matcher.match(left_of("u8"))} == {0}
    matcher.add([left_of("u8")])
    assert {match.imgIdx for match in matcher.match(left_of("u8"))} == {2}
    with pytest.raises(nf.InvalidArgumentError, match=r"\[32, 64\] columns"):
        matcher.add([left_of("f32")])
    assert len(matcher.getTrainDescriptors()) == 3
    matcher.clear()
    assert matcher.empty()
    with pytest.raises(TypeError, match=r"write add\(\[descriptors\]\)"):
        matcher.add(left_of("u8"))


@pytest.mark.parametrize("none", [None, np.empty((0, 32), np.uint8), np.empty(0, np.float32)])
@pytest.mark.parametrize("norm", [cv2.NORM_L2, cv2.NORM_L1, cv2.NORM_HAMMING])
def test_an_image_without_features(none: Rows | None, norm: int) -> None:
    some = left_of("u8")
    for cross_check in False, True:
        matcher = Matcher(norm, crossCheck=cross_check)
        assert matcher.match(none, some) == matcher.match(some, none) == []
        assert matcher.match(none, none) == []
        assert matcher.knnMatch(none, some, k=1) == []
        assert matcher.knnMatch(some, none, k=1) == [[]] * LEFT
        assert matcher.knnMatch(some, none, k=1, compactResult=True) == []
    assert Matcher(norm).radiusMatch(none, some, 10) == []
    assert Matcher(norm).radiusMatch(some, none, 10) == [[]] * LEFT


@pytest.mark.parametrize("name", ["NORM_L2SQR", "NORM_HAMMING2", "NORM_INF"])
def test_other_norms_are_refused(name: str) -> None:
    with pytest.raises(nf.UnsupportedError, match=r"NORM_L2 .*NORM_L1 .*NORM_HAMMING "):
        Matcher(getattr(cv2, name))


def test_mistakes() -> None:
    rows = left_of("u8")
    untyped: Any = Matcher()
    for k in 0, -1:
        with pytest.raises(nf.InvalidArgumentError, match=f"k is {k}, expected at least 1"):
            Matcher().knnMatch(rows, rows, k)
    with pytest.raises(nf.InvalidArgumentError, match="k is 2, expected 1, for crossCheck"):
        Matcher(crossCheck=True).knnMatch(rows, rows, 2)
    with pytest.raises(nf.InvalidArgumentError, match="no cross check"):
        Matcher(crossCheck=True).radiusMatch(rows, rows, 2)
    with pytest.raises(nf.InvalidArgumentError, match="dtype float32, expected uint8"):
        Matcher(cv2.NORM_HAMMING).match(left_of("f32"), left_of("f32"))
    with pytest.raises(nf.InvalidArgumentError, match=r"shape \(32,\).*reshape"):
        Matcher().match(rows[0], rows)
    with pytest.raises(nf.UnsupportedError, match="masks"):
        untyped.match(rows, rows, np.ones((LEFT, LEFT), np.uint8))
    with pytest.raises(TypeError, match="k is missing"):
        untyped.knnMatch(rows, rows)
    with pytest.raises(TypeError, match="array or None, got 3"):
        untyped.knnMatch(rows, 3, 2)
    assert not Matcher().isMaskSupported()


def test_dmatches_of_results() -> None:
    left, right = left_of("u8"), right_of("u8")
    pairs = nf.match(left, right, ratio=None)
    there_and_back = from_dmatches(to_dmatches(pairs))
    np.testing.assert_array_equal(there_and_back.first, pairs.first)
    np.testing.assert_array_equal(there_and_back.second, pairs.second)
    np.testing.assert_array_equal(there_and_back.distances, pairs.distances)
    assert [values.dtype for values in there_and_back] == [np.float32, np.int64, np.int64]

    nearest = to_dmatches(nf.knn(left, right, k=3, metric="euclidean"))
    assert flat(nearest) == flat(Matcher().knnMatch(left, right, 3))
    assert [len(one) for one in to_dmatches(nf.knn(left, right[:2], k=3))] == [2] * LEFT
    ranges = nf.within(left, right, radius=450, metric="euclidean")
    assert [len(one) for one in to_dmatches(ranges)] == ranges.counts.tolist()
    assert sum(ranges.counts) > 0


def test_no_dmatches() -> None:
    assert to_dmatches(nf.match(left_of("u8")[:0], right_of("u8"))) == []
    assert [len(values) for values in from_dmatches([])] == [0, 0, 0]


def test_what_cannot_be_converted() -> None:
    untyped: Any = (to_dmatches, from_dmatches)
    with pytest.raises(TypeError, match=r"is a tuple, expected the Pairs of nearfield\.match"):
        untyped[0]((1, 2))
    with pytest.raises(TypeError, match=r"matches\[0\] is a list.*for match in nearest"):
        untyped[1](Matcher().knnMatch(left_of("u8"), right_of("u8"), 2))


def scene() -> np.ndarray[Any, np.dtype[np.uint8]]:
    noise = np.random.default_rng(1).integers(0, 256, (300, 400), dtype=np.uint8)
    blurred = cv2.GaussianBlur(noise, (0, 0), 3)
    return np.asarray(cv2.normalize(blurred, blurred.copy(), 0, 255, cv2.NORM_MINMAX), np.uint8)


TURN = cv2.getRotationMatrix2D((200, 150), 15, 0.9)


def turned(image: np.ndarray[Any, np.dtype[np.uint8]]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.asarray(cv2.warpAffine(image, TURN, (400, 300)), np.uint8)


@pytest.mark.parametrize("detector", ["sift", "rootsift", "orb"])
def test_matches_of_a_turned_image(detector: str) -> None:
    found = match_images(scene(), turned(scene()), detector=detector)
    assert found.first_points.shape[1] == found.second_points.shape[1] == 2
    first = found.first_points[found.matches.first]
    second = found.second_points[found.matches.second]
    expected = first @ TURN[:, :2].T + TURN[:, 2]
    off = np.linalg.norm(second - expected, axis=1)
    assert len(off) > 50
    assert np.mean(off < 3) > 0.9
    assert repr(found).startswith(f"ImageMatches(features={len(found.first_points)} and ")


def test_images_are_colour_or_grey_arrays_or_files(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "grey.png"), scene())
    colour = np.asarray(cv2.cvtColor(scene(), cv2.COLOR_GRAY2BGR), np.uint8)
    expected = match_images(scene(), scene(), max_features=100)
    assert 100 <= len(expected.first_points) < 110  # a feature may have several directions
    for first in colour, tmp_path / "grey.png", str(tmp_path / "grey.png"):
        found = match_images(first, scene(), max_features=100)
        np.testing.assert_array_equal(found.first_points, expected.first_points)
        np.testing.assert_array_equal(found.matches.second, expected.matches.second)


@pytest.mark.parametrize("detector", ["sift", "rootsift", "orb"])
def test_a_blank_image_has_no_matches(detector: str) -> None:
    blank = np.full((200, 300), 128, np.uint8)
    for images in (blank, scene()), (scene(), blank), (blank, blank):
        found = match_images(*images, detector=detector)
        assert len(found.matches) == 0
        assert found.draw().shape[0] == max(len(image) for image in images)


def test_a_drawing(tmp_path: Path) -> None:
    found = match_images(scene(), turned(scene()))
    picture = found.draw(tmp_path / "matches.png", lines=10)
    np.testing.assert_array_equal(cv2.imread(str(tmp_path / "matches.png")), picture)
    assert picture.shape == (300, 808, 3)
    without = found.draw(lines=0)
    assert (without.max(axis=2) == without.min(axis=2)).all()
    one, many = ((found.draw(lines=lines) != without).any(axis=2).sum() for lines in (1, 30))
    assert 300 < one < many / 5


def test_mistakes_with_images(tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("no image")
    (tmp_path / "empty.png").touch()
    untyped: Any = match_images
    with pytest.raises(nf.FileError, match=r"no\.png: cannot open"):
        match_images(tmp_path / "no.png", scene())
    for name in "text.png", "empty.png":
        with pytest.raises(nf.CorruptFileError, match=f"{name}: not an image"):
            match_images(scene(), tmp_path / name)
    with pytest.raises(nf.InvalidArgumentError, match=r"\(300, 400\) and dtype float64"):
        untyped(scene().astype(float), scene())
    with pytest.raises(nf.InvalidArgumentError, match=r"\(2, 3, 4\).*\(height, width, 3\)"):
        match_images(np.zeros((2, 3, 4), np.uint8), scene())
    with pytest.raises(nf.InvalidArgumentError, match="no pixels"):
        match_images(np.zeros((0, 3), np.uint8), scene())
    with pytest.raises(TypeError, match="second is a list"):
        untyped(scene(), [[1]])
    with pytest.raises(nf.InvalidArgumentError, match="one of sift, rootsift, orb"):
        match_images(scene(), scene(), detector="surf")
    with pytest.raises(nf.InvalidArgumentError, match="max_features is 0"):
        match_images(scene(), scene(), max_features=0)
    with pytest.raises(nf.InvalidArgumentError, match="1 x 1 pixels"):
        match_images(scene()[:1, :1], scene(), detector="orb")
    found = match_images(scene(), scene(), max_features=10)
    with pytest.raises(nf.InvalidArgumentError, match="lines is -1"):
        found.draw(lines=-1)
    with pytest.raises(nf.InvalidArgumentError, match=r"'\.xyz': take \.png or \.jpg"):
        found.draw(tmp_path / "matches.xyz")
    with pytest.raises(nf.FileError, match="cannot write"):
        found.draw(tmp_path / "no folder" / "matches.png")


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-m", "nearfield.vision", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_the_command(tmp_path: Path) -> None:
    left, right, drawn = (tmp_path / name for name in ("left.png", "right.png", "matches.png"))
    cv2.imwrite(str(left), scene())
    cv2.imwrite(str(right), turned(scene()))
    found = match_images(left, right, detector="orb", ratio=0.7, max_features=300)
    options = ("--detector", "orb", "--ratio", "0.7", "--max-features", "300", "--draw", drawn)
    done = run(left, right, *options)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{left}: {len(found.first_points)} features\n" in done.stdout
    assert f"{right}: {len(found.second_points)} features\n" in done.stdout
    assert f"\n{len(found.matches)} matches in 0." in done.stdout
    assert done.stdout.endswith(f"40 of {len(found.matches)} matches drawn\n")
    np.testing.assert_array_equal(cv2.imread(str(drawn)), found.draw())


def test_exit_codes_of_the_command(tmp_path: Path) -> None:
    image = tmp_path / "image.png"
    cv2.imwrite(str(image), scene())
    done = run(image, tmp_path / "no.png")
    assert done.returncode == 1
    assert "no.png: cannot open for reading: No such file" in done.stderr
    assert "Traceback" not in done.stderr
    for wrong in (
        ("--detector", "surf"),
        ("--ratio", "1.5"),
        ("--ratio", "often"),
        ("--max-features", "0"),
        ("--draw", "matches.xyz"),
        ("--no-such-option",),
    ):
        done = run(image, image, *wrong)
        assert done.returncode == 2, wrong
        assert wrong[0] in done.stderr
    assert run(image).returncode == 2
    done = run(image, image, "--ratio", "none", "--max-features", "20")
    assert done.returncode == 0
    done = run("--help")
    assert done.returncode == 0
    for option in "--draw", "--detector", "--ratio", "--max-features", "Example:":
        assert option in done.stdout


def test_opencv_is_imported_by_this_module_alone() -> None:
    script = "import sys; sys.modules['cv2'] = None; import nearfield; import nearfield.vision"
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ModuleNotFoundError: nearfield.vision needs OpenCV")
    assert last.endswith("pip install 'nearfield[vision]'")
