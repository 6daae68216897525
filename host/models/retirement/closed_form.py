"""Closed-form solution of the retirement model with log utility, for any wealth.

Without taste shocks a worker decides once for how many more periods ``n`` to work, because retirement is permanent.
Given ``n``, the choice of consumption without borrowing is a concave problem with a unique solution. Its value at age
``t`` and wealth ``M`` is ``a ln(M + d) + v`` on each of a few intervals of wealth, and consumption there is
``(M + d) / a``. If the value one age later, with one wage more and ``n - 1``, is ``a ln(M' + d) + v``, then the Euler
equation ``M' + d = beta R a c`` and the budget ``M' = R (M - c) + y`` imply the new ``a``, ``d`` and ``v``:

    1 + beta a,    (d + y) / R,    beta v + beta a ln(beta R a / (1 + beta a)) - ln(1 + beta a)

for wealth from ``(max(M', y) - y) / R + (max(M', y) + d) / (beta R a)``, where ``M'`` is the lower end of the interval.
Below the lowest of these wealths nothing is saved: consumption is ``M`` and the value is ``ln M + beta V(y)``. A
retired person has a single interval with ``d = 0``. The worker's value is the maximum over ``n``, and consumption jumps
down where the best ``n`` falls. The solution is exact up to rounding; no grid is involved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from beltline.host.problem.arrays import Array

RICHEST = 1e9
"""Highest wealth, in multiples of the wage, at which an indifferent worker is searched for."""


@dataclass(frozen=True, eq=False)
class Piecewise:
    """The value ``weight ln(M + shift) + level`` for a given number of periods of work, on intervals of wealth ``M``.

    ``begins`` are their lower ends, the first 0.
    """

    begins: Array
    weight: Array
    shift: Array
    level: Array

    def value(self, wealth: Array) -> Array:
        """Return the value at each wealth above 0, in units of utility."""
        k = self._intervals(wealth)
        return self.weight[k] * np.log(wealth + self.shift[k]) + self.level[k]

    def consumption(self, wealth: Array) -> Array:
        """Return consumption at each wealth above 0, in units of the good."""
        k = self._intervals(wealth)
        return (wealth + self.shift[k]) / self.weight[k]

    def _intervals(self, wealth: Array) -> NDArray[np.intp]:
        return np.searchsorted(self.begins, wealth, side="right") - 1

    def before(self, beta: float, gross: float, wage: float) -> Piecewise:
        """Return the value one age earlier, with one more period of work."""
        reached = np.append(self.begins[1:], math.inf) > wage
        begins, a, d, v = (table[reached] for table in (self.begins, self.weight, self.shift, self.level))
        ahead = np.maximum(begins, wage)
        weight = 1.0 + beta * a
        level = beta * v + beta * a * np.log(beta * gross * a / weight) - np.log(weight)
        least = float(self.value(np.array([wage]))[0])
        return Piecewise(
            begins=np.append(0.0, (ahead - wage) / gross + (ahead + d) / (beta * gross * a)),
            weight=np.append(1.0, weight),
            shift=np.append(0.0, (d + wage) / gross),
            level=np.append(beta * least, level),
        )

    def retired_before(self, beta: float, gross: float) -> Piecewise:
        """Return the value one age earlier for a person who is retired at both ages."""
        a, v = self.weight, self.level
        weight = 1.0 + beta * a
        level = beta * v + beta * a * np.log(beta * gross * a / weight) - np.log(weight)
        return Piecewise(self.begins, weight, self.shift, level)


@dataclass(frozen=True)
class ClosedForm:
    """Closed-form solution of the retirement model without taste shocks, for any wealth above 0 and any age.

    Ages are counted from 1. Arrays of wealth may have any shape; methods return arrays of the same shape.

    Parameters
    ----------
    ages : int
        Number of ages.
    wage : float
        Wage of one age, paid at the next, in units of the good.
    disutility : float
        Disutility of working at one age, in units of utility.
    beta : float
        Discount factor from age to age.
    interest : float
        Interest rate from age to age.

    Examples
    --------
    >>> life = ClosedForm(ages=20, wage=20.0, disutility=1.0, beta=0.98, interest=0.0)
    >>> round(life.threshold(1), 4)
    322.4923
    >>> int(life.periods(1, 200.0))
    10
    """

    ages: int
    wage: float
    disutility: float
    beta: float
    interest: float = 0.0

    @cached_property
    def _plans(self) -> list[list[Piecewise]]:
        """Values by age, the last age first, and by number of periods of work."""
        one = np.ones(1)
        last = [Piecewise(0 * one, one, 0 * one, 0 * one)]
        found = [last]
        gross = 1.0 + self.interest
        for _ in range(self.ages - 1):
            after = found[-1]
            found.append(
                [after[0].retired_before(self.beta, gross)]
                + [plan.before(self.beta, gross, self.wage) for plan in after]
            )
        return found

    def _of(self, age: int) -> list[Piecewise]:
        if not 1 <= age <= self.ages:
            raise ValueError(f"age must be from 1 to {self.ages}, not {age}")
        return self._plans[self.ages - age]

    def _cost(self, periods: int) -> float:
        """Return the disutility of a number of periods of work from now on."""
        return self.disutility * math.fsum(self.beta**i for i in range(periods))

    def values(self, age: int, wealth: ArrayLike) -> Array:
        """Return a worker's values of working for 0, 1, ... more periods, ``(ages - age + 1, ...)``, in utility.

        Raises
        ------
        ValueError
            ``age`` is not from 1 to ``ages``.
        """
        given = np.asarray(wealth, np.float64)
        return np.stack([plan.value(given) - self._cost(n) for n, plan in enumerate(self._of(age))])

    def value(self, age: int, wealth: ArrayLike) -> Array:
        """Return the value of a worker, in units of utility."""
        return self.values(age, wealth).max(axis=0)

    def retired_value(self, age: int, wealth: ArrayLike) -> Array:
        """Return the value of a retired person, in units of utility."""
        return self._of(age)[0].value(np.asarray(wealth, np.float64))

    def periods(self, age: int, wealth: ArrayLike) -> NDArray[np.intp]:
        """Return how many more periods a worker works, this one included; 0 if the worker retires now."""
        return self.values(age, wealth).argmax(axis=0)

    def consumption(self, age: int, wealth: ArrayLike) -> Array:
        """Return the consumption of a worker, in units of the good."""
        given = np.asarray(wealth, np.float64)
        each = np.stack([plan.consumption(given) for plan in self._of(age)])
        return np.take_along_axis(each, self.periods(age, given)[None], axis=0)[0]

    def retired_consumption(self, age: int, wealth: ArrayLike) -> Array:
        """Return the consumption of a retired person, in units of the good."""
        return self._of(age)[0].consumption(np.asarray(wealth, np.float64))

    def kinks(self, age: int) -> Array:
        """Return the wealths, increasing, at which a worker's consumption has a kink but no jump.

        Above each of them the worker saves, without a binding constraint, for more of the following ages.
        """
        jumps = self.jumps(age)
        ends = [*[wealth for wealth, _ in jumps], math.inf]
        below, found = 0.0, []
        for end in ends:
            inside = 0.5 * (below + end) if math.isfinite(end) else below + self.wage
            plan = self._of(age)[int(self.periods(age, inside))]
            found += [begin for begin in plan.begins[1:].tolist() if below < begin < end]
            below = end
        return np.array(found)

    def jumps(self, age: int) -> list[tuple[float, int]]:
        """Return the wealths, increasing, at which a worker's consumption jumps, and the periods of work above each."""
        plans = self._of(age)
        found: list[tuple[float, int]] = []
        above = 0
        # From the highest wealth down: poorer workers work longer.
        while True:
            nearest = [(self._indifferent(plans, above, n), n) for n in range(above + 1, len(plans))]
            wealth, longer = max(nearest, default=(0.0, above))
            if wealth <= 0.0:
                return found[::-1]
            found.append((wealth, above))
            above = longer

    def _indifferent(self, plans: list[Piecewise], fewer: int, more: int) -> float:
        """Return the wealth at which both numbers of periods have the same value; 0 if fewer are always better."""
        cost = self._cost(more) - self._cost(fewer)

        def gain(log_wealth: float) -> float:
            wealth = np.exp(np.array([log_wealth]))
            return float((plans[fewer].value(wealth) - plans[more].value(wealth))[0]) + cost

        low, high = math.log(self.wage / RICHEST), math.log(self.wage * RICHEST)
        if gain(low) >= 0.0:
            return 0.0
        if gain(high) < 0.0:
            return math.inf
        return math.exp(brentq(gain, low, high, xtol=1e-15, rtol=8.9e-16))

    def threshold(self, age: int) -> float:
        """Return the wealth from which a worker retires, in units of the good; 0 if workers retire at any wealth."""
        jumps = self.jumps(age)
        return jumps[-1][0] if jumps else 0.0
