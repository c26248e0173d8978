"""Nearfield, its peers and the bare limits, measured side by side: see docs/benchmarks.md."""
