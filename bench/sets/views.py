"""A picture as seen from elsewhere: a random homography, another exposure, and some noise."""
import cv2
import numpy as np

LARGEST_TURN = 30.0      # degrees
SCALES = (0.6, 1.2)
CORNER_MOVES = 0.08      # of the picture's sides
GAINS = (0.8, 1.2)
NOISE = 2.0              # grey levels


def homography(shape: tuple[int, int], random: np.random.RandomState) -> np.ndarray:
    """From points of the picture to points of the view, which is as large as the picture."""
    height, width = shape
    turn = cv2.getRotationMatrix2D((width / 2, height / 2),
                                   random.uniform(-LARGEST_TURN, LARGEST_TURN),
                                   random.uniform(*SCALES))
    corners = np.array([[0, 0], [width, 0], [width, height], [0, height]], dtype=np.float64)
    moved = corners + random.uniform(-CORNER_MOVES, CORNER_MOVES, (4, 2)) * (width, height)
    tilt = cv2.getPerspectiveTransform(corners.astype(np.float32), moved.astype(np.float32))
    return tilt @ np.vstack([turn, [0, 0, 1]])


def see(pixels: np.ndarray, to_view: np.ndarray, random: np.random.RandomState) -> np.ndarray:
    height, width = pixels.shape
    # Mirrored edges: a black border would be full of corners that no camera sees.
    warped = cv2.warpPerspective(pixels, to_view, (width, height), flags=cv2.INTER_LINEAR,
                                 borderMode=cv2.BORDER_REFLECT_101)
    exposed = warped * random.uniform(*GAINS) + random.normal(0, NOISE, warped.shape)
    return np.clip(np.rint(exposed), 0, 255).astype(np.uint8)


def back_to_picture(points: np.ndarray, to_view: np.ndarray) -> np.ndarray:
    if not len(points):
        return points
    inverse = np.linalg.inv(to_view)
    return cv2.perspectiveTransform(points[None].astype(np.float64), inverse)[0]


def inside(points: np.ndarray, shape: tuple[int, int], margin: float = 4.0) -> np.ndarray:
    height, width = shape
    low = (points >= margin).all(axis=1)
    return low & (points < (width - margin, height - margin)).all(axis=1)
