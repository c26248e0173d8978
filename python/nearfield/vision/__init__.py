"""For users of OpenCV: its matches, a matcher in place of its own, and the matches of two images.

`to_dmatches` and `from_dmatches` convert results; `Matcher` has the methods of cv2.BFMatcher;
`match_images` goes from two images to what belongs together. It is also a command:

    python -m nearfield.vision left.jpg right.jpg --draw matches.png

`find_duplicates` groups images that are nearly the same, by `image_hash`; as a command:

    python -m nearfield.vision.dedup photos --html duplicates.html

OpenCV is imported here and nowhere else in the package.
"""

try:
    import cv2  # noqa: F401  # so that what is missing is said here
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "nearfield.vision needs OpenCV, which is not installed: pip install 'nearfield[vision]'",
        name=error.name,
    ) from error

from nearfield.vision._dmatches import MatchArrays, from_dmatches, to_dmatches
from nearfield.vision._duplicates import ImageGroups, find_duplicates, image_hash
from nearfield.vision._images import ImageMatches, match_images
from nearfield.vision._matcher import Matcher

__all__ = [
    "ImageGroups",
    "ImageMatches",
    "MatchArrays",
    "Matcher",
    "find_duplicates",
    "from_dmatches",
    "image_hash",
    "match_images",
    "to_dmatches",
]
