"""English words, and queries made of them by one to three edits. For edit distance."""
from pathlib import Path

import numpy as np

from peers.interface import Data
from peers.rapidfuzz import BruteForce
from sets import debian
from sets.random_streams import stream
from sets.vector_files import write_rows

PACKAGE = "wamerican-huge"
FILE = "usr/share/dict/american-english-huge"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
MOST_EDITS = 3


def edited(word: str, edits: int, random: np.random.RandomState) -> str:
    for _ in range(edits):
        place = random.randint(len(word) + 1)
        letter = LETTERS[random.randint(len(LETTERS))]
        kind = random.randint(3) if place < len(word) and len(word) > 1 else 0
        word = (word[:place] + letter + word[place:],        # insert
                word[:place] + letter + word[place + 1:],    # replace
                word[:place] + word[place + 1:])[kind]       # leave out
    return word


def nearest_words(queries: list[str], words: list[str], k: int) -> np.ndarray:
    """Ids by (edit distance, smaller id). By RapidFuzz: Nearfield is judged by them."""
    data = Data(np.array(words, dtype=object), np.array(queries, dtype=object), "edit", threads=2)
    return BruteForce(data).knn(slice(None), k)


def edit_distance(first: str, second: str) -> int:
    """The textbook's table, to check the truth with."""
    above = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        row = [i]
        for j, b in enumerate(second, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
        above = row
    return above[-1]


def check_truth(queries: list[str], words: list[str], ids: np.ndarray) -> None:
    for query, row in zip(queries, ids, strict=True):
        best = sorted((edit_distance(query, word), i) for i, word in enumerate(words))
        if row.tolist() != [i for _, i in best[:len(row)]]:
            raise RuntimeError(f"words: RapidFuzz and the textbook disagree about {query!r}")


def make(folder: Path, rows: int | None, queries: int, k: int, cache: Path) -> dict[str, object]:
    package = debian.unpack(PACKAGE, cache)
    words = (package.folder / FILE).read_text(encoding="utf-8").split("\n")
    words = [word for word in words if word]
    random = stream("words", "edits")
    if rows is not None:
        words = [words[i] for i in np.sort(random.permutation(len(words))[:rows])]
    sources = random.randint(len(words), size=queries)
    edits = random.randint(1, MOST_EDITS + 1, size=queries)
    asked = [edited(words[i], count, random) for i, count in zip(sources, edits, strict=True)]
    (folder / "base.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    (folder / "queries.txt").write_text("\n".join(asked) + "\n", encoding="utf-8")
    write_rows(folder / "sources.ibin", np.stack([sources, edits], axis=1).astype(np.int32))
    truth = nearest_words(asked, words, k)
    checked = 2
    check_truth(asked[:checked], words, truth[:checked])
    write_rows(folder / "truth.ibin", truth)
    return {"packages": {PACKAGE: package.version},
            "truth": f"RapidFuzz, {checked} of {queries} queries checked"}
