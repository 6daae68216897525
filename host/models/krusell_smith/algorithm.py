"""Krusell and Smith's equilibrium: a law of motion that the economy follows when everyone believes in it.

Given the law ``ln K' = b0(a) + b1(a) ln K``, the household is solved, a panel of them is simulated, and the law is
estimated from the panel's ``K`` by least squares, one regression an aggregate state. ``b`` goes ``relaxation`` of the
way there, until an estimate differs from what was believed by less than ``tol``.

The panel begins with everyone at
:attr:`~beltline.host.models.krusell_smith.calibration.Calibration.steady_capital`. As long as the law still moves by
``SETTLED`` or more, the next panel begins with the wealth that the last one ended with; then it is the same start for
all that follow, so that there is one law to converge to.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from beltline.gpu_ref.krusell_smith import panel, shocks
from beltline.host.devices import DeviceError, Progress
from beltline.host.models.krusell_smith.calibration import Calibration
from beltline.host.models.krusell_smith.household import Household, NotSolved, TableHousehold, opened
from beltline.host.models.krusell_smith.law import regressed, regression
from beltline.host.models.krusell_smith.options import HouseholdOptions, LawOptions, PanelOptions
from beltline.host.models.krusell_smith.panel import check_panel, simulator
from beltline.host.models.krusell_smith.result import NEAR_TOP_SHARE, Equilibrium
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError
from beltline.host.results.outcome import GRID_END_SHARE, Outcome
from beltline.host.solver.reference import reference_module
from beltline.host.solver.run import timed
from beltline.sim.progress import reporting

SETTLED = 1e-3
"""Movement of the law below which panels begin alike."""


@dataclass(frozen=True)
class Options:
    """All that a solve is told."""

    panel: PanelOptions
    law: LawOptions
    household: HouseholdOptions


def solve(economy: Calibration, options: Options, progress: Progress | Literal[False] | None = None) -> Equilibrium:
    """Return the equilibrium of ``economy``; :meth:`beltline.host.models.krusell_smith.model.KrusellSmith.solve` says
    what the options are.

    Raises
    ------
    ProblemError, DeviceError, MemoryError
        As there.
    """
    begins = economy.steady_capital
    if not begins < economy.top:
        raise ProblemError(
            f"top must be above {begins:.4g}, the capital that the panel begins with, not {economy.top:g}"
        )
    options.panel.check_unemployment(economy.unemployment)
    check_panel(options.panel.panel)
    if options.household.reference:
        reference_module(str(options.household.device))
    with reporting(progress) as report, opened(economy, options.household) as household:
        return _iterate(economy, household, options, report)


def _iterate(economy: Calibration, household: Household, options: Options, report: Progress | None) -> Equilibrium:
    timing: dict[str, float] = {}
    begin = time.perf_counter()
    drawn = _drawn(economy, options.panel, timing, report)
    with timed(timing, "load"):
        simulate = simulator(options.panel.panel, drawn)
    parts = {"household": 0.0, "panel": 0.0}
    start: Any = economy.steady_capital
    believed, tol = options.law.begin, options.law.tol
    held = False
    found: Equilibrium | None = None
    problem = None
    for done in range(1, options.law.max_iterations + 1):
        so_far = f"iteration {done}" + ("; " if found is None else f", law off by {found.change:.2g}; ")
        telling = None if report is None else lambda text, so_far=so_far: report(so_far + text)
        clock = time.perf_counter()
        try:
            policy = household.solve(believed, telling)
        except NotSolved as error:
            problem = str(error)
            if found is None:
                raise DeviceError(f"{problem} There is no economy to show.") from None
            break
        parts["household"] += time.perf_counter() - clock
        clock = time.perf_counter()
        tell = None if telling is None else lambda t, tell=telling: tell(f"panel: period {t:,}")
        run = simulate(policy, household.grid, economy.mean_grid, start, options.panel.interpolation, tell)
        parts["panel"] += time.perf_counter() - clock
        found = _estimated(economy, household, options, drawn, run, policy, start, believed, done)
        if not math.isfinite(found.change) or found.change < tol:
            break
        held = held or found.change < SETTLED
        if not held:
            # The end of the grid in single precision may lie beyond it.
            start = np.clip(run.wealth.astype(np.float64), household.grid[0], household.grid[-1])
        believed = believed + options.law.relaxation * (found.law - believed)
    assert found is not None
    if found.success and isinstance(household, TableHousehold):
        # What was returned without a check on the way is checked in the end.
        try:
            household.check(believed, report)
        except NotSolved as error:
            problem = str(error)
    timing |= parts
    timing["all"] = time.perf_counter() - begin
    after = f"after {found.iterations:,} iteration{'' if found.iterations == 1 else 's'}"
    if problem is not None:
        status, message = Outcome.HOUSEHOLD.value, f"{problem} It was {after}."
        return replace(found, success=False, status=status, message=message, timing=timing)
    if found.success and (short := _short(found)):
        return replace(found, success=False, status=Outcome.GRID.value, message=short, timing=timing)
    if found.success:
        message = f"The law believed and the law estimated differ by {found.change:.2g}, less than {tol:g}, {after}."
    else:
        message = (
            f"The law believed and the law estimated still differ by {found.change:.3g} {after}, not below {tol:g}."
        )
    return replace(found, message=message, timing=timing)


def _short(found: Equilibrium) -> str:
    """Say which grid ends too early for the last panel, and what to do; nothing where none does."""
    economy = found.economy
    near_top = found.near_top
    if near_top > NEAR_TOP_SHARE:
        return (
            f"{near_top:.2%} of households own more than nine tenths of the most that the grid of k has, "
            f"{economy.top:g}, where at most {NEAR_TOP_SHARE:.0%} may: raise top."
        )
    kept = found.capital[found.discard : -1]
    off = int(((kept < economy.low) | (kept > economy.high)).sum())
    if off > GRID_END_SHARE * kept.size:
        return (
            f"K is off its grid, from {economy.low:g} to {economy.high:g}, in {off:,} of {kept.size:,} periods, where "
            f"at most {GRID_END_SHARE:.2%} may be: it goes from {kept.min():.4g} to {kept.max():.4g}, so change low or "
            f"high."
        )
    return ""


def _drawn(
    economy: Calibration, options: PanelOptions, timing: dict[str, float], report: Progress | None
) -> shocks.Shocks:
    if report:
        report(f"drawing the shocks of {options.agents:,} agents")
    with timed(timing, "shocks"):
        try:
            drawn = shocks.draw_shocks(
                options.agents, options.periods, economy.transition, economy.unemployment, options.seed
            )
        except ValueError as error:
            raise ProblemError(str(error)) from None
    for a in range(2):
        regressed(drawn.aggregate[options.discard :], a)
    return drawn


def _estimated(
    economy: Calibration, household: Household, options: Options, drawn: shocks.Shocks, run: panel.Panel,
    policy: Array, start: Any, believed: Array, done: int,
) -> Equilibrium:  # fmt: skip
    """What iteration ``done`` found, without a message and times."""
    discard, device = options.panel.discard, options.household.device
    law, r2 = regression(run.capital[discard:], drawn.aggregate[discard:])
    change = float(np.abs(law - believed).max())
    success = change < options.law.tol
    return Equilibrium(
        success=success,
        status=(Outcome.CONVERGED if success else Outcome.ITERATIONS).value,
        message="",
        law=law,
        r2=r2,
        change=change,
        tol=options.law.tol,
        iterations=done,
        relaxation=options.law.relaxation,
        household_iterations=household.work,
        capital=run.capital,
        aggregate=drawn.aggregate,
        discard=discard,
        wealth=run.wealth,
        employed=drawn.employment(options.panel.periods - 1),
        start=np.asarray(start),
        grid=household.grid,
        policy=policy,
        below=run.below,
        above=run.above,
        outside=run.outside,
        household=str(options.household.household),
        device=device if isinstance(device, str) else "an open device",
        interpolation=options.panel.interpolation,
        panel=options.panel.panel,
        seed=options.panel.seed,
        timing={},
        economy=economy,
    )
