"""OpenCV: the matchers that people call, and the routine under the exact one."""
from typing import Any

import cv2
import numpy as np

from peers.interface import Data, Way, as_float32, on_threads, tested_matches

Matches = tuple[tuple[cv2.DMatch, ...], ...]


def train_ids(matches: Matches) -> np.ndarray:
    return np.array([[match.trainIdx for match in row] for row in matches])


class Exact(Way):
    """Rows as OpenCV searches them best."""
    packages = ("opencv-python-headless",)
    keeps_bytes = False   # of euclidean distances

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        cv2.setNumThreads(data.threads)
        self.bits = data.metric == "hamming"
        is_kept = self.bits or (self.keeps_bytes and data.base.dtype == np.uint8)
        self.base, self.queries = (np.array(rows) if is_kept else as_float32(rows)
                                   for rows in (data.base, data.queries))


class BfMatcher(Exact):
    """Floats for bytes: it wants distances in float32, and OpenCV 5.0 takes 4 to 5 times as long to
    compute these of bytes."""

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self.matcher = cv2.BFMatcher(cv2.NORM_HAMMING if self.bits else cv2.NORM_L2)

    def knn(self, part: slice, k: int) -> Matches:
        return self.matcher.knnMatch(self.queries[part], self.base, k)

    def match(self, ratio: float) -> tuple[np.ndarray, np.ndarray]:
        there = self.matcher.knnMatch(self.queries, self.base, 2)
        back = self.matcher.knnMatch(self.base, self.queries, 1)
        distances = np.array([[match.distance for match in row] for row in there])
        return tested_matches(distances**2, train_ids(there)[:, 0], train_ids(back)[:, 0], ratio)

    def ids(self, answer: Any) -> Any:
        return answer if isinstance(answer[0], np.ndarray) else train_ids(answer)


class BatchDistance(Exact):
    """What BFMatcher calls, without an object for each match, and on bytes: their distances in
    int32 take 0.7 of the time of those of floats."""
    keeps_bytes = True

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self.type = cv2.CV_32S if self.base.dtype == np.uint8 else cv2.CV_32F
        self.norm = cv2.NORM_HAMMING if self.bits else cv2.NORM_L2SQR

    def nearest(self, rows: np.ndarray, others: np.ndarray, k: int
                ) -> tuple[np.ndarray, np.ndarray]:
        return cv2.batchDistance(rows, others, self.type, normType=self.norm, K=k)

    def knn(self, part: slice, k: int) -> np.ndarray:
        return self.nearest(self.queries[part], self.base, k)[1]

    def match(self, ratio: float) -> tuple[np.ndarray, np.ndarray]:
        keys, ids = self.nearest(self.queries, self.base, 2)
        _, back = self.nearest(self.base, self.queries, 1)
        return tested_matches(keys, ids[:, 0], back[:, 0], ratio)


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


class FlannMatch(Way):
    """Approximate: trees of both images, with the parameters of OpenCV's tutorial on matching.

    The index under FlannBasedMatcher, which gives arrays instead of an object for each match. On
    threads, since it has none.
    """
    packages = ("opencv-python-headless",)
    settings = ({"checks": 50},)
    TREES = 5

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        cv2.setNumThreads(data.threads)
        cv2.setRNGSeed(1)
        self.queries, self.base = as_float32(data.queries), as_float32(data.base)
        self.of_queries, self.of_base = (
            cv2.flann_Index(rows, {"algorithm": Flann.KD_TREES, "trees": self.TREES})
            for rows in (self.queries, self.base))

    def set(self, **setting: int) -> None:
        self.setting = setting

    def nearest(self, rows: np.ndarray, index: cv2.flann_Index, k: int
                ) -> tuple[np.ndarray, np.ndarray]:
        parts = np.array_split(rows, self.data.threads)
        found: list[Any] = [None] * len(parts)

        def work(thread: int) -> None:
            found[thread] = index.knnSearch(parts[thread], k, params=self.setting)

        on_threads(self.data.threads, work)
        ids, keys = zip(*found, strict=True)
        return np.concatenate(ids), np.concatenate(keys)

    def match(self, ratio: float) -> tuple[np.ndarray, np.ndarray]:
        ids, keys = self.nearest(self.queries, self.of_base, 2)
        back, _ = self.nearest(self.base, self.of_queries, 1)
        return tested_matches(keys, ids[:, 0], back[:, 0], ratio)


WAYS = {"bf_matcher": BfMatcher, "batch_distance": BatchDistance, "flann": Flann,
        "flann_match": FlannMatch}
