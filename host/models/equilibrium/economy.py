"""The stationary equilibrium of an economy of any household: ``bl.equilibrium`` and its result."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from beltline.gpu_ref.timing import timed
from beltline.host.analysis.inequality import gini, lorenz
from beltline.host.models.equilibrium.households import METHODS, Period, UnsolvedError
from beltline.host.models.equilibrium.search import MARKET_TOLERANCE, Search, Trial
from beltline.host.models.equilibrium.setup import Named, Setup, numbers, setup_of
from beltline.host.models.model_result import SearchResult, reading
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, check_progress, real, shown, whole
from beltline.host.problem.concavity import concave_majorant
from beltline.host.problem.model_parameters import POSITIVE
from beltline.host.problem.problem import Problem
from beltline.host.results.facts import ANY_NUMBER, COUNT, SECONDS, TEXT, TEXTS, Rule
from beltline.host.results.fields import Declared, array, contained, fact
from beltline.host.results.outcome import GRID_END_SHARE, Outcome
from beltline.host.results.result import Result
from beltline.host.solver.solve import solve
from beltline.sim.progress import reporting

NUMBERS_BY_NAME = Rule(
    "an object with a number under each name",
    lambda v: isinstance(v, dict) and all(TEXT.holds(name) and ANY_NUMBER.holds(each) for name, each in v.items()),
)


@dataclass(frozen=True, eq=False)
class Inputs(Declared):
    """What is known of an economy beside its functions, which are not saved."""

    prices: tuple[str, ...] = fact(TEXTS, "Names of the prices")
    markets: tuple[str, ...] = fact(TEXTS, "Names of the markets")
    given: dict[str, float] = fact(NUMBERS_BY_NAME, "Numbers that were given by name")
    method: str = fact(TEXT, "How households choose, ``cubics`` or ``egm``")


@dataclass(frozen=True, eq=False, repr=False)
class MarketEquilibrium(SearchResult):
    """An economy at the prices that clear its markets; :func:`beltline.equilibrium` returns it.

    ``household`` is the :class:`~beltline.Result` of the household's problem at these prices with choices from the
    grid, which is verified. Aggregates and the distribution follow from ``continuous_choice``. It is solved if both
    are, the stationary distribution is unique, every excess is at most 1e-6 in absolute value, and at most a share of
    :data:`~beltline.host.results.outcome.GRID_END_SHARE` chooses the highest grid point.
    Numbers and arrays are nan if no household could be solved.
    """

    archive_kind: ClassVar[str] = "equilibrium"
    names: ClassVar[tuple[str, str]] = ("model", "household")
    figures: ClassVar[dict[str, str]] = {
        "distribution": "distribution of the endogenous state",
        "policy": "value and policy of the household",
    }

    model: Inputs
    household: Result = contained()
    prices: dict[str, float] = fact(NUMBERS_BY_NAME, "Prices by name")
    aggregates: dict[str, float] = fact(NUMBERS_BY_NAME, "Means over all households by name")
    excess: dict[str, float] = fact(NUMBERS_BY_NAME, "Excess of each market by name")
    continuous_value: Array = array(
        "regime?", "x", "state", text="Value of the choices between grid points", unit="units of utility"
    )
    continuous_choice: Array = array(
        "alternative?", "x", "state", text="Choices between grid points; nan without one", unit="units of the good"
    )
    distribution: Array = array("regime?", "x", "state", text="Share of households in each state; adds up to 1")
    tried: Array = array("step", "price", text="Prices that were tried")
    excesses: Array = array("step", "market", text="Excess of each market at these prices")
    residual: float = fact(ANY_NUMBER, "Largest change of a value between grid points in the last sweep", "utility")
    sweeps: int = fact(COUNT, "Number of sweeps that maximise, at all prices")
    timing: dict[str, float] = fact(SECONDS, "Wall-clock time of the host computer by part of the search", "seconds")
    probability: Array | None = array(
        "alternative", "x", "state", text="Probability of each alternative in its regime", optional=True
    )

    @property
    def method(self) -> str:
        """How households choose."""
        return METHODS[self.model.method][1]

    @property
    def steps(self) -> int:
        """Number of sets of prices that were tried."""
        return int(self.tried.shape[0])

    @property
    def at_top(self) -> float:
        """Share of households that choose the highest grid point; if it is not small, the grid is too short."""
        known = self.household.problem, self.continuous_value, self.continuous_choice, self.probability
        return Period.known(*known).at_top(self.distribution)

    @property
    def gini(self) -> float:
        """Gini coefficient of the endogenous state, which must be at least 0."""
        return gini(self.household.problem.grid, self._by_point)

    def lorenz(self) -> tuple[Array, Array]:
        """Return the Lorenz curve of the endogenous state in the form of :func:`beltline.lorenz`."""
        return lorenz(self.household.problem.grid, self._by_point)

    @property
    def _by_point(self) -> Array:
        """Share of households at each grid point, ``(N_k,)``."""
        problem = self.household.problem
        return self.distribution.reshape(-1, problem.points, problem.states).sum(axis=(0, 2))

    def _title(self) -> str:
        return f"Equilibrium of {self.household.problem.name}, {self.household.problem.size}"

    def _rows(self) -> list[tuple[str, str]]:
        def listed(numbers: Mapping[str, float], form: str) -> str:
            return ", ".join(f"{name} {value:{form}}" for name, value in numbers.items())

        household = self.household
        rows = [("prices", listed(self.prices, ".6g"))]
        rows += [("given", listed(self.model.given, ".6g"))] * bool(self.model.given)
        return [
            *rows,
            ("aggregates", listed(self.aggregates, ".6g")),
            ("excess", f"{listed(self.excess, '+.1e')} (at most {MARKET_TOLERANCE:g} in absolute value)"),
            ("top of grid", f"chosen by a share of {self.at_top:.2g} (at most {GRID_END_SHARE:g})"),
            ("choices", f"{self.method}; last change {self.residual:.1e}"),
            ("on the grid", f"{household.status}: max |V - V*| <= {household.error_bound:.3g}"),
            ("steps", f"{self.steps} sets of prices, {self.sweeps} sweeps"),
        ]

    @classmethod
    def _problem_of(cls, model: Any) -> None:
        return None


def verdict(trial: Trial, setup: Setup, grid_result: Result | None = None) -> tuple[Outcome, str]:
    """Return how the search for prices ended, given that it found some, and the message."""
    if grid_result is not None and not grid_result.success:
        return Outcome.HOUSEHOLD, f"The problem of a household was not solved: {grid_result.message}"
    if not trial.largest <= MARKET_TOLERANCE:
        return Outcome.MARKET, (
            f"At {setup.text(trial.prices)} the excess of a market is {trial.largest:.3g}, and at most "
            f"{MARKET_TOLERANCE:g} is allowed: lower tol, or raise grid."
        )
    each = zip(setup.weights, trial.masses, trial.periods, strict=True)
    top = sum(float(weight) * period.at_top(mass) for weight, mass, period in each)
    if top > GRID_END_SHARE:
        problem = trial.periods[0].problem
        return Outcome.GRID, (
            f"{top:.2%} of households choose the highest {problem.asset_name}, "
            f"{problem.grid[-1]:g}, and at most {GRID_END_SHARE:.2%} may: raise high."
        )
    clear = "The market clears" if trial.excess.size == 1 else "All markets clear"
    return Outcome.SOLVED, f"{clear} at {setup.text(trial.prices)}, with an excess of at most {trial.largest:.1e}."


def equilibrium(
    household: Callable[[Any], Problem],
    markets: Callable[[Any, Any], float] | Mapping[str, Callable[[Any, Any], float]],
    guess: Mapping[str, float],
    *,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    given: Mapping[str, float] | None = None,
    variables: Callable[[Any, Problem, Array], Mapping[str, Array]] | None = None,
    method: str = "cubics",
    tol: float = 1e-10,
    max_steps: int = 100,
    progress: Any = None,
    **more: Any,
) -> MarketEquilibrium:
    """Find the prices at which an economy of any household is in a stationary equilibrium.

    At each set of prices the household's problem is solved with choices between grid points, its stationary
    distribution is computed with lotteries over the two points around a choice, and the markets are evaluated. One
    price is found by Brent's method, several by Newton's method with Broyden's updates.

    Parameters
    ----------
    household : function
        Takes prices (``prices.interest`` is ``prices["interest"]``), and returns a :class:`Problem` with an infinite
        horizon, which no alternative ends.
    markets : function, or dict of functions
        Each takes aggregates and prices, and returns the excess of a market, 0 in equilibrium, in any unit; a share of
        demand is a good choice, since 1e-6 is allowed. Aggregates are the means over all households of what
        :meth:`beltline.Result.variables` has (such as ``aggregates.consumption``), of the endogenous state under its
        name (``aggregates.assets`` if ``asset`` is ``"assets a"``), of the choice (``aggregates.next_assets``), of
        ``variables``, and, under the name of each of several alternatives, the share that takes it. There must be one
        market for each price.
    guess : dict of float
        First guess of each price by name.
    bounds : dict of (float, float), optional
        Bounds of prices, outside which none is tried; by default prices have no bounds.
    given : dict of float, optional
        Other numbers that ``household`` and ``markets`` read from their prices, such as productivity, which
        :func:`beltline.transition` can change.
    variables : function, optional
        Takes prices, the problem and the choices, ``(N_k, N_z)``, with several alternatives ``(N_d, N_k, N_z)`` and nan
        where one cannot be taken, and returns a dict of more tables of this shape.
    method : str
        ``"cubics"`` (default): choices by an exact search over the whole grid, with the next value as a monotone cubic
        between grid points. ``"egm"``: choices by the Euler equation, for problems with ``marginal_wealth`` whose value
        is concave; faster and less accurate.
    tol, max_steps
        Tolerance of the values between grid points, in units of utility; largest number of steps of the search, from 1.
    progress
        As in :func:`beltline.solve`.
    **more
        Options of :func:`beltline.solve` for the problem on the grid, which is solved at the guess and, verified, at
        the prices that were found.

    Returns
    -------
    MarketEquilibrium
        ``success`` is false, and ``message`` gives the reason, if no prices clear the markets, the excess jumps over 0,
        or a household has no solution.

    Raises
    ------
    ProblemError
        An argument is wrong, or a function does not return what it should.

    Sources
    -------
    Aiyagari (1994), "Uninsured idiosyncratic risk and aggregate saving", Quarterly Journal of Economics 109(3),
    659-684. Young (2010), "Solving the incomplete markets model with aggregate uncertainty using the Krusell-Smith
    algorithm and non-stochastic simulations", Journal of Economic Dynamics and Control 34(1), 36-41. Broyden (1965), "A
    class of methods for solving nonlinear simultaneous equations", Mathematics of Computation 19(92), 577-593.

    Examples
    --------
    An economy without capital (Huggett 1993): the interest rate at which households lend as much as they borrow.

    >>> import numpy as np
    >>> import beltline as bl
    >>> grid, income = np.linspace(-1.0, 8.0, 120), np.array([0.5, 1.5])
    >>> def household(p):
    ...     return bl.Problem(grid=grid, wealth=(1 + p.interest) * grid[:, None] + income, asset="assets a",
    ...                       transition=[[0.8, 0.2], [0.2, 0.8]], beta=0.93, eta=2.0)
    >>> found = bl.equilibrium(household, lambda a, p: a.assets, {"interest": 0.02},
    ...                        bounds={"interest": (-0.2, 1 / 0.93 - 1)}, progress=False)
    >>> found.success, bool(found.prices["interest"] < 1 / 0.93 - 1)
    (True, True)
    """
    check_progress(progress)
    first = numbers("guess", guess)
    if not first:
        raise ProblemError("guess must have a first guess of at least one price, and is empty")
    setup = setup_of(household, markets, tuple(first), given, variables, method)
    low, high = _bounds(first, bounds)
    tol = float(POSITIVE("tol", tol))
    max_steps = whole("max_steps", max_steps, "a whole number from 1 to 10000", lambda v: 1 <= v <= 10_000)
    timing: dict[str, float] = {}
    with reporting(progress) as report:

        def on_grid(problem: Problem, verify: bool) -> Result:
            with timed(timing, "grid"):
                return solve(problem, progress=False, **{"verify": verify} | more)

        result = on_grid(setup.problems(setup.named(list(first.values())))[0], False)

        def start(kind: int, problem: Problem, last: Array | None) -> Array:
            return result.value if last is None else last

        search = Search(setup, tol, start, report, low, high)
        status, message = Outcome.SOLVED, ""
        try:
            if not np.isfinite(result.value).all():
                raise UnsolvedError(Outcome.HOUSEHOLD, f"The problem of a household was not solved: {result.message}")
            search.clear(list(first.values()), max_steps)
        except UnsolvedError as ended:
            status, message = ended.status, str(ended)
        if search.trials:
            result = on_grid(_begun(search.best.periods[0]), True)
    if not message:
        status, message = verdict(search.best, setup, result)
    return _result(setup, search, first, result, (status, message), timing)


def _begun(period: Period) -> Problem:
    """Return the problem of a period with its value as the start, which must be concave for the simple form."""
    problem, value = period.problem, period.value
    return replace(problem, start=value if problem.general else concave_majorant(value, problem.grid))


def _bounds(first: Named, bounds: Mapping[str, tuple[float, float]] | None) -> tuple[Array, Array]:
    """Return lower and upper bounds of prices, after checking that guesses are between them."""
    low, high = np.full(len(first), -np.inf), np.full(len(first), np.inf)
    if bounds is not None and not isinstance(bounds, Mapping):
        raise ProblemError(f"bounds must be a dict of pairs of numbers by price, not {shown(bounds)}")
    for name, pair in (bounds or {}).items():
        if name not in first:
            raise ProblemError(f"bounds has {shown(name)}, and the prices are {', '.join(first)}")
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ProblemError(f"bounds[{name!r}] must be a pair of numbers, not {shown(pair)}")
        least, most = (real(f"bounds[{name!r}]", each, "a pair of numbers", lambda v: v == v) for each in pair)
        if not least < first[name] < most:
            raise ProblemError(
                f"guess[{name!r}] must be above {least:g} and below {most:g}, its bounds, not {first[name]:g}"
            )
        low[list(first).index(name)], high[list(first).index(name)] = least, most
    return low, high


def _result(
    setup: Setup, search: Search, first: Named, result: Result, outcome: tuple[Outcome, str], timing: dict[str, float]
) -> MarketEquilibrium:
    trial = search.best if search.trials else None
    period = None if trial is None else trial.periods[0]
    none = np.full(result.value.shape, math.nan)
    prices = first if trial is None else trial.prices
    excess = np.full(len(setup.markets), math.nan) if trial is None else trial.excess
    return MarketEquilibrium(
        model=Inputs(setup.prices, tuple(setup.markets), dict(setup.given), setup.method),
        household=result,
        prices={name: prices[name] for name in setup.prices},
        aggregates={} if trial is None else dict(trial.aggregates),
        excess=dict(zip(setup.markets, map(float, excess), strict=True)),
        continuous_value=none if period is None else period.value,
        continuous_choice=none if period is None else period.choice,
        distribution=none if trial is None else trial.masses[0],
        tried=np.array([[each.prices[name] for name in setup.prices] for each in search.trials]).reshape(
            -1, len(first)
        ),
        excesses=np.array([each.excess for each in search.trials]).reshape(-1, len(setup.markets)),
        success=outcome[0] == Outcome.SOLVED,
        status=outcome[0].value,
        message=outcome[1],
        residual=math.nan if trial is None else trial.change,
        sweeps=sum(each.sweeps for each in search.trials),
        timing=search.timing | timing,
        probability=None if period is None else period.probability,
    )


read = reading(MarketEquilibrium, Inputs)
