"""nearfield match --colmap: matches of many images, in COLMAP's database."""
import json
import math
import os
import pty
import random
import signal
import sqlite3
import struct
import subprocess
import unittest

from support import NEARFIELD, CommandLine, float32, read_all

TABLES = """
CREATE TABLE images(image_id INTEGER PRIMARY KEY NOT NULL, name TEXT NOT NULL UNIQUE);
CREATE TABLE matches(pair_id INTEGER PRIMARY KEY NOT NULL, rows INTEGER NOT NULL,
                     cols INTEGER NOT NULL, data BLOB);
CREATE TABLE two_view_geometries(pair_id INTEGER PRIMARY KEY NOT NULL);
CREATE TABLE descriptors(image_id INTEGER PRIMARY KEY NOT NULL, type INTEGER NOT NULL,
                         rows INTEGER NOT NULL, cols INTEGER NOT NULL, data BLOB);
PRAGMA user_version = 4020100;
"""
LENGTH = 512  # of SIFT bytes, as COLMAP takes it
DIMS = 16


def descriptor(draw):
    """Bytes of that length, up to their rounding, most of them small, as SIFT's are."""
    values = [draw.random() ** 4 for _ in range(DIMS)]
    scale = LENGTH / math.sqrt(sum(value * value for value in values))
    return [min(255, round(value * scale)) for value in values]


def near(row, draw):
    return [min(255, max(0, value + draw.randint(-9, 9))) for value in row]


def angles(row, others):
    """(angle, number) of all others, the nearest first."""
    found = []
    for i, other in enumerate(others):
        product = sum(a * b for a, b in zip(row, other)) / LENGTH**2
        found.append((float32(math.acos(min(1, product))), i))
    return sorted(found)


def passes(found, ratio, most):
    second = found[1][0] if len(found) > 1 else math.pi / 2
    return found[0][0] <= most and found[0][0] < ratio * second


def by_hand(one, other, ratio=0.8, most=0.7):
    """Pairs of rows by COLMAP's rules: both directions pass, and lead to each other."""
    pairs = []
    for i, row in enumerate(one):
        there = angles(row, other)
        if there and passes(there, ratio, most):
            back = angles(other[there[0][1]], one)
            if back[0][1] == i and passes(back, ratio, most):
                pairs.append((i, there[0][1]))
    return pairs


class MatchColmap(CommandLine):
    IDS = [2, 3, 5, 9]  # of c, a, d, b

    def setUp(self):
        super().setUp()
        draw = random.Random(5)
        scene = [descriptor(draw) for _ in range(30)]
        self.features = {}
        for image_id in self.IDS[:3]:
            seen = [near(row, draw) for row in draw.sample(scene, 20)]
            self.features[image_id] = seen + [descriptor(draw) for _ in range(5)]
        self.features[9] = []
        database = sqlite3.connect(self.path("d.db"))
        database.executescript(TABLES)
        database.executemany("INSERT INTO images VALUES(?, ?)", zip(self.IDS, "cadb"))
        database.executemany("INSERT INTO descriptors VALUES(?, 0, ?, ?, ?)",
                             [(image_id, len(rows), DIMS, b"".join(map(bytes, rows)))
                              for image_id, rows in self.features.items()])
        database.commit()
        database.close()

    def written(self):
        """Lists of pairs of rows, by the pair of ids."""
        database = sqlite3.connect(self.path("d.db"))
        found = {}
        for pair_id, rows, cols, data in database.execute("SELECT * FROM matches"):
            numbers = struct.unpack(f"<{2 * rows}I", data or b"")
            self.assertEqual(cols, 2)
            found[divmod(pair_id, 2147483647)] = list(zip(numbers[::2], numbers[1::2]))
        database.close()
        return found

    def expected(self, *pairs, **rules):
        return {pair: by_hand(self.features[pair[0]], self.features[pair[1]], **rules)
                for pair in pairs}

    ALL = [(2, 3), (2, 5), (2, 9), (3, 5), (3, 9), (5, 9)]

    def test_equals_the_rules_by_hand(self):
        done = self.run_well("match", "--colmap", "d.db", "--json")
        expected = self.expected(*self.ALL)
        self.assertEqual(self.written(), expected)
        self.assertGreater(len(expected[2, 3]), 5)
        found = sum(map(len, expected.values()))
        self.assertIn(f"match: 4 images, 6 pairs of them, 0 were there: {found} matches found in",
                      done.stderr)
        said = json.loads(done.stdout)
        self.assertEqual([said[name] for name in ("command", "images", "image_pairs",
                                                  "already_matched", "found")],
                         ["match", 4, 6, 0, found])
        self.assertEqual(said["stats"]["image_pairs"], 6)

    def test_options_change_the_rules(self):
        self.run_well("match", "--colmap", "d.db", "--ratio", 0.5, "--max-distance", 0.2)
        strict = self.expected(*self.ALL, ratio=0.5, most=0.2)
        self.assertEqual(self.written(), strict)
        self.assertNotEqual(strict, self.expected(*self.ALL))

    def test_a_second_run_does_what_is_left(self):
        self.path("list.txt").write_text("# names\na c\nd b\n")
        self.run_well("match", "--colmap", "d.db", "--pairs", "list.txt")
        self.assertEqual(self.written(), self.expected((2, 3), (5, 9)))
        self.change("UPDATE matches SET rows = 1, data = x'0000000001000000' WHERE rows > 0")
        done = self.run_well("match", "--colmap", "d.db", "--json")
        self.assertEqual(json.loads(done.stdout)["already_matched"], 2)
        kept = self.expected(*self.ALL) | {(2, 3): [(0, 1)]}
        self.assertEqual(self.written(), kept)
        done = self.run_well("match", "--colmap", "d.db", "--json")
        self.assertEqual(json.loads(done.stdout)["stats"]["image_pairs"], 0)
        self.assertEqual(self.written(), kept)

    def test_overwrite(self):
        self.change("INSERT INTO matches VALUES(2 * 2147483647 + 3, 0, 2, NULL)")
        self.change("INSERT INTO two_view_geometries VALUES(2 * 2147483647 + 3)")
        self.run_well("match", "--colmap", "d.db", "--overwrite")
        self.assertEqual(self.written(), self.expected(*self.ALL))
        self.assertEqual(self.change("SELECT * FROM two_view_geometries"), [])

    def test_an_overwrite_that_fails_removes_nothing(self):
        self.change("INSERT INTO matches VALUES(2 * 2147483647 + 3, 1, 2, x'0000000001000000')")
        self.change("INSERT INTO two_view_geometries VALUES(2 * 2147483647 + 3)")
        overwrite = ["match", "--colmap", "d.db", "--overwrite"]
        for wrong, code in (["--ratio", 5], 1), (["--device", "gpu"], 1), \
                (["--memory-limit", 100], 4), (["--timeout", 1e-9], 3):
            done = self.run_command(*overwrite, *wrong)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(self.written(), {(2, 3): [(0, 1)]}, wrong)
            self.assertEqual(self.change("SELECT * FROM two_view_geometries"),
                             [(2 * 2147483647 + 3,)], wrong)
        self.assertIn("0 of 6 pairs of images are matched anew and the others as they were",
                      done.stderr)

    def change(self, sql):
        database = sqlite3.connect(self.path("d.db"))
        rows = database.execute(sql).fetchall()
        database.commit()
        database.close()
        return rows

    def test_sequential_goes_by_names(self):
        self.run_well("match", "--colmap", "d.db", "--pairs", "sequential", "--overlap", 1)
        # a b c d have the ids 3, 9, 2, 5.
        self.assertEqual(self.written(), self.expected((3, 9), (2, 9), (2, 5)))

    def test_mistakes(self):
        colmap = ["match", "--colmap", "d.db"]
        self.run_badly("match", "--colmap", "none.db", code=1, says=["none.db", "No such file"])
        self.run_badly("match", "--colmap", "b.fbin", code=1, says=["b.fbin", "no SQLite"])
        self.run_badly(*colmap, "--pairs", "none.txt", code=1, says=["none.txt"])
        self.run_badly(*colmap, "--pairs", "", code=2, says=["--pairs", "empty"])
        self.run_badly(*colmap, "--overlap", 3, code=2, says=["--overlap", "--pairs"])
        self.run_badly(*colmap, "--pairs", "exhaustive", "--overlap", 3, code=2,
                       says=["--overlap", "sequential"])
        self.run_badly(*colmap, "--pairs", "sequential", "--overlap", 0, code=2, says=["from 1"])
        for other in ["--base", "b.fbin"], ["--queries", "q.fbin"], ["--output", "i.csv"], \
                ["--metric", "l1"], ["--bits", 128], ["--check-finite"]:
            self.run_badly(*colmap, *other, code=2, says=["--colmap", other[0]])
        self.run_badly("match", "--queries", "q.fbin", "--base", "b.fbin", "--output", "i.csv",
                       "--overwrite", code=2, says=["--overwrite", "--colmap"])
        self.run_badly("plan", *colmap, code=2, says=["--colmap", "a plan is of two images"])
        self.path("wrong.txt").write_text("a b\na x\n")
        self.run_badly(*colmap, "--pairs", "wrong.txt", code=1, says=["wrong.txt:2:", "image x"])
        self.run_badly(*colmap, "--memory-limit", 50, code=4,
                       says=["6 pairs of images take 40 bytes each", "limit is 50"])
        self.run_badly(*colmap, "--memory-limit", 95, "--overwrite", code=4,
                       says=["6 pairs of images take 16 bytes each"])
        self.run_badly(*colmap, "--memory-limit", 119, "--pairs", "sequential", "--overlap", 1,
                       code=4, says=["3 pairs of images"])
        self.run_badly(*colmap, "--memory-limit", 239, "--pairs", "sequential", code=4,
                       says=["6 pairs of images"])
        self.path("list.txt").write_text("a b\nc a\n")
        self.run_badly(*colmap, "--memory-limit", 79, "--pairs", "list.txt", code=4,
                       says=["2 pairs of images"])
        self.assertEqual(self.written(), {})

    def test_pairs_are_counted_before_they_are_made(self):
        """A small file of so many images that no machine has the memory for their pairs."""
        images = 300_000
        self.change(f"""WITH RECURSIVE more(id) AS (SELECT 100 UNION ALL SELECT id + 1 FROM more
                                                     LIMIT {images - len(self.IDS)})
                        INSERT INTO images SELECT id, id FROM more""")
        pairs = images * (images - 1) // 2
        self.run_badly("match", "--colmap", "d.db", "--memory-limit", "1G", code=4,
                       says=[f"the {pairs} pairs of images take 40 bytes each"])
        pairs = images * 5_000 - 5_000 * 5_001 // 2
        self.run_badly("match", "--colmap", "d.db", "--memory-limit", "1G", "--pairs", "sequential",
                       "--overlap", 5_000, code=4, says=[f"the {pairs} pairs of images"])


class Interrupted(CommandLine):
    """Many images, so that it takes long, and little memory, so that few are matched at a time."""
    IMAGES = 600
    ROWS = 500
    PAIRS = IMAGES * (IMAGES - 1) // 2
    MATCH = ["match", "--colmap", "d.db", "--memory-limit", "32M"]

    def setUp(self):
        super().setUp()
        draw = random.Random(7)
        database = sqlite3.connect(self.path("d.db"))
        database.executescript(TABLES)
        database.executemany("INSERT INTO images VALUES(?, ?)",
                             [(i, f"{i:03}") for i in range(self.IMAGES)])
        rows = bytes(draw.choices(range(90), k=self.ROWS * 128))
        database.executemany("INSERT INTO descriptors VALUES(?, 0, ?, 128, ?)",
                             [(i, self.ROWS, rows[i:] + rows[:i]) for i in range(self.IMAGES)])
        database.commit()
        database.close()

    def written(self):
        database = sqlite3.connect(self.path("d.db"))
        self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        ((count,),) = database.execute("SELECT count(*) FROM matches")
        database.close()
        return count

    def test_what_was_done_stays(self):
        """By Ctrl-C, then by the deadline; each run goes on."""
        terminal, child = pty.openpty()
        self.addCleanup(os.close, terminal)
        process = subprocess.Popen([NEARFIELD, *self.MATCH], cwd=self.folder, stderr=child)
        os.close(child)
        shown = os.read(terminal, 1000)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=20), 130)
        shown += read_all(terminal)
        first = self.written()
        self.assertIn(f"{first} of {self.PAIRS} pairs of images are in the database", shown.decode())
        done = self.run_command(*self.MATCH, "--timeout", 2)
        self.assertEqual(done.returncode, 3, done.stderr)
        second = self.written() - first
        self.assertIn(f"{second} of {self.PAIRS - first} pairs of images are in", done.stderr)
        self.assertGreater(second, 0)
        self.assertLess(first + second, self.PAIRS)

    def test_an_overwrite_keeps_what_it_did_not_reach(self):
        database = sqlite3.connect(self.path("d.db"))
        database.executemany("INSERT INTO matches VALUES(?, 1, 2, 'old')",
                             [(i * 2147483647 + j,) for j in range(self.IMAGES) for i in range(j)])
        database.commit()
        done = self.run_command(*self.MATCH, "--overwrite", "--timeout", 2)
        self.assertEqual(done.returncode, 3, done.stderr)
        ((old,),) = database.execute("SELECT count(*) FROM matches WHERE data = 'old'")
        database.close()
        self.assertEqual(self.written(), self.PAIRS)
        self.assertIn(f"{self.PAIRS - old} of {self.PAIRS} pairs of images are matched anew",
                      done.stderr)
        self.assertGreater(old, 0)
        self.assertLess(old, self.PAIRS)

    def test_a_database_that_another_writes_to(self):
        other = sqlite3.connect(self.path("d.db"), isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        done = self.run_command(*self.MATCH)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("another process writes to it", done.stderr)
        other.close()


if __name__ == "__main__":
    unittest.main()
