"""What can go wrong beyond one machine; each is a `nearfield.Error` with a code of its own."""

from __future__ import annotations

from nearfield import Error


class BusyError(Error):
    """As much is being searched as the router or the actors take: try again a little later."""

    code = "busy"


class ConflictError(Error):
    """Another writer committed first, and what it did cannot be joined with this."""

    code = "conflict"


class LostShardError(Error):
    """Shards that no replica answered for. `missing` has their numbers."""

    code = "lost_shard"

    def __init__(self, message: str, missing: tuple[int, ...] = ()) -> None:
        super().__init__(message, missing)
        self.missing = missing

    def __str__(self) -> str:
        return str(self.args[0])


class NoIndexError(Error, LookupError):
    """There is no index, or none of this epoch, where one is looked for."""

    code = "no_index"


for kind in (BusyError, ConflictError, LostShardError, NoIndexError):
    kind.__module__ = "nearfield.cluster"  # tracebacks show the name that `except` takes
