"""SIFT descriptors of a picture and of a view of it: two images, as matchers get them.

One picture and not several put together: what makes the ratio test hard is what repeats within an
image.
"""
from pathlib import Path

from sets import pictures
from sets.local_features import (
    NOBODY,
    UNWARPED,
    Amounts,
    Features,
    View,
    correspondences,
    features_of,
    rows_at_the_places,
)
from sets.pictures import Picture
from sets.random_streams import stream
from sets.vector_files import write_rows

TOLERANCE = 3.0   # pixels, in the picture: farther away a match is wrong


def seen(picture: Picture, number: int, purpose: str, amounts: Amounts) -> Features:
    """The picture as it is for "base", a view of it for "query"."""
    return features_of(View(picture, number, purpose, UNWARPED, "sift", amounts))


def images(shown: list[Picture], amounts: Amounts) -> tuple[Picture, Features, Features]:
    """The first picture that has enough keypoints, as it is and in its view."""
    for number, picture in enumerate(shown):
        base = seen(picture, number, "base", amounts)
        if len(base) < amounts.base:
            continue
        queries = seen(picture, number, "query", amounts)
        if len(queries) >= amounts.queries:
            return picture, base, queries
    raise RuntimeError(f"none of {len(shown)} pictures has {amounts.base} keypoints, and "
                       f"{amounts.queries} in its view")


def mixed(features: Features, count: int, purpose: str) -> Features:
    return features[stream("order", "pair", purpose).permutation(len(features))[:count]]


def make(folder: Path, amounts: Amounts, cache: Path) -> dict[str, object]:
    shown, origin = pictures.all_pictures(cache, amounts.packages)
    picture, base, queries = images(shown, amounts)
    base = mixed(base, amounts.base, "base")
    queries = mixed(queries, amounts.queries, "queries")
    write_rows(folder / "base.u8bin", base.descriptors)
    write_rows(folder / "queries.u8bin", queries.descriptors)
    found = rows_at_the_places(queries, base, TOLERANCE)
    # As wide as it must be: a match is right with any row at its place, also the farthest.
    matches = correspondences(found, max(map(len, found)))
    write_rows(folder / "correspondences.ibin", matches)
    return origin | {"picture": picture.path.name, "metric": "sqeuclidean",
                     "tolerance_pixels": TOLERANCE,
                     "queries_with_correspondence": int((matches[:, 0] != NOBODY).sum())}
