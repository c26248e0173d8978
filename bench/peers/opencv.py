"""OpenCV: the matchers that people call, and the routine under the exact one."""
import cv2
import numpy as np

from peers.interface import Data, Way, as_float32

Matches = tuple[tuple[cv2.DMatch, ...], ...]


def as_searched(rows: np.ndarray, metric: str) -> np.ndarray:
    """Floats for bytes: OpenCV 5.0 computes euclidean distances of bytes 4 to 5 times slower."""
    return np.array(rows) if metric == "hamming" else as_float32(rows)


def train_ids(matches: Matches) -> np.ndarray:
    return np.array([[match.trainIdx for match in row] for row in matches])


class Exact(Way):
    """Rows as OpenCV searches them best."""
    packages = ("opencv-python-headless",)

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        cv2.setNumThreads(data.threads)
        self.base = as_searched(data.base, data.metric)
        self.queries = as_searched(data.queries, data.metric)
        self.bits = data.metric == "hamming"


class BfMatcher(Exact):
    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self.matcher = cv2.BFMatcher(cv2.NORM_HAMMING if self.bits else cv2.NORM_L2)

    def knn(self, part: slice, k: int) -> Matches:
        return self.matcher.knnMatch(self.queries[part], self.base, k)

    def ids(self, answer: Matches) -> np.ndarray:
        return train_ids(answer)


class BatchDistance(Exact):
    """What BFMatcher calls, without an object for each match."""

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self.type = cv2.CV_32S if self.bits else cv2.CV_32F
        self.norm = cv2.NORM_HAMMING if self.bits else cv2.NORM_L2SQR

    def knn(self, part: slice, k: int) -> np.ndarray:
        return cv2.batchDistance(self.queries[part], self.base, self.type, normType=self.norm,
                                 K=k)[1]


class Flann(Way):
    """Approximate: four randomised k-d trees."""
    packages = ("opencv-python-headless",)
    settings = tuple({"checks": checks} for checks in (32, 128, 512))
    KD_TREES = 1

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        cv2.setNumThreads(data.threads)
        cv2.setRNGSeed(1)
        self.queries = as_float32(data.queries)
        # A matcher for each setting, which cannot be changed later.
        self.matchers = {setting["checks"]: self.trained(as_float32(data.base), setting)
                         for setting in self.settings}

    def trained(self, base: np.ndarray, setting: dict[str, int]) -> cv2.FlannBasedMatcher:
        matcher = cv2.FlannBasedMatcher({"algorithm": self.KD_TREES, "trees": 4}, setting)
        matcher.add([base])
        matcher.train()
        return matcher

    def set(self, **setting: int) -> None:
        self.matcher = self.matchers[setting["checks"]]

    def knn(self, part: slice, k: int) -> Matches:
        return self.matcher.knnMatch(self.queries[part], k)

    def ids(self, answer: Matches) -> np.ndarray:
        return train_ids(answer)


WAYS = {"bf_matcher": BfMatcher, "batch_distance": BatchDistance, "flann": Flann}
