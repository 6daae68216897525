"""The search for prices at which every excess is zero: a bracket for one price, Newton's method for several."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from beltline.host.models.equilibrium.households import Period, UnsolvedError, stationary
from beltline.host.models.equilibrium.setup import Named, Setup
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.problem import Problem
from beltline.host.results.outcome import Outcome

MARKET_TOLERANCE = 1e-6
"""Largest excess of a market, in absolute value, at which it counts as cleared."""

GOAL = 1e-9
"""Excess at which the search ends; prices are then more accurate than the tolerance requires."""

NEAR = 1e-3
"""Distance from a bound, as a share of that of the guess, at which the search for a bracket ends."""

SLOPE_STEP = 1e-4
"""Relative change of prices for finite differences."""

SMALLEST_STEP = 1 / 64
"""Smallest fraction of a Newton step that is tried before the slopes are computed again."""


@dataclass(frozen=True, eq=False)
class Trial:
    """What households of each type choose at some prices, their distributions, and the markets."""

    prices: Named
    periods: tuple[Period, ...]
    masses: tuple[Array, ...]
    aggregates: Named
    excess: Array
    change: float
    sweeps: int
    timing: Mapping[str, float]

    @property
    def largest(self) -> float:
        """Largest absolute excess."""
        return float(np.abs(self.excess).max())


Start = Callable[[int, Problem, Array | None], Array]
"""Returns the value from which a type's problem is solved, given the last value between grid points, if any."""


class Search:
    """An economy at one set of prices after the other, each problem starting from the last value."""

    def __init__(
        self, setup: Setup, tol: float, start: Start, report: Callable[[str], None] | None, low: ArrayLike,
        high: ArrayLike,
    ) -> None:  # fmt: skip
        self.setup, self.trials = setup, list[Trial]()
        self._tol, self._start, self._report = tol, start, report
        self._low, self._high = np.asarray(low, float), np.asarray(high, float)
        self._last: dict[int, Array] = {}
        self._tried: dict[tuple[float, ...], Trial] = {}

    @property
    def timing(self) -> dict[str, float]:
        """Wall-clock seconds for values and distributions of all trials."""
        return {name: sum(trial.timing[name] for trial in self.trials) for name in ("values", "distributions")}

    @property
    def best(self) -> Trial:
        """The trial with the smallest excess."""
        return min(self.trials, key=lambda trial: trial.largest)

    def at(self, prices: Sequence[float] | Array) -> Trial:
        """Return the economy at these prices."""
        key = tuple(map(float, prices))
        if key not in self._tried:
            self._tried[key] = self._solved(self.setup.named(key))
            self.trials.append(self._tried[key])
        return self._tried[key]

    def _solved(self, prices: Named) -> Trial:
        setup, where, timing = self.setup, self.setup.text(prices), dict[str, float]()
        periods, masses, aggregates, most, count = list[Period](), list[Array](), Named(), 0.0, 0
        for kind, problem in enumerate(setup.problems(prices)):
            value = self._start(kind, problem, self._last.get(kind))
            period, mass, sweeps, change = stationary(problem, value, setup.choose, self._tol, where, timing)
            self._last[kind] = period.value
            periods.append(period)
            masses.append(mass)
            most, count = max(most, change), count + sweeps
            for name, table in period.amounts(prices, setup.extra).items():
                aggregates[name] = aggregates.get(name, 0.0) + float(setup.weights[kind] * (mass * table).sum())
        excess = setup.excess(aggregates, prices)
        if self._report is not None:
            found = ", ".join(f"{name} {each:+.3g}" for name, each in zip(setup.markets, excess, strict=True))
            self._report(f"steady state, step {len(self.trials) + 1}: {where}, excess of {found}")
        return Trial(prices, tuple(periods), tuple(masses), aggregates, excess, most, count, timing)

    def clear(self, guess: Sequence[float], max_steps: int) -> Trial:
        """Return the economy at the prices that clear all markets, searching from ``guess``.

        Raises
        ------
        UnsolvedError
            No such prices were found between the bounds, or a household has no solution there.
        """
        if self.at(guess).largest > GOAL:
            (self._bracketed if len(guess) == 1 else self._newton)(np.asarray(guess, float), max_steps)
        return self.best

    def _gap(self, price: float) -> float:
        """Return the excess at a price; one within ``GOAL`` is 0, which ends the search."""
        excess = float(self.at([price]).excess[0])
        if math.isnan(excess):
            raise UnsolvedError(
                Outcome.MARKET, f"At {self.setup.prices[0]} = {price:.6g} the excess of the market is not a number."
            )
        return 0.0 if abs(excess) <= GOAL else min(max(excess, -1e100), 1e100)

    def _bracketed(self, guess: Array, max_steps: int) -> None:
        """Search for a change of sign, first where the excess falls in absolute value, and then for the root."""
        first, excess = float(guess[0]), self._gap(guess[0])
        reach = [abs(bound - first) if math.isfinite(bound) else math.inf for bound in (self._low[0], self._high[0])]
        side = 1.0 if reach[1] >= reach[0] else -1.0
        probe = 0.1 * min(*reach, max(abs(first), 0.1))
        second = first + side * probe
        if np.sign(self._gap(second)) != np.sign(excess):
            return self._root(first, second, max_steps)
        if abs(self._gap(second)) > abs(excess):
            side = -side
        for turn, way in enumerate((side, -side)):
            try:
                found = self._change_of_sign(first, way, reach[way > 0], max_steps)
            except (UnsolvedError, ProblemError):
                if not turn:
                    raise
                found = None
            if found is not None:
                return self._root(*found, max_steps)
        tried = sorted((trial.prices[self.setup.prices[0]], float(trial.excess[0])) for trial in self.trials)
        (low, below), (high, above) = tried[0], tried[-1]
        name = self.setup.prices[0]
        raise UnsolvedError(
            Outcome.MARKET,
            f"No {name} was found at which the market clears: its excess is {'above' if excess > 0 else 'below'} 0 at "
            f"all {len(tried)} that were tried, from {below:.4g} at {name} = {low:.6g} to {above:.4g} at {high:.6g}.",
        )

    def _change_of_sign(self, first: float, way: float, reach: float, max_steps: int) -> tuple[float, float] | None:
        """Go from ``first`` towards a bound; return two prices between which the excess changes its sign, if any."""
        known, sign = first, np.sign(self._gap(first))
        step = 0.1 * max(abs(first), 0.1)
        for _ in range(max_steps):
            if math.isfinite(reach):
                left = reach - abs(known - first)
                if left <= NEAR * reach:
                    return None
                ahead = known + way * 0.6 * left
            else:
                ahead, step = known + way * step, 2.0 * step
            if np.sign(self._gap(ahead)) != sign:
                return known, ahead
            known = ahead
        return None

    def _root(self, one: float, other: float, max_steps: int) -> None:
        low, high = min(one, other), max(one, other)
        width = 1e-11 * max(abs(low), abs(high), 1e-2)
        if self._gap(low) and self._gap(high):
            brentq(self._gap, low, high, xtol=width, rtol=8.9e-16, maxiter=max(max_steps, 100), disp=False)
        name, best = self.setup.prices[0], self.best
        if best.largest <= MARKET_TOLERANCE:
            return
        at = [(trial.prices[name], float(trial.excess[0])) for trial in self.trials]
        near = sorted(at, key=lambda pair: abs(pair[0] - best.prices[name]))
        other_side = next(pair[1] for pair in near if pair[1] * best.excess[0] < 0)
        raise UnsolvedError(
            Outcome.MARKET,
            f"The market does not clear: at {name} = {best.prices[name]:.6g} its excess jumps from "
            f"{best.excess[0]:+.3g} to {other_side:+.3g}, so that no {name} clears it{self._smooth()}.",
        )

    def _newton(self, prices: Array, max_steps: int) -> None:
        """Find several prices by Newton's method with Broyden's updates of the slopes."""
        best = self.at(prices)
        slopes, fresh = self._slopes(prices, best), True
        for _ in range(max_steps):
            step: Array = np.asarray(np.linalg.lstsq(slopes, -best.excess, rcond=None)[0], np.float64)
            found, share = None, self._inside(prices, step)
            while found is None and share >= SMALLEST_STEP * self._inside(prices, step):
                try:
                    found = self.at(prices + share * step)
                except (UnsolvedError, ProblemError):
                    found = None
                if found is None or not found.largest < best.largest:
                    found, share = None, share / 2
            if found is None:
                if fresh:
                    break
                slopes, fresh = self._slopes(prices, best), True
                continue
            taken = share * step
            change = found.excess - best.excess - slopes @ taken
            slopes, fresh = slopes + np.outer(change, taken) / (taken @ taken), False
            prices, best = prices + taken, found
            if best.largest <= GOAL:
                return
        if best.largest <= MARKET_TOLERANCE:
            return
        worst, at = int(np.abs(best.excess).argmax()), self.setup.text(best.prices)
        raise UnsolvedError(
            Outcome.MARKET,
            f"The markets do not clear: after {len(self.trials)} sets of prices the smallest excess is "
            f"{best.excess[worst]:+.3g}, of {list(self.setup.markets)[worst]!r}, at {at}, and no step from there "
            f"reduces it: no prices near the guess may clear all markets, or choices jump there{self._smooth()}.",
        )

    def _smooth(self) -> str:
        """Return what to do if households jump from one alternative to another."""
        jumps = any(len(each.problem.alternatives) > 1 and each.problem.taste == 0 for each in self.best.periods)
        return ": households jump between alternatives, so raise taste above 0" if jumps else ""

    def _inside(self, prices: Array, step: Array) -> float:
        """Return the largest fraction of a step, at most 1, after which prices are between their bounds."""
        room = np.where(step > 0, self._high - prices, prices - self._low)
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(min(1.0, np.nanmin(np.where(step != 0, 0.9 * room / np.abs(step), np.inf))))

    def _slopes(self, prices: Array, at: Trial) -> Array:
        """Return the derivatives of every excess with respect to every price, by differences."""
        slopes = np.empty((at.excess.size, prices.size))
        for k, price in enumerate(prices):
            size = SLOPE_STEP * max(abs(price), 1e-2)
            size = min(size, 0.1 * (self._high[k] - price)) or size
            other = prices.copy()
            other[k] += size
            slopes[:, k] = (self.at(other).excess - at.excess) / size
        return slopes
