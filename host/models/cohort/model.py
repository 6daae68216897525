"""A life-cycle model of a cohort: work, retirement and death, with income risk and survival by age."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.host.analysis.policy import followed_by_age, policy_of
from beltline.host.models.base import AgedModel
from beltline.host.models.cohort.paths import Paths, summary
from beltline.host.models.cohort.published import EDUCATION, life_table
from beltline.host.models.model_result import SolutionResult, reading
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
    fixed,
    number,
    one_of,
)  # fmt: skip
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility
from beltline.host.results.fields import Declared, parameter
from beltline.host.results.outcome import GRID_END_SHARE
from beltline.host.results.result import Result

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


SHARES = (0.1, 0.5, 0.9)
"""Default percentiles of :meth:`CohortResult.paths`."""


@dataclass(frozen=True, eq=False, repr=False)
class CohortResult(SolutionResult):
    """Value and choices at every age, and the distribution of the cohort by age.

    Arrays are float64 unless noted, ``(T, N_k, N_s)``: ages, the first one first, assets, and income states of the
    living. An income state is a pair of persistent and transitory shock; the transitory one varies fastest.

    ``model`` is the :class:`~beltline.host.models.cohort.model.Cohort` that was solved, and ``solution`` the
    :class:`~beltline.Result` of its problem: the last exogenous state is that of the dead.

    Examples
    --------
    >>> import beltline as bl
    >>> people = bl.solve(bl.cohort(grid=60, states=3), progress=False)
    >>> people.success, people.consumption.shape == people.distribution.shape
    (True, True)
    """

    archive_kind: ClassVar[str] = "cohort"
    figures: ClassVar[dict[str, str]] = {
        "paths": "means of income, consumption and assets by age, and the range from percentile 10 to 90",
        "inequality": "variances of log income and log consumption, and Gini coefficient of assets, by age",
        "policy": "consumption by assets at four ages",
    }

    model: Cohort
    solution: Result

    @property
    def ages(self) -> NDArray[np.int64]:
        """Ages in years, ``(T,)``."""
        return np.arange(self.model.first, self.model.last + 1)

    @property
    def assets(self) -> Array:
        """The grid of assets, ``(N_k,)``, in units of the good."""
        return self.model.assets

    @property
    def income(self) -> Array:
        """Income by age and income state, ``(T, N_s)``, in units of the good."""
        return self.model.incomes

    @property
    def value(self) -> Array:
        """Value of the living, in units of utility."""
        return self.solution.tables.value[:, 0, :, :-1]

    @property
    def policy(self) -> NDArray[np.int32]:
        """Index of the assets that are chosen for the next age, int32."""
        return self.solution.tables.policy[:, 0, :, :-1]

    @property
    def next_assets(self) -> Array:
        """Assets that are chosen for the next age, in units of the good."""
        return self.assets[self.policy]

    @property
    def consumption(self) -> Array:
        """Consumption, in units of the good."""
        return np.asarray(self.solution.problem.wealth[:, :, :-1] - self.next_assets)

    @cached_property
    def distribution(self) -> Array:
        """Share of the cohort in each state by age; the sum over states is the share that is alive."""
        policies = [policy_of(self.solution, age) for age in range(len(self.ages))]
        mass = np.zeros((1, self.model.grid, self.solution.problem.states))
        mass[0, 0, :-1] = self.model.beginning
        return np.stack([each[0, :, :-1] for each in followed_by_age(policies, mass)])

    @property
    def alive(self) -> Array:
        """Share of the cohort that is alive, by age, ``(T,)``."""
        return self.distribution.sum(axis=(1, 2))

    @property
    def bequests(self) -> Array:
        """Mean bequest of those who die at the end of each age, ``(T,)``, with interest, in units of the good."""
        saved = (self.distribution * self.next_assets).sum(axis=(1, 2)) / self.alive
        return np.asarray((1.0 + self.model.interest) * saved)

    @property
    def mean_bequest(self) -> float:
        """Mean bequest of the whole cohort, over all ages of death, in units of the good."""
        return float(-np.diff(self.alive, append=0.0) @ self.bequests)

    def paths(self, shares: Sequence[float] = SHARES) -> Paths:
        """Return means, percentiles and inequality of the living by age.

        The distribution of the cohort is computed from age to age with the policy and the Markov chain; there is no
        sampling error.

        Parameters
        ----------
        shares : sequence of float
            Percentiles to compute, from 0 to 1; 0.5 is the median.

        Returns
        -------
        Paths

        Raises
        ------
        ProblemError
            A number in ``shares`` is not from 0 to 1.
        """
        wanted = table("shares", shares, 1)
        for share in wanted.tolist():
            if not 0 <= share <= 1:
                raise ProblemError(f"shares must be from 0 to 1, not {share:.6g}")
        shape = self.policy.shape
        assets = np.broadcast_to(self.assets[:, None], shape)
        tables = {
            "income": np.broadcast_to(self.income[:, None, :], shape),
            "consumption": self.consumption,
            "assets": assets,
            "saving": self.next_assets - assets,
        }
        people = f"{self.model.first} to {self.model.last}, {self.model.grid:,} grid points"
        title = f"Paths of a cohort, ages {people}{'' if self.success else f' ({self.status})'}"
        return summary(self.ages, self.distribution, tables, wanted, title)

    @property
    def at_limit(self) -> Array:
        """Share of the living who choose zero assets, by age, ``(T,)``."""
        return np.asarray((self.distribution * (self.policy == 0)).sum(axis=(1, 2)) / self.alive)

    @property
    def at_top(self) -> float:
        """Share of all years of life in which the highest assets are chosen; if it is not small, raise ``high``."""
        highest = self.policy == self.model.grid - 1
        return float((self.distribution * highest).sum() / self.distribution.sum())

    @property
    def _flaw(self) -> str:
        if self.at_top <= GRID_END_SHARE:
            return ""
        return (
            f"In {self.at_top:.2%} of all years of life the highest assets, {self.model.high:g}, are chosen, and "
            f"at most {GRID_END_SHARE:.2%} are allowed: raise high."
        )

    def _title(self) -> str:
        model = self.model
        size = f"{model.grid:,} grid points x {model.ages} ages x {self.policy.shape[2]} states"
        return f"A cohort from age {model.first} to {model.last}, {size}, on device {self.solution.device}"

    def _rows(self) -> list[tuple[str, str]]:
        return [self._bound(), *(self._lives() if self.solution.success else []), *self._spent()]

    def _lives(self) -> list[tuple[str, str]]:
        """Return the rows of the report on the cohort."""
        paths, model = self.paths(), self.model
        income, consumption, assets = (paths.mean[name] for name in ("income", "consumption", "assets"))
        work = model.working
        years = float((self.alive * self.ages).sum() / self.alive.sum())
        bound = float(self.at_limit @ self.alive / self.alive.sum())
        return [
            ("income", f"highest at {self.ages[income[:work].argmax()]}, mean {income[:work].max():.2f}; at the last "
                       f"age of work, {model.retirement}, {income[work - 1]:.2f}"),
            ("consumption", f"highest at {self.ages[consumption.argmax()]}, mean {consumption.max():.2f}"),
            ("assets", f"highest at {self.ages[assets.argmax()]}, mean {assets.max():.2f}, "
                       f"{assets.max() / income[:work].mean():.2f} years of mean income of work"),
            ("bequests", f"mean {self.mean_bequest:.2f} of the whole cohort"),
            ("constraint", f"binds in {bound:.1%} of all years of life; mean age {years:.1f}"),
            ("top of grid", f"chosen in a share of {self.at_top:.2g} of these years (at most {GRID_END_SHARE:g})"),
        ]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Cohort(Declared, AgedModel[CohortResult]):
    """The life cycle of a cohort: income risk while working, a pension, and death at an uncertain age.

    A person of age ``t`` with assets ``a >= 0`` and income state ``s`` solves::

        V_t(a, s) = max over a' >= 0 of  U((1 + interest) a + y_t(s) - a')
                    +  beta (survival_t E[V_(t+1)(a', s') | s] + (1 - survival_t) bequest U(luxury + (1 + interest) a'))

    with CRRA utility. While the person works, ``ln y_t = ln income_t + z_t + e_t`` with ``z_t = rho z_(t-1) + u_t``,
    ``u_t ~ N(0, sigma**2)`` and ``e_t ~ N(0, transitory**2)``. After retirement ``y_t`` is ``replacement`` times the
    last year's income without ``e``. Everybody starts without assets and dies at the age ``last`` at the latest.
    Rouwenhorst's method discretises ``z``, with a grid for each age.

    ``bl.solve`` returns a :class:`~beltline.CohortResult` with choices and distribution by age, without simulation.
    Income and survival default to Cocco, Gomes and Maenhout (2005), in thousands of dollars of 1992; no portfolios.

    :func:`beltline.cohort` makes it, with published income and survival where they are not given.

    Raises
    ------
    ProblemError
        An argument is out of range, or the tables do not fit into the memory of this computer.

    Sources
    -------
    Cocco, Gomes and Maenhout (2005), Review of Financial Studies 18(2), 491-533. De Nardi (2004), Review of Economic
    Studies 71(3), 743-768. Fella, Gallipoli and Pan (2019), Review of Economic Dynamics 34, 183-201.

    Examples
    --------
    >>> import beltline as bl
    >>> people = bl.solve(bl.cohort(grid=60, states=3), progress=False)
    >>> people.paths().mean["assets"].shape
    (80,)
    """

    kinds: ClassVar[tuple[str, ...]] = tuple(CohortResult.figures)
    called: ClassVar[str] = "a cohort"
    solution: ClassVar[Any] = CohortResult

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
        return fixed(grid_polynomial(0.0, self.high, self.grid, self.power))

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
        return np.exp(np.concatenate([working, retired])).reshape(self.ages, -1)

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


def cohort(
    grid: int = 1000,
    states: int = 7,
    education: str = "high school",
    first: int = 21,
    retirement: int = 65,
    last: int = 100,
    *,
    income: ArrayLike | None = None,
    survival: ArrayLike | None = None,
    **parameters: Any,
) -> Cohort:
    """Set up a :class:`~beltline.host.models.cohort.model.Cohort`, with published income and survival.

    Parameters
    ----------
    grid, states, first, retirement, last
        As of :class:`~beltline.host.models.cohort.model.Cohort`.
    education : str
        Whose income: ``"no high school"``, ``"high school"`` or ``"college"``.
    income : (retirement - first + 1,) array, optional
        Income without shocks at each age of work; by default that of ``education``.
    survival : (last - first,) array, optional
        Probability of surviving to the next age; by default of Cocco, Gomes and Maenhout (2005).
    **parameters
        The other parameters of a cohort; ``replacement``, ``sigma`` and ``transitory`` are by default those of
        ``education``.

    Raises
    ------
    ProblemError
        An argument is out of range, or the tables do not fit into the memory of this computer.

    Examples
    --------
    >>> import beltline as bl
    >>> bl.cohort(grid=60, education="college").replacement
    0.9389
    """
    process = EDUCATION[one_of(EDUCATION)("education", education)]
    ages: dict[str, Any] = {"first": first, "retirement": retirement, "last": last}
    Cohort.check_ages(**ages)
    published: dict[str, Any] = {
        "survival": life_table(first, last) if survival is None else survival,
        "income": process.published(first, retirement) if income is None else income,
        "replacement": process.replacement,
        "sigma": math.sqrt(process.permanent),
        "transitory": math.sqrt(process.transitory),
    }
    given = {name: value for name, value in parameters.items() if value is not None}
    return Cohort(grid=grid, states=states, **ages, **published | given)


read = reading(CohortResult, Cohort)
