"""Processes that solve in parallel, and how a batch continues when one of them dies."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import beltline as bl
from beltline.host.batch import pool
from beltline.host.batch.pool import CALLS_PER_PROCESS, TRIES, UNGUARDED, WorkerLostError
from support.batches import TOL, VICTIM, Logged, career, end, firm, many, repeated, threads_in, tiny
from support.paths import ROOT, TESTS

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
    here = list(bl.solve_many(many(6), TOL, progress=False, device="emulator"))
    there = list(bl.solve_many(many(6), TOL, executor=two, progress=False, device="emulator"))
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
    list(bl.solve_many(many(6), TOL, executor=two, progress=False, device="emulator"))
    assert {future.result()[2] for future in [two.submit(_threads) for _ in range(4)]} == {1}


def _threads() -> tuple[int, int, int]:
    import numba

    from beltline.host.batch import worker

    time.sleep(0.05)
    return os.getpid(), numba.get_num_threads(), len(worker._workers)


def test_problems_of_the_general_form_are_solved_there_too(two: bl.Workers) -> None:
    mixed = [career(0), tiny(0), firm(0), career(1)]
    here = list(bl.solve_many(mixed, TOL, device="cpu", progress=False))
    there = list(bl.solve_many(mixed, TOL, device="cpu", executor=two, chunk=2, progress=False))
    for one, other in zip(here, there, strict=True):
        assert one.success
        assert other.success
        assert one.result is not None
        assert other.result is not None
        assert other.result.problem is other.problem
        assert (one.result.value == other.result.value).all()
        assert (one.result.policy == other.result.policy).all()


def test_scripts_that_import_numba_have_workers_of_one_thread_that_can_still_compile() -> None:
    # A process that is spawned imports the script first.
    code = (
        "import numba, numpy\nimport beltline as bl\n"
        "def threads():\n"
        "    threads = numba.get_num_threads()\n"
        "    return threads, numba.njit(lambda: 3)()\n"
        "if __name__ == '__main__':\n"
        "    with bl.Workers(1) as workers:\n"
        "        print(workers.submit(threads).result())\n"
    )
    assert run_as_script(code) == "(1, 3)"


@pytest.mark.parametrize(("said", "used"), [(None, 1), ("1", 1), ("2", 2)])
def test_problems_in_a_users_executor_have_one_thread_or_as_many_as_the_environment_says(
    said: str | None, used: int
) -> None:
    code = (
        f"import os, sys\nsys.path.insert(0, {str(TESTS)!r})\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "import numba\nfrom support.batches import threads_in\n"
        "with ThreadPoolExecutor(1) as pool:\n"
        "    for chunk in (1, 3):\n"
        "        seen, before, after = threads_in(pool, chunk)\n"
        "        assert before == after == numba.config.NUMBA_NUM_THREADS, (before, after)\n"
        f"        assert seen == {{{used}}}, seen\n"
    )
    run_as_script(code, NUMBA_NUM_THREADS=said)


def run_as_script(code: str, **changed: str | None) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **changed}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.py")
        script.write_text(code)
        done = subprocess.run(
            [sys.executable, str(script)],
            env={name: value for name, value in environment.items() if value is not None},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("order", ["given", "finished"])
def test_a_killed_worker_loses_only_its_own_problems(two: bl.Workers, tmp_path: Path, order: Any) -> None:
    logged = Logged(two, tmp_path / "log")
    attempts = []
    killed = 0
    for attempt in bl.solve_many(
        many(COUNT, GRID), 1e-6, executor=logged, order=order, progress=False, device="emulator"
    ):
        attempts.append(attempt)
        if len(attempts) == 5:
            killed = logged.kill_one()
    same(sorted(attempts, key=lambda one: one.index), COUNT, GRID)
    assert 1 <= repeated(logged, COUNT, killed) <= CALLS_PER_PROCESS


def test_a_problem_that_kills_its_workers_is_given_up(two: bl.Workers) -> None:
    future = two.submit(end, [])
    with pytest.raises(WorkerLostError, match=rf"^the process that solved it died {TRIES} times$"):
        future.result(timeout=120)
    same(list(bl.solve_many(many(3), TOL, executor=two, progress=False, device="emulator")), 3, 16)


STARTS = {
    "workers": "with bl.Workers(2) as two: list(bl.solve_many(problems, executor=two))",
    "submit": "with bl.Workers(1) as one: [future.result() for future in [one.submit(abs, i) for i in range(9)]]",
    "solve_many": "list(bl.solve_many(problems, workers=2))",
    "a pool of the standard library": "with ProcessPoolExecutor(2, get_context('spawn')) as two:"
    " list(bl.solve_many(problems, executor=two))",
}


@pytest.mark.parametrize("start", STARTS)
def test_a_script_without_a_guard_gets_a_sentence_that_names_it(start: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import beltline as bl\nfrom concurrent.futures import ProcessPoolExecutor\n"
        "from multiprocessing import get_context\nproblems = [bl.rbc(grid=64, beta=b) for b in (.95, .96, .97)]\n"
        + STARTS[start]
    )
    run = [sys.executable, str(script)]
    done = subprocess.run(run, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)
    # The standard library's pool cannot tell why a process ended, so these tell.
    told, own = done.stderr.count(UNGUARDED), start != "a pool of the standard library"
    assert (done.returncode, told) == (1, 1) if own else told >= 1
    assert done.stderr.count("Traceback") == 1
    assert len(done.stderr.splitlines()) < 20


def test_without_shared_memory_the_place_for_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*arguments: Any) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(pool, "ProcessPoolExecutor", none)
    with pytest.raises(BrokenExecutor, match=r"^no process can be started \(.*No such file.*\): .* need a /dev/shm"):
        list(bl.solve_many(many(3), TOL, workers=2, progress=False, device="emulator"))


def test_a_script_that_fails_in_its_workers_is_named(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import beltline as bl\nif __name__ != '__main__': raise SystemExit\n"
        "with bl.Workers(1) as one: print(one.submit(abs, -3).exception())"
    )
    run = [sys.executable, str(script)]
    done = subprocess.run(run, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False)
    assert done.stdout == "the process that solved it died 3 times, before it had imported the script that started it\n"


def test_workers_end_with_a_killed_client(tmp_path: Path) -> None:
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
    with pytest.raises(
        RuntimeError, match=r"^submit\(\) was called on Workers that have been shut down: make new ones$"
    ):
        workers.submit(pow, 2, 2)


def test_shutdown_at_once_ends_what_runs() -> None:
    workers = bl.Workers(1)
    futures = [workers.submit(time.sleep, 60) for _ in range(4)]
    begin = time.monotonic()
    workers.shutdown(cancel_futures=True)
    assert time.monotonic() - begin < 30
    assert all(future.cancelled() for future in futures)


dask = pytest.importorskip("distributed", reason="needs Dask's distributed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Start two worker processes, each with a nanny that restarts it."""
    with (
        dask.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as made,
        dask.Client(made) as client,
    ):
        yield client


def test_a_client_of_dask_is_an_executor(cluster: Any) -> None:
    same(list(bl.solve_many(many(6), TOL, executor=cluster, progress=False, device="emulator")), 6, 16)
    bad = [*many(2), partial(bl.rbc, beta=2), 3]
    attempts = list(bl.solve_many(bad, TOL, executor=cluster, chunk=3, progress=False, device="emulator"))
    assert [attempt.success for attempt in attempts] == [True, True, False, False]


def test_a_worker_of_dask_solves_on_one_thread_by_default(cluster: Any) -> None:
    for chunk in (1, 3):
        seen, before, after = threads_in(cluster.get_executor(pure=False), chunk)
        assert seen == {1}
        assert before == after


def test_a_killed_worker_of_dask_loses_only_its_own_problems(cluster: Any, tmp_path: Path) -> None:
    logged = Logged(cluster.get_executor(pure=False), tmp_path / "log")
    attempts = []
    killed = 0
    # The process that is killed works from the beginning.
    in_flight = VICTIM + 1
    for attempt in bl.solve_many(
        many(COUNT, GRID), 1e-6, executor=logged, in_flight=in_flight, progress=False, device="emulator"
    ):
        attempts.append(attempt)
        if len(attempts) == 5:
            killed = logged.kill_one()
    same(attempts, COUNT, GRID)
    # Dask repeats the solve that the worker was doing, and those whose results were still in its memory.
    assert 1 <= repeated(logged, COUNT, killed) <= in_flight
