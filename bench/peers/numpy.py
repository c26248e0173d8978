"""numpy: argpartition, then a sort of what it found. On threads, since it has none."""
import numpy as np

from peers.interface import Way, on_threads


class Partition(Way):
    packages = ("numpy",)

    def select(self, k: int) -> np.ndarray:
        values, threads = self.data.base, self.data.threads
        ids = np.empty((len(values), k), dtype=np.int64)

        def work(thread: int) -> None:
            mine = values[thread::threads]
            found = np.argpartition(mine, k, axis=1)[:, :k]
            order = np.argsort(np.take_along_axis(mine, found, axis=1), axis=1)
            ids[thread::threads] = np.take_along_axis(found, order, axis=1)

        on_threads(threads, work)
        return ids


WAYS = {"partition": Partition}
