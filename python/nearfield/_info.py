"""What this build knows."""

from __future__ import annotations

from typing import NamedTuple

from nearfield import _core


class MetricInfo(NamedTuple):
    name: str
    description: str
    input: str  # "numbers" or "bits"
    reported: str  # what distances hold of a key: "key", "root", "similarity" or "p_th_root"


def metrics() -> list[MetricInfo]:
    """The metrics, by the names that searches take.

    >>> import nearfield as nf
    >>> [metric.name for metric in nf.metrics() if metric.input == "bits"]
    ['hamming', 'jaccard']
    """
    return [MetricInfo(*fields) for fields in _core.metrics()]


def isas() -> list[str]:
    """The instruction sets that this build has kernels for and this CPU can run, worst to best."""
    return _core.isas()
