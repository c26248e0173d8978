"""FAISS, from its wheel."""
import functools
from typing import Any, ClassVar

import faiss
import numpy as np

from peers.interface import (
    LSQ_ITERATIONS,
    LSQ_ROUNDS,
    Data,
    Way,
    as_float32,
    tested_matches,
    without_self,
)


class Faiss(Way):
    packages = ("faiss-cpu",)

    def plan(self, answer: Any) -> dict[str, Any]:
        return {"isa": faiss.SIMDConfig.get_level_name()}


class Index(Faiss):
    uses_blas = True

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        faiss.omp_set_num_threads(data.threads)
        self.queries = as_float32(data.queries)
        self.index = self.empty_index(data.base.shape[1])
        self.index.add(as_float32(data.base))
        self.forget_base()

    def empty_index(self, columns: int) -> Any:
        raise NotImplementedError

    def knn(self, part: slice, k: int) -> np.ndarray:
        return self.index.search(self.queries[part], k)[1]


class Flat(Index):
    def empty_index(self, columns: int) -> Any:
        return faiss.IndexFlatL2(columns)

    def within(self, part: slice, radius: float) -> tuple[np.ndarray, np.ndarray]:
        offsets, _, ids = self.index.range_search(self.queries[part], radius)
        return offsets, ids

    def base(self) -> np.ndarray:
        rows, columns = self.index.ntotal, self.index.d
        return faiss.rev_swig_ptr(self.index.get_xb(), rows * columns).reshape(rows, columns)

    def graph(self, k: int) -> np.ndarray:
        return without_self(self.index.search(self.base(), k + 1)[1])

    def match(self, ratio: float) -> tuple[np.ndarray, np.ndarray]:
        """Only k = 1 on the way back, for which FAISS has faster code."""
        keys, ids = self.index.search(self.queries, 2)
        _, back = faiss.knn(self.base(), self.queries, 1)
        return tested_matches(keys, ids[:, 0], back[:, 0], ratio)


class Panorama(Index):
    """IndexFlatL2 that stops a distance early."""
    uses_blas = False

    def empty_index(self, columns: int) -> Any:
        return faiss.IndexFlatL2Panorama(columns, 8)


class Bytes(Index):
    """Bytes as they are, decoded on the fly."""
    uses_blas = False

    def empty_index(self, columns: int) -> Any:
        return faiss.IndexScalarQuantizer(columns, faiss.ScalarQuantizer.QT_8bit_direct)


class Codes(Index):
    """Codes, of 8 bytes if not said, approximate: trained on as many vectors as ours."""
    uses_blas = False
    trained_on = 16_384

    def __init__(self, data: Data) -> None:
        self.learn = as_float32(data.base[np.linspace(0, len(data.base) - 1, self.trained_on,
                                                      dtype=np.int64)])
        super().__init__(data)

    def trained(self, index: Any) -> Any:
        index.train(self.learn)
        return index


class Pq(Codes):
    def empty_index(self, columns: int) -> Any:
        return self.trained(faiss.IndexPQ(columns, 8, 8))


class Additive(Codes):
    """LSQ, its norms in a byte, with one round of local search: what is timed is the search."""

    def empty_index(self, columns: int) -> Any:
        norms = faiss.AdditiveQuantizer.ST_norm_qint8
        index = faiss.IndexLocalSearchQuantizer(columns, 8, 8, faiss.METRIC_L2, norms)
        index.lsq.train_iters = 5
        index.lsq.encode_ils_iters = 1
        return self.trained(index)


class FastScan(Codes):
    def empty_index(self, columns: int) -> Any:
        return self.trained(faiss.IndexPQFastScan(columns, 16, 4))


class PqRefined(Codes):
    """Codes of 16 bytes, of which the nearest 100 are put in order by their vectors, as ours."""
    refined = 100

    def empty_index(self, columns: int) -> Any:
        # Kept: the index looks at it.
        self.codes = faiss.IndexPQ(columns, 16, 8)
        return self.trained(faiss.IndexRefineFlat(self.codes))

    def knn(self, part: slice, k: int) -> np.ndarray:
        self.index.k_factor = max(self.refined / k, 1)
        return super().knn(part, k)


class Hnsw(Index):
    """Approximate."""
    uses_blas = False
    settings = tuple({"ef": ef} for ef in (16, 32, 64, 128, 256))

    def empty_index(self, columns: int) -> Any:
        index = faiss.IndexHNSWFlat(columns, 16)
        index.hnsw.efConstruction = 200
        return index

    def set(self, **setting: int) -> None:
        self.index.hnsw.efSearch = setting["ef"]


class Binary(Faiss):
    def __init__(self, data: Data) -> None:
        super().__init__(data)
        faiss.omp_set_num_threads(data.threads)
        self.index = faiss.IndexBinaryFlat(8 * data.base.shape[1])
        self.index.add(np.ascontiguousarray(data.base))
        self.forget_base()
        self.queries = np.ascontiguousarray(data.queries)

    def knn(self, part: slice, k: int) -> np.ndarray:
        return self.index.search(self.queries[part], k)[1]

    def within(self, part: slice, radius: float) -> tuple[np.ndarray, np.ndarray]:
        return below(self.index, self.queries[part], radius)


def below(index: Any, queries: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """FAISS finds what differs in fewer bits than its radius, here those up to a radius."""
    offsets, _, ids = index.range_search(queries, int(radius) + 1)
    return offsets, ids


class MultiHash(Faiss):
    """Multi-index hashing, exact: two codes of a radius differ in at most radius / tables of the
    bits of one table, and buckets of all such differences are asked.
    """
    tables: ClassVar[int]
    most_bits: ClassVar[int] = 24   # of a table: more take gigabytes, for as few codes a bucket

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        faiss.omp_set_num_threads(data.threads)
        columns = 8 * data.base.shape[1]
        bits = min(columns // self.tables, self.most_bits)
        self.index = faiss.IndexBinaryMultiHash(columns, self.tables, bits)
        self.index.add(np.ascontiguousarray(data.base))
        self.forget_base()
        self.queries = np.ascontiguousarray(data.queries)

    def within(self, part: slice, radius: float) -> tuple[np.ndarray, np.ndarray]:
        self.index.nflip = int(radius) // self.tables
        return below(self.index, self.queries[part], radius)


class MultiHash8(MultiHash):
    tables = 8


class MultiHash11(MultiHash):
    tables = 11


class MultiHash16(MultiHash):
    tables = 16


class LocalSearch(Faiss):
    """LSQ++: with noise on the codebooks, as ours."""
    uses_blas = True   # training inverts a matrix of all codewords

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        faiss.omp_set_num_threads(data.threads)
        self.learn, self.vectors = as_float32(data.base), as_float32(data.queries)
        self.trained = functools.cache(self.train)

    def train(self, codebooks: int) -> Any:
        quantizer = faiss.LocalSearchQuantizer(self.learn.shape[1], codebooks, 8)
        quantizer.train_iters = LSQ_ITERATIONS
        quantizer.encode_ils_iters = LSQ_ROUNDS
        quantizer.train(self.learn)
        return quantizer

    def encode(self, codebooks: int) -> tuple[Any, np.ndarray]:
        quantizer = self.trained(codebooks)
        return quantizer, quantizer.compute_codes(self.vectors)

    def decoded(self, answer: Any) -> np.ndarray:
        quantizer, codes = answer if isinstance(answer, tuple) else (
            answer, answer.compute_codes(self.vectors))
        return quantizer.decode(codes)


class Heap(Faiss):
    """FAISS's own selection, a heap for each row of values."""

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        faiss.omp_set_num_threads(data.threads)
        self.values = as_float32(data.base)

    def select(self, k: int) -> np.ndarray:
        rows, columns = self.values.shape
        smallest = np.empty((rows, k), dtype=np.float32)
        ids = np.empty((rows, k), dtype=np.int64)
        heap = faiss.float_maxheap_array_t()
        heap.nh, heap.k = rows, k
        heap.val, heap.ids = faiss.swig_ptr(smallest), faiss.swig_ptr(ids)
        heap.heapify()
        heap.addn(columns, faiss.swig_ptr(self.values))
        heap.reorder()
        return ids


WAYS = {"flat": Flat, "panorama": Panorama, "bytes": Bytes, "hnsw": Hnsw, "binary": Binary,
        "pq": Pq, "pq_refined": PqRefined, "additive": Additive, "fast_scan": FastScan,
        "local_search": LocalSearch,
        "multi_hash_8": MultiHash8, "multi_hash_11": MultiHash11, "multi_hash_16": MultiHash16,
        "heap": Heap}
