"""Time sovereign default with bracketed and with full search: ``python -m docs.tables.default_speed``.

The problem is Arellano (2008), quarterly, with value and prices iterated together to ``--tol``. Both searches start
from the same value, are compiled and use the same number of threads. Full search examines every bond in every state of
repayment. Bracketed search is timed three times: with the sweeps of full search, whose values must agree bit by bit;
with policy evaluation steps between the sweeps; and as ``bl.solve(bl.arellano(...))`` does it, starting from coarser
grids.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from beltline.compiled import njit, prange
from beltline.gpu_ref.cuda.device import available
from beltline.gpu_ref.general.solution import Solution
from beltline.gpu_ref.general.solve import solve
from beltline.gpu_ref.tables import Array
from beltline.host.bench.options import require_least
from beltline.host.models.arellano.model import Arellano, arellano
from beltline.host.results.result import Result
from beltline.host.solver.solve_general import STEPS

SIZES = ((251, 51), (1_001, 21))
"""Numbers of bonds and incomes."""

LARGE = (10_001, 7)
"""A size for which full search takes minutes."""


@njit
def _expected(transition: Array, V: Array, ev: Array) -> None:
    """Write ``sum_s' Q(s, s') V(x', s')`` to ``ev``; all tables are ``(N_y, N_B)``."""
    ev[:] = 0.0
    for s in range(V.shape[0]):
        for t in range(V.shape[0]):
            for i in range(V.shape[1]):
                ev[s, i] += transition[s, t] * V[t, i]


@njit(parallel=True)
def _every(wealth: Array, cost: Array, ev: Array, value: Array) -> None:
    """Find the best of all bonds in every state, for a risk aversion of 2; all tables are ``(N_y, N_B)``."""
    states, grid = wealth.shape
    for t in prange(grid * states):
        s, x = t // grid, t % grid
        best, cash, price, promise = -np.inf, wealth[s, x], cost[s], ev[s]
        for i in range(grid):
            if price[i] < cash:
                best = max(best, -1.0 / (cash - price[i]) + promise[i])
        value[s, x] = best


def by_full_search(country: Arellano, tol: float) -> tuple[Array, int]:
    """Return the value, ``(2, N_B, N_y)``, and the number of sweeps."""
    (income, transition), zero = country.chain, country.zero
    wealth = income[:, None] + country.grid
    cost = np.ascontiguousarray(country.costs(country.prices(np.zeros(wealth.T.shape, bool))).T)
    forced = -1.0 / country.default_income
    value, best, ev = np.zeros((2, *wealth.shape)), np.empty(wealth.shape), np.empty(wealth.shape)
    prices: Array | None = None
    sweeps, moved = 0, np.inf
    while moved >= tol:
        sweeps += 1
        _expected(transition, value[0], ev)
        _every(wealth, cost, ev * country.beta, best)
        mixed = country.reentry * value[0, :, zero] + (1.0 - country.reentry) * value[1, :, zero]
        _expected(transition, mixed[:, None], ev[:, :1])
        out = np.broadcast_to((forced + ev[:, 0] * country.beta)[:, None], best.shape)
        new = np.stack([np.maximum(best, out), out])
        found = country.prices((out > best).T)
        cost = np.ascontiguousarray(country.costs(found).T)
        moved = max(np.abs(new - value).max(), np.inf if prices is None else np.abs(found - prices).max())
        value, prices = new, found
    return value.swapaxes(1, 2), sweeps


def by_brackets(country: Arellano, tol: float, steps: int = 0) -> Solution:
    """Solve by :func:`beltline.gpu_ref.general.solve.solve`; with 0 ``steps`` it makes the sweeps of full search."""
    return solve(country.problem().form, tol=tol, update=country.update, steps=steps)


Outcome = TypeVar("Outcome")


def timed(run: Callable[[], Outcome], repeats: int) -> tuple[float, Outcome]:
    """Return the median of the seconds, and what the last run returned; a first run, not timed, loads compiled code."""
    spent = []
    run()
    for _ in range(repeats):
        begin = time.perf_counter()
        found = run()
        spent.append(time.perf_counter() - begin)
    return statistics.median(spent), found


def compare(country: Arellano, tol: float, repeats: int) -> bool:
    """Time one size and print the results; return whether all solutions agree."""
    size = f"{country.bonds:,} x {country.incomes}"
    slow, (full, sweeps) = timed(lambda: by_full_search(country, tol), min(repeats, 3))
    print(f"{size}: full search {slow:.3f} s, {sweeps} sweeps", flush=True)
    fast, same = timed(lambda: by_brackets(country, tol), repeats)
    equal = same.sweeps == sweeps and bool((same.value == full).all())
    print(
        f"{size}: brackets, the same sweeps {fast:.3f} s: {slow / fast:.1f} times as fast; "
        f"{same.evaluations[10:].mean() / full[0].size:.1f} utilities per state and sweep after the tenth; "
        f"{'the same bits' if equal else f'values differ by {np.abs(same.value - full).max():.2g}'}",
        flush=True,
    )
    ways: dict[str, Callable[[], Solution | Result]] = {
        "with policy evaluation between them": lambda: by_brackets(country, tol, STEPS),
        "from coarser grids, as bl.solve does it": lambda: country.solve(tol).solution,
    }
    for what, way in ways.items():
        fast, found = timed(way, repeats)
        gap = float(np.abs(found.value - same.value).max())
        # The error bounds are for the prices of each solution.
        within = found.success and np.array_equal(np.asarray(found.prices), np.asarray(same.prices))
        within = within and gap <= found.error_bound + same.error_bound
        equal &= within
        print(
            f"{size}: brackets, {what} {fast:.3f} s, {found.sweeps} sweeps: {slow / fast:.1f} times as fast; "
            f"{'the same prices, values within' if within else 'NOT the same prices, or values beyond'} the sum of the "
            f"bounds, by {gap:.2g}",
            flush=True,
        )
    return equal


def on_gpu(country: Arellano, tol: float, repeats: int) -> bool:
    """Time one size on a CUDA device and print the results; return whether the solution is that of the processor."""
    from beltline.gpu_ref.cuda import general

    size = f"{country.bonds:,} x {country.incomes}"
    form, inside = country.problem().form, []

    def run() -> Solution:
        seconds: dict[str, float] = {}
        found = general.solve(form, tol=tol, update=country.update, steps=STEPS, seconds=seconds)
        inside.append(seconds["solve"])
        return found

    whole, found = timed(run, repeats)
    # The first run, which loads compiled code, is not timed.
    spent = statistics.median(inside[1:])
    same = solve(form, tol=tol, update=country.update, steps=STEPS, corrected=False)
    equal = found.success and bool((found.value == same.value).all()) and found.sweeps == same.sweeps
    print(
        f"{size}: on the GPU, with policy evaluation {1e3 * spent:.2f} ms in its memory, "
        f"{1e3 * whole:.1f} ms from call to return, {found.sweeps} sweeps; "
        f"{'the same bits as' if equal else 'NOT the bits of'} the processor",
        flush=True,
    )
    return equal


def main(argv: list[str] | None = None) -> int:
    """Time and print; return 0 if all solutions agree."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.default_speed", description=__doc__)
    parser.add_argument("--bonds", type=int, help="number of bonds, in place of the sizes of the page (odd, from 3)")
    parser.add_argument(
        "--incomes", type=int, default=11, help="number of incomes, with --bonds (default: %(default)s)"
    )
    parser.add_argument(
        "--tol", type=float, default=1e-8, help="largest change in the last sweep (default: %(default)s)"
    )
    parser.add_argument(
        "--repeats", type=int, default=9, help="runs that are timed, of full search at most 3 (default: %(default)s)"
    )
    parser.add_argument("--gpu", action="store_true", help="also time a CUDA device")
    given = parser.parse_args(argv)
    if given.gpu and (why := available()):
        parser.error(f"--gpu cannot be used: {why}")
    if given.bonds is not None and (given.bonds < 3 or given.bonds % 2 == 0):
        parser.error(f"--bonds must be an odd number from 3, so that 0 is one of them, not {given.bonds}")
    require_least(parser, given, incomes=3, repeats=1)
    if not 0 < given.tol < np.inf:
        parser.error(f"--tol must be a number above 0, not {given.tol}")
    sizes = SIZES if given.bonds is None else ((given.bonds, given.incomes),)
    # Compile before anything is timed.
    small = arellano(21, 3)
    by_full_search(small, 1e-2)
    by_brackets(small, 1e-2, STEPS)
    same = [compare(arellano(*size), given.tol, given.repeats) for size in sizes]
    if given.gpu:
        large = (LARGE,) if given.bonds is None else ()
        same += [on_gpu(arellano(*size), given.tol, given.repeats) for size in (*sizes, *large)]
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
