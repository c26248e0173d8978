"""Vectors as codes of a few bytes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from nearfield import _core
from nearfield._arguments import MOST_INT32, file_name, flag, integer, seed_number, text
from nearfield._arrays import host_array
from nearfield._copies import Copies
from nearfield._errors import InvalidArgumentError
from nearfield._pickled import file_bytes, from_bytes
from nearfield._rows import RowsLike, take_rows, take_vectors
from nearfield._run import Progress, running

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Self


class Quantizer:
    """Codebooks, trained on vectors: a vector becomes one codeword of each, their sum.

    >>> import numpy as np
    >>> import nearfield as nf
    >>> learn = np.random.default_rng(0).normal(size=(1000, 8)).astype(np.float32)
    >>> quantizer = nf.Quantizer.train(learn, kind="lsq", codebooks=4, bits=4)
    >>> codes = quantizer.encode(learn)
    >>> codes.shape, codes.dtype
    ((1000, 2), dtype('uint8'))
    >>> quantizer.decode(codes).shape
    (1000, 8)

    It never changes, and any number of threads may use it. docs/codes.md says which kind to take.
    """

    def __init__(self, core: _core.Quantizer | None = None) -> None:
        if core is None:
            raise TypeError("a quantizer is made by Quantizer.train or Quantizer.open")
        self._core = core

    @classmethod
    def train(
        cls,
        vectors: RowsLike,
        *,
        kind: str = "lsq",
        codebooks: int = 8,
        bits: int = 8,
        iterations: int = 25,
        beam: int | None = None,
        rounds: int | None = None,
        train_rounds: int | None = None,
        perturbed: int | None = None,
        sweeps: int | None = None,
        random_order: bool | None = None,
        relaxation: str | None = None,
        seed: int = 0,
        checkpoint: str | os.PathLike[str] | None = None,
        iteration: Callable[[int, float], object] | None = None,
        copy: bool = True,
        threads: int = 0,
        memory_limit: int | str | None = None,
        timeout: float | None = None,
        progress: Progress = None,
        isa: str | None = None,
        device: str | None = None,
        device_memory_limit: int | str | None = None,
    ) -> Self:
        """Trains codebooks. The same vectors, options and seed give the same bits everywhere.

        kind: "pq", "opq", "rq" or "lsq".
        codebooks, bits: a vector takes codebooks * bits / 8 bytes, rounded up; bits is 4 or 8.
        iterations: of training.
        beam: of "rq": sums that are kept from codebook to codebook; 8.
        rounds, train_rounds, perturbed, sweeps, random_order: of the local search of "lsq"; 16, 8,
            4, 4 and False.
        relaxation: of "lsq": noise on "codebooks", on "rows", or "none"; "codebooks".
        checkpoint: of "lsq": a file that is written after each iteration, and gone on from if it
            is there.
        iteration: of "opq" and "lsq": called with the number of each iteration, from 1, and its
            mean squared error, in this thread and some milliseconds after it. What it raises ends
            the training.

        Options of another kind are refused, unless they are as by default: `**quantizer.options`
        trains another like it. The other arguments are those of `knn`; a device is for "lsq" of two
        codebooks or more.
        """
        options: dict[str, Any] = {
            "kind": text("kind", kind),
            "codebooks": integer("codebooks", codebooks, MOST_INT32),
            "bits": integer("bits", bits, MOST_INT32),
            "iterations": integer("iterations", iterations, MOST_INT32),
        }
        counts = {
            "beam": beam,
            "rounds": rounds,
            "train_rounds": train_rounds,
            "perturbed": perturbed,
            "sweeps": sweeps,
        }
        for name, count in counts.items():
            if count is not None:
                options[name] = integer(name, count, MOST_INT32)
        if random_order is not None:
            options["random_order"] = flag("random_order", random_order)
        if relaxation is not None:
            options["relaxation"] = text("relaxation", relaxation)
        number = seed_number(seed)
        path = b"" if checkpoint is None else file_name("checkpoint", checkpoint)
        if iteration is not None and not callable(iteration):
            raise TypeError(f"iteration must be a callable(number, error), got {iteration!r}")
        copies = Copies(copy, memory_limit)
        rows = take_vectors("vectors", vectors, copies)
        with running(
            copies,
            threads=threads,
            isa=isa,
            timeout=timeout,
            progress=progress,
            device=device,
            device_memory_limit=device_memory_limit,
        ) as run:
            return cls(_core.Quantizer.train(rows, options, number, path, iteration, run))

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """One that was saved."""
        return cls(_core.Quantizer.open(file_name("path", path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it to a file, whole or not at all."""
        self._core.save(file_name("path", path))

    def encode(
        self,
        vectors: RowsLike,
        *,
        copy: bool = True,
        threads: int = 0,
        memory_limit: int | str | None = None,
        timeout: float | None = None,
        progress: Progress = None,
        isa: str | None = None,
        device: str | None = None,
        device_memory_limit: int | str | None = None,
    ) -> NDArray[np.uint8]:
        """The code of each vector, `code_bytes` of uint8: what it is hangs on its values alone.

        Codes of 4 bits are two to a byte, the first in the lower half. A device is for "lsq" of
        two codebooks or more.
        """
        copies = Copies(copy, memory_limit)
        rows = take_vectors("vectors", vectors, copies)
        with running(
            copies,
            threads=threads,
            isa=isa,
            timeout=timeout,
            progress=progress,
            device=device,
            device_memory_limit=device_memory_limit,
        ) as run:
            return self._core.encode(rows, run)

    def encode_index(
        self,
        vectors: RowsLike,
        path: str | os.PathLike[str],
        *,
        metric: str = "sqeuclidean",
        byte_norms: bool = False,
        copy: bool = True,
        threads: int = 0,
        memory_limit: int | str | None = None,
        timeout: float | None = None,
        progress: Progress = None,
        isa: str | None = None,
        device: str | None = None,
        device_memory_limit: int | str | None = None,
    ) -> int:
        """Writes an index of the codes of vectors, which `Index.open` opens; neither need fit
        into memory.

        vectors: an array, or a file by `open_rows`; their numbers are their ids.
        metric: "sqeuclidean", "euclidean" or "inner_product".
        byte_norms: of "rq" and "lsq" under a distance: lengths of codes in a byte, not in 5.

        What is done lies beside the file until it is complete: the same call goes on there, and
        returns how many vectors were done before. Progress is of vectors, then of bytes.
        """
        name = file_name("path", path)
        metric = text("metric", metric)
        byte_norms = flag("byte_norms", byte_norms)
        copies = Copies(copy, memory_limit)
        rows = take_rows("vectors", vectors, copies)
        with running(
            copies,
            threads=threads,
            isa=isa,
            timeout=timeout,
            progress=progress,
            device=device,
            device_memory_limit=device_memory_limit,
        ) as run:
            return self._core.encode_index(rows, name, metric, byte_norms, run)

    def decode(
        self, codes: RowsLike, *, copy: bool = True, threads: int = 0
    ) -> NDArray[np.float32]:
        """What codes stand for: the sums of their codewords."""
        copies = Copies(copy)
        rows = _take_codes(codes, copies)
        with running(copies, threads=threads) as run:
            return self._core.decode(rows, run)

    def squared_errors(
        self, vectors: RowsLike, codes: RowsLike, *, copy: bool = True, threads: int = 0
    ) -> NDArray[np.float64]:
        """Of each vector the squared distance from what its code stands for."""
        copies = Copies(copy)
        rows = take_vectors("vectors", vectors, copies)
        given = _take_codes(codes, copies)
        with running(copies, threads=threads) as run:
            return self._core.squared_errors(rows, given, run)

    @property
    def codebooks(self) -> NDArray[np.float32]:
        """A copy: codebooks x codewords x dim."""
        return self._core.codebooks()

    @property
    def errors(self) -> NDArray[np.float64]:
        """The mean squared error of the vectors trained on, after each iteration."""
        return self._core.errors()

    @property
    def options(self) -> dict[str, Any]:
        """What `train` was given, and may be given again."""
        return {**self._core.options(), "seed": self._core.seed()}

    @property
    def dim(self) -> int:
        return self._core.cols()

    @property
    def code_bytes(self) -> int:
        return self._core.code_bytes()

    def __repr__(self) -> str:
        options = self.options
        return (
            f"<nearfield.Quantizer {options['kind']}: {options['codebooks']} codebooks of "
            f"{options['bits']} bits, dim={self.dim}>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """As the bytes of its file."""
        return _from_bytes, (file_bytes(self.save),)


def _take_codes(given: RowsLike, copies: Copies) -> _core.Rows:
    expected = "an array of uint8, as encode returns"
    array = host_array("codes", given, expected)  # type: ignore[arg-type]  # other rows are refused
    if array.dtype != "uint8":
        raise InvalidArgumentError(f"codes has dtype {array.dtype}, expected {expected}")
    return take_vectors("codes", array.values, copies)


def _from_bytes(saved: bytes) -> Quantizer:
    return from_bytes(Quantizer.open, saved)
