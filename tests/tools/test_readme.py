"""The README shows the examples that are run."""
import pathlib
import unittest

ROOT = pathlib.Path(__file__).parents[2]


class Readme(unittest.TestCase):
    def test_shows_the_example_as_it_is(self):
        example = (ROOT / "examples/knn.cpp").read_text()
        self.assertIn(example, (ROOT / "README.md").read_text())

    def test_shows_the_python_example_as_it_is(self):
        example = (ROOT / "examples/python/knn.py").read_text()
        self.assertIn(f"```python\n{example}```\n", (ROOT / "README.md").read_text())


if __name__ == "__main__":
    unittest.main()
