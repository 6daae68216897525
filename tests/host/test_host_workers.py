"""Processes that solve side by side, and what becomes of a batch when one of them dies."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from host_batches import TOL, Logged, end, many, repeated, tiny

import beltline as bl
from host.workers import HELD, TRIES, WorkerLostError

ROOT = Path(__file__).parents[2]

# A solve of these takes tens of milliseconds: long enough to be killed in.
COUNT, GRID = 30, 64


@pytest.fixture(scope="module")
def two() -> Iterator[bl.Workers]:
    with bl.Workers(2) as workers:
        yield workers


def same(attempts: list[bl.Attempt], count: int, grid: int) -> None:
    assert [attempt.index for attempt in attempts] == list(range(count))
    assert all(attempt.success for attempt in attempts), [attempt.error for attempt in attempts if attempt.error]
    assert [a.problem.beta for a in attempts if a.problem] == [tiny(number).beta for number in range(count)]


def test_results_are_those_of_this_process(two: bl.Workers) -> None:
    here = list(bl.solve_many(many(6), TOL, progress=False))
    there = list(bl.solve_many(many(6), TOL, executor=two, progress=False))
    same(there, 6, 16)
    for one, other in zip(here, there, strict=True):
        assert one.result is not None
        assert other.result is not None
        assert one.key == other.key
        assert (one.result.value == other.result.value).all()
        assert (one.result.policy == other.result.policy).all()


def test_each_process_has_one_thread_and_one_device(two: bl.Workers) -> None:
    threads = {future.result() for future in [two.submit(_threads) for _ in range(4)]}
    assert len(threads) == 2
    assert {count for _, count, _ in threads} == {1}
    list(bl.solve_many(many(6), TOL, executor=two, progress=False))
    assert {future.result()[2] for future in [two.submit(_threads) for _ in range(4)]} == {1}


def _threads() -> tuple[int, int, int]:
    import numba

    from host import station

    time.sleep(0.05)
    return os.getpid(), numba.get_num_threads(), len(station._stations)


@pytest.mark.parametrize("order", ["given", "finished"])
def test_a_worker_that_is_killed_costs_what_it_held_and_nothing_else(
    two: bl.Workers, tmp_path: Path, order: Any
) -> None:
    logged = Logged(two, tmp_path / "log")
    attempts = []
    killed = 0
    for attempt in bl.solve_many(many(COUNT, GRID), 1e-6, executor=logged, order=order, progress=False):
        attempts.append(attempt)
        if len(attempts) == 5:
            killed = logged.kill_one()
    same(sorted(attempts, key=lambda one: one.index), COUNT, GRID)
    assert 1 <= repeated(logged, COUNT, killed) <= HELD


def test_a_problem_that_kills_its_workers_is_given_up(two: bl.Workers) -> None:
    future = two.submit(end, [])
    with pytest.raises(WorkerLostError, match=rf"^the process that solved it died {TRIES} times$"):
        future.result(timeout=120)
    same(list(bl.solve_many(many(3), TOL, executor=two, progress=False)), 3, 16)


def test_workers_do_not_outlive_a_client_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import os, time\nimport beltline as bl\n"
        "if __name__ == '__main__':\n"
        "    workers = bl.Workers(1)\n"
        "    print(workers.submit(os.getpid).result(), flush=True)\n"
        "    time.sleep(60)\n"
    )
    script = tmp_path / "client.py"
    script.write_text(code)
    client = subprocess.Popen(
        [sys.executable, str(script)], env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True
    )
    assert client.stdout is not None
    worker = int(client.stdout.readline())
    assert Path(f"/proc/{worker}").exists()
    client.kill()
    client.wait()
    client.stdout.close()
    until = time.monotonic() + 10
    while _alive(worker):
        assert time.monotonic() < until, "the worker lives on"
        time.sleep(0.05)


def _alive(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_shutdown_waits_for_what_was_asked_for() -> None:
    with bl.Workers(1) as workers:
        futures = [workers.submit(pow, 2, number) for number in range(9)]
    assert [future.result(timeout=0) for future in futures] == [2**number for number in range(9)]
    with pytest.raises(RuntimeError, match=r"^these workers have been shut down$"):
        workers.submit(pow, 2, 2)


def test_shutdown_at_once_ends_what_runs() -> None:
    workers = bl.Workers(1)
    futures = [workers.submit(time.sleep, 60) for _ in range(4)]
    begin = time.monotonic()
    workers.shutdown(cancel_futures=True)
    assert time.monotonic() - begin < 30
    assert all(future.cancelled() for future in futures)


@pytest.mark.parametrize("count", [0, 1.5, "two", 5000, True])
def test_a_wrong_number_of_workers_is_refused(count: Any) -> None:
    with pytest.raises(bl.ProblemError, match=r"^workers must be a whole number from 1 to 1024, not "):
        bl.solve_many(many(1), TOL, workers=count)


dask = pytest.importorskip("distributed", reason="needs Dask's distributed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two processes, each with a nanny, which starts it anew."""
    with (
        dask.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as made,
        dask.Client(made) as client,
    ):
        yield client


def test_a_client_of_dask_is_an_executor(cluster: Any) -> None:
    same(list(bl.solve_many(many(6), TOL, executor=cluster, progress=False)), 6, 16)
    bad = [*many(2), partial(bl.rbc, beta=2), 3]
    attempts = list(bl.solve_many(bad, TOL, executor=cluster, chunk=3, progress=False))
    assert [attempt.success for attempt in attempts] == [True, True, False, False]


def test_a_worker_of_dask_that_is_killed_costs_what_it_held_and_nothing_else(cluster: Any, tmp_path: Path) -> None:
    logged = Logged(cluster.get_executor(pure=False), tmp_path / "log")
    attempts = []
    killed = 0
    for attempt in bl.solve_many(many(COUNT, GRID), 1e-6, executor=logged, progress=False):
        attempts.append(attempt)
        if len(attempts) == 5:
            killed = logged.kill_one()
    same(attempts, COUNT, GRID)
    # The one that it was at, and results that nobody had fetched yet.
    assert 1 <= repeated(logged, COUNT, killed) <= 3
