"""Measure batches: ``python -m docs.tables.batch_bench``.

By default many small problems are solved on ``emulator``, to see whether memory use is constant, the order is right,
and what each problem costs beside its sweeps; this takes three minutes. With ``--speedup``, CPU-bound problems are
solved on one worker and on two, compared with two processes that only compute; with ``--dask`` on workers of Dask.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from beltline.gpu_ref.threads import threads
from beltline.host.batch.pool import Workers
from beltline.host.batch.solve_many import solve_many
from beltline.host.models.rbc import rbc
from beltline.host.problem.problem import Problem
from beltline.host.solver.session import Session
from beltline.host.solver.solve import solve

OVERHEAD = 2e-3
"""Largest seconds that a problem may cost beside its sweeps."""

SPEEDUP = 1.8
"""Smallest speed-up by a second worker."""

QUIET_DASK = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
}
"""Settings that stop Dask from monitoring itself many times per second; ``docs/batches.md`` names them too."""

GROWTH = 4.0
"""Largest growth of memory over the second half, in MiB."""


def resident() -> float:
    """Return the resident memory of this process in MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def small(count: int) -> Iterator[Problem]:
    """Yield small problems, each with its own tables."""
    for i in range(count):
        yield rbc(grid=16, states=2, beta=0.9 + 0.08 * i / count, eta=1.5 + i / count)


def many(count: int, sweeps: int) -> bool:
    """Solve and print; return whether order, memory and overhead are within their limits."""
    solve_seconds, memory, order = 0.0, [], True
    with Session("emulator") as session:
        list(solve_many(small(2), max_sweeps=sweeps, device=session, progress=False))
        begin = time.perf_counter()
        for i, attempt in enumerate(solve_many(small(count), max_sweeps=sweeps, device=session, progress=False)):
            assert attempt.result is not None, attempt.error
            order &= attempt.index == i and attempt.problem is not None and attempt.problem.eta == 1.5 + i / count
            solve_seconds += attempt.result.timing["solve"]
            if i % (count // 10) == count // 10 - 1:
                memory.append(resident())
        spent = time.perf_counter() - begin
    overhead = (spent - solve_seconds) / count
    growth = memory[-1] - memory[len(memory) // 2 - 1]
    print(f"{count:,} problems of 16 x 2 points, {sweeps} sweeps each, on emulator: {spent:.1f} s; order {order}")
    print(f"memory at each tenth, MiB: {' '.join(f'{one:.1f}' for one in memory)}; second half {growth:+.1f}")
    print(
        f"per problem: {spent / count * 1e3:.2f} ms, of which {solve_seconds / count * 1e3:.2f} in its sweeps and "
        f"{overhead * 1e3:.2f} for its tables, their conversion, transfers, verification and delivery"
    )
    return order and growth < GROWTH and overhead < OVERHEAD


@contextlib.contextmanager
def workers_of(count: int, dask: bool) -> Iterator[Any]:
    """Give an executor of ``count`` processes with one thread each."""
    if not dask:
        with Workers(count) as workers:
            yield workers
        return
    from dask import config
    from distributed import Client, LocalCluster

    with (
        config.set(QUIET_DASK),
        LocalCluster(n_workers=count, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _compute(grid: int, count: int) -> float:
    """Return the seconds in which this process, alone and with one thread, solves ``count`` problems."""
    with threads(1):
        begin = time.perf_counter()
        for i in range(count):
            solve(rbc(grid=grid, eta=1.5 + i / count), 1e-6, device="emulator", progress=False)
        return time.perf_counter() - begin


def cores(grid: int, count: int, repeats: int) -> list[float]:
    """Return the sorted speed-ups of two processes that only compute, an upper limit for batches on this computer."""
    ratios = []
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(_compute, (grid, grid), (1, 1)))
        for _ in range(repeats):
            alone = pool.submit(_compute, grid, count).result()
            ratios.append(2 * alone / statistics.mean(pool.map(_compute, (grid, grid), (count, count))))
    return sorted(ratios)


def speedup(grid: int, count: int, repeats: int, dask: bool) -> bool:
    """Time one worker and two by turns and print; return whether the speed-up is at least ``SPEEDUP``."""
    most = cores(grid, max(count // 4, 1), repeats)
    print(
        f"two processes that only compute are {statistics.median(most):.2f} times as fast as one on this computer "
        f"({most[0]:.2f} to {most[-1]:.2f})",
        flush=True,
    )
    problems = [partial(rbc, grid=grid, eta=1.5 + i / count) for i in range(count)]

    def timed(workers: Any) -> tuple[float, float]:
        """Return the seconds, and the mean number of workers that were solving."""
        begin = time.perf_counter()
        attempts = list(solve_many(problems, 1e-6, executor=workers, progress=False, device="emulator"))
        spent = time.perf_counter() - begin
        assert all(attempt.success for attempt in attempts)
        return spent, sum(attempt.seconds for attempt in attempts) / spent

    with workers_of(1, dask) as one, workers_of(2, dask) as two:
        for workers in (one, two):
            list(solve_many(problems[:8], 1.0, executor=workers, progress=False, device="emulator"))
        load = os.getloadavg()[0]
        times = [(timed(one), timed(two)) for _ in range(repeats)]
    alone, both = (statistics.median(spent for spent, _ in column) for column in zip(*times, strict=True))
    busy = [statistics.median(share for _, share in column) for column in zip(*times, strict=True)]
    kind = "Dask worker" if dask else "worker"
    print(f"{count} problems of {grid:,} x 4 points: {alone:.2f} s on one {kind}, {both:.2f} s on two (medians)")
    print(f"mean number of workers solving: {busy[0]:.2f} of one, {busy[1]:.2f} of two")
    # On a shared computer the speed changes from second to second, so runs next to each other are compared.
    ratios = sorted(first / second for (first, _), (second, _) in times)
    ratio = statistics.median(ratios)
    print(
        f"two are {ratio:.2f} times as fast as one (median of {repeats} pairs, {ratios[0]:.2f} to {ratios[-1]:.2f}; at "
        f"least {SPEEDUP} required); load before {load:.2f}"
    )
    return ratio >= SPEEDUP


def main(words: list[str] | None = None) -> int:
    """Measure and print; return 0 if all limits are met."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.batch_bench", description=__doc__)
    parser.add_argument("--problems", type=int, default=10_000, help="number of small problems (default %(default)s)")
    parser.add_argument("--sweeps", type=int, default=20, help="sweeps of a small problem (default %(default)s)")
    parser.add_argument("--speedup", action="store_true", help="compare two workers with one instead")
    parser.add_argument("--dask", action="store_true", help="with --speedup: use Dask workers")
    parser.add_argument("--grid", type=int, default=4096, help="grid points of a large problem (default %(default)s)")
    parser.add_argument("--large", type=int, default=64, help="number of large problems (default %(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="repetitions of the comparison (default %(default)s)")
    given = parser.parse_args(words)
    good = (
        speedup(given.grid, given.large, given.repeats, given.dask)
        if given.speedup
        else many(max(given.problems, 10), given.sweeps)
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
