"""Settings of glibc's allocator, for processes of Ray that are ours alone.

Their threads allocate what others free. glibc gives each thread an arena, up to eight for each
core; what is free in one is lost to the others and to the system, and a process grows with memory
that nothing uses.
"""

from __future__ import annotations

# Their workers stay at 63 to 67 MiB over 800 changes of an index; without it they go to 91.
OF_TASKS = {"MALLOC_ARENA_MAX": "2"}

# A router lives long and merges answers of all sizes: what is larger than 128 KiB is given back
# when it is freed. The thresholds are those that glibc begins with: named, they do not grow. Tasks,
# which may be all about large arrays, took 6 % longer with them.
OF_ROUTERS = OF_TASKS | {
    "MALLOC_TRIM_THRESHOLD_": "131072",
    "MALLOC_MMAP_THRESHOLD_": "131072",
}
