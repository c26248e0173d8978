"""The README shows the example that is compiled and run."""
import pathlib
import unittest

ROOT = pathlib.Path(__file__).parents[2]


class Readme(unittest.TestCase):
    def test_shows_the_example_as_it_is(self):
        example = (ROOT / "examples/knn.cpp").read_text()
        self.assertIn(example, (ROOT / "README.md").read_text())


if __name__ == "__main__":
    unittest.main()
