"""The command under test, in a folder of its own. Run by ctest with NEARFIELD set to the binary."""
import os
import pathlib
import subprocess
import tempfile
import unittest

NEARFIELD = os.environ["NEARFIELD"]
HAS_HDF5 = os.environ["NEARFIELD_HDF5"] == "1"
SANITIZED = os.environ["NEARFIELD_SANITIZE"] != ""


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_command(self, *arguments, **environment):
        return subprocess.run([NEARFIELD, *map(str, arguments)], cwd=self.folder, text=True,
                              capture_output=True, timeout=120, env=os.environ | environment)

    def succeed(self, *arguments):
        done = self.run_command(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def fail_with(self, code, parts, *arguments, **environment):
        """The command fails, says all parts in one line, and leaves no file behind."""
        before = self.files()
        done = self.run_command(*arguments, **environment)
        self.assertEqual(done.returncode, code, done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr.splitlines()[0])
        self.assertEqual(self.files(), before)

    def files(self):
        return {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
