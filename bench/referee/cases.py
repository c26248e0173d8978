"""What is measured: a case is an operation on data sets, with those who can do it."""
from dataclasses import dataclass, field

NEARFIELD = "nearfield/exact"


@dataclass(frozen=True)
class Question:
    """One row of the table of a case."""
    k: int = 0
    radius: float = 0
    one_by_one: bool = False   # a call for each query, instead of one for all

    def __str__(self) -> str:
        asked = f"k={self.k}" if self.k else f"radius={self.radius:g}"
        return f"{asked}, one by one" if self.one_by_one else asked


@dataclass(frozen=True)
class Group:
    """Questions about one data set. Sizes are (quick, full); None is all there is."""
    data_set: str
    questions: tuple[Question, ...]
    ways: tuple[str, ...]                      # exact peers, and limits
    approximate: tuple[str, ...] = ()
    metric: str = "sqeuclidean"
    queries: tuple[int, int] = (500, 2_000)
    base_rows: tuple[int | None, int | None] = (None, None)
    columns: tuple[int, int] | None = None     # of the base, read as a matrix of another shape


@dataclass(frozen=True)
class Case:
    name: str
    operation: str
    groups: tuple[Group, ...] = field(default_factory=tuple)


def of_k(*ks: int, one_by_one: bool = False) -> tuple[Question, ...]:
    return tuple(Question(k=k, one_by_one=one_by_one) for k in ks)


GEMM = ("mkl_gemm/sgemm", "openblas_gemm/sgemm")
EXACT_L2 = ("faiss/flat", "faiss/panorama", "sklearn/brute_force", "scann/brute_force", "svs/flat",
            "usearch/exact", "hnswlib/brute_force", "nmslib/sequential", "opencv/batch_distance")
GRAPHS = ("hnswlib/hnsw", "usearch/hnsw", "faiss/hnsw", "opencv/flann")

CASES = {case.name: case for case in (
    Case("exact-u8", "knn", (
        Group("sift-1m", of_k(2, 10, 100),
              (*EXACT_L2, "faiss/bytes", "opencv/bf_matcher", "numkong/distances", *GEMM)),)),
    Case("exact-f32", "knn", (
        Group("rootsift-1m", of_k(10, 100), (*EXACT_L2, *GEMM), GRAPHS),
        Group("emb-768", of_k(10), (*EXACT_L2, *GEMM), queries=(200, 1_000)))),
    Case("exact-1query", "knn", (
        Group("sift-1m", of_k(10, one_by_one=True),
              (*EXACT_L2, "faiss/bytes", "bandwidth/read", "mkl_gemm/sgemm"), queries=(20, 20)),
        Group("rootsift-1m", of_k(10, one_by_one=True),
              (*EXACT_L2, "bandwidth/read", "mkl_gemm/sgemm"), queries=(20, 20)))),
    Case("hamming", "knn", (
        Group("orb-1m", of_k(2, 10, 100),
              ("faiss/binary", "usearch/exact", "opencv/batch_distance", "opencv/bf_matcher",
               "numkong/distances"), metric="hamming"),)),
    Case("graph", "graph", (
        Group("sift-1m", of_k(10), ("faiss/flat", "sklearn/brute_force", *GEMM), queries=(0, 0),
              base_rows=(5_000, 50_000)),)),
    Case("range", "within", (
        Group("sift-1m", (Question(radius=40_000.5),),
              ("faiss/flat", "sklearn/brute_force", *GEMM)),)),
    Case("select", "select", (
        Group("uniform", of_k(10, 100, 1_000),
              ("numpy/partition", "faiss/heap", "bandwidth/read"), queries=(0, 0),
              columns=(20_000, 1_000_000)),)),
)}
