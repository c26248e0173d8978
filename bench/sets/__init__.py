"""Data sets that are made here, from packages and a seed: see docs/datasets.md."""
