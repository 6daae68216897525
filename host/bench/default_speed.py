"""Times sovereign default by brackets and by full search: ``python -m beltline.host.bench.default_speed``.

Arellano (2008), quarterly, value and prices together to ``--tol``. Both sides make the same sweeps from the same start
on the same threads, compiled; full search looks at every bond in every state that repays. Their values are compared to
the bit.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from beltline.compiled import njit, prange
from beltline.gpu_ref.general.form import Branch, Form
from beltline.gpu_ref.general.solution import Iterate, Prices
from beltline.gpu_ref.general.solve import solve
from beltline.gpu_ref.general.sweep import continuation
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.threads import threads, threads_for
from beltline.gpu_ref.utility import crra
from beltline.host.problem.markov import tauchen

SIZES = ((251, 51), (1_001, 21))
"""Bonds and incomes."""

ETA, SAFE, BETA, RETURN, RHO, SIGMA, SHARE = 2.0, 1.017, 0.953, 0.282, 0.945, 0.025, 0.969


@dataclass(frozen=True)
class Country:
    """Tables of the problem; ``out`` is income in default."""

    bonds: Array
    income: Array
    out: Array
    transition: Array

    @classmethod
    def of(cls, bonds: int, incomes: int) -> Country:
        logs, transition = tauchen(incomes, RHO, SIGMA)
        income = np.exp(logs)
        long_run = np.linalg.matrix_power(transition, 10_000)[0]
        return cls(np.linspace(-0.45, 0.45, bonds), income, np.minimum(income, SHARE * (long_run @ income)), transition)

    def form(self) -> Form:
        """The problem at the price of a safe bond."""
        bonds, flat = self.bonds[:, None], np.zeros((self.bonds.size, self.income.size))
        zero = self.bonds.size // 2
        out: dict[str, Any] = {"wealth": self.out + flat, "cost": flat, "low": zero, "high": zero}
        out |= {"transition": self.transition, "beta": BETA, "mix": [RETURN, 1.0 - RETURN]}
        beta: Any = BETA
        repay = Branch(
            "repay", 0, wealth=self.income + bonds, cost=bonds / SAFE + flat, transition=self.transition, beta=beta
        )
        return Form((repay, Branch("default", 0, **out), Branch("excluded", 1, **out)), ETA)

    def prices(self, defaults: Array) -> Array:
        """What a bond costs, ``(N_B, N_y)``, where ``defaults``, of the same shape, is 1 for who defaults."""
        found: Array = (1.0 - defaults @ self.transition.T) / SAFE
        return found


@njit(parallel=True, cache=True)
def _every(wealth: Array, cost: Array, ev: Array, value: Array) -> None:
    grid, states = wealth.shape
    for t in prange(grid * states):
        x, s = t // states, t % states
        best = -np.inf
        for i in range(grid):
            if cost[i, s] < wealth[x, s]:
                best = max(best, crra(wealth[x, s] - cost[i, s], ETA) + ev[s, i])
        value[x, s] = best


def by_full_search(country: Country, tol: float) -> tuple[Array, int]:
    """Value, ``(2, N_B, N_y)``, and sweeps."""
    form = country.form()
    repay, default = (one.at() for one in form.alternatives[:2] if isinstance(one, Branch))
    zero = country.bonds.size // 2
    value, cost = form.start(), repay.cost
    prices: Array | None = None
    best = np.empty(repay.wealth.shape)
    forced = np.array([crra(c, ETA) for c in country.out])
    with threads(threads_for(best.size)):
        sweeps, moved = 0, np.inf
        while moved >= tol:
            sweeps += 1
            _every(repay.wealth, np.ascontiguousarray(cost), continuation(repay, value), best)
            out = np.broadcast_to(forced + continuation(default, value)[:, zero], best.shape)
            new = np.stack([np.maximum(best, out), out])
            found = country.prices((out > best).astype(float))
            cost = found * country.bonds[:, None]
            moved = max(np.abs(new - value).max(), np.inf if prices is None else np.abs(found - prices).max())
            value, prices = new, found
    return value, sweeps


def by_brackets(country: Country, tol: float) -> tuple[Array, int]:
    """As :func:`by_full_search`."""

    def update(last: Iterate) -> Prices:
        found = country.prices((last.choice[0] == 1).astype(float))
        return Prices({"repay": {"cost": found * country.bonds[:, None]}}, found)

    solution = solve(country.form(), tol=tol, update=update)
    return solution.value, solution.sweeps


def timed(
    run: Callable[[Country, float], tuple[Array, int]], country: Country, tol: float, repeats: int
) -> tuple[float, tuple[Array, int]]:
    """Median seconds, and what the last run returned."""
    spent = []
    for _ in range(repeats):
        begin = time.perf_counter()
        found = run(country, tol)
        spent.append(time.perf_counter() - begin)
    return statistics.median(spent), found


def main(argv: list[str] | None = None) -> int:
    """Time and print; 0 where both sides have the same bits."""
    parser = argparse.ArgumentParser(prog="python -m beltline.host.bench.default_speed", description=__doc__)
    parser.add_argument("--bonds", type=int, help="bonds, in place of the sizes of the page (an odd number, from 3)")
    parser.add_argument("--incomes", type=int, default=11, help="incomes, with --bonds (default: %(default)s)")
    parser.add_argument("--tol", type=float, default=1e-8, help="largest last change (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="runs by brackets (default: %(default)s)")
    given = parser.parse_args(argv)
    if given.bonds is not None and (given.bonds < 3 or given.bonds % 2 == 0):
        parser.error(f"--bonds must be an odd number from 3, so that 0 is one of them, not {given.bonds}")
    for name, least in (("incomes", 2), ("repeats", 1)):
        if getattr(given, name) < least:
            parser.error(f"--{name} must be at least {least}, not {getattr(given, name)}")
    if not 0 < given.tol < np.inf:
        parser.error(f"--tol must be a number above 0, not {given.tol}")
    sizes = SIZES if given.bonds is None else ((given.bonds, given.incomes),)
    # What is compiled is no part of the times.
    for side in (by_brackets, by_full_search):
        side(Country.of(21, 3), 1e-2)
    same = True
    for bonds, incomes in sizes:
        country = Country.of(bonds, incomes)
        fast, (value, sweeps) = timed(by_brackets, country, given.tol, given.repeats)
        print(f"{bonds:,} x {incomes}: brackets {fast:.3f} s, {sweeps} sweeps", flush=True)
        slow, (full, others) = timed(by_full_search, country, given.tol, 1)
        equal = sweeps == others and bool((value == full).all())
        same &= equal
        print(
            f"{bonds:,} x {incomes}: full search {slow:.3f} s, {others} sweeps: {slow / fast:.1f} times as long; "
            f"{'the same bits' if equal else f'values differ by {np.abs(value - full).max():.2g}'}",
            flush=True,
        )
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
