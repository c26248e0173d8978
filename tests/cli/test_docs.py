"""docs/cli.md: each example runs, and prints what the page shows."""
import pathlib
import re
import subprocess
import unittest

from support import NEARFIELD, CommandLine

PAGE = pathlib.Path(__file__).parents[2] / "docs/cli.md"


def examples(text):
    """(command, output) of each `$ ` line, with the `> ` lines that continue it."""
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for command, output in re.findall(r"^\$ (.*\n(?:> .*\n)*)((?:(?!\$ ).*\n)*)", block,
                                          re.MULTILINE):
            yield re.sub("^> ", "", command, flags=re.MULTILINE), output


def without_machine(text):
    """The instruction set is that of the machine the page was written on."""
    return re.sub(r"\b(scalar|ssse3|avx2|avx512(icl)?|neon)\b", "ISA", text)


class Page(CommandLine):
    def test_shows_what_is_printed(self):
        self.path("nearfield").symlink_to(pathlib.Path(NEARFIELD).resolve())
        found = list(examples(PAGE.read_text()))
        self.assertGreater(len(found), 10)
        for command, output in found:
            with self.subTest(command=command):
                script = "PATH=$PWD:$PATH\n" + command
                done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=self.folder,
                                      text=True, capture_output=True, timeout=60)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(without_machine(done.stdout), without_machine(output))

    def test_names_every_command_and_exit_code(self):
        text = PAGE.read_text()
        listed = re.search(r"\nCommands:\n((?:  .*\n)*)", self.run_well("--help").stdout)[1]
        for line in listed.splitlines():
            self.assertIn(f"\n| `{line.split()[0]}` |", text)
        for code in 0, 1, 2, 3, 4, 130:
            self.assertIn(f"\n| {code} |", text)


if __name__ == "__main__":
    unittest.main()
