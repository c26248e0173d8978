"""nearfield dedup: groups of near-duplicates, from files and from lines of text."""
import base64
import json
import random
import unittest

from support import CommandLine, read_bin, read_npy, write_bin

BITS = 64


def some_codes():
    """Numbers of 64 bits: 40 of which every fourth is near an earlier one, some the same."""
    draw = random.Random(1)
    codes = []
    for i in range(40):
        if i % 4 == 3:
            code = codes[draw.randrange(len(codes))]
            for _ in range(draw.randrange(4)):
                code ^= 1 << draw.randrange(BITS)
            codes.append(code)
        else:
            codes.append(draw.getrandbits(BITS))
    return codes


def differing(a, b):
    return (a ^ b).bit_count()


def groups_by_hand(codes, radius):
    """Of each code the first of its group."""
    first = list(range(len(codes)))

    def first_of(i):
        while first[i] != i:
            i = first[i]
        return i

    for i, code in enumerate(codes):
        for j in range(i):
            if differing(code, codes[j]) <= radius:
                a, b = sorted((first_of(i), first_of(j)))
                first[b] = a
    return [first_of(i) for i in range(len(codes))]


def lines_by_hand(codes, radius):
    """(group, row, distance) of all groups of two and more."""
    first = groups_by_hand(codes, radius)
    several = [row for row in sorted(set(first)) if first.count(row) > 1]
    return [(number, row, differing(codes[row], codes[head]))
            for number, head in enumerate(several)
            for row in range(len(codes)) if first[row] == head]


class Dedup(CommandLine):
    CODES = some_codes()

    def setUp(self):
        super().setUp()
        as_bytes = [list(code.to_bytes(8, "little")) for code in self.CODES]
        write_bin(self.path("c.u8bin"), as_bytes, "B")
        self.path("c.hex").write_text("".join(f"{code:016x}\n" for code in self.CODES))

    def read_groups(self, name, columns="group,row,distance"):
        header, *lines = self.path(name).read_text().splitlines()
        self.assertEqual(header, columns)
        return [tuple(int(cell) for cell in line.split(",")[:3]) for line in lines]

    def test_equals_groups_by_hand(self):
        for radius in 0, 3, 10, 64, 1000:
            with self.subTest(radius=radius):
                self.run_well("dedup", "--base", "c.u8bin", "--bits", BITS, "--radius", radius,
                              "--output", "g.csv")
                self.assertEqual(self.read_groups("g.csv"), lines_by_hand(self.CODES, radius))

    def test_the_first_of_each_row(self):
        expected = [[row] for row in groups_by_hand(self.CODES, 3)]
        ask = ["dedup", "--base", "c.u8bin", "--bits", BITS, "--radius", 3, "--output"]
        self.run_well(*ask, "g.npy")
        self.assertEqual(read_npy(self.path("g.npy")), ("<i8", expected))
        self.run_well(*ask, "g.ibin")
        self.assertEqual(read_bin(self.path("g.ibin"), "i"), expected)

    def test_text(self):
        expected = lines_by_hand(self.CODES, 10)
        self.run_well("dedup", "--base", "c.hex", "--text", "hex", "--preset", "phash",
                      "--output", "g.csv")
        self.assertEqual(self.read_groups("g.csv"), expected)
        for encode in base64.b64encode, base64.urlsafe_b64encode:
            lines = [encode(code.to_bytes(8, "big")).decode() for code in self.CODES]
            for end in "\n", "\r\n":
                self.path("c.b64").write_bytes((end.join(lines) + end).encode())
                self.run_well("dedup", "--base", "c.b64", "--text", "base64", "--radius", 10,
                              "--output", "g.csv")
                self.assertEqual(self.read_groups("g.csv"), expected)

    def test_what_follows_a_code_is_its_key(self):
        self.path("k.txt").write_text("0xff00,100,a file.jpg\nfF01\tb,\"c\"\n0000 d\nff00\n")
        self.run_well("dedup", "--base", "k.txt", "--text", "hex", "--radius", 1, "--output",
                      "g.csv")
        self.assertEqual(self.path("g.csv").read_text(),
                         'group,row,distance,key\n0,0,0,"100,a file.jpg"\n0,1,1,"b,""c"""\n'
                         "0,3,0,\n")

    def test_an_odd_number_of_digits(self):
        self.path("o.txt").write_text("abc\nabd\n123\n")
        said = json.loads(self.run_well("dedup", "--base", "o.txt", "--text", "hex", "--radius", 1,
                                        "--json").stdout)
        self.assertEqual([said["dims"], said["groups"], said["found"]], [12, 1, 1])

    def test_json(self):
        said = json.loads(self.run_well("dedup", "--base", "c.hex", "--text", "hex", "--radius", 3,
                                        "--json").stdout)
        expected = lines_by_hand(self.CODES, 3)
        groups = expected[-1][0] + 1
        self.assertEqual([said["command"], said["metric"], said["radius"], said["rows"],
                          said["dims"], said["groups"], said["found"], said["exact"]],
                         ["dedup", "hamming", 3, 40, 64, groups, len(expected) - groups, True])

    def test_wrong_usage(self):
        ask = ["dedup", "--base", "c.u8bin", "--output", "g.csv"]
        self.run_badly(*ask, "--bits", 64, code=2, says=["--radius", "--preset"])
        self.run_badly(*ask, "--radius", 3, code=2, says=["--bits", "--text"])
        self.run_badly(*ask, "--preset", "dhash", code=2, says=["dhash", "pdq", "phash"])
        self.run_badly(*ask, "--text", "octal", code=2, says=["octal", "hex", "base64"])
        self.run_badly("dedup", "--base", "c.u8bin", "--preset", "phash", code=2,
                       says=["--output", "--json"])

    def test_wrong_lines(self):
        for text, says in (("ff\nff0\n", ["line 2", "12 bits", "8"]),
                           ("ff\nfg\n", ["line 2", "not hex"]),
                           ("ff\n\n", ["line 2", "no code"])):
            with self.subTest(text=text):
                self.path("w.txt").write_text(text)
                self.run_badly("dedup", "--base", "w.txt", "--text", "hex", "--radius", 1,
                               "--output", "g.csv", code=1, says=["w.txt", *says])
        self.run_badly("dedup", "--base", "c.hex", "--text", "hex", "--preset", "pdq", "--output",
                       "g.csv", code=1, says=["line 1", "64 bits", "256"])
        self.run_badly("dedup", "--base", "no.txt", "--text", "hex", "--radius", 1, "--output",
                       "g.csv", code=1, says=["no.txt"])

    def test_memory_limit(self):
        self.run_badly("dedup", "--base", "c.hex", "--text", "hex", "--radius", 1, "--output",
                       "g.csv", "--memory-limit", "100", code=4, says=["limit"])


if __name__ == "__main__":
    unittest.main()
