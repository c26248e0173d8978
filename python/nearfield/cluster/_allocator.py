"""Settings of glibc's allocator, for processes of Ray that are ours alone.

Their threads allocate what others free. glibc gives each thread an arena, up to eight for each
core; what is free in one is lost to the others and to the system, and a process grows with memory
that nothing uses.
"""

from __future__ import annotations

# Without it their workers grow by nearly a half: docs/cluster.md.
OF_TASKS = {"MALLOC_ARENA_MAX": "2"}

# A router lives long and merges answers of all sizes: what is larger than 128 KiB is given back
# when it is freed. The thresholds are those that glibc begins with: named, they do not grow. Tasks
# may be all about large arrays, and take longer with them.
OF_ROUTERS = OF_TASKS | {
    "MALLOC_TRIM_THRESHOLD_": "131072",
    "MALLOC_MMAP_THRESHOLD_": "131072",
}
