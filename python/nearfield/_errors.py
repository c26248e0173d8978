"""The exceptions: each is an `Error` with a code, and what Python calls such an error."""

from __future__ import annotations


class Error(Exception):
    """What the library raises. `code` says which kind, for programs."""

    code: str


class InvalidArgumentError(Error, ValueError):
    """A value, shape or combination that can never work."""

    code = "invalid_argument"


class UnsupportedError(Error, NotImplementedError):
    """Valid, but not built for this metric, type, ISA or device."""

    code = "unsupported"


class NotFiniteError(Error, ValueError):
    """`check_finite` found a NaN or an infinity."""

    code = "not_finite"


class MemoryLimitError(Error, MemoryError):
    """The work cannot be cut small enough for `memory_limit`."""

    code = "memory_limit"


class CancelledError(Error):
    """The interpreter ended while a daemon thread searched; Ctrl-C is a KeyboardInterrupt."""

    code = "cancelled"


class DeadlineError(Error, TimeoutError):
    """`timeout` passed."""

    code = "deadline_exceeded"


class FileError(Error, OSError):
    """The operating system refused to read or write."""

    code = "io"


class CorruptFileError(Error, ValueError):
    """A file is not what it says it is."""

    code = "corrupt_file"


BY_CODE: dict[str, type[Error]] = {
    kind.code: kind
    for kind in (
        InvalidArgumentError,
        UnsupportedError,
        NotFiniteError,
        MemoryLimitError,
        CancelledError,
        DeadlineError,
        FileError,
        CorruptFileError,
    )
}

# Tracebacks show the name that `except` takes.
for kind in (Error, *BY_CODE.values()):
    kind.__module__ = "nearfield"
