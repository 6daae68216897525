"""The path of an economy of any household after an announced shock: ``bl.transition`` and its result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from beltline.host.models.equilibrium.economy import NUMBERS_BY_NAME, Inputs, MarketEquilibrium
from beltline.host.models.equilibrium.households import METHODS, Period
from beltline.host.models.equilibrium.search import MARKET_TOLERANCE, SMALLEST_STEP
from beltline.host.models.equilibrium.sequence import (
    PERIODS_LIMIT,
    REST_TOLERANCE,
    Rest,
    check_equilibrium,
    free_dates,
    household_responses,
    market_jacobian,
    market_slopes,
    paths_of,
    predetermined_of,
    solved,
)
from beltline.host.models.equilibrium.setup import Named, Setup, setup_of
from beltline.host.models.model_result import SearchResult, reading
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, check_progress, whole
from beltline.host.problem.problem import Problem
from beltline.host.results.facts import ANY_NUMBER, COUNT, LIST, MEASURE, SECONDS, TEXTS, Rule
from beltline.host.results.fields import array, fact
from beltline.host.results.outcome import GRID_END_SHARE, Outcome
from beltline.sim.progress import reporting

SHARES = Rule("a list of numbers of at least 0", lambda v: LIST.holds(v) and all(map(MEASURE.holds, v)))

GOAL = 1e-8
"""Largest excess at which the search for prices ends; accounts by date then add up within the tolerance."""

FADE = 0.93
"""Factor by date of the distance to the new steady state in the first guess: half of it is left after ten dates."""


@dataclass(frozen=True, eq=False)
class Guess:
    """What households choose at a guess of ``prices``, ``(M, T)``, by date.

    ``aggregates`` has each mean by name at every date and, last, in the beginning of the date after; ``excess``, ``(M,
    T + 1)``, likewise. ``distribution`` is that at the beginning of each date, ``T + 1`` of them.
    """

    prices: Array
    periods: tuple[Period, ...]
    distribution: Array
    aggregates: dict[str, Array]
    excess: Array

    @property
    def largest(self) -> float:
        """Largest absolute excess of the dates of the path; infinite if one is not a number."""
        found = float(np.abs(self.excess[:, :-1]).max())
        return found if math.isfinite(found) else math.inf


def respond(setup: Setup, before: Rest, after: Rest, given: Mapping[str, Array], prices: Array) -> Guess:
    """Return what households choose at prices by date.

    Choices are computed backwards from the steady state after the path, and distributions forwards from that before.
    """
    dates = prices.shape[1]
    named = [
        Named({**dict(zip(setup.prices, map(float, prices[:, date]), strict=True)),
               **{name: float(path[date]) for name, path in given.items()}})
        for date in range(dates)
    ]  # fmt: skip
    ahead, periods = after.period, list[Period]()
    for at in reversed(named):
        (problem,) = setup.problems(at)
        ahead = setup.choose(problem, ahead)
        periods.append(ahead)
    mass = np.empty((dates + 1, *ahead.value.shape))
    mass[0] = before.mass
    aggregates: dict[str, Array] = {}
    excess = np.empty((len(setup.markets), dates + 1))
    for date, (at, period) in enumerate([*zip(named, periods[::-1], strict=True), (after.prices, after.period)]):
        means = Named()
        for name, each in period.amounts(at, setup.extra).items():
            means[name] = float((mass[date] * each).sum())
            aggregates.setdefault(name, np.empty(dates + 1))[date] = means[name]
        excess[:, date] = setup.excess(means, at)
        if date < dates:
            mass[date + 1] = period.carry(mass[date])
    return Guess(prices, tuple(periods[::-1]), mass, aggregates, excess)


def clear(
    setup: Setup,
    before: Rest,
    after: Rest,
    given: Mapping[str, Array],
    predetermined: tuple[str, ...],
    max_steps: int,
    report: Callable[[str], None] | None,
) -> tuple[Guess, tuple[float, ...]]:
    """Find the prices of every date by Newton's method; return the best guess, and the largest excess after each step.

    The slopes are those of the steady state after the path. A step that would increase the largest excess is halved.
    The excess after the last date is not part of the equations: only a longer path can reduce it.
    """
    dates = next(iter(given.values())).size
    begin, end = (np.array([rest.prices[name] for name in setup.prices])[:, None] for rest in (before, after))
    best = respond(setup, before, after, given, end + (begin - end) * FADE ** np.arange(dates))
    steps = [best.largest]
    slopes: Array | None = None
    free, share = free_dates(setup.prices, predetermined, dates), 1.0
    while best.largest > GOAL and len(steps) <= max_steps and share >= SMALLEST_STEP:
        if report is not None:
            report(f"path, step {len(steps)}: largest excess {best.largest:.2e}")
        if slopes is None:
            local = market_slopes(setup, after)
            of = household_responses(setup, after, setup.prices, dates, both=False)
            slopes = np.concatenate([market_jacobian(local, of, name, dates) for name in setup.prices], axis=1)
        step = solved(slopes, best.excess[:, :-1].ravel(), free).reshape(best.prices.shape)
        try:
            found = respond(setup, before, after, given, best.prices - share * step)
        except ProblemError:
            share /= 2
            continue
        steps.append(found.largest)
        if found.largest < best.largest:
            best, share = found, 1.0
        else:
            share /= 2
    return best, tuple(steps)


@dataclass(frozen=True, eq=False, repr=False)
class MarketPath(SearchResult):
    """An economy at every date after an announced shock; :func:`beltline.transition` returns it.

    ``names`` are those of the rows of ``prices``, ``given`` and ``aggregates``. It is solved if every excess is at most
    1e-6 in absolute value at every date and at most 1e-4 after the last, and at most a share of
    :data:`~beltline.host.results.outcome.GRID_END_SHARE` chooses the highest grid point.
    """

    archive_kind: ClassVar[str] = "transition"
    names: ClassVar[tuple[str, str]] = ("model", "")
    figures: ClassVar[dict[str, str]] = {
        "path": "prices and aggregates at each date", "market": "excess of each market at each date",
    }  # fmt: skip

    model: Inputs
    aggregate_names: tuple[str, ...] = fact(TEXTS, "Names of the aggregates")
    before: dict[str, float] = fact(NUMBERS_BY_NAME, "Prices and aggregates of the steady state before, by name")
    after: dict[str, float] = fact(NUMBERS_BY_NAME, "Prices and aggregates of the steady state after, by name")
    grid: Array = array("x", text="Grid of the endogenous state", unit="units of the good")
    price_paths: Array = array("price", "date", text="Each price at each date")
    given_paths: Array = array("given", "date", text="What was given at each date")
    aggregate_paths: Array = array("aggregate", "date", text="Each aggregate at each date")
    excess: Array = array("market", "beginning", text="Excess of each market at each date; the last is after the path")
    value: Array = array("date", "regime?", "x", "state", text="Value of households", unit="units of utility")
    choice: Array = array(
        "date", "alternative?", "x", "state", text="Choices between grid points", unit="units of the good"
    )
    distribution: Array = array(
        "beginning", "regime?", "x", "state", text="Share of households in each state at the beginning of each date"
    )
    steps: tuple[float, ...] = fact(SHARES, "Largest absolute excess after each step of the search")
    sweeps: int = fact(COUNT, "Number of sweeps that maximise")
    timing: dict[str, float] = fact(SECONDS, "Wall-clock time of the host computer", "seconds")
    at_top: float = fact(
        ANY_NUMBER, "Largest share of households, over all dates, that choose the highest grid point; nan if not known",
        default=math.nan,
    )  # fmt: skip
    probability: Array | None = array(
        "date", "alternative", "x", "state", text="Probability of each alternative", optional=True
    )

    @property
    def method(self) -> str:
        """How households choose."""
        return METHODS[self.model.method][1]

    @property
    def residual(self) -> float:
        """Largest absolute excess of a market at a date of the path."""
        return float(np.abs(self.excess[:, :-1]).max())

    @property
    def prices(self) -> dict[str, Array]:
        """Each price by name at each date, ``(T,)``."""
        return dict(zip(self.model.prices, self.price_paths, strict=True))

    @property
    def given(self) -> dict[str, Array]:
        """What was given by name at each date, ``(T,)``."""
        return dict(zip(self.model.given, self.given_paths, strict=True))

    @property
    def aggregates(self) -> dict[str, Array]:
        """Each aggregate by name at each date, ``(T,)``."""
        return dict(zip(self.aggregate_names, self.aggregate_paths, strict=True))

    def _title(self) -> str:
        dates, *_, points, states = self.value.shape
        return f"A path of an economy, {dates} dates, {points:,} grid points x {states} states"

    def _rows(self) -> list[tuple[str, str]]:
        rows = []
        for name, path in (self.prices | self.aggregates).items():
            far = int(np.abs(path - self.before[name]).argmax())
            rows.append((name, f"{self.before[name]:.6g} before, {path[0]:.6g} at date 0, farthest {path[far]:.6g} at "
                               f"date {far}, {self.after[name]:.6g} after"))  # fmt: skip
        return [
            *rows,
            ("excess", f"largest {self.residual:.1e} (at most {MARKET_TOLERANCE:g} at any date)"),
            ("end of path", f"excess {np.abs(self.excess[:, -1]).max():.1e} (at most {REST_TOLERANCE:g})"),
            ("top of grid", f"chosen by a share of {self.at_top:.2g} (at most {GRID_END_SHARE:g})"),
            ("steps", ", ".join(f"{step:.1e}" for step in self.steps)),
        ]


def path_verdict(
    excess: Array, markets: Sequence[str], at_top: float, highest: float, steps: int
) -> tuple[Outcome, str]:
    """Return how a path ended: the first condition of success that does not hold, and what to do about it."""
    dates, inside = excess.shape[1] - 1, np.abs(excess[:, :-1])
    if not inside.max() <= MARKET_TOLERANCE:
        market, date = divmod(int(np.where(np.isnan(inside), np.inf, inside).argmax()), dates)
        return Outcome.MARKET, (
            f"After {steps} steps the market of {markets[market]} does not clear at date {date}: its excess is "
            f"{excess[market, date]:+.2e}, and at most {MARKET_TOLERANCE:g} is allowed: raise the number of grid "
            f"points or max_steps, or lower the shock."
        )
    if not np.abs(excess[:, -1]).max() <= REST_TOLERANCE:
        market = int(np.abs(excess[:, -1]).argmax())
        return Outcome.MARKET, (
            f"After {dates} dates the new steady state is not reached: the excess of {markets[market]} is "
            f"{excess[market, -1]:+.2e}, and at most {REST_TOLERANCE:g} is allowed: raise the number of dates."
        )
    if at_top > GRID_END_SHARE:
        return Outcome.GRID, (
            f"At some date {at_top:.2%} of households choose the highest grid point, {highest:g}, and at most "
            f"{GRID_END_SHARE:.2%} may: use a longer grid."
        )
    return Outcome.SOLVED, f"The markets of all {dates} dates clear, with an excess of at most {inside.max():.1e}."


def transition(
    household: Callable[[Any], Problem],
    markets: Callable[[Any, Any], float] | Mapping[str, Callable[[Any, Any], float]],
    before: MarketEquilibrium,
    shocks: Mapping[str, Array],
    after: MarketEquilibrium | None = None,
    *,
    predetermined: str | tuple[str, ...] = (),
    variables: Callable[[Any, Problem, Array], Mapping[str, Array]] | None = None,
    max_steps: int = 50,
    progress: Any = None,
) -> MarketPath:
    """Find the path of an economy, at first in a steady state, after it learns the future of what is given.

    Households know all prices from date 0 on. Choices are computed backwards from the value of the steady state after
    the path, distributions forwards; Newton's method finds the prices of all dates together, with the responses of
    :func:`beltline.sequence_jacobian`.

    Parameters
    ----------
    household, markets, variables
        As in :func:`beltline.equilibrium`; markets clear at each date with the aggregates of this date, where the
        endogenous state is that at its beginning.
    before : MarketEquilibrium
        The steady state before date 0.
    shocks : dict of (T,) array
        What is given by name at each date; it is that of ``before`` for names that are left out.
    after : MarketEquilibrium, optional
        The steady state after the path; by default ``before``.
    predetermined : str or tuple of str
        As in :func:`beltline.sequence_jacobian`.
    max_steps : int
        Largest number of steps of the search for prices, from 1.
    progress
        As in :func:`beltline.solve`.

    Returns
    -------
    MarketPath
        If markets do not clear, or the steady state is not reached, ``success`` is false and ``message`` gives the
        reason.

    Raises
    ------
    ProblemError
        An argument is wrong, or a steady state is not solved.

    Sources
    -------
    Auclert, Bardoczy, Rognlie and Straub (2021), "Using the sequence-space Jacobian to solve and estimate
    heterogeneous-agent models", Econometrica 89(5), 2375-2408. Boppart, Krusell and Mitman (2018), "Exploiting MIT
    shocks in heterogeneous-agent economies: the impulse response as a numerical derivative", Journal of Economic
    Dynamics and Control 89, 68-92.

    Examples
    --------
    >>> import numpy as np
    >>> import beltline as bl
    >>> grid = bl.grid_polynomial(0.0, 60.0, 80, 3.0)
    >>> def household(p):
    ...     wealth = p.gross * grid[:, None] + p.wage * np.array([0.5, 1.5])
    ...     return bl.Problem(grid=grid, wealth=wealth, transition=[[0.8, 0.2], [0.2, 0.8]], beta=0.95, eta=2.0,
    ...                       asset="assets a")
    >>> def market(a, p):
    ...     return a.assets / 4 - 1 - 50 * (1.04 - p.gross)
    >>> before = bl.equilibrium(household, market, {"gross": 1.03}, given={"wage": 1.0},
    ...                         bounds={"gross": (0.9, 1 / 0.95)}, progress=False)
    >>> path = bl.transition(household, market, before, {"wage": 1 - 0.01 * 0.8 ** np.arange(80)}, progress=False)
    >>> path.success, path.prices["gross"].shape
    (True, (80,))
    """
    check_progress(progress)
    check_equilibrium("before", before)
    after = before if after is None else check_equilibrium("after", after)
    if (after.model.prices, after.model.markets, after.model.method) != (
        before.model.prices, before.model.markets, before.model.method,
    ) or after.distribution.shape != before.distribution.shape:  # fmt: skip
        raise ProblemError("before and after must have the same prices, markets, method and size of the household")
    if set(after.model.given) != set(before.model.given):
        raise ProblemError("before and after must have the same names in given")
    setup = setup_of(household, markets, before.model.prices, before.model.given, variables, before.model.method)
    max_steps = whole("max_steps", max_steps, "a whole number from 1 to 10000", lambda v: 1 <= v <= 10_000)
    fixed = predetermined_of(predetermined, setup.prices)
    given = _paths(setup, shocks)
    begin, timing = time.perf_counter(), dict[str, float]()
    rests, others = [Rest.of(setup, before)] * 2, setup
    if after is not before:
        others = setup_of(household, markets, after.model.prices, after.model.given, variables, after.model.method)
        rests[1] = Rest.of(others, after)
    rests[1].check(others, "before" if after is before else "after")
    with reporting(progress) as report:
        best, steps = clear(setup, rests[0], rests[1], given, fixed, max_steps, report)
    timing["path"] = time.perf_counter() - begin
    grid, alone = rests[1].period.problem.grid, rests[1].period.probability is None
    top = max(period.at_top(mass) for period, mass in zip(best.periods, best.distribution[:-1], strict=True))
    status, message = path_verdict(best.excess, tuple(setup.markets), top, float(grid[-1]), len(steps))
    return MarketPath(
        model=after.model,
        aggregate_names=tuple(best.aggregates),
        before=dict(before.prices | before.aggregates),
        after=dict(after.prices | after.aggregates),
        grid=grid,
        price_paths=best.prices,
        given_paths=np.array([given[name] for name in setup.given]).reshape(len(setup.given), best.prices.shape[1]),
        aggregate_paths=np.stack([each[:-1] for each in best.aggregates.values()]),
        excess=best.excess,
        value=np.stack([period.value for period in best.periods]),
        choice=np.stack([period.choice for period in best.periods]),
        probability=None if alone else np.stack([period.choices.probability for period in best.periods]),
        at_top=top,
        distribution=best.distribution,
        success=status == Outcome.SOLVED,
        status=status.value,
        message=message,
        steps=steps,
        sweeps=best.prices.shape[1] * len(steps),
        timing=timing,
    )


def _paths(setup: Setup, shocks: Any) -> dict[str, Array]:
    """Return what is given at each date by name, after checking it."""
    found = paths_of(shocks, tuple(setup.given))
    sizes = {path.size for path in found.values()}
    if len(sizes) > 1 or not 2 <= min(sizes) <= PERIODS_LIMIT:
        raise ProblemError(f"shocks must have the same number of dates, 2 to {PERIODS_LIMIT}, not {sorted(sizes)}")
    dates = sizes.pop()
    return {name: found.get(name, np.full(dates, level)) for name, level in setup.given.items()}


read = reading(MarketPath, Inputs)
