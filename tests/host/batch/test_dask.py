"""Dask's scheduler and workers as separate processes: where they listen, and how their end affects a batch."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import beltline as bl
from docs.tables.batch_bench import workers_of
from support.batches import TOL, many
from support.paths import ROOT

dask = pytest.importorskip("distributed", reason="needs Dask's distributed")
psutil = pytest.importorskip("psutil", reason="needs psutil, which comes with distributed")

LONG = 120.0
"""Seconds to wait for an event, enough for a busy computer."""


def soon(what: Any) -> Any:
    """Call a function until it returns a true value, and return that."""
    end = time.monotonic() + LONG
    while not (found := what()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def family(process: int) -> list[Any]:
    parent = psutil.Process(process)
    return [parent, *parent.children(recursive=True)]


def listens_at(process: int) -> set[str]:
    """Return the addresses at which a process and its children listen."""
    found = set()
    for one in family(process):
        found |= {c.laddr.ip for c in one.net_connections("inet") if c.status == psutil.CONN_LISTEN}
    return found


class Cluster:
    """A scheduler and a worker with its nanny on one computer, started as ``docs/security.md`` says."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.file = folder / "scheduler.json"
        self.processes: list[subprocess.Popen[bytes]] = []
        self._log = (folder / "log").open("wb")
        self.start("scheduler", "--port", "0", "--no-show", "--scheduler-file", str(self.file))
        soon(self.file.exists)
        self.start(
            "worker", "--scheduler-file", str(self.file), "--nworkers", "2", "--nthreads", "1", "--worker-port", "0",
            "--local-directory", str(folder),
        )  # fmt: skip

    def start(self, *arguments: str) -> None:
        # Without the second option it serves HTTP to any computer, with or without a dashboard.
        loopback = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]
        command = [sys.executable, "-m", "dask", *arguments, *loopback]
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}
        self.processes.append(subprocess.Popen(command, env=environment, stdout=self._log, stderr=self._log))

    @contextmanager
    def client(self) -> Iterator[Any]:
        client = dask.Client(scheduler_file=str(self.file), timeout=LONG)
        try:
            client.wait_for_workers(2, timeout=LONG)
            yield client
        finally:
            client.close(timeout=1)

    def kill(self) -> None:
        """End all processes that are still running."""
        for process in self.processes:
            if process.poll() is None:
                for one in family(process.pid):
                    one.kill()
            process.wait()
        self._log.close()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path / "cluster")
    yield made
    made.kill()


def same(attempt: bl.Attempt, other: bl.Attempt) -> None:
    assert attempt.index == other.index
    assert attempt.result is not None, attempt.error
    assert other.result is not None
    assert (attempt.result.value == other.result.value).all()
    assert (attempt.result.policy == other.result.policy).all()


@pytest.mark.parametrize(
    ("seed", "options"),
    [
        (1, {"device": "emulator"}),
        pytest.param(2, {"device": "emulator", "lanes": 2}, marks=pytest.mark.slow),
        pytest.param(3, {"device": "rtl"}, marks=[pytest.mark.slow, pytest.mark.gateware]),
    ],
)
def test_workers_and_scheduler_killed_at_random(
    cluster: Cluster, tmp_path: Path, seed: int, options: dict[str, Any]
) -> None:
    # Either engine has its own number of sweeps.
    expected = list(bl.solve_many(many(24, 64), TOL, progress=False, **(options | {"device": "emulator"})))
    rng = random.Random(seed)
    store = tmp_path / "store"
    with cluster.client() as client:
        assert {ip for process in cluster.processes for ip in listens_at(process.pid)} == {"127.0.0.1"}
        over = threading.Event()
        killed = []

        def kill_workers() -> None:
            # Fewer than the number of dead workers after which Dask abandons a problem.
            while len(killed) < 3 and not over.wait(rng.uniform(0.2, 0.6)):
                found = [p for p in family(cluster.processes[1].pid)[1:] if "spawn_main" in " ".join(p.cmdline())]
                if found:
                    killed.append(rng.choice(found).pid)
                    os.kill(killed[-1], signal.SIGKILL)

        killer = threading.Thread(target=kill_workers)
        killer.start()
        attempts = list(bl.solve_many(many(24, 64), TOL, executor=client, progress=False, **options))
        over.set()
        killer.join()
        assert len(attempts) == len(expected)
        for attempt, other in zip(attempts, expected, strict=True):
            same(attempt, other)

        last = rng.randrange(2, 12)
        delivered: list[bl.Attempt] = []

        def deliver() -> None:
            for attempt in bl.solve_many(
                many(24, 64), TOL, executor=client, store=store, progress=False, in_flight=4, **options
            ):
                delivered.append(attempt)
                if len(delivered) == last:
                    cluster.processes[0].kill()

        with pytest.raises(BrokenExecutor, match=r"^the executor has cancelled the remaining problems: "):
            deliver()
        for attempt in delivered:
            same(attempt, expected[attempt.index])
        assert last <= len(delivered) < len(expected)
    # All results that were returned are in the store, and all stored results are right.
    again = list(bl.solve_many(many(24, 64), TOL, store=store, progress=False, **options))
    assert sum(attempt.stored for attempt in again) >= len(delivered)
    for attempt, other in zip(again, expected, strict=True):
        same(attempt, other)


def test_own_processes_listen_nowhere() -> None:
    before = listens_at(os.getpid())
    with bl.Workers(2) as two:
        assert len(list(bl.solve_many(many(4), TOL, executor=two, progress=False, device="emulator"))) == 4
        assert listens_at(os.getpid()) == before


def test_the_bench_listens_on_loopback_only() -> None:
    with workers_of(1, dask=True) as client:
        assert client.scheduler.address.startswith("tcp://127.0.0.1:")
        assert listens_at(os.getpid()) == {"127.0.0.1"}
