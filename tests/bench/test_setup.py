"""bench/setup, with a pip that cannot install one of the peers."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SETUP = Path(__file__).resolve().parents[2] / "bench" / "setup"
PIP = """#!/bin/sh
case "$*" in *hnswlib*) echo "no compiler for hnswlib"; exit 1;; esac
"""


class Setup(unittest.TestCase):
    def run_setup(self, *peers: str) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory() as venv:
            programs = Path(venv, "bin")
            programs.mkdir()
            for name, text in {"pip": PIP, "python": "#!/bin/sh\n"}.items():
                (programs / name).write_text(text)
                (programs / name).chmod(0o755)
            return subprocess.run([SETUP, *peers], env=os.environ | {"NEARFIELD_BENCH_VENV": venv},
                                  capture_output=True, text=True)

    def test_a_named_peer_must_install(self) -> None:
        done = self.run_setup("faiss-cpu", "hnswlib")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not installed: hnswlib", done.stderr)
        self.assertIn("no compiler", done.stderr)

    def test_the_others_may_fail_if_none_is_named(self) -> None:
        done = self.run_setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("not installed: hnswlib", done.stderr)

    def test_an_unknown_peer_is_wrong_usage(self) -> None:
        self.assertEqual(self.run_setup("hnswlab").returncode, 2)


if __name__ == "__main__":
    unittest.main()
