"""What is measured: a case is an operation on data sets, with those who can do it."""
from dataclasses import dataclass, field

NEARFIELD = "nearfield/exact"
CODING = ("encode", "train")   # operations whose answers are judged by what codes stand for


@dataclass(frozen=True)
class Question:
    """One row of the table of a case."""
    k: int = 0
    radius: float = 0
    ratio: float = 0           # of the nearest to the second nearest: matches are below it
    codebooks: int = 0         # of codes
    printed_micros: float = 0  # a query, where a paper has a time: that of its GPU
    one_by_one: bool = False   # a call for each query, instead of one for all

    def __str__(self) -> str:
        if self.ratio:
            return f"ratio={self.ratio:g}, mutual"
        if self.codebooks:
            return f"M={self.codebooks}"
        asked = f"k={self.k}" if self.k else f"radius={self.radius:g}"
        return f"{asked}, one by one" if self.one_by_one else asked


@dataclass(frozen=True)
class Group:
    """Questions about one data set. Sizes are (quick, full); None is all there is.

    Where Nearfield is among the approximate, so are its peers.
    """
    data_set: str
    questions: tuple[Question, ...]
    ways: tuple[str, ...]                      # exact peers, and limits
    approximate: tuple[str, ...] = ()
    slow: tuple[str, ...] = ()                 # of both: at full size only if they are named
    # Of both: at full size they answer so many of the queries, and their times are of as many times
    # that as make all.
    samples: dict[str, int] = field(default_factory=dict)
    metric: str = "sqeuclidean"
    queries: tuple[int, int] = (500, 10_000)
    base_rows: tuple[int | None, int | None] = (None, None)
    columns: tuple[int, int] | None = None     # of the base, read as a matrix of another shape
    questions_at_full: tuple[Question, ...] = ()   # if they are others
    index: str = ""                            # the family of Nearfield's index; else it has none
    name: str = ""                             # if the case has other groups of the same data set

    @property
    def subject(self) -> str:
        return self.name or self.data_set

    def sample_of(self, way: str, size: str) -> int:
        """The queries that a way answers; 0: all."""
        return self.samples.get(way, 0) if size == "full" else 0

    def asked(self, size: str) -> tuple[Question, ...]:
        return self.questions_at_full or self.questions if size == "full" else self.questions


@dataclass(frozen=True)
class Case:
    name: str
    operation: str
    groups: tuple[Group, ...] = field(default_factory=tuple)
    held_to: str = ""          # an ISA, on CPUs that have more


def of_k(*ks: int, one_by_one: bool = False) -> tuple[Question, ...]:
    return tuple(Question(k=k, one_by_one=one_by_one) for k in ks)


def of_codebooks(*counts: int) -> tuple[Question, ...]:
    return tuple(Question(codebooks=count) for count in counts)


GEMM = ("mkl_gemm/sgemm", "openblas_gemm/sgemm")
LIMITS = ("amx/tiles", *GEMM)
# At full size minutes a search for many queries, or gigabytes beside those of the others.
LARGE = ("usearch/exact", "nmslib/sequential", "opencv/batch_distance", "opencv/bf_matcher")
SLOW = (*LARGE, "hnswlib/brute_force", "faiss/panorama")
EXACT_L2 = ("faiss/flat", "faiss/panorama", "sklearn/brute_force", "scann/brute_force", "svs/flat",
            "usearch/exact", "hnswlib/brute_force", "nmslib/sequential", "opencv/batch_distance")
ONE_QUERY = (*EXACT_L2, "bandwidth/read_bytes", "bandwidth/read", "mkl_gemm/sgemm")
GRAPHS = ("hnswlib/hnsw", "usearch/hnsw", "faiss/hnsw", "opencv/flann")
HAMMING = ("faiss/binary", "usearch/exact", "opencv/batch_distance", "opencv/bf_matcher",
           "numkong/distances")
# Tables of FAISS's multi-index hashing, with as many bits turned over as make it exact.
LOOKUPS = ("faiss/multi_hash_8", "faiss/multi_hash_11", "faiss/multi_hash_16", "faiss/binary",
           "nearfield/scan")
MATCH = ("opencv/batch_distance", "opencv/bf_matcher", "faiss/flat", *LIMITS)
SELECT = ("numpy/partition", "faiss/heap", "bandwidth/read")
CODES = (NEARFIELD, "faiss/pq")
TREES = ("mvp_tree/by_rapidfuzz", "bk_tree/by_rapidfuzz")   # of strings
WORDS = ("nearfield/every_text", "rapidfuzz/brute_force", "rapidfuzz/distances")
FEW_WORDS = {"nmslib/vp_tree": 500} | dict.fromkeys(TREES, 100)
SELECT_KS = of_k(1, 10, 100, 128, 1_000, 2_048)

CASES = {case.name: case for case in (
    Case("exact-u8", "knn", (
        Group("sift-1m", of_k(2, 10, 100, 1_000),
              (*EXACT_L2, "faiss/bytes", "opencv/bf_matcher", "numkong/distances", *LIMITS),
              slow=SLOW),)),
    Case("exact-u8-avx2", "knn", (
        Group("sift-1m", of_k(10), ("faiss/flat", "mkl_gemm/sgemm")),), held_to="avx2"),
    Case("exact-f32", "knn", (
        Group("rootsift-1m", of_k(10, 100), (*EXACT_L2, *LIMITS), GRAPHS,
              (*SLOW, *GRAPHS)),
        Group("emb-768", of_k(10), (*EXACT_L2, *LIMITS), slow=SLOW, queries=(200, 10_000)))),
    Case("exact-1query", "knn", (
        Group("sift-1m", of_k(10, one_by_one=True), (*ONE_QUERY, "faiss/bytes"),
              queries=(20, 200)),
        Group("rootsift-1m", of_k(10, one_by_one=True), ONE_QUERY, queries=(20, 200)),
        Group("emb-768", of_k(10, one_by_one=True), ONE_QUERY, slow=LARGE, queries=(20, 200)))),
    Case("hamming", "knn", (
        Group("orb-1m", of_k(2, 10, 100), HAMMING, metric="hamming"),
        Group("bits-512", of_k(10), HAMMING, metric="hamming", queries=(500, 1_000)),
        Group("bits-512", of_k(10, one_by_one=True), (*HAMMING, "bandwidth/read"),
              slow=("usearch/exact",), metric="hamming", queries=(20, 200)))),
    Case("graph", "graph", (
        Group("sift-1m", of_k(10), ("faiss/flat", "sklearn/brute_force", *LIMITS), queries=(0, 0),
              base_rows=(5_000, 100_000)),)),
    Case("range", "within", (
        # 20 hits a query on average, of few queries with hundreds and many with one or none.
        Group("sift-1m", (Question(radius=68_100.5),),
              ("faiss/flat", "sklearn/brute_force", *LIMITS),
              questions_at_full=(Question(radius=8_260.5),)),)),
    Case("mih", "within", (
        # A search of FAISS's scan, and of a base of 10,000,000, takes seconds for each of few.
        Group("bits-256", (Question(radius=15), Question(radius=31)), LOOKUPS, metric="hamming",
              queries=(500, 1_000), index="mih"),)),
    # 8 bytes a vector, which decide alone, and 16, where vectors decide among the nearest. How long
    # codes take to find is beside the point here: one round of local search.
    Case("coded-search", "knn", (
        Group("sift-1m", of_k(10, 100), (), CODES, queries=(500, 1_000),
              index="coded,codebooks=8,rerank=0", name="sift-1m, 8 x 8 bits"),
        Group("sift-1m", of_k(10), (), (NEARFIELD, "faiss/additive"), queries=(500, 1_000),
              index="coded,kind=lsq,codebooks=8,rounds=1,iterations=5,norms=byte,rerank=0",
              name="sift-1m, lsq 8 x 8 bits"),
        Group("sift-1m", of_k(10, 100), (), (NEARFIELD, "faiss/fast_scan"), queries=(500, 1_000),
              index="coded,codebooks=16,bits=4,rerank=0", name="sift-1m, 16 x 4 bits"),
        Group("sift-1m", of_k(1), (), (NEARFIELD, "faiss/pq_refined"), queries=(500, 1_000),
              index="coded,codebooks=16,rerank=100", name="sift-1m, 16 x 8 bits, 100 re-ranked"),
        Group("sift-1m", of_k(10, one_by_one=True), (), CODES, queries=(20, 200),
              index="coded,codebooks=8,rerank=0", name="sift-1m, 8 x 8 bits"))),
    # Codebooks are trained on the base, and the queries are encoded. M = 7 beside the GPU of
    # Martinez, Hoos and Little (2016), a GTX Titan X.
    Case("lsq-encode", "encode", (
        # FAISS makes its tables of pairs anew for each call: of 10,000 vectors that is little.
        Group("sift-1m", of_codebooks(8, 16), ("faiss/local_search",), queries=(200, 10_000),
              base_rows=(2_000, 50_000),
              questions_at_full=(Question(codebooks=7, printed_micros=17.9),
                                 *of_codebooks(8, 16))),)),
    Case("lsq-train", "train", (
        Group("sift-1m", of_codebooks(8), ("faiss/local_search",), queries=(200, 2_000),
              base_rows=(2_000, 50_000)),)),
    Case("match", "match", (
        Group("sift-pair-8k", (Question(ratio=0.8),), MATCH, ("opencv/flann_match",),
              queries=(2_000, 8_000)),
        # OpenCV takes about a minute a search here, by either of its exact ways: one is enough.
        Group("sift-pair-45k", (Question(ratio=0.8),), MATCH, ("opencv/flann_match",),
              ("opencv/bf_matcher",), queries=(6_000, 45_000)))),
    Case("select", "select", (
        Group("uniform", SELECT_KS, SELECT, queries=(0, 0), base_rows=(None, 1_000),
              columns=(20_000, 100_000)),
        Group("uniform", SELECT_KS, SELECT, queries=(0, 0), base_rows=(1, 1),
              columns=(2_500_000, 100_000_000), name="uniform, one row"))),
    Case("metric", "knn", (
        Group("words", of_k(10), (*WORDS, "nmslib/vp_tree", *TREES), samples=FEW_WORDS,
              metric="edit", queries=(200, 10_000)),)),
    # NMSLIB has no range search in Python.
    Case("metric-range", "within", (
        Group("words", tuple(Question(radius=radius) for radius in (1, 2, 3)),
              (*WORDS, *TREES), samples=FEW_WORDS, metric="edit", queries=(200, 10_000)),)),
)}
