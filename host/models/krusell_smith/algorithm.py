"""Krusell and Smith's equilibrium: a law of motion that the economy follows when everyone believes in it.

Given the law ``ln K' = b0(a) + b1(a) ln K``, the household is solved, a panel of them is simulated, and the law is
estimated from the panel's ``K`` by least squares, one regression an aggregate state. ``b`` goes ``relaxation`` of the
way there, until an estimate differs from what was believed by less than ``tol``.

The panel begins with everyone at :attr:`~beltline.host.models.krusell_smith.model.Economy.steady_capital`. As long as
the law still moves by ``SETTLED`` or more, the next panel begins with the wealth that the last one ended with; then it
is the same start for all that follow, so that there is one law to converge to.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import os
import textwrap
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.gpu_ref.krusell_smith import euler_iteration, panel, shocks
from beltline.host.analysis.inequality import gini, lorenz
from beltline.host.devices import REFERENCES, Device, DeviceError, Progress, known
from beltline.host.models.krusell_smith.model import AGGREGATES, Economy, polynomial_grid
from beltline.host.problem.checks import ProblemError, real, shown, table, whole
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility
from beltline.host.results.files import check_target, replacing
from beltline.host.results.result import REPORT_WIDTH
from beltline.host.solver.reference import reference_module
from beltline.host.solver.run import timed
from beltline.host.solver.session import Session, in_session, machine_method
from beltline.sim.progress import check_progress, reporting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

HOUSEHOLDS = ("euler", "table")
PANELS = ("cpu", "gpu")

SETTLED = 1e-3
"""Movement of the law below which panels begin alike."""

CHOICES = 4096
"""Points of the choice grid of a table."""

POWER = 2.0
"""Of that grid: closer at 0, but no closer than the curvature of utility can be seen at in fixed point."""

AGENTS_LIMIT, PERIODS_LIMIT = 10**9, 10**6
"""Largest panel, so that a mistyped size is refused."""

FILE_FORMAT = 1


class Household(Protocol):
    """Solves the household for one law after another, each from where the last one ended."""

    grid: Array
    work: int

    def solve(self, law: Array, report: Progress | None) -> Array:
        """Return ``k'``, ``(N_k, N_K, 2, 2)`` on ``grid``; ``work`` grows by the iterations that it took."""


class NotSolved(Exception):
    """The household has no solution to go on with; the message is a sentence."""


class EulerHousehold:
    """By :mod:`beltline.gpu_ref.krusell_smith.euler_iteration`, or on a CUDA device by
    :mod:`beltline.gpu_ref.krusell_smith.cuda_euler`.

    Parameters
    ----------
    device
        One of ``beltline.host.devices.REFERENCES``.
    """

    def __init__(self, economy: Economy, tol: float, device: str = "cpu") -> None:
        self.economy, self.tol = economy, tol
        self._module: Any = (
            euler_iteration if device == "cpu" else importlib.import_module("beltline.gpu_ref.krusell_smith.cuda_euler")
        )
        self.grid = economy.grid
        self.work = 0
        self._wealth = economy.wealth(self.grid).reshape(economy.points, economy.means, 4)
        self._policy = 0.9 * np.broadcast_to(self.grid[:, None, None], self._wealth.shape)

    def solve(self, law: Array, report: Progress | None) -> Array:
        economy = self.economy
        ahead = economy.ahead(law)
        try:
            found: euler_iteration.Household = self._module.solve(
                self.grid,
                economy.mean_grid,
                self._wealth,
                ahead,
                economy.gross(ahead),
                economy.income(ahead).reshape(economy.means, 2, 4),
                economy.transition,
                economy.beta,
                economy.gamma,
                self._policy,
                self.tol,
                progress=None
                if report is None
                else lambda n, change: report(f"household: iteration {n:,}, {change:.2g}"),
            )
        except FloatingPointError as error:
            raise NotSolved(f"The household is not solved: {error}.") from None
        except ValueError as error:
            raise ProblemError(f"{error}") from error
        self.work += found.iterations
        if not found.converged:
            raise NotSolved(
                f"The household's k' still moved by {found.change:.3g} after {found.iterations:,} iterations, "
                f"not below {self.tol:g}."
            )
        self._policy = found.policy
        return found.policy.reshape(economy.points, economy.means, 2, 2)


class TableHousehold:
    """As a table problem on a device; only its transition matrix changes from law to law.

    Parameters
    ----------
    session
        An open one, or the name of a reference solver.
    refine
        Whether the policy is moved off the grid (:func:`refined`).
    options
        Of the reference solver; of a machine ``method`` and ``start``, that of the first solve, as of
        :func:`beltline.host.solver.session.machine_method`.
    """

    def __init__(
        self,
        economy: Economy,
        choices: Array,
        session: Session | str,
        tol: float,
        refine: bool,
        options: dict[str, Any],
    ) -> None:
        self.economy, self.grid, self.tol, self.refine = economy, choices, tol, refine
        self.work = 0
        self._session, self._options = session, options
        self._value: Array | None = None

    def solve(self, law: Array, report: Progress | None) -> Array:
        problem = self.economy.problem(law, self.grid)
        if isinstance(self._session, str):
            value, policy = self._by_reference(problem, report)
        else:
            value, policy = self._by_machine(self._session, problem, report, verify=False)
        chosen = refined(problem, value, policy) if self.refine else self.grid[policy]
        return chosen.reshape(self.grid.size, self.economy.means, 2, 2)

    def check(self, law: Array, report: Progress | None) -> None:
        """Solve once more, and see an exact search confirm it; the reference solvers do that always."""
        if not isinstance(self._session, str):
            self._by_machine(self._session, self.economy.problem(law, self.grid), report, verify=True)

    def _by_machine(
        self, session: Session, problem: Problem, report: Progress | None, verify: bool
    ) -> tuple[Array, NDArray[np.int32]]:
        start, method = self._options["start"], self._options["method"]
        if self.work or start == "problem":
            start = "last"
        result = session.solve(problem, self.tol, start=start, method=method, progress=_named(report), verify=verify)
        self.work += result.sweeps
        if not result.success:
            raise NotSolved(f"The household is not solved: {result.message}")
        return result.value, result.policy

    def _by_reference(self, problem: Problem, report: Progress | None) -> tuple[Array, NDArray[np.int32]]:
        # The last value is as concave as rounding leaves it, which a Problem's start may not be: hence no Problem.
        assert isinstance(self._session, str)
        if report:
            report(f"household: on the {self._session}")
        start = problem.start if self._value is None else self._value
        tables = (problem.grid, problem.wealth, problem.transition, start, problem.beta, problem.eta, self.tol)
        try:
            found = reference_module(self._session).solve(*tables, **self._options)
        except (ValueError, MemoryError) as error:
            raise ProblemError(f"{error}") from error
        self.work += found.sweeps
        if not found.converged:
            raise NotSolved(f"The household's V still moved by {found.residual:.3g}, not below {self.tol:g}.")
        self._value = found.value
        return found.value, found.policy


def _named(report: Progress | None) -> Progress | Literal[False]:
    return False if report is None else lambda text: report(f"household: {text}")


def refined(problem: Problem, value: Array, policy: NDArray[np.int32]) -> Array:
    """Return the best ``x'`` off the grid, ``(N_k, N_z)``.

    It is the top of the parabola through the objective of the chosen point and of its neighbours, at most half way to
    these; the point itself at an end of the grid, and where a neighbour cannot be afforded.
    """
    x, eta = problem.grid, problem.eta
    ahead = problem.beta * value @ problem.transition.T
    at = np.clip(policy, 1, problem.points - 2)
    place = [x[at + j] for j in (-1, 0, 1)]
    worth = [utility(problem.wealth - place[j], eta) + np.take_along_axis(ahead, at + j - 1, 0) for j in range(3)]
    with np.errstate(invalid="ignore", divide="ignore"):
        left = (worth[1] - worth[0]) / (place[1] - place[0])
        right = (worth[2] - worth[1]) / (place[2] - place[1])
        bend = (right - left) / (place[2] - place[0])
        top = (place[0] + place[1]) / 2 - left / (2 * bend)
        inner = (policy == at) & np.isfinite(worth[0]) & np.isfinite(worth[2]) & (bend < 0)
    low, high = (place[0] + place[1]) / 2, (place[1] + place[2]) / 2
    return np.where(inner, np.clip(top, low, high), x[policy])


def regressed(aggregate: NDArray[np.int8], a: int) -> NDArray[np.bool_]:
    """Periods in aggregate state ``a``.

    Raises
    ------
    ProblemError
        They are fewer than three, of which no law can be estimated.
    """
    here: NDArray[np.bool_] = aggregate == a
    if here.sum() < 3:
        raise ProblemError(
            f"{aggregate.size:,} periods are too few: {here.sum()} of them are in the {AGGREGATES[a]} state, whose law "
            f"needs 3"
        )
    return here


def regression(capital: Array, aggregate: NDArray[np.int8]) -> tuple[Array, Array]:
    """Estimate ``ln K' = b0 + b1 ln K`` for each aggregate state; return ``(2, 2)`` of them and the two R2.

    ``capital`` has one period more than ``aggregate``.

    Raises
    ------
    ProblemError
        A state is in fewer than three periods, or ``K`` never moves in it.
    """
    log = np.log(capital)
    law, r2 = np.empty((2, 2)), np.empty(2)
    for a in range(2):
        here = regressed(aggregate, a)
        x, y = log[:-1][here], log[1:][here]
        if np.ptp(x) == 0:
            raise ProblemError(f"K never moves in the {AGGREGATES[a]} state, so that its law cannot be estimated")
        dx, dy = x - x.mean(), y - y.mean()
        slope = float(dx @ dy / (dx @ dx))
        law[a] = y.mean() - slope * x.mean(), slope
        spread = float(dy @ dy)
        r2[a] = 1 - float(((dy - slope * dx) ** 2).sum()) / spread if spread > 0 else 1.0
    return law, r2


def forecast(law: Array, start: float, aggregate: NDArray[np.int8]) -> Array:
    """``K`` by the law alone, from ``start`` on: one period more than ``aggregate``."""
    path = np.empty(aggregate.size + 1)
    path[0] = math.log(start)
    for t, a in enumerate(aggregate):
        path[t + 1] = law[a, 0] + law[a, 1] * path[t]
    return np.exp(path)


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """An economy that was solved, or as far as it got.

    Attributes
    ----------
    success
        Whether the law converged, and the household with it.
    status
        ``"converged"``, ``"iteration limit"`` or ``"household not solved"``.
    message
        What happened, in a sentence.
    law
        ``(2, 2)``: ``b0`` and ``b1`` of the bad and of the good state, as estimated last.
    r2
        Of the two regressions.
    change
        Largest difference between that law and the one believed.
    tol, iterations, relaxation
    household_iterations
        Of the household in all: Euler iterations or sweeps.
    capital
        ``K`` of the last panel, ``(T + 1,)``, those of discarded periods too.
    aggregate
        Aggregate state of each period, ``(T,)``: 0 bad, 1 good.
    discard
        Periods at the beginning that neither regressions nor errors look at.
    wealth, employed
        Of each agent at the end.
    start
        Wealth of each agent at the beginning.
    grid
        Of ``k``, for ``policy``.
    policy
        ``k'``, ``(N_k, N_K, 2, 2)``: by ``k``, ``K``, aggregate state and employment.
    below, above, outside
        How often an agent of the last panel was held at an end of the grid of ``k`` which interpolation had left, and
        periods in which ``K`` was off its grid.
    household, device, interpolation, panel, seed
    timing
        Seconds by part.
    economy
    """

    success: bool
    status: str
    message: str
    law: Array
    r2: Array
    change: float
    tol: float
    iterations: int
    relaxation: float
    household_iterations: int
    capital: Array
    aggregate: NDArray[np.int8]
    discard: int
    wealth: NDArray[Any]
    employed: NDArray[np.uint8]
    start: NDArray[Any]
    grid: Array
    policy: Array
    below: int
    above: int
    outside: int
    household: str
    device: str
    interpolation: str
    panel: str
    seed: int
    timing: dict[str, float]
    economy: Economy

    @property
    def forecast(self) -> Array:
        """``K`` by the law alone from the first period that is not discarded on (Den Haan 2010)."""
        return forecast(self.law, float(self.capital[self.discard]), self.aggregate[self.discard :])

    @property
    def forecast_errors(self) -> Array:
        """Gap of :attr:`forecast` from the panel's ``K`` in each of its periods, in per cent: Den Haan's dynamic
        forecast error, ``100 |ln K_forecast - ln K|``.
        """
        return 100 * np.abs(np.log(self.forecast / self.capital[self.discard :]))

    @property
    def at_top(self) -> int:
        """Agents who own the most that the grid of ``k`` allows, at the end: where there are some, it is too short."""
        return int((self.wealth >= self.wealth.dtype.type(self.grid[-1])).sum())

    @property
    def gini(self) -> float:
        """Of wealth, at the end."""
        return gini(self.wealth)

    def lorenz(self) -> tuple[Array, Array]:
        """Lorenz curve of wealth at the end: shares of households, and of wealth."""
        return lorenz(self.wealth)

    @property
    def shocks(self) -> shocks.Shocks:
        """Those of the panel, drawn again."""
        economy = self.economy
        return shocks.draw_shocks(
            self.wealth.size, self.aggregate.size, economy.transition, economy.unemployment, self.seed
        )

    def __str__(self) -> str:
        economy, errors = self.economy, self.forecast_errors
        laws = [
            (f"law, {name}", f"ln K' = {b[0]:.6f} + {b[1]:.6f} ln K, R2 = {r2:.7f}")
            for name, b, r2 in zip(AGGREGATES, self.law, self.r2, strict=True)
        ]
        steps = "iterations" if self.household == "euler" else "sweeps"
        kept = self.capital[self.discard :]
        short = f", where the grid of k ends too soon for {self.at_top:,} agents" if self.at_top else ""
        rows = [
            ("status", f"{self.status}: {self.message}"),
            *laws,
            ("forecast error", f"{errors.max():.4f} % at most, {errors.mean():.4f} % on average (Den Haan, dynamic)"),
            ("capital", f"mean {kept.mean():.4f}, from {kept.min():.4f} to {kept.max():.4f}"),
            ("wealth", f"Gini {self.gini:.4f}, largest {self.wealth.max():.2f}{short}"),
            (
                "held",
                f"{self.below:,} times at the lower and {self.above:,} at the upper end of the grid of k, "
                f"of {self.wealth.size * self.aggregate.size:,}; {self.outside:,} periods with K off its grid",
            ),
            ("household", f"{self.household} on {self.device}, {self.household_iterations:,} {steps} in all"),
            ("panel", f"{self.interpolation} on {self.panel}, seed {self.seed}"),
            ("this computer", ", ".join(f"{name} {spent:.2f} s" for name, spent in self.timing.items())),
        ]
        size = (
            f"{self.wealth.size:,} agents, {self.aggregate.size:,} periods, grid {self.grid.size:,} x {economy.means}"
        )
        wrapped = [
            textwrap.fill(f"  {n:<16}{text}", REPORT_WIDTH, subsequent_indent=" " * 18, break_on_hyphens=False)
            for n, text in rows
        ]
        return "\n".join([f"Krusell-Smith, {size}", *wrapped])

    __repr__ = __str__

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything to ``path`` (``.npz``), whole or not at all, and return the path.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file.
        OSError
            The disk refused; nothing is left behind.
        """
        target = check_target("out", path, (".npz",))
        arrays = {f.name: getattr(self, f.name) for f in fields(self)}
        plain = {name: arrays.pop(name) for name in list(arrays) if not isinstance(arrays[name], np.ndarray)}
        economy = plain.pop("economy")
        made = {f.name: getattr(economy, f.name) for f in fields(economy) if f.name != "transition"}
        about = json.dumps({"krusell_smith": FILE_FORMAT, "result": plain, "economy": made})
        with replacing(target) as neighbour:
            np.savez_compressed(neighbour, about=np.array(about), transition=economy.transition, **arrays)
        return target

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = "policy") -> Figure:
        """Draw a figure; with ``path`` (``.png``, ``.pdf`` or ``.svg``) also write it there.

        ``"policy"``: surfaces of saving over ``k`` and ``K``. ``"law"``: the two regressions, and their residuals.
        ``"path"``: ``K`` of the panel and by the law alone. ``"wealth"``: distribution of wealth. ``"lorenz"``: Lorenz
        curve.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file, matplotlib is not installed, or there is no such figure.
        """
        from beltline.host.models.krusell_smith.plot import plot

        return plot(self, path, kind)


def load_equilibrium(path: str | os.PathLike[str]) -> Equilibrium:
    """Return the :class:`Equilibrium` that :meth:`Equilibrium.save` wrote to ``path``.

    Raises
    ------
    ProblemError
        The file is not one of those.
    OSError
        It cannot be read.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            facts = json.loads(str(file["about"]))
            if facts["krusell_smith"] != FILE_FORMAT:
                raise ProblemError(f"{os.fspath(path)!r} has file format {facts['krusell_smith']}, not {FILE_FORMAT}")
            economy = facts["economy"] | {"unemployment": tuple(facts["economy"]["unemployment"])}
            arrays = {name: file[name] for name in file.files if name not in ("about", "transition")}
            made = Economy(**economy, transition=file["transition"])
            return Equilibrium(**arrays, **facts["result"], economy=made)
    except (KeyError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, ProblemError):
            raise
        raise ProblemError(f"{os.fspath(path)!r} is not a file that an equilibrium was saved to") from error


def _check_panel(name: str) -> None:
    """Check that panels can be simulated there."""
    if name == "gpu" and (missing := importlib.import_module("beltline.gpu_ref.krusell_smith.cuda_panel").available()):
        raise DeviceError(f"panel 'gpu' cannot be used here: {missing}")


def _simulator(name: str, drawn: shocks.Shocks) -> Callable[..., panel.Panel]:
    """What simulates with these shocks; on a device they are loaded once."""
    if name == "cpu":
        return lambda policy, grid, means, start, method, tell: panel.simulate(
            policy, grid, means, drawn, start, method, tell
        )
    run: Callable[..., panel.Panel] = (
        importlib.import_module("beltline.gpu_ref.krusell_smith.cuda_panel").Simulator(drawn).simulate
    )
    return run


@contextlib.contextmanager
def _household(
    economy: Economy, kind: str, device: Any, tol: float | None, choices: Array, refine: bool, options: dict[str, Any]
) -> Iterator[Household]:
    if kind == "euler":
        yield EulerHousehold(economy, 1e-8 if tol is None else tol, device)
        return
    tol = 1e-7 if tol is None else tol
    if isinstance(device, str) and device in REFERENCES:
        yield TableHousehold(economy, choices, device, tol, refine, {"method": "mpi"} | options)
        return
    of_device = dict(options)
    method, start = machine_method(device, of_device.pop("method", None), of_device)
    with in_session(device, of_device) as session:
        yield TableHousehold(economy, choices, session, tol, refine, {"method": method, "start": start})


def krusell_smith(
    agents: int = 10_000,
    periods: int = 1_100,
    discard: int = 100,
    household: str | None = None,
    device: str | Device | Session = "cpu",
    interpolation: str = "bicubic",
    panel: str = "cpu",
    tol: float = 1e-7,
    relaxation: float = 0.4,
    max_iterations: int = 100,
    household_tol: float | None = None,
    choices: int = CHOICES,
    refine: bool = True,
    law: ArrayLike = ((0.0, 1.0), (0.0, 1.0)),
    seed: int = 0,
    progress: Progress | Literal[False] | None = None,
    economy: Economy | None = None,
    options: dict[str, Any] | None = None,
    **parameters: Any,
) -> Equilibrium:
    """Solve Krusell and Smith's economy.

    Parameters
    ----------
    agents
        Of the panel; 10% and 4% of them must be whole numbers.
    periods, discard
        Of the panel, and how many at the beginning are not looked at.
    household
        ``"euler"``: Euler-equation iteration, on devices ``"cpu"`` and ``"gpu"`` and the default there. ``"table"``:
        value function iteration, ``4 N_K`` exogenous states, on every device, the default on any other.
    device
        Where the household is solved: any device that :func:`beltline.host.solver.solve.solve` knows, or an open
        :class:`~beltline.host.solver.session.Session`, which is left open.
    interpolation
        Of the panel: one of ``beltline.gpu_ref.krusell_smith.panel.INTERPOLATIONS``.
    panel
        Where it is simulated: ``"cpu"`` or ``"gpu"``.
    tol
        Difference between the law believed and the law estimated below which to stop, above 0.
    relaxation
        How far the law goes towards the one estimated, above 0 and at most 1.
    max_iterations
        After which to stop in any case.
    household_tol
        Of the household: change of ``k'`` (1e-8) or of ``V`` (1e-7).
    choices
        Points of a table, from 0 to ``economy.top`` with power ``POWER``.
    refine
        Whether a table's policy is moved off its grid (:func:`refined`).
    law
        To begin with.
    seed
        Of the shocks.
    progress
        As of :func:`beltline.host.solver.solve.solve`.
    economy
        By default one of ``parameters``, the fields of :class:`~beltline.host.models.krusell_smith.model.Economy`.
    options
        Of the device or the reference solver, its ``method`` included; on a sweep engine that is ``"shift"`` or none,
        and ``start`` that of the first household.

    Raises
    ------
    ProblemError
        An argument is wrong; nothing was done.
    DeviceError
        The device cannot be opened or does not behave.
    MemoryError
        The panel does not fit.
    KeyboardInterrupt
        After the device was stopped.
    """
    check_progress(progress)
    if economy is None:
        unknown = set(parameters) - {f.name for f in fields(Economy)}
        if unknown:
            raise ProblemError(f"{min(unknown)!r} is no argument and no parameter of the economy")
        economy = Economy(**parameters)
    elif parameters:
        raise ProblemError(f"{min(parameters)!r} is given beside an economy, which has it already")
    begins = economy.steady_capital
    if not begins < economy.top:
        raise ProblemError(
            f"top must be above {begins:.4g}, the capital that the panel begins with, not {economy.top:g}"
        )
    agents = whole("agents", agents, f"a whole number from 1 to {AGENTS_LIMIT}", lambda v: 1 <= v <= AGENTS_LIMIT)
    periods = whole(
        "periods", periods, f"a whole number from 10 to {PERIODS_LIMIT}", lambda v: 10 <= v <= PERIODS_LIMIT
    )
    discard = whole("discard", discard, f"a whole number from 0 to below {periods} periods", lambda v: 0 <= v < periods)
    tol = real("tol", tol, "a number above 0", lambda v: 0 < v < math.inf)
    relaxation = real("relaxation", relaxation, "a number above 0 and at most 1", lambda v: 0 < v <= 1)
    max_iterations = whole("max_iterations", max_iterations, "a whole number from 1", lambda v: v >= 1)
    seed = whole("seed", seed, "a whole number from 0", lambda v: v >= 0)
    if household_tol is not None:
        household_tol = real("household_tol", household_tol, "a number above 0", lambda v: 0 < v < math.inf)
    choices = whole("choices", choices, "a whole number from 16 to 65536", lambda v: 16 <= v <= 65_536)
    here = isinstance(device, str) and device in REFERENCES
    kind = household or ("euler" if here else "table")
    for name, value, those in (
        ("household", kind, HOUSEHOLDS),
        ("panel", panel, PANELS),
        ("interpolation", interpolation, tuple(_INTERPOLATIONS)),
    ):
        if value not in those:
            raise ProblemError(f"{name} must be one of {', '.join(map(repr, those))}, not {shown(value)}")
    if isinstance(device, str):
        known(device)
    if kind == "euler" and not here:
        raise ProblemError(f"household 'euler' is solved on device 'cpu' or 'gpu', not on {shown(device)}")
    if kind == "euler" and options:
        raise ProblemError(f"household 'euler' has no options, but {min(options)!r} is given")
    believed = np.array(table("law", law, 2))
    if believed.shape != (2, 2):
        raise ProblemError(f"law must be two pairs of b0 and b1, not of shape {believed.shape}")
    try:
        shocks.whole_numbers(agents, np.asarray(economy.unemployment))
    except ValueError as error:
        raise ProblemError(str(error)) from None
    _check_panel(panel)
    if here:
        reference_module(str(device))
    grid = polynomial_grid(choices, economy.top, POWER)
    with (
        reporting(progress) as report,
        _household(economy, kind, device, household_tol, grid, refine, options or {}) as solver,
    ):
        return _iterate(
            economy, solver, believed, agents, periods, discard, interpolation, tol, relaxation,
            max_iterations, seed, report, kind, device, panel,
        )  # fmt: skip


_INTERPOLATIONS = panel.INTERPOLATIONS


def _iterate(
    economy: Economy, solver: Household, believed: Array, agents: int, periods: int, discard: int,
    interpolation: str, tol: float, relaxation: float, max_iterations: int, seed: int, report: Progress | None,
    kind: str, device: Any, where: str,
) -> Equilibrium:  # fmt: skip
    timing: dict[str, float] = {}
    begin = time.perf_counter()
    if report:
        report(f"drawing the shocks of {agents:,} agents")
    with timed(timing, "shocks"):
        try:
            drawn = shocks.draw_shocks(agents, periods, economy.transition, economy.unemployment, seed)
        except ValueError as error:
            raise ProblemError(str(error)) from None
    for a in range(2):
        regressed(drawn.aggregate[discard:], a)
    with timed(timing, "load"):
        simulate = _simulator(where, drawn)
    parts = {"household": 0.0, "panel": 0.0}
    start: Any = economy.steady_capital
    held = False
    found: Equilibrium | None = None
    problem = None
    for done in range(1, max_iterations + 1):
        so_far = f"iteration {done}" + ("; " if found is None else f", law off by {found.change:.2g}; ")
        telling = None if report is None else lambda text, so_far=so_far: report(so_far + text)
        clock = time.perf_counter()
        try:
            policy = solver.solve(believed, telling)
        except NotSolved as error:
            problem = str(error)
            if found is None:
                raise DeviceError(f"{problem} There is no economy to show.") from None
            break
        parts["household"] += time.perf_counter() - clock
        clock = time.perf_counter()
        tell = None if telling is None else lambda t, tell=telling: tell(f"panel: period {t:,}")
        run = simulate(policy, solver.grid, economy.mean_grid, start, interpolation, tell)
        parts["panel"] += time.perf_counter() - clock
        law, r2 = regression(run.capital[discard:], drawn.aggregate[discard:])
        change = float(np.abs(law - believed).max())
        found = Equilibrium(
            success=change < tol,
            status="converged" if change < tol else "iteration limit",
            message="",
            law=law,
            r2=r2,
            change=change,
            tol=tol,
            iterations=done,
            relaxation=relaxation,
            household_iterations=solver.work,
            capital=run.capital,
            aggregate=drawn.aggregate,
            discard=discard,
            wealth=run.wealth,
            employed=drawn.employment(periods - 1),
            start=np.asarray(start),
            grid=solver.grid,
            policy=policy,
            below=run.below,
            above=run.above,
            outside=run.outside,
            household=kind,
            device=device if isinstance(device, str) else "an open device",
            interpolation=interpolation,
            panel=where,
            seed=seed,
            timing={},
            economy=economy,
        )
        if not math.isfinite(change) or change < tol:
            break
        held = held or change < SETTLED
        if not held:
            # The end of the grid in single precision may lie beyond it.
            start = np.clip(run.wealth.astype(np.float64), solver.grid[0], solver.grid[-1])
        believed = believed + relaxation * (law - believed)
    assert found is not None
    if found.success and isinstance(solver, TableHousehold):
        # What was returned without a check on the way is checked in the end.
        try:
            solver.check(believed, report)
        except NotSolved as error:
            problem = str(error)
    timing |= parts
    timing["all"] = time.perf_counter() - begin
    after = f"after {found.iterations:,} iteration{'' if found.iterations == 1 else 's'}"
    if problem is not None:
        return replace(
            found, success=False, status="household not solved", message=f"{problem} It was {after}.", timing=timing
        )
    if found.success:
        message = f"The law believed and the law estimated differ by {found.change:.2g}, less than {tol:g}, {after}."
    else:
        message = (
            f"The law believed and the law estimated still differ by {found.change:.3g} {after}, not below {tol:g}."
        )
    return replace(found, message=message, timing=timing)


def panel_errors(result: Equilibrium) -> dict[str, float]:
    """Return the error of each interpolation on the path of ``K``, in per cent.

    Each simulates the panel of ``result`` again on this computer, with its policy, shocks and start. The error is the
    largest gap from the path by Catmull-Rom interpolation in double precision (Hatcher and Scheffel 2016).
    """
    if not isinstance(result, Equilibrium):
        raise ProblemError(f"result must be an Equilibrium, not {shown(result)}")
    drawn = result.shocks
    paths = {
        name: panel.simulate(
            result.policy, result.grid, result.economy.mean_grid, drawn, result.start.astype(np.float64), name
        ).capital
        for name in _INTERPOLATIONS
    }
    return {name: panel.path_error(path, paths["bicubic"]) for name, path in paths.items()}
