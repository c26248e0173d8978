#!/usr/bin/env python3
"""LSQ here and in FAISS: time to train and to encode, and the error, on the same vectors.

  bench/setup faiss-cpu && bench/datasets make sift-1m
  build/bench-venv/bin/python bench/lsq_vs_faiss.py LEARN BASE [--codebooks 8] [--learn 50000]
      [--encode 10000] [--iterations 25] [--rounds 16] [--repeat 3] [--threads 2]

Both train on the first vectors of LEARN and encode the first of BASE, by turns; times are the least
of so many repetitions, of the wall clock and of the processor, the latter for machines that others
use too. FAISS has SR-D always, and so has ours. Errors are mean squared, in float64, with the
half-width of a 95 % interval.
"""
import argparse
import time

import faiss
import nearfield as nf
import numpy as np


def timed(call):
    wall, cpu = time.perf_counter(), time.process_time()
    answer = call()
    return answer, time.perf_counter() - wall, time.process_time() - cpu


def error(vectors, decoded):
    squares = ((vectors.astype(np.float64) - decoded) ** 2).sum(axis=1)
    return squares.mean(), 1.96 * squares.std() / np.sqrt(len(squares))


class Ours:
    name = f"nearfield {nf.__version__}"

    def __init__(self, asked):
        self.asked = asked

    def train(self, learn):
        self.quantizer = nf.Quantizer.train(
            learn, kind="lsq", codebooks=self.asked.codebooks, iterations=self.asked.iterations,
            rounds=self.asked.rounds, threads=self.asked.threads)
        self.quantizer.encode(learn[:1])  # its tables are made once

    def encode(self, vectors):
        return self.quantizer.encode(vectors, threads=self.asked.threads)

    def decode(self, codes):
        return self.quantizer.decode(codes)


class Faiss:
    name = f"faiss {faiss.__version__}"

    def __init__(self, asked):
        self.asked = asked

    def train(self, learn):
        self.quantizer = faiss.LocalSearchQuantizer(learn.shape[1], self.asked.codebooks, 8)
        self.quantizer.train_iters = self.asked.iterations
        self.quantizer.encode_ils_iters = self.asked.rounds
        self.quantizer.train(learn)

    def encode(self, vectors):
        return self.quantizer.compute_codes(vectors)

    def decode(self, codes):
        return self.quantizer.decode(codes)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("learn_file")
    parser.add_argument("base_file")
    parser.add_argument("--codebooks", type=int, default=8)
    parser.add_argument("--learn", type=int, default=50_000)
    parser.add_argument("--encode", type=int, default=10_000)
    parser.add_argument("--iterations", type=int, default=25)
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def main():
    asked = arguments()
    faiss.omp_set_num_threads(asked.threads)
    learn = nf.read(asked.learn_file)[:asked.learn].astype(np.float32)
    base = nf.read(asked.base_file)[:asked.encode].astype(np.float32)
    both = [Ours(asked), Faiss(asked)]
    print(f"M = {asked.codebooks}, {asked.rounds} rounds, trained on {len(learn)} vectors in "
          f"{asked.iterations} iterations, {asked.threads} threads")
    print("| | train s | of processors | encode us a vector | of processors | error |")
    print("|---|---|---|---|---|---|")
    trained = [timed(lambda way=way: way.train(learn))[1:] for way in both]
    encoded = [[timed(lambda way=way: way.encode(base)) for way in both]
               for _ in range(asked.repeat)]
    for i, way in enumerate(both):
        mean, half = error(base, way.decode(encoded[0][i][0]))
        wall = min(turn[i][1] for turn in encoded) / len(base) * 1e6
        cpu = min(turn[i][2] for turn in encoded) / len(base) * 1e6
        print(f"| {way.name} | {trained[i][0]:.1f} | {trained[i][1]:.1f} | {wall:.1f} | {cpu:.1f} "
              f"| {mean:.1f} ± {half:.1f} |")


if __name__ == "__main__":
    main()
