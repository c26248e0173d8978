"""Arrays in the memory of a CUDA card. There is none here: what is tested is how they are read, and
that the errors say what is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nearfield as nf
from dlpack_arrays import CudaInterface, CudaTensor, DeviceTensor
from nearfield import _core

ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)
MISSING = dict(nf.devices().missing).get("cuda")
without_cuda = pytest.mark.skipif(MISSING is None, reason="CUDA is here")

# Each with what it takes, by its own name.
CALLS: list[Callable[..., object]] = [
    lambda rows, **how: nf.pairwise(rows, ROWS, **how),
    lambda rows, **how: nf.pairwise(ROWS, rows, **how),
    lambda rows, **how: nf.select_k(rows, 2, **how),
]


@without_cuda
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("make", [CudaTensor, CudaInterface])
def test_they_need_cuda(call: Callable[..., object], make: Callable[..., object]) -> None:
    for array in ROWS, ROWS.astype(np.float64), np.zeros((4, 9), np.float32)[:, :3]:
        with pytest.raises(nf.UnsupportedError) as error:
            call(make(array))
        assert str(error.value) == MISSING


@without_cuda
def test_the_producer_is_told_the_stream_and_gets_its_memory_back() -> None:
    class Stream:
        def __init__(self, handle: int) -> None:
            self.handle = handle

        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, self.handle

    for stream, told in (None, 1), (7, 7), (2, 1), (Stream(0), 1), (Stream(9), 9):
        tensor = CudaTensor(ROWS, device=13)
        with pytest.raises(nf.UnsupportedError):
            nf.select_k(tensor, 2, stream=stream)
        assert tensor.streams == [told]
        assert tensor.deleted == 1


def test_what_dlpack_says_of_a_tensor() -> None:
    array = np.zeros((4, 9), np.float16)[:, :3]
    tensor = _core.DLPackTensor(CudaTensor(array).__dlpack__())
    assert tensor.address == array.ctypes.data
    assert (tensor.dtype, tensor.itemsize) == ("float16", 2)
    assert (tensor.shape, tensor.strides) == ([4, 3], [18, 2])


@pytest.mark.parametrize("call", CALLS)
def test_layouts_that_are_not_read(call: Callable[..., object]) -> None:
    for make in CudaTensor, CudaInterface:
        with pytest.raises(nf.InvalidArgumentError, match=r"C order.*\.contiguous\(\)"):
            call(make(np.asfortranarray(ROWS)))
        with pytest.raises(nf.InvalidArgumentError, match=r"shape \(12,\), expected \(rows, col"):
            call(make(ROWS.reshape(-1)))
        with pytest.raises(nf.InvalidArgumentError, match=r"dtype int32, expected one of float"):
            call(make(ROWS.astype(np.int32)))


@pytest.mark.parametrize("call", CALLS)
def test_interfaces_that_are_wrong(call: Callable[..., object]) -> None:
    def refused(why: str, **fields: Any) -> None:
        with pytest.raises(nf.InvalidArgumentError, match=why):
            call(CudaInterface(ROWS, **fields))

    refused("knows no masks", mask=CudaInterface(ROWS))
    refused("stream 0, which its interface forbids", stream=0)
    refused("byte order", typestr=">f4")


@without_cuda
def test_an_interface_without_strides_is_in_c_order() -> None:
    for fields in {"strides": None}, {"stream": None}, {"stream": 5, "version": 2}, {"stream": 2}:
        with pytest.raises(nf.UnsupportedError) as error:
            nf.pairwise(CudaInterface(ROWS, **fields), ROWS)
        assert str(error.value) == MISSING


def test_devices_that_do_not_fit() -> None:
    with pytest.raises(nf.InvalidArgumentError, match=r"queries in .* card 0, base in .* card 1"):
        nf.pairwise(CudaTensor(ROWS), CudaTensor(ROWS, card=1))
    for call in CALLS:
        with pytest.raises(nf.InvalidArgumentError, match=r"4 x 3 of f32, are in the memory of a"):
            call(CudaTensor(ROWS), device="cpu")
        with pytest.raises(nf.UnsupportedError, match=r"DLPack type 10.*\.cpu\(\)"):
            call(CudaTensor(ROWS, device=10))  # ROCm
    with pytest.raises(nf.UnsupportedError, match="is to be in that of the host"):
        nf.knn(DeviceTensor(), ROWS)


def test_streams_that_are_none() -> None:
    for call in CALLS:
        with pytest.raises(nf.InvalidArgumentError, match="stream means nothing on the CPU"):
            call(ROWS, stream=7)
        for wrong in 0, -1:
            with pytest.raises(nf.InvalidArgumentError, match=rf"stream is {wrong}, expected a cu"):
                call(ROWS, stream=wrong)
        with pytest.raises(TypeError, match="stream must be an integer"):
            call(ROWS, stream="default")
