"""Aiyagari's economy: households that insure themselves by saving, and an interest rate that clears the market."""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.sparse import csr_matrix, identity
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from beltline.host.analysis.inequality import gini, lorenz
from beltline.host.analysis.simulation import chain_distribution
from beltline.host.devices import REFERENCES, Device
from beltline.host.models.base import Model
from beltline.host.problem.checks import ProblemError, check_progress, real, whole
from beltline.host.problem.grids import GRID_SIZE_LIMIT, grid_polynomial
from beltline.host.problem.markov import tauchen
from beltline.host.problem.model_parameters import chain_size, parameter
from beltline.host.problem.problem import Problem
from beltline.host.results.files import check_target, replacing
from beltline.host.results.result import Outcome, Result, about, restored, tables
from beltline.host.solver.session import Session, in_session, machine_method
from beltline.host.solver.starts import concave
from beltline.sim.progress import reporting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

MASS_MOVES = 1e-13
"""Total variation that a period still moves, at which a distribution counts as stationary."""

PERIODS = 200_000
"""Periods after which a distribution that still moves is given up."""

SOLVED_STATES = 40_000
"""States of a distribution up to which its equations are solved; with more, mass is carried on until it rests."""

CROWDED = 1e-5
"""Share of households that choose the highest grid point from which the report says that the grid ends too early."""

SHOWN = 0.995
"""Share of households, the poorest, that the figure of wealth has room for."""

RATE_TOLERANCE = 1e-6
"""How closely the interest rate is found: a hundredth of a basis point."""


@njit(cache=True)
def _carry(mass: Array, policy: NDArray[np.int32], chain: Array, tolerance: float, limit: int) -> tuple[Array, float]:
    """``mass`` (N_k, N_z) carried on until a period moves less than ``tolerance``, and what the last one moved."""
    points, states = mass.shape
    ahead = np.empty((points, states))
    moved = np.empty((points, states))
    distance = np.inf
    for _ in range(limit):
        moved[:] = 0.0
        for x in range(points):
            for s in range(states):
                moved[policy[x, s], s] += mass[x, s]
        distance = 0.0
        total = 0.0
        for x in range(points):
            for t in range(states):
                share = 0.0
                for s in range(states):
                    share += moved[x, s] * chain[s, t]
                ahead[x, t] = share
                total += share
                distance += abs(share - mass[x, t])
        # Rounding would otherwise add up over thousands of periods.
        mass[:] = ahead / total
        distance /= 2.0
        if distance <= tolerance:
            break
    return mass, distance


def long_run(policy: NDArray[np.int32], chain: Array, mass: Array) -> tuple[Array, float, bool]:
    """Return where households end up that follow ``policy`` (N_k, N_z) for ever.

    States that reach each other and nothing else are a closed class. Where there is one, the long run is the same from
    every start and zero outside it, and inside it the equations of a stationary distribution are solved by sparse
    elimination, in the order of the grid: choices are near ``x``, so that little fills in. However slowly mass would
    get there, this takes the same time. Otherwise, and with more than ``SOLVED_STATES``, ``mass`` is carried on.

    Returns
    -------
    mass : (N_k, N_z) float64 array
        Adds up to 1.
    moves : float
        Total variation that a period moves of it.
    unique : bool
        Whether there is one closed class.
    """
    points, states = policy.shape
    size = points * states
    ahead = policy.reshape(-1, 1).astype(np.int64) * states + np.arange(states)
    shares = np.tile(chain, (points, 1)).ravel()
    step = csr_matrix((shares, ahead.ravel(), np.arange(0, size * states + 1, states)), shape=(size, size))
    step.eliminate_zeros()
    count, classes = connected_components(step, directed=True, connection="strong")
    closed = np.ones(count, dtype=bool)
    # A state from which another class is reached is in none that is closed.
    origin = np.repeat(np.arange(size), np.diff(step.indptr))
    leaves = classes[origin] != classes[step.indices]
    closed[classes[origin[leaves]]] = False
    unique = int(closed.sum()) == 1
    inside = np.flatnonzero(closed[classes])
    if unique and inside.size <= SOLVED_STATES:
        within = step[inside][:, inside]
        # The first state's share is 1 until all are scaled; its own equation follows from the others.
        shares = np.ones(inside.size)
        if inside.size > 1:
            equations = (identity(inside.size, format="csr") - within).T.tocsc()
            factors = splu(
                equations[1:, 1:], permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
            )
            shares[1:] = factors.solve(-equations[1:, 0].toarray().ravel())
        shares = np.maximum(shares, 0.0)
        shares /= shares.sum()
        mass = np.zeros(size)
        mass[inside] = shares
        return mass.reshape(points, states), 0.5 * float(np.abs(shares @ within - shares).sum()), True
    mass, moves = _carry(mass.copy(), policy, chain, MASS_MOVES, PERIODS)
    return mass, moves, unique


@dataclass(frozen=True)
class Aiyagari(Model):
    """The economy of Aiyagari (1994); made by :func:`aiyagari`, which checks the parameters and says what they are."""

    grid: int
    states: int
    beta: float
    eta: float
    alpha: float
    delta: float
    rho: float
    sigma: float
    width: float
    high: float
    power: float

    suffixes: ClassVar[tuple[str, ...]] = (".npz",)
    kinds: ClassVar[tuple[str, ...]] = ("market", "distribution", "lorenz", "policy")

    def labour(self) -> tuple[Array, Array]:
        """Labour in efficiency units by state, of mean 1 in the long run, and its transition matrix."""
        log_labour, transition = tauchen(
            self.states, self.rho, self.sigma * math.sqrt(1 - self.rho**2), width=self.width
        )
        units = np.exp(log_labour)
        return units / (chain_distribution(transition) @ units), transition

    def capital(self, interest: float) -> float:
        """Capital a head that firms rent at ``interest``: ``K`` of ``interest = alpha K**(alpha - 1) - delta``."""
        return float((self.alpha / (interest + self.delta)) ** (1 / (1 - self.alpha)))

    def wage(self, interest: float) -> float:
        """What firms then pay for a unit of labour, ``(1 - alpha) K**alpha``."""
        return float((1 - self.alpha) * self.capital(interest) ** self.alpha)

    def rate(self, capital: float) -> float:
        """The interest rate at which firms rent ``capital``."""
        return float(self.alpha * capital ** (self.alpha - 1) - self.delta)

    def problem(self, interest: float | None = None, start: Array | None = None) -> Problem:
        """Return the household's problem at ``interest``, by default at four fifths of ``1/beta - 1``.

        ``start`` as of :class:`~beltline.host.problem.problem.Problem`; zeros by default.
        """
        top = 1 / self.beta - 1
        rate = 0.8 * top if interest is None else real(
            "interest", interest, f"a number above -delta = {-self.delta:g} and below 1/beta - 1 = {top:.6g}",
            lambda v: -self.delta < v < top,
        )  # fmt: skip
        units, transition = self.labour()
        wage = self.wage(rate)
        assets = grid_polynomial(0.0, self.high, self.grid, self.power)
        wealth = (1 + rate) * assets[:, None] + wage * units
        return Problem(
            grid=assets,
            wealth=wealth,
            transition=transition,
            start=np.zeros_like(wealth) if start is None else start,
            beta=self.beta,
            eta=self.eta,
            name="Aiyagari's household",
            asset="assets a",
            labels=tuple(f"l = {value:.4f}" for value in units),
            marginal_wealth=np.full_like(wealth, 1 + rate),
            output=rate * assets[:, None] + wage * units,
            shock="labour l",
            shock_values=units,
            parameters={"interest": rate, "wage": wage},
        )

    def solve(
        self,
        tol: float = 1e-10,
        max_sweeps: int = 10_000,
        device: str | Device | Session = "model",
        progress: Any = None,
        verify: bool = True,
        **more: Any,
    ) -> Economy:
        """Find the interest rate at which households hold the capital that firms rent.

        Every step solves the household's problem on one open session from the last step's value, so that only the
        wealth table is written; on the solvers in double precision it starts from that value's concave majorant. The
        last household is verified.

        Parameters
        ----------
        tol, max_sweeps, device, progress, verify
            Of each household's problem, as of :func:`beltline.host.solver.solve.solve`.
        **more
            ``method`` and its options on ``"cpu"`` and ``"gpu"`` (by default ``"shift"``, which settles in fewer
            sweeps); on a machine ``value_bits``, ``money_bits``, ``timeout``, options of the device, and on a sweep
            engine method ``"shift"``, whose ``start`` is that of the first household.

        Raises
        ------
        ProblemError, DeviceError, KeyboardInterrupt
            As :func:`beltline.host.solver.solve.solve`. A market that does not clear, or a household that is not
            solved, is no error: ``success`` is false and ``message`` says why.
        """
        check_progress(progress)
        for name in ("checkpoint", "checkpoint_every"):
            if more.pop(name, None) is not None:
                raise ProblemError(f"{name} must be None: an economy is many solves")
        with _Market(self, tol, max_sweeps, device, verify, progress, more) as market:
            return market.clear()


class _Market(contextlib.AbstractContextManager["_Market"]):
    """Households at one interest rate after the other, on one open device."""

    def __init__(
        self,
        model: Aiyagari,
        tol: float,
        max_sweeps: int,
        device: str | Device | Session,
        verify: bool,
        progress: Any,
        more: dict[str, Any],
    ) -> None:
        self._model, self._tol, self._max_sweeps, self._verify = model, tol, max_sweeps, verify
        self._steps: list[Step] = []
        self._mass: Array | None = None
        self._unique = True
        self._household: Result | None = None
        self._resources = contextlib.ExitStack()
        self._report = self._resources.enter_context(reporting(progress))
        method = more.pop("method", None)
        self._session: Session | None = None
        self._more: dict[str, Any] = {
            name: more.pop(name) for name in ("value_bits", "money_bits", "timeout") if name in more
        }
        if isinstance(device, str) and device in REFERENCES:
            self._device, self._more = device, self._more | {"method": method or "shift", **more}
            return
        self._method, self._start = machine_method(device, method, more)
        self._session = self._resources.enter_context(in_session(device, more, progress))

    def __exit__(self, *exception: object) -> None:
        self._resources.close()

    def _solve(self, interest: float, verify: bool, bent: bool) -> Result:
        from beltline.host.solver.solve import solve

        last, tell = self._household, self._report
        start = None
        if last is not None and (bent or self._session is None):
            start = concave(last.problem.grid, last.value)
        problem = self._model.problem(interest, start)
        where = f"step {len(self._steps) + 1}, r = {interest:.4%}"
        progress: Any = False if tell is None else lambda text: tell(f"{where}: {text}")
        if self._session is not None:
            return self._session.solve(
                problem, self._tol, self._max_sweeps,
                start="problem" if bent else self._start if last is None else "last", method=self._method,
                progress=progress, verify=verify, **self._more,
            )  # fmt: skip
        return solve(
            problem, self._tol, self._max_sweeps, device=self._device, progress=progress, verify=verify, **self._more
        )

    def _step(self, interest: float, verify: bool = False, bent: bool = False) -> float:
        """Solve at ``interest``; by how much the rate at which firms would rent what is saved lies above it.

        ``bent`` starts from the last value's concave majorant on a machine, too, which moves the value table.
        """
        model, begin = self._model, time.perf_counter()
        household = self._solve(interest, verify, bent)
        solved = time.perf_counter()
        self._household = household
        problem = household.problem
        mass = self._mass
        if mass is None:
            mass = np.zeros(household.value.shape)
            middle = min(int(np.searchsorted(problem.grid, model.capital(interest))), problem.points - 1)
            mass[middle] = chain_distribution(problem.transition)
        usable = household.sweeps > 0 and not (household.policy < 0).any()
        moves = 0.0
        if usable:
            mass, moves, self._unique = long_run(household.policy, problem.transition, mass)
        self._mass = mass
        supply = float(problem.grid @ mass.sum(axis=1))
        self._steps.append(
            Step(
                interest, supply, model.capital(interest), household.sweeps, household.clocks, solved - begin,
                time.perf_counter() - solved, self._session.moved if self._session is not None else (),
            )
        )  # fmt: skip
        if not usable or household.status in _UNSOLVED:
            raise _Unsolved
        if moves > MASS_MOVES:
            raise _Unsettled(moves)
        if self._report is not None:
            self._report(f"step {len(self._steps)}: r = {interest:.4%}, households hold {supply:.4f}, "
                         f"firms rent {model.capital(interest):.4f}")  # fmt: skip
        return (model.rate(supply) if supply > 0 else math.inf) - interest

    def clear(self) -> Economy:
        """Bracket the rate, find it, and solve there once more, verified."""
        model = self._model
        top = 1 / model.beta - 1
        problem = ""
        gaps: dict[float, float] = {}

        def gap_at(interest: float) -> float:
            # Ends of the bracket are asked for twice.
            if interest not in gaps:
                gaps[interest] = min(self._step(interest), 1.0)
            return gaps[interest]

        try:
            low, high = -model.delta, top
            rate = 0.9 * top
            # A rate above which too much is saved and one below which too little is: what is saved rises without bound
            # towards 1/beta - 1.
            for _ in range(60):
                gap = gap_at(rate)
                if gap > 0:
                    low = rate
                else:
                    high = rate
                if low > -model.delta and high < top:
                    break
                if gap > 0 and top - rate < 1e-5:
                    last = self._steps[-1]
                    problem = (
                        f"Just below 1/beta - 1 households hold {last.supply:.4g}, and firms rent {last.demand:.4g}: "
                        f"the grid ends too early, so raise high."
                    )
                    break
                rate = low + 0.6 * (top - low) if gap > 0 else rate - max(0.01, 2 * (top - rate))
                if rate <= -model.delta:
                    rate = (high - model.delta) / 2
            else:
                problem = "No interest rate clears the market within the grid."
            if not problem:
                rate = float(brentq(gap_at, low, high, xtol=RATE_TOLERANCE, rtol=1e-12))
                self._step(rate, self._verify)
                if self._household is not None and self._household.status == Outcome.NOT_VERIFIED.value:
                    # The last value was not concave, and the search may have ended on another peak.
                    self._step(rate, verify=True, bent=True)
        except _Unsolved:
            assert self._household is not None
            problem = f"A household's problem was not solved: {self._household.message}"
        except _Unsettled as moved:
            problem = (
                f"A distribution did not settle: a period still moved {moved.args[0]:.3g} of it. On coarse grids some "
                f"choices are hardly ever left: raise grid."
            )
        household, mass = self._household, self._mass
        assert household is not None
        assert mass is not None
        last = self._steps[-1]
        if not problem and not self._unique:
            problem = (
                f"On this grid of {model.grid:,} points the long run depends on where households begin: "
                f"some choices are never left again, so raise grid."
            )
        if not problem and not household.success:
            problem = f"The household's problem is not solved: {household.message}"
        message = problem or (
            f"Households hold {last.supply:.6g} where firms rent {last.demand:.6g}, after {len(self._steps)} steps."
        )
        return Economy(
            model=model, interest=last.interest, household=household, distribution=mass, success=not problem,
            message=message, steps=tuple(self._steps),
        )  # fmt: skip


_UNSOLVED = tuple(outcome.value for outcome in (Outcome.LIMIT, Outcome.SATURATED, Outcome.INFEASIBLE, Outcome.STOPPED))
"""States of a household's problem with which the search for the rate ends."""


class _Unsolved(Exception):
    """A household's problem is not solved."""


class _Unsettled(Exception):
    """A distribution that moves on."""


@dataclass(frozen=True)
class Step:
    """A step of the search for the interest rate.

    Parameters
    ----------
    interest : float
    supply, demand : float
        Capital a head that households hold in the long run, and that firms rent.
    sweeps, clocks : int
        Of the household's problem; no clocks in double precision.
    solving, spreading : float
        Seconds of this computer for the household and for the distribution.
    moved : tuple of str
        Tables and registers that were written for it; empty in double precision.
    """

    interest: float
    supply: float
    demand: float
    sweeps: int
    clocks: int
    solving: float
    spreading: float
    moved: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Economy:
    """Aiyagari's economy at the interest rate that clears its market.

    Parameters
    ----------
    model : Aiyagari
    interest : float
        Net, a period.
    household : Result
        At that rate.
    distribution : (N_k, N_z) float64 array
        Share of households in each state in the long run; adds up to 1.
    success : bool
        Whether the market clears as closely as :data:`RATE_TOLERANCE` and the grid allow, with a household that is
        solved.
    message : str
    steps : tuple of Step
        Of the search; the last is the economy itself.
    """

    model: Aiyagari
    interest: float
    household: Result
    distribution: Array
    success: bool
    message: str
    steps: tuple[Step, ...]

    @property
    def wage(self) -> float:
        """Of a unit of labour."""
        return self.model.wage(self.interest)

    @property
    def capital(self) -> float:
        """Capital a head that households hold."""
        return self.steps[-1].supply

    @property
    def output(self) -> float:
        """``K**alpha``, a head."""
        return self.capital**self.model.alpha

    @property
    def saving_rate(self) -> float:
        """``delta K / Y``: what replaces capital, as a share of output."""
        return self.model.delta * self.capital ** (1 - self.model.alpha)

    @property
    def excess(self) -> float:
        """By how much households hold more than firms rent, as a share: what the steps of the grid leave."""
        return self.steps[-1].supply / self.steps[-1].demand - 1

    @property
    def moves(self) -> float:
        """Total variation that a period still moves of the distribution."""
        ahead = np.zeros_like(self.distribution)
        policy = np.maximum(self.household.policy, 0)
        np.add.at(ahead, (policy, np.arange(policy.shape[1])), self.distribution)
        return 0.5 * float(np.abs(ahead @ self.household.problem.transition - self.distribution).sum())

    @property
    def at_limit(self) -> float:
        """Share of households that choose no assets at all."""
        return float(self.distribution[self.household.policy == 0].sum())

    @property
    def at_top(self) -> float:
        """Share of households that choose the highest grid point: they might leave it if there were more."""
        return float(self.distribution[self.household.policy == self.household.problem.points - 1].sum())

    def lorenz(self) -> tuple[Array, Array]:
        """The Lorenz curve of wealth, as :func:`beltline.host.analysis.inequality.lorenz` returns it."""
        return lorenz(self.household.problem.grid, self.distribution.sum(axis=1))

    @property
    def gini(self) -> float:
        """The Gini coefficient of wealth; nan where nobody holds any."""
        return math.nan if self.capital == 0 else gini(self.household.problem.grid, self.distribution.sum(axis=1))

    def __str__(self) -> str:
        household, steps = self.household, self.steps
        problem = household.problem
        rows = [
            ("status", ("solved: " if self.success else "not solved: ") + self.message),
            ("interest", f"{self.interest:.4%} a period, 1/beta - 1 = {1 / self.model.beta - 1:.4%}"),
            ("capital", f"{self.capital:.5f} a head, wage {self.wage:.5f}, output {self.output:.5f}"),
            ("saving rate", f"{self.saving_rate:.2%} of output"),
            ("wealth", f"Gini {self.gini:.4f}; {self.at_limit:.2%} of households choose none"),
            ("top of grid", f"chosen by {self.at_top:.2g} of them" + (": raise high" if self.at_top > CROWDED else "")),
            ("mass", f"1 {self.distribution.sum() - 1:+.1e}; a period moves {self.moves:.1e} of it"),
            ("market", f"households hold {self.excess:+.2e} of what firms rent (steps of the grid)"),
            ("household", f"{household.status}: max |V - V*| <= {household.error_bound:.3g}"),
            ("sweeps", f"{sum(step.sweeps for step in steps):,} in {len(steps)} steps: {steps[0].sweeps:,} at first, "
                       f"{steps[-1].sweeps:,} at last"),
        ]  # fmt: skip
        if steps[-1].moved:
            rows.append(("written", f"at the last step: {', '.join(steps[-1].moved)}"))
        if household.clocks_source:
            clocks = sum(step.clocks for step in steps)
            rows.append(("clocks", f"{clocks:,} in all ({household.clocks_source})"))
        spent = sum(step.solving for step in steps), sum(step.spreading for step in steps)
        rows.append(("this computer", f"households {spent[0]:.2f} s, distributions {spent[1]:.2f} s"))
        size = f"{problem.points:,} grid points x {problem.states} states"
        title = f"Aiyagari's economy, {size}, on device {household.device}"
        return "\n".join([title, *(f"  {name:<14}{text}" for name, text in rows)])

    __repr__ = __str__

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the economy to ``path`` (``.npz``), whole or not at all, for :func:`beltline.host.results.result.load`;
        return the path.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file.
        OSError
            The disk refused; nothing is left behind.
        """
        target = check_target("out", path, Aiyagari.suffixes)
        facts = {
            "model": asdict(self.model),
            "interest": self.interest,
            "success": self.success,
            "message": self.message,
            "steps": [asdict(step) for step in self.steps],
        }
        with replacing(target) as neighbour:
            np.savez_compressed(
                neighbour,
                economy=np.array(json.dumps({"aiyagari": facts})),
                about=np.array(about(self.household)),
                value=self.household.value,
                policy=self.household.policy,
                policy_values=self.household.policy_values,
                distribution=self.distribution,
                **tables(self.household.problem),
            )
        return target

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = "market") -> Figure:
        """Draw a figure; with ``path`` (``.png``, ``.pdf`` or ``.svg``) also write it there.

        Parameters
        ----------
        path
        kind
            ``"market"``: what households hold and what firms rent, at the rates of the search. ``"distribution"``: of
            wealth. ``"lorenz"``: its Lorenz curve. ``"policy"``: the household's value and policy.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file, there is no such kind, or matplotlib is not installed.
        """
        from beltline.host.plots.figures import check_kind, drawn

        check_kind(kind, Aiyagari.kinds)
        if kind == "policy":
            return self.household.plot(path, "policy")
        return drawn({"market": self._market, "distribution": self._spread, "lorenz": self._curve}[kind], path)

    def _title(self, what: str) -> str:
        return f"{what}, Aiyagari's economy{'' if self.success else ' (not solved)'}"

    def _market(self, figure: Figure) -> None:
        axes = figure.subplots()
        steps = sorted(self.steps, key=lambda step: step.interest)
        rates = np.linspace(min(steps[0].interest, 0.0), 1 / self.model.beta - 1, 200)
        near = 3 * max(self.capital, self.steps[-1].demand)
        axes.plot([self.model.capital(rate) for rate in rates], 100 * rates, label="firms rent", linewidth=1.6)
        shown = [step for step in steps if step.supply < near]
        axes.plot([step.supply for step in shown], [100 * step.interest for step in shown], "o-",
                  markersize=4, label="households hold", linewidth=1.2)  # fmt: skip
        axes.axhline(100 * (1 / self.model.beta - 1), color="0.4", linewidth=0.8, linestyle="--", label="1/beta - 1")
        axes.plot([self.capital], [100 * self.interest], "k+", markersize=12, label=f"r = {self.interest:.3%}")
        axes.set_xlim(0, near)
        axes.set_xlabel("capital a head, units of the good")
        axes.set_ylabel("interest, per cent a period")
        axes.grid(alpha=0.3)
        axes.legend()
        figure.suptitle(self._title("The market for capital"))

    def _spread(self, figure: Figure) -> None:
        from beltline.host.plots.figures import INTERVALS, colours, legend_labels

        axes = figure.subplots()
        problem, mass = self.household.problem, self.distribution
        grid, held = problem.grid, mass.sum(axis=1)
        top = float(grid[min(int(np.searchsorted(np.cumsum(held), SHOWN)), grid.size - 1)])
        # Each point has the ground half way to its neighbours, and neighbours are gathered: mass of single ones jumps.
        ground = np.concatenate([grid[:1], (grid[:-1] + grid[1:]) / 2, grid[-1:]])
        first = np.unique(np.searchsorted(ground[:-1], np.linspace(0.0, max(top, float(grid[1])), INTERVALS)))
        first = first[first < grid.size]
        edges = ground[np.append(first, grid.size)]
        parts = np.add.reduceat(mass, first, axis=0)
        density = parts / np.diff(edges)[:, None]
        axes.stairs(density.sum(axis=1), edges, fill=True, color="0.8", label="all states")
        for s, (colour, label) in enumerate(zip(colours(problem.states), legend_labels(problem), strict=True)):
            axes.stairs(density[:, s], edges, color=colour, label=label, linewidth=1.2)
        axes.axvline(self.capital, color="0.3", linewidth=1.0, linestyle="--", label=f"mean {self.capital:.3f}")
        axes.set_xlim(0.0, max(top, float(grid[1])))
        axes.set_ylim(bottom=0.0)
        axes.set_xlabel(f"assets, units of the good (the poorest {SHOWN:.1%} of households)")
        axes.set_ylabel("density, per unit of the good")
        axes.grid(alpha=0.3)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside right center", fontsize="small")
        figure.suptitle(self._title("Wealth"))

    def _curve(self, figure: Figure) -> None:
        axes = figure.subplots()
        people, share = self.lorenz()
        axes.plot(people, share, label=f"wealth, Gini {self.gini:.3f}", linewidth=1.6)
        axes.plot([0, 1], [0, 1], color="0.4", linewidth=0.8, linestyle="--", label="equality")
        axes.set_xlabel("share of households, the poorest first")
        axes.set_ylabel("share of wealth")
        axes.set_aspect("equal")
        axes.grid(alpha=0.3)
        axes.legend()
        figure.suptitle(self._title("Lorenz curve"))


def read(name: str, facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> Economy:
    """Return the economy that :meth:`Economy.save` wrote; errors as of
    :func:`beltline.host.results.result.restored`.
    """
    steps = tuple(Step(**{**step, "moved": tuple(step["moved"])}) for step in facts["steps"])
    return Economy(
        model=Aiyagari(**facts["model"]), interest=facts["interest"],
        household=restored(name, str(arrays["about"]), arrays), distribution=arrays["distribution"],
        success=facts["success"], message=facts["message"], steps=steps,
    )  # fmt: skip


def aiyagari(
    grid: int = 2000,
    states: int = 7,
    beta: float = 0.96,
    eta: float = 3.0,
    alpha: float = 0.36,
    delta: float = 0.08,
    rho: float = 0.6,
    sigma: float = 0.2,
    width: float = 3.0,
    high: float = 60.0,
    power: float = 3.0,
) -> Aiyagari:
    """Return the economy of Aiyagari (1994): saving against uncertain labour, at the rate that clears the market.

    A household with assets ``a >= 0`` and labour ``l`` has ``W(a, l) = (1 + r) a + w l``; ``ln l' = rho ln l + sigma
    sqrt(1 - rho**2) e``, ``e ~ N(0, 1)``, as a :func:`~beltline.host.problem.markov.tauchen` chain, scaled to a mean of
    1. Firms produce ``K**alpha`` a head and pay ``r = alpha K**(alpha - 1) - delta`` and ``w = (1 - alpha) K**alpha``.
    In equilibrium households hold ``K`` on average.

    ``bl.solve(bl.aiyagari(...), device=...)`` returns an :class:`Economy`.

    Parameters
    ----------
    grid
        Number of grid points of assets, from 2; of households' choices, too, so few of them make the supply of capital
        jump.
    states
        Number of labour states, 1 to ``CHAIN_LIMIT``.
    beta
        Discount factor of a period (a year with the defaults), above 0 and below 1.
    eta
        Relative risk aversion, above 0 and at most 16; 1 is log utility.
    alpha
        Capital's share of output, above 0 and below 1.
    delta
        Depreciation of a period, above 0 and at most 1.
    rho
        Persistence of log labour, above -1 and below 1.
    sigma
        Unconditional standard deviation of log labour, above 0.
    width
        Half-width of the labour grid in those, above 0.
    high
        Highest assets, above 0, in units of the good.
    power
        Of the grid's spacing, from 1 (:func:`~beltline.host.problem.grids.grid_polynomial`).

    Raises
    ------
    ProblemError
        An argument out of range, in one sentence.

    Sources
    -------
    Aiyagari (1994), "Uninsured idiosyncratic risk and aggregate saving", Quarterly Journal of Economics 109(3),
    659-684.
    """
    model = Aiyagari(
        grid=whole("grid", grid, f"a whole number from 2 to {GRID_SIZE_LIMIT}", lambda v: 2 <= v <= GRID_SIZE_LIMIT),
        states=chain_size("states", states),
        beta=parameter("beta", beta),
        eta=parameter("eta", eta),
        alpha=parameter("alpha", alpha),
        delta=real("delta", delta, "a number above 0 and at most 1", lambda v: 0 < v <= 1),
        rho=parameter("rho", rho),
        sigma=parameter("sigma", sigma),
        width=parameter("width", width),
        high=real("high", high, "a number above 0", lambda v: 0 < v < math.inf),
        power=real("power", power, "a number from 1", lambda v: 1 <= v < math.inf),
    )
    model.problem()
    return model
