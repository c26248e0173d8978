"""Exact search by GPUs: the figures that are measured again, and what the text states of them.

D. Hanák, Meeting the challenges of k-nearest neighbour search implementation for GPU accelerators,
Charles University, 2023, chapter 5. What is only drawn there is not stated here. The text leaves
out most of the axes: the numbers d and k, and n and q where no setting names them, are ours.
"""
from reproduction.measured import Timing
from reproduction.shapes import (
    below,
    best_by,
    falls,
    leads,
    no_such,
    only_said,
    share_of_copy,
)
from reproduction.thesis import Figure, Quantity, Stated, Thesis

THESIS_CPU = "Xeon Gold 5218, 16 cores"

# Series, as the program names them.
KEYS = "keys, float64"
PRODUCTS = ("products, f16", "products, f16 sums", "products, int8")
COPY = "copy within the device"
CPU_SEARCH = "cpu, knn"
FUSED = "knn, fused"
TWO_STAGES = "f16 + bits"
TO_DEVICE, TO_HOST = "vectors to the device", "results to the host"


def speed_up(series: str) -> Quantity:
    def quantity(timings: dict[str, Timing]) -> float | None:
        if series not in timings or CPU_SEARCH not in timings:
            return None
        return timings[CPU_SEARCH].seconds / timings[series].seconds
    return quantity


def to_transfer(series: str) -> Quantity:
    def quantity(timings: dict[str, Timing]) -> float | None:
        if not {series, TO_DEVICE, TO_HOST} <= timings.keys():
            return None
        return timings[series].seconds / (timings[TO_DEVICE].seconds + timings[TO_HOST].seconds)
    return quantity


def spread_of_selectors(timings: dict[str, Timing]) -> float | None:
    seconds = [timing.seconds for name, timing in timings.items() if name.startswith("f16 + ")]
    return max(seconds) / min(seconds) if len(seconds) > 1 else None


FIGURES = {
    "5.1": Figure(
        "distances", "n q d is the same for all q and d, n cut where memory ends; float32",
        "keys are float64, products of halves or bytes: a product leads by its precision too",
        (Stated("5.2", "one query: what caches no vectors is the fastest",
                no_such("all kernels here work on tiles")),
         Stated("5.2", "from q = 128, d up to 128: tiles of a matrix product lead",
                leads(PRODUCTS, (KEYS,), lambda place: place.q >= 128 and place.d <= 128)),
         Stated("5.2", "distances as products and norms catch up with sums of differences at "
                "d = 128, and lead above",
                leads(("products, f16",), (KEYS,),
                      lambda place: place.q >= 128 and place.d >= 128))),
        x="d", panel="q"),
    "5.6": Figure(
        "selection of a small k, in one pass", "n from 32 thousand to a million, q n the same for "
        "all (its figure 5.5 has 2 thousand queries of a million)",
        "selectors are this library's, also those that bear the names of others",
        (Stated("5.4.1", "bits is the fastest everywhere, k up to 2,048",
                leads(("bits",), (), lambda place: place.k >= 32)),
         Stated("5.4.1", "bits comes near 80 % of the peak of memory (of 900 GiB/s, which is "
                "1.9·10¹¹ distances/s)", share_of_copy("bits", COPY, 0.75)),
         Stated("5.4.1", "bits does best with large n and few queries, q up to 2,048",
                best_by("bits", "k", "q", lambda best: all(q <= 2048 for q in best.values()),
                        lambda queries: min(queries) <= 2048 < max(queries)))),
        x="k", panel="n"),
    "5.7": Figure(
        "selection for one query, in parts", "n is 128 million, q is 1",
        "only whether parts pay, and whether fewer are best for the largest k, is judged",
        (Stated("5.4.2", "parts pay up to a number, the smaller the larger k is: 256 for k up to "
                "512, 128 for k above 1,024", best_by("bits", "k", "parts", lambda best: (
                    min(best.values()) > 1 and best[max(best)] < best[min(best)]),
                    lambda parts: len(parts) > 2)),),
        x="parts", panel="k"),
    "5.8": Figure(
        "fused against two stages", "n is half a million, q is 8 thousand; two stages: k from 32",
        "searches are whole calls with exact answers; f16 + bits are kernels alone, of halves",
        (Stated("5.4.3", "fused is faster for d up to 32, above all for k up to 64",
                leads((FUSED,), (TWO_STAGES,), lambda place: place.d <= 32 and place.k <= 64)),
         Stated("5.4.3", "two stages are faster for larger d",
                leads((TWO_STAGES,), (FUSED,), lambda place: place.d > 32))),
        x="k", panel="d"),
    "5.9": Figure(
        "fused against two stages, over q", "d is 16, k is 32",
        "as in 5.8; q n is the same for all q",
        (Stated("5.4.3", "fused is at its best from 8 thousand queries on",
                best_by(FUSED, "d", "q", lambda best: all(q >= 8000 for q in best.values()),
                        lambda queries: min(queries) < 8000 <= max(queries))),),
        x="q", panel=""),
    "5.11": Figure(
        "selection of a large k, in several passes", "n from 32 thousand to a million",
        "what is selected is always sorted; full_sort is this library's, not CUB's",
        (Stated("5.5.2", "sample select beats a sort of all for k up to 30 % of n, n from half a "
                "million", leads(("sample_two_stage",), ("full_sort",), lambda place: (
                    place.n >= 500_000 and place.k <= 0.3 * place.n))),
         Stated("5.5.2", "for k up to 50 % of n, n below a quarter of a million",
                leads(("sample_two_stage",), ("full_sort",), lambda place: (
                    place.n < 250_000 and place.k <= 0.5 * place.n))),
         Stated("5.5.2", "sample select beats radix select, but for n of 32 thousand",
                leads(("sample_two_stage",), ("radix",), lambda place: place.n > 32_768)),
         Stated("5.5.2", "and there radix select leads",
                leads(("radix",), ("sample_two_stage",), lambda place: place.n <= 32_768))),
        x="k", panel="n"),
    "5.12": Figure(
        "whole searches", "n is 128 thousand, q is 8 thousand",
        "as in 5.8; what is selected is always sorted",
        (Stated("5.6", "fused is the fastest for d up to 32, k up to 64, q from 8 thousand",
                leads((FUSED,), (), lambda place: (
                    place.d <= 32 and place.k <= 64 and place.q >= 8000))),
         Stated("5.6", "else bits is the fastest up to k = 2,048",
                leads((TWO_STAGES,), ("f16 + bits_in_memory", "f16 + sample_two_stage",
                                      "f16 + radix"), lambda place: place.k <= 2048)),
         Stated("5.6", "bits in memory is the fastest at k = 4,096, sample select soon after",
                leads(("f16 + bits_in_memory",), ("f16 + sample_two_stage", "f16 + radix"),
                      lambda place: place.k == 4096)),
         Stated("5.6", "n below 100,000: radix select beats sample select",
                leads(("f16 + radix",), ("f16 + sample_two_stage",),
                      lambda place: place.n < 100_000)),
         Stated("5.6", "the larger d, the less does the selection matter",
                falls(spread_of_selectors, "slowest over fastest selector", "d"))),
        x="k", panel="d"),
    "5.13": Figure(
        "the device against the CPU", f"n is two million, q is a thousand; {THESIS_CPU}; without "
        "transfers",
        "the CPU is this machine's, by this library's own search",
        (Stated("5.6.1", "how much faster the GPU is, is drawn and not written",
                only_said(TWO_STAGES, CPU_SEARCH)),),
        x="d", panel="k",
        derived={"kernels alone": speed_up(TWO_STAGES), "knn, copies included": speed_up("knn")}),
    "5.14": Figure(
        "computing against transfer", "the searches of 5.13; vectors there, results back",
        "where the device is a CPU, a transfer is a copy within one memory",
        (Stated("5.6.1", "transfers are little where d is small, and more as it grows",
                falls(to_transfer(TWO_STAGES), "kernels over transfers", "d")),
         Stated("5.6.1", "they soon are the limit",
                below(to_transfer(TWO_STAGES), "kernels over transfers", "d", 1))),
        x="d", panel="k", in_milliseconds=True,
        derived={"kernels over transfers": to_transfer(TWO_STAGES),
                 "knn over transfers": to_transfer("knn")}),
}

THESIS = Thesis(
    "D. Hanák, Meeting the challenges of k-nearest neighbour search implementation for GPU "
    "accelerators, Charles University, 2023",
    "Tesla V100 SXM2 32 GB, CUDA 12.0", "measure_knn_gpu", FIGURES)
