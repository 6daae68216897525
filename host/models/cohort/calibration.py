"""Calibration of a cohort: its parameters, its Markov chain of income by age, and its problem."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from beltline.host.problem.alternative import Alternative
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, table, whole
from beltline.host.problem.grids import grid_polynomial
from beltline.host.problem.markov import rouwenhorst_by_age
from beltline.host.problem.memory import check_tables
from beltline.host.problem.model_parameters import (
    CHAIN_SIZE,
    FROM_ONE,
    FROM_ZERO,
    GRID_SIZE,
    POSITIVE,
    RATE,
    RISK_AVERSION,
    SHARE,
    count,
    number,
)  # fmt: skip
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility
from beltline.host.results.fields import Declared, parameter

ALTERNATIVES = ("live", "leave")
"""Names of the alternatives: the living consume and save, the dead leave a bequest."""

SHOCKS = np.sqrt(3.0) * np.array([-1.0, 0.0, 1.0]), np.array([1.0, 4.0, 1.0]) / 6.0
"""Nodes and weights of a standard normal variable by Gauss-Hermite quadrature, exact for polynomials up to degree 5."""

NOTHING = -1.0
"""Cash on hand of the dead. It is below every cost, so that they have no choice."""


OLDEST = 150
"""Highest age that a model can have."""


def _each(name: str, values: Any) -> tuple[float, ...]:
    return tuple(table(name, values, 1).tolist())


@dataclass(frozen=True, kw_only=True)
class Calibration(Declared):
    """Parameters of a cohort, and tables that follow from them."""

    grid: int = parameter(1000, GRID_SIZE, "Number of grid points of assets, from 2")
    states: int = parameter(7, CHAIN_SIZE, "Number of states of ``z``, 1 to ``CHAIN_LIMIT``; the shock ``e`` has three")
    first: int = parameter(21, count(0, OLDEST - 1), "First age")
    retirement: int = parameter(65, count(0, OLDEST), "Last age of work; published incomes cover ages 20 to 65")
    last: int = parameter(100, count(1, OLDEST), "Last age; published survival covers ages 20 to 100")
    income: tuple[float, ...] = parameter(..., _each, "Income without shocks at each age of work, above 0")
    survival: tuple[float, ...] = parameter(..., _each, "Probability of surviving to the next age, at most 1")
    beta: float = parameter(0.96, SHARE, "Discount factor of a year; survival is taken into account in addition")
    eta: float = parameter(2.0, RISK_AVERSION, "Relative risk aversion, above 0 and at most 16; 1 is log utility")
    interest: float = parameter(0.02, RATE, "Interest rate of a year, above -1")
    replacement: float = parameter(..., POSITIVE, "Pension, as a share of the last year's income without ``e``")
    rho: float = parameter(
        1.0, number("a number above -1 and at most 1", lambda v: -1 < v <= 1),
        "Autocorrelation of ``z``, above -1 and at most 1 (a random walk)",
    )  # fmt: skip
    sigma: float = parameter(..., POSITIVE, "Standard deviation of ``u``, above 0")
    transitory: float = parameter(..., FROM_ZERO, "Standard deviation of ``e``, from 0 (no such shock)")
    bequest: float = parameter(0.0, FROM_ZERO, "Weight of bequests in utility, from 0 (no bequest motive)")
    luxury: float = parameter(
        20.0, POSITIVE, "Amount added to bequests in their utility, above 0: the larger, the more bequests are a "
        "luxury (De Nardi 2004)",
    )  # fmt: skip
    high: float = parameter(2000.0, POSITIVE, "Highest assets of the grid, above 0", "units of the good")
    power: float = parameter(
        3.0, FROM_ONE, "Exponent of the grid's spacing, from 1; larger ones put more points near 0"
    )

    @staticmethod
    def check_ages(first: int, retirement: int, last: int) -> None:
        """Check that the last age of work is from the first age to the last."""
        whole("first", first, f"an age from 0 to {OLDEST - 1}", lambda v: 0 <= v < OLDEST)
        whole("last", last, f"an age above first = {first}, at most {OLDEST}", lambda v: first < v <= OLDEST)
        wanted = f"an age from first = {first} to last = {last}"
        whole("retirement", retirement, wanted, lambda v: first <= v <= last)

    def validate(self) -> None:
        """Check ages, income and survival by age, and that the tables fit into the memory."""
        self.check_ages(self.first, self.retirement, self.last)
        _check_ages("income", self.income, self.first, self.retirement, math.inf)
        _check_ages("survival", self.survival, self.first, self.last - 1, 1.0)
        # The dead are one state more.
        states = self.states * self.shocks[0].size + 1
        entries = self.ages * states * (3 * self.grid + 2 * states)
        check_tables(entries, grid=self.grid, states=self.states, ages=self.ages)

    @property
    def ages(self) -> int:
        """Number of ages, ``T``."""
        return self.last - self.first + 1

    @property
    def working(self) -> int:
        """Number of ages at which people work."""
        return self.retirement - self.first + 1

    @cached_property
    def assets(self) -> Array:
        """The grid of assets, ``(N_k,)``, in units of the good."""
        found = grid_polynomial(0.0, self.high, self.grid, self.power)
        found.flags.writeable = False
        return found

    @property
    def shocks(self) -> tuple[Array, Array]:
        """The transitory shock to log income and its probabilities."""
        nodes, weights = SHOCKS
        return (self.transitory * nodes, weights) if self.transitory > 0 else (np.zeros(1), np.ones(1))

    @property
    def persistent(self) -> tuple[Array, Array]:
        """The persistent part of log income, ``(ages of work, states)``, and the Markov matrix from each age of work to
        the next.
        """
        return rouwenhorst_by_age(self.states, self.rho, [self.sigma] * self.working)

    @property
    def incomes(self) -> Array:
        """Income by age and income state of the living, ``(T, N_s)``, in units of the good.

        An income state is a pair of persistent and transitory shock; the transitory one varies fastest. A retired
        person keeps the state of the last year of work, and the pension does not depend on its transitory part.
        """
        persistent, _ = self.persistent
        transitory, _ = self.shocks
        working = persistent[:, :, None] + transitory + np.log(np.array(self.income))[:, None, None]
        pension = np.log(self.replacement * self.income[-1]) + persistent[-1][:, None] + 0 * transitory
        retired = np.broadcast_to(pension, (self.ages - self.working, *pension.shape))
        found: Array = np.exp(np.concatenate([working, retired])).reshape(self.ages, -1)
        return found

    @property
    def chain(self) -> Array:
        """Markov matrix of the income states from each age to the next, given survival, ``(T - 1, N_s, N_s)``."""
        _, transition = self.persistent
        _, weights = self.shocks
        working = [np.kron(one, np.tile(weights, (weights.size, 1))) for one in transition]
        retired = np.eye(self.states * weights.size)
        return np.array(working + [retired] * (self.ages - self.working))

    @property
    def beginning(self) -> Array:
        """Probability of each income state at the first age, ``(N_s,)``, after the first persistent and transitory
        shock.
        """
        heads = [math.comb(self.states - 1, k) / 2.0 ** (self.states - 1) for k in range(self.states)]
        _, weights = self.shocks
        return np.kron(np.array(heads), weights)

    def bequest_utility(self, left: Array) -> Array:
        """Return the utility of bequests ``left``, from 0, in units of the good: ``bequest * U(luxury + left)``."""
        return self.bequest * utility(self.luxury + left, self.eta)

    def problem(self) -> Problem:
        """Return the model as a problem of the general form; its last exogenous state is that of the dead."""
        incomes, assets = self.incomes, self.assets
        ages, living = incomes.shape
        wealth = np.full((ages, self.grid, living + 1), NOTHING)
        wealth[:, :, :-1] = (1.0 + self.interest) * assets[:, None] + incomes[:, None, :]
        transition = np.zeros((ages, living + 1, living + 1))
        # At the last age survival is 0, so the transition of the living does not matter.
        survival = np.array(self.survival)[:, None, None]
        transition[:-1, :-1, :-1] = survival * self.chain
        transition[:, :-1, -1] = np.maximum(1.0 - transition[:, :-1, :-1].sum(axis=2), 0.0)
        transition[:, -1, -1] = 1.0
        left = np.full((self.grid, living + 1), -np.inf)
        left[:, -1] = self.bequest_utility((1.0 + self.interest) * assets)
        numbers = [f"{z + 1}.{e + 1}" for z in range(self.states) for e in range(living // self.states)]
        return Problem(
            grid=assets,
            wealth=wealth,
            transition=transition,
            start=np.where(np.isfinite(left), left, 0.0),
            beta=self.beta,
            eta=self.eta,
            horizon=ages,
            alternatives=[
                Alternative(name=ALTERNATIVES[0]), Alternative(name=ALTERNATIVES[1], value=left),
            ],
            name="cohort",
            asset="assets a",
            shock="income state s",
            labels=(*numbers, "dead"),
            parameters={
                "interest": self.interest, "replacement": self.replacement, "rho": self.rho, "sigma": self.sigma,
                "transitory": self.transitory, "bequest": self.bequest, "luxury": self.luxury,
            },
        )  # fmt: skip


def _check_ages(name: str, values: tuple[float, ...], begins: int, ends: int, most: float) -> None:
    """Check that there is a number above 0 and at most ``most`` for each age from ``begins`` to ``ends``."""
    if len(values) != ends - begins + 1:
        raise ProblemError(
            f"{name} must have one number for each age from {begins} to {ends}, {ends - begins + 1}, not {len(values)}"
        )
    for age, value in enumerate(values, begins):
        if not 0 < value <= most:
            wanted = "above 0" if most == math.inf else f"above 0 and at most {most:g}"
            raise ProblemError(f"{name} must be {wanted}, but at age {age} it is {value:.6g}")
