"""Several nodes of Ray on this machine, in a network that has the loopback alone: Ray listens on
every interface, and a test must not be what others reach."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

# A node whose process is gone refuses the connection, which counts as a failure at once: it is dead
# after three, 1.5 s. One that is slow has 5 s for each answer: with less, nodes were taken for dead
# while workers started on two busy cores. By the heartbeat nobody is taken for dead: a call that an
# actor's death has ended is sent again at the next one of the caller's process, after up to 1 s by
# default, and at the one after it while Ray does not know of the death.
SETTINGS = {
    "RAY_health_check_initial_delay_ms": "500",
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "5000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_core_worker_internal_heartbeat_ms": "100",
}
STORE_BYTES = 100 << 20


def only_loopback() -> bool:
    return [name for _, name in socket.if_nameindex()] == ["lo"]


def secure(folder: Path) -> None:
    """Whoever holds the token can run code: only we can read it."""
    token = folder / "token"
    with open(os.open(token, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(32))
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}


class Nodes:
    """A head without cores, which stays, and nodes that may die."""

    def __init__(self, folder: Path, count: int) -> None:
        # Before Ray is imported, which reads them.
        os.environ |= SETTINGS | {"RAY_USAGE_STATS_ENABLED": "0"}
        secure(folder)
        import ray
        from ray.cluster_utils import Cluster

        self._cluster: Any = Cluster(
            initialize_head=True,
            head_node_args={
                "num_cpus": 0,
                "object_store_memory": STORE_BYTES,
                "include_dashboard": False,
            },
        )
        self.nodes: list[Any] = []
        for _ in range(count):
            self.add()
        ray.init(address=self._cluster.address, log_to_driver=False)

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def add(self) -> Any:
        node = self._cluster.add_node(num_cpus=1, object_store_memory=STORE_BYTES)
        self.nodes.append(node)
        return node

    def of_id(self, node_id: str) -> Any:
        (node,) = [node for node in self.nodes if node.node_id == node_id]
        return node

    def kill(self, node: Any) -> None:
        """-9: the node's own processes, and with them its workers."""
        self.nodes.remove(node)
        workers = children_of(node.all_processes["raylet"][0].process.pid)
        self._cluster.remove_node(node, allow_graceful=False)
        for worker in workers:
            kill_process(worker)

    def stop(self) -> None:
        import ray

        ray.shutdown()
        self._cluster.shutdown()


def children_of(parent: int) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError, ValueError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent:
                found.append(int(folder.name))
    return found


def workers_on(node: Any, task: str) -> list[int]:
    """Processes there that run a task of this name now."""
    workers = children_of(node.all_processes["raylet"][0].process.pid)
    return [worker for worker in workers if task.encode() in command_of(worker)]


def command_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it ended
        return b""


def pid_of(actor: Any) -> int:
    import ray

    return int(ray.get(actor.describe.remote(), timeout=30)["pid"])


def node_of(actor: Any) -> str:
    import ray

    asked = actor.__ray_call__.remote(lambda _: ray.get_runtime_context().get_node_id())
    return str(ray.get(asked, timeout=30))


def kill_process(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def wait_for(condition: Callable[[], bool], seconds: float) -> float:
    """How long it took; an error if it was longer."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < seconds, f"not within {seconds} s"
        time.sleep(0.02)
    return time.monotonic() - start
