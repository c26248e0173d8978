"""Where calls can run."""

from __future__ import annotations

from typing import NamedTuple

from nearfield import _core


class DeviceInfo(NamedTuple):
    """A device of this machine."""

    id: str  # for `device=`: "cpu", "opencl:0", "cuda:1"
    name: str  # empty where the system does not tell it
    driver: str  # with its version; of the CPU its best instruction set
    memory: int  # bytes
    units: int  # multiprocessors, or what comes closest; cores of the CPU
    is_cpu: bool  # OpenCL drives CPUs, too


class MissingDevice(NamedTuple):
    """A kind of device of which there is none, and why."""

    kind: str  # "cuda"
    reason: str


class DeviceList(NamedTuple):
    """What `devices` found."""

    devices: list[DeviceInfo]  # the CPU first
    missing: list[MissingDevice]


def devices() -> DeviceList:
    """The devices that `device=` may name, and why there are no others.

    >>> import nearfield as nf
    >>> nf.devices().devices[0].id
    'cpu'
    """
    found, missing = _core.devices()
    return DeviceList(
        [DeviceInfo(*fields) for fields in found], [MissingDevice(*fields) for fields in missing]
    )
