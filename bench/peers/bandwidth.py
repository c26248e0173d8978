"""Reading the base from memory, and nothing else: the limit of one query, and of selection."""
import numpy as np

from peers.interface import Data, Way, on_threads

# Waking Python's threads takes 50 us, as long as reading 2 MB: a call reads this much.
BYTES_A_CALL = 256_000_000


class Read(Way):
    """Every byte of the base, as it is."""
    packages = ("numpy",)
    is_limit = True

    @staticmethod
    def bytes_read(base: np.ndarray) -> int:
        return base.nbytes

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        # Ones: pages that were never written are one page of zeros, which stays in a cache.
        words = np.ones(max(1, self.bytes_read(data.base) // 8), dtype=np.uint64)
        self.forget_base()
        self.parts = np.array_split(words, data.threads)
        self.times_done = max(1, BYTES_A_CALL // words.nbytes)

    def read(self) -> None:
        def work(thread: int) -> None:
            for _ in range(self.times_done):
                self.parts[thread].max()

        on_threads(self.data.threads, work)

    def knn(self, part: slice, k: int) -> None:
        self.read()

    def select(self, k: int) -> None:
        self.read()


class ReadBytes(Read):
    """A byte for each value of the base: what is read of floats that were rounded to bytes."""

    @staticmethod
    def bytes_read(base: np.ndarray) -> int:
        return base.size


WAYS = {"read": Read, "read_bytes": ReadBytes}
