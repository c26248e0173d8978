"""Where results go: checked before the search, replaced whole after it."""
import json
import os
import resource
import signal
import socket
import subprocess
import threading
import time
import unittest

from support import NEARFIELD, CommandLine, read_csv

KNN = ["knn", "--queries", "q.fbin", "--base", "b.fbin", "-k", "2"]


class Outputs(CommandLine):
    def test_endings(self):
        for option, name, right in (("--output", "i.txt", ".csv"), ("--output", "i.fbin", ".ibin"),
                                    ("--output", "ibin", ".npy"), ("--distances", "d.csv", ".fbin"),
                                    ("--distances", "d.ibin", ".fvecs")):
            with self.subTest(name=name):
                self.run_badly(*KNN, option, name, code=2, says=[option, name, right])
        self.run_badly("range", *KNN[1:-2], "--radius", 1, "--offsets", "o.csv", code=2,
                       says=["--offsets", "o.csv", ".npy"])

    def test_a_file_that_is_read(self):
        os.link(self.path("q.fbin"), self.path("link.fbin"))
        for name in "b.fbin", "./q.fbin", "link.fbin":
            with self.subTest(name=name):
                self.run_badly(*KNN, "--distances", name, code=2, says=["would replace the input"])

    def test_two_outputs_of_one_name(self):
        self.path("sub").mkdir()
        self.path("there.npy").write_bytes(b"old")
        self.path("link.npy").symlink_to("there.npy")
        for one, other in (("a.npy", "a.npy"), ("a.npy", "sub/../a.npy"), ("there.npy", "link.npy"),
                           ("/dev/stdout", "/dev/stdout"), ("/dev/stdout", "/dev/fd/1")):
            with self.subTest(one=one, other=other):
                self.run_badly(*KNN, "--output", one, "--distances", other, code=2,
                               says=["--distances", "--output", other])

    def test_nothing_is_kept_of_both(self):
        self.run_well(*KNN, "--output", "/dev/null", "--distances", "/dev/null")

    def test_places_that_cannot_be_written(self):
        self.run_badly(*KNN, "--output", "nowhere/i.csv", code=1, says=["nowhere"])
        self.path("folder.csv").mkdir()
        self.run_badly(*KNN, "--output", "folder.csv", code=1, says=["is a folder"])

    def test_json_alone_on_standard_output(self):
        self.run_badly(*KNN, "--json", "--output", "/dev/stdout", code=2, says=["--json"])
        done = self.run_well(*KNN, "--json", "--output", "i.csv")
        self.assertEqual(json.loads(done.stdout)["found"], 12)

    def test_standard_output_takes_ids(self):
        self.run_well(*KNN, "--output", "i.ibin")
        done = subprocess.run([NEARFIELD, *KNN, "--quiet", "--output", "/dev/stdout"],
                              cwd=self.folder, capture_output=True, timeout=60, check=True)
        self.assertEqual(done.stdout, self.path("i.ibin").read_bytes())

    def test_json_and_results_never_share_a_stream(self):
        self.path("words.txt").write_text("hallo\nhello\n")
        self.run_well("build", "--vectors", "b.fbin", "--output", "b.nf")
        for command in (
                ["metric", "search", "words.txt", "--queries", "words.txt", "--output"],
                ["metric", "pairs", "words.txt", "--radius", 1, "--output"],
                ["build", "--vectors", "b.fbin", "--output"],
                ["add", "--index", "b.nf", "--vectors", "q.fbin", "--output"],
                ["compact", "--index", "b.nf", "--output"],
                ["convert", "b.fbin"],
        ):
            with self.subTest(command=command):
                self.run_badly(*command, "/dev/stdout", "--json", code=2,
                               says=["/dev/stdout", "--json"])

    def test_standard_output_goes_on_where_others_wrote(self):
        with open(self.path("all"), "wb") as out:
            for command in (["echo", "before"],
                            [NEARFIELD, *KNN, "--quiet", "--output", "/dev/stdout"],
                            ["echo", "after"]):
                subprocess.run(command, cwd=self.folder, stdout=out, timeout=60, check=True)
        self.run_well(*KNN, "--output", "i.ibin")
        self.assertEqual(self.path("all").read_bytes(),
                         b"before\n" + self.path("i.ibin").read_bytes() + b"after\n")

    def test_sockets_for_input_and_output(self):
        self.path("words.txt").write_text("hallo\nhello\n")
        search = ["metric", "search", "words.txt", "-k", 1, "--quiet"]
        self.path("typed.txt").write_text("hello\n")
        expected = self.run_well(*search, "--queries", "typed.txt").stdout
        ours, its = socket.socketpair()
        with ours, its:
            ours.sendall(b"hello\n")
            ours.shutdown(socket.SHUT_WR)
            done = subprocess.run([NEARFIELD, *map(str, search)], cwd=self.folder, stdin=its,
                                  stdout=its, stderr=subprocess.PIPE, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertEqual(ours.recv(1000), expected.encode())

    def test_standard_input_that_cannot_be_read(self):
        self.path("words.txt").write_text("hallo\nhello\n")
        search = [NEARFIELD, "metric", "search", "words.txt", "--quiet"]
        folder = os.open(self.folder, os.O_RDONLY)
        self.addCleanup(os.close, folder)
        done = subprocess.run(search, cwd=self.folder, stdin=folder, capture_output=True, text=True,
                              timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("/dev/stdin: cannot be read", done.stderr)
        search[3] = "/dev/stdin"
        with open(self.path("words.txt")) as words:
            done = subprocess.run(search, cwd=self.folder, stdin=words, capture_output=True,
                                  text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("was read already", done.stderr)

    def test_a_pipe_that_does_not_block(self):
        """Its writer waits for the reader, as where it blocks."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        words = [f"word{i}" for i in range(3_000)]
        self.path("words.txt").write_text("\n".join(words))
        process = subprocess.Popen(
            [NEARFIELD, "metric", "search", "words.txt", "--queries", "words.txt", "--quiet", "-k",
             "9"], cwd=self.folder, stdout=writing, stderr=subprocess.PIPE, text=True)
        os.close(writing)
        time.sleep(0.5)  # the pipe is full long before
        with open(reading) as pipe:
            lines = pipe.read().splitlines()
        self.assertEqual(process.communicate(timeout=60)[1], "")
        self.assertEqual((process.returncode, len(lines)), (0, 1 + 9 * len(words)))

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([NEARFIELD, *KNN, "--json"], cwd=self.folder, stdout=full,
                                  stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot write to standard output", done.stderr)


class Csv(CommandLine):
    def test_replaces_the_file_that_a_link_leads_to(self):
        self.path("real.csv").write_text("old")
        self.path("real.csv").chmod(0o640)
        self.path("link.csv").symlink_to("real.csv")
        self.run_well(*KNN, "--output", "link.csv")
        self.assertTrue(self.path("link.csv").is_symlink())
        self.assertEqual(len(read_csv(self.path("real.csv"))[1]), 12)
        self.assertEqual(self.path("real.csv").stat().st_mode & 0o777, 0o640)
        self.assertEqual({path.name for path in self.folder.iterdir()},
                         {"b.fbin", "q.fbin", "real.csv", "link.csv"})

    def test_nothing_is_left_of_a_file_that_could_not_be_finished(self):
        def small_files_only():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

        before = self.files()
        done = subprocess.run([NEARFIELD, *KNN, "--output", "i.csv"], cwd=self.folder, text=True,
                              capture_output=True, timeout=60, preexec_fn=small_files_only)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("i.csv: cannot write", done.stderr)
        self.assertEqual(self.files(), before)

    def test_a_full_device(self):
        self.path("full.csv").symlink_to("/dev/full")
        done = self.run_command(*KNN, "--output", "full.csv")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("full.csv: cannot write", done.stderr)

    def test_goes_through_a_pipe(self):
        os.mkfifo(self.path("pipe.csv"))
        received = []
        reader = threading.Thread(target=lambda: received.append(self.path("pipe.csv").read_text()))
        reader.start()
        self.run_well(*KNN, "--output", "pipe.csv")
        reader.join(timeout=60)
        self.run_well(*KNN, "--output", "file.csv")
        self.assertEqual(received, [self.path("file.csv").read_text()])


if __name__ == "__main__":
    unittest.main()
