"""nearfield completion: the scripts, in the shells they are for."""
import pathlib
import subprocess
import tempfile
import unittest

from support import CommandLine

# What is typed, and what a shell offers for its last word.
OFFERED = [
    ("nearfield kn", ["knn"]),
    ("nearfield plan gr", ["graph", "groundtruth"]),
    ("nearfield plan p", ["pairs"]),
    ("nearfield completion b", ["bash"]),
    ("nearfield knn --met", ["--metric"]),
    ("nearfield plan range --off", ["--offsets"]),
    ("nearfield knn --off", []),
    ("nearfield remove --k", ["--keys"]),
    ("nearfield knn --metric co", ["cosine"]),
    ("nearfield plan knn --metric l", ["l1", "linf", "lp:"]),
    ("nearfield knn --json --isa sca", ["scalar"]),
    ("nearfield knn --base ", ["b.fbin", "one file.fbin", "q.fbin"]),
    ("nearfield knn -k ", []),
    ("nearfield graph --base b.fbin --out", ["--output"]),
    ("nearfield convert ", ["b.fbin", "one file.fbin", "q.fbin"]),
    ("nearfield convert q.fbin q.f16bin --ty", ["--type"]),
    ("nearfield convert --type f1", ["f16"]),
    ("nearfield eval --metric co", ["cosine"]),
    ("nearfield pairwise --device o", ["opencl"]),
    ("nearfield tune --effort q", ["quick"]),
    ("nearfield match --cross-check t", ["tested"]),
    ("nearfield metric search --pivot-choice r", ["random"]),
    ("nearfield metric search --metric e", ["edit"]),
    ("nearfield metric check --metric sq", []),
    ("nearfield encode --metric inn", ["inner_product"]),
    ("nearfield encode --metric co", []),
    ("nearfield train --kind o", ["opq"]),
    ("nearfield train --relaxation c", ["codebooks"]),
    ("nearfield select ", ["b.fbin", "one file.fbin", "q.fbin"]),
]


class Completion(CommandLine):
    def setUp(self):
        super().setUp()
        self.path("one file.fbin").touch()
        scripts = tempfile.TemporaryDirectory()
        self.addCleanup(scripts.cleanup)
        self.scripts = pathlib.Path(scripts.name)

    def script(self, shell):
        path = self.scripts / shell
        path.write_text(self.run_well("completion", shell).stdout)
        return path

    def shell(self, *command):
        done = subprocess.run(command, cwd=self.folder, text=True, capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def offered_by_bash(self, typed):
        return self.shell("bash", "-euc", f"""
            source {self.script("bash")}
            compopt() {{ :; }}  # works only while a terminal completes
            COMP_WORDS=({typed} {"''" if typed.endswith(" ") else ""})
            COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
            _nearfield
            printf '%s\\n' "${{COMPREPLY[@]}}" | sed /^$/d""")

    def offered_by_zsh(self, typed):
        """With what zsh's completion provides replaced by what prints."""
        found = self.shell("zsh", "-fc", f"""
            compdef() {{ : }}
            compadd() {{ shift; print -l -- "$@" }}
            _files() {{ print -l -- * }}
            source {self.script("zsh")}
            words=({typed} {"''" if typed.endswith(" ") else ""})
            CURRENT=$#words
            _nearfield""")
        last = "" if typed.endswith(" ") else typed.split()[-1]
        return [word for word in found if word.startswith(last)]

    def offered_by_fish(self, typed):
        found = self.shell("fish", "--no-config", "-c",
                           f"source {self.script('fish')}; complete -C '{typed}'")
        return [line.split("\t")[0].replace("\\ ", " ") for line in found]

    def test_offers(self):
        for offered_by in self.offered_by_bash, self.offered_by_zsh, self.offered_by_fish:
            for typed, expected in OFFERED:
                with self.subTest(shell=offered_by.__name__, typed=typed):
                    self.assertEqual(sorted(offered_by(typed)), expected)

    def test_bash_cuts_words_at_the_equals_sign(self):
        for words, expected in (("--metric = co", ["cosine"]), ("--isa = sca", ["scalar"]),
                                ("--metric =", ["sqeuclidean"])):
            with self.subTest(words=words):
                self.assertEqual(self.offered_by_bash(f"nearfield knn {words}")[:1], expected)

    def test_syntax(self):
        for shell in "bash", "zsh", "fish":
            self.assertEqual(self.shell(shell, "-n", str(self.script(shell))), [])


if __name__ == "__main__":
    unittest.main()
