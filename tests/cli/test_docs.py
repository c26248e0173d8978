"""docs/cli.md and the README: each example runs, and prints what the page shows."""
import pathlib
import re
import subprocess
import unittest

from support import NEARFIELD, CommandLine

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "docs/cli.md"


def examples(text):
    """(command, output) of each `$ ` line, with the `> ` lines that continue it."""
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for command, output in re.findall(r"^\$ (.*\n(?:> .*\n)*)((?:(?!\$ ).*\n)*)", block,
                                          re.MULTILINE):
            yield re.sub("^> ", "", command, flags=re.MULTILINE), output


def without_machine(text):
    """Instruction set, threads, time and rate are of the machine the page was written on."""
    text = re.sub(r"\b(scalar|ssse3|avx2|avx512(vnni|icl)?|amx|neon)\b", "ISA", text)
    text = re.sub(r"ISA, \d+ threads?", "ISA, # threads", text)
    return re.sub(r"\d+\.\d+ s\b|[\d.]+ [kMGT]? ?(?=pairs/s)", "#", text)


class Page(CommandLine):
    def replay(self, page, output_of):
        """Runs each example; output_of says what of a finished command the page shows."""
        self.path("nearfield").symlink_to(pathlib.Path(NEARFIELD).resolve())
        found = list(examples(page.read_text()))
        for command, output in found:
            with self.subTest(command=command):
                script = "PATH=$PWD:/usr/bin:$PATH\n" + command
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=self.folder,
                                      text=True, capture_output=True, timeout=60)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(without_machine(output_of(done)), without_machine(output))
        return [command for command, _ in found]

    def test_shows_what_is_printed(self):
        self.assertGreater(len(self.replay(PAGE, lambda done: done.stdout)), 10)

    def test_readme_is_a_recorded_session(self):
        commands = "".join(self.replay(ROOT / "README.md", lambda done: done.stderr + done.stdout))
        for name in "convert", "groundtruth", "knn", "eval":
            self.assertIn(f"nearfield {name} ", commands)

    def test_hides_no_more_than_the_machine_decides(self):
        shown = "9 rows: 5 found in 0.512 s, 1.5 G pairs/s, avx2, 2 threads, recall 0.9"
        self.assertEqual(without_machine(shown),
                         "9 rows: 5 found in #, #pairs/s, ISA, # threads, recall 0.9")

    def test_names_every_command_and_exit_code(self):
        text = PAGE.read_text()
        listed = re.search(r"\nCommands:\n((?:  .*\n)*)", self.run_well("--help").stdout)[1]
        for line in listed.splitlines():
            self.assertIn(f"\n| `{line.split()[0]}` |", text)
        for code in 0, 1, 2, 3, 4, 5, 130:
            self.assertIn(f"\n| {code} |", text)


if __name__ == "__main__":
    unittest.main()
