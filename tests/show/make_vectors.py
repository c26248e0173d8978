#!/usr/bin/env python3
"""Writes random vectors, the same bytes for the same arguments, without numpy.

  make_vectors.py FILE.fbin|FILE.u8bin ROWS COLS SEED [--offset X --spread Y]

.u8bin: uniform bytes. .fbin: OFFSET + SPREAD * u, u uniform in [-1, 1) (default 0 and 1).
"""
import argparse
import array
import random
import struct


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("rows", type=int)
    parser.add_argument("cols", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--offset", type=float, default=0.0)
    parser.add_argument("--spread", type=float, default=1.0)
    args = parser.parse_args()

    source = random.Random(args.seed)
    with open(args.file, "wb") as out:
        out.write(struct.pack("<II", args.rows, args.cols))
        left = args.rows * args.cols
        while left:
            count = min(left, 1 << 20)
            if args.file.endswith(".u8bin"):
                out.write(source.randbytes(count))
            else:
                ints = array.array("i", source.randbytes(4 * count))
                scale = args.spread / 2**31
                array.array("f", (args.offset + i * scale for i in ints)).tofile(out)
            left -= count


if __name__ == "__main__":
    main()
