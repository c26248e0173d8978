"""More vectors than one machine searches: a sharded index, and actors of Ray that search it.

Most users need none of it: docs/cluster.md says from where on it pays. It needs the extra
`cluster` (`pip install 'nearfield[cluster]'`): Ray, and obstore for buckets. `import nearfield`
imports neither.

    >>> import tempfile
    >>> import numpy as np
    >>> from nearfield import cluster
    >>> rows = np.arange(40, dtype=np.float32).reshape(20, 2)
    >>> folder = tempfile.TemporaryDirectory()
    >>> cluster.build(folder.name, rows, shards=4)
    1
    >>> cluster.delete(folder.name, [3])
    2
    >>> distances, ids = cluster.open(folder.name).search(rows[3:4], k=2)
    >>> ids
    array([[2, 4]])
    >>> distances, ids = cluster.open(folder.name, epoch=1).search(rows[3:4], k=2)
    >>> ids
    array([[3, 2]])
    >>> folder.cleanup()

An index in a folder or bucket: `build`, `append`, `upsert`, `delete`, `compact`, `clean`, `open`.
Searched by a cluster: `deploy` starts the actors, `Router` asks them, `undeploy` ends them.
Over HTTP: `serve`, `unserve`, and the command `nearfield serve`.
Batch jobs, resumable: `ground_truth`, `graph`, `read_neighbors`, `read_all_neighbors`;
`match_colmap`, `write_colmap_matches`; `dedup`, `read_first_of`; `encode`, `read_codes`.
"""

from nearfield.cluster._actors import deploy, undeploy
from nearfield.cluster._answers import Near, Nearest
from nearfield.cluster._colmap import match_colmap, write_colmap_matches
from nearfield.cluster._duplicates import dedup, read_first_of
from nearfield.cluster._encoding import encode, read_codes
from nearfield.cluster._errors import BusyError, ConflictError, LostShardError, NoIndexError
from nearfield.cluster._graph import graph
from nearfield.cluster._jobs import ground_truth, read_all_neighbors, read_neighbors
from nearfield.cluster._manifest import Manifest, Segment, Spec, Tombstones
from nearfield.cluster._opened import ShardedIndex
from nearfield.cluster._opened import open_index as open  # noqa: A004  # as nearfield.Index.open
from nearfield.cluster._router import Found, FoundWithin, Router
from nearfield.cluster._serving import serve, unserve
from nearfield.cluster._writing import append, build, clean, compact, delete, upsert

__all__ = [
    "BusyError",
    "ConflictError",
    "Found",
    "FoundWithin",
    "LostShardError",
    "Manifest",
    "Near",
    "Nearest",
    "NoIndexError",
    "Router",
    "Segment",
    "ShardedIndex",
    "Spec",
    "Tombstones",
    "append",
    "build",
    "clean",
    "compact",
    "dedup",
    "delete",
    "deploy",
    "encode",
    "graph",
    "ground_truth",
    "match_colmap",
    "open",
    "read_all_neighbors",
    "read_codes",
    "read_first_of",
    "read_neighbors",
    "serve",
    "undeploy",
    "unserve",
    "upsert",
    "write_colmap_matches",
]
