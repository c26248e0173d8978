"""Tests of bench/: `bench/python -m unittest discover -t . -s tests/bench`, in the clone's root."""
