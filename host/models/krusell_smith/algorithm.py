"""The algorithm of Krusell and Smith (1998): iteration on the law of motion that households believe in.

Given the law ``ln K' = b0(a) + b1(a) ln K``, the household's problem is solved, a panel of households is simulated, and
the law is estimated from the panel's ``K`` by least squares, one regression for each aggregate state. The law is then
changed by a share ``relaxation`` of the distance to the estimate, until an estimate differs from the law by less than
``tol``.

In the first panel every household starts with
:attr:`~beltline.host.models.krusell_smith.calibration.Calibration.steady_capital`. As long as law and estimate differ
by ``SETTLED`` or more, the next panel starts with the wealth at the end of the last one. After that all panels have the
same start, so that the iteration has a fixed point.
"""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from beltline.gpu_ref.krusell_smith import panel, shocks
from beltline.gpu_ref.timing import timed
from beltline.host.devices import DeviceError, Progress
from beltline.host.models.krusell_smith.calibration import Calibration
from beltline.host.models.krusell_smith.household import Household, NotSolved, TableHousehold, opened
from beltline.host.models.krusell_smith.options import Options
from beltline.host.models.krusell_smith.result import (
    NEAR_TOP_SHARE,
    ConstantCapital,
    Equilibrium,
    regressed,
    regression,
)
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError
from beltline.host.results.outcome import GRID_END_SHARE, Outcome
from beltline.host.solver.reference import reference_module
from beltline.sim.progress import reporting

SETTLED = 1e-3
"""Difference of law and estimate below which all further panels have the same start."""


def solve(economy: Calibration, options: Options, progress: Progress | Literal[False] | None = None) -> Equilibrium:
    """Return the equilibrium; the method :meth:`beltline.KrusellSmith.solve` calls this and explains the options."""
    begins = economy.steady_capital
    if not begins < economy.top:
        raise ProblemError(
            f"top must be above {begins:.4g}, the capital with which the panel starts, not {economy.top:g}"
        )
    options.check_unemployment(economy.unemployment)
    if options.panel == "gpu" and (missing := _cuda_panel().available()):
        raise DeviceError(f"panel 'gpu' cannot be used here: {missing}")
    if options.reference:
        reference_module(str(options.device))
    with reporting(progress) as report, opened(economy, options) as household:
        return _iterate(economy, household, options, report)


def _simulator(name: str, drawn: shocks.Shocks) -> Callable[..., panel.Panel]:
    """Return a function that simulates on ``name`` with these shocks; on a GPU they are loaded once."""
    if name == "cpu":
        return lambda policy, grid, means, *others: panel.simulate(policy, grid, means, drawn, *others)
    run: Callable[..., panel.Panel] = _cuda_panel().Simulator(drawn).simulate
    return run


def _cuda_panel() -> Any:
    return importlib.import_module("beltline.gpu_ref.krusell_smith.cuda_panel")


def _iterate(economy: Calibration, household: Household, options: Options, report: Progress | None) -> Equilibrium:
    timing: dict[str, float] = {}
    begin = time.perf_counter()
    drawn = _drawn(economy, options, timing, report)
    with timed(timing, "load"):
        simulate = _simulator(options.panel, drawn)
    parts = {"household": 0.0, "panel": 0.0}
    start: Any = economy.steady_capital
    believed, tol = options.law, options.tol
    same_start = False
    found: Equilibrium | None = None
    problem, failed = None, Outcome.HOUSEHOLD
    for done in range(1, options.max_iterations + 1):
        so_far = f"iteration {done}" + ("; " if found is None else f", law off by {found.change:.2g}; ")
        report_panel = None if report is None else lambda text, so_far=so_far: report(so_far + text)
        clock = time.perf_counter()
        try:
            policy = household.solve(believed, report_panel)
        except NotSolved as error:
            problem = str(error)
            if found is None:
                raise DeviceError(
                    f"{problem} No iteration was completed, so there is no result: choose another household, or a law "
                    f"nearer to the equilibrium, whose K without shocks is {economy.steady_capital:.4g}."
                ) from None
            break
        parts["household"] += time.perf_counter() - clock
        clock = time.perf_counter()
        report_period = None if report_panel is None else lambda t, to=report_panel: to(f"panel: period {t:,}")
        run = simulate(policy, household.grid, economy.mean_grid, start, options.interpolation, report_period)
        parts["panel"] += time.perf_counter() - clock
        try:
            found = _estimated(economy, household, options, drawn, run, policy, start, believed, done)
        except ConstantCapital as error:
            problem, failed = f"{error}: change low, high or top.", Outcome.GRID
            if found is None:
                raise DeviceError(f"{problem} No iteration was completed, so there is no result.") from None
            break
        if not math.isfinite(found.change) or found.change < tol:
            break
        same_start = same_start or found.change < SETTLED
        if not same_start:
            # In single precision wealth may exceed the end of the grid by a rounding error.
            start = np.clip(run.wealth.astype(np.float64), household.grid[0], household.grid[-1])
        believed = believed + options.relaxation * (found.law - believed)
    assert found is not None
    if found.success and isinstance(household, TableHousehold):
        # The households of the iterations were not verified; the last one is.
        try:
            household.check(believed, report)
        except NotSolved as error:
            problem = str(error)
    timing |= parts
    timing["all"] = time.perf_counter() - begin
    after = f"after {found.iterations:,} iteration{'' if found.iterations == 1 else 's'}"
    if problem is not None:
        message = f"{problem} This occurred {after}."
        return replace(found, success=False, status=failed.value, message=message, timing=timing)
    if found.success and (short := _short(found)):
        return replace(found, success=False, status=Outcome.GRID.value, message=short, timing=timing)
    if found.success:
        message = f"Law and estimate differ by {found.change:.2g}, less than {tol:g}, {after}."
    else:
        message = f"Law and estimate still differ by {found.change:.3g} {after}, and tol is {tol:g}."
    return replace(found, message=message, timing=timing)


def _short(found: Equilibrium) -> str:
    """Return which grid is too short for the last panel and what to do, or an empty text if none is."""
    economy = found.economy
    used = found.capital[found.discard : -1]
    off = int(((used < economy.low) | (used > economy.high)).sum())
    if off > GRID_END_SHARE * used.size:
        return (
            f"K is off its grid, {economy.low:g} to {economy.high:g}, in {off:,} of {used.size:,} periods, and at most "
            f"{GRID_END_SHARE:.2%} are allowed: K ranges from {used.min():.4g} to {used.max():.4g}, and without shocks "
            f"it is {economy.steady_capital:.4g}, so change low or high."
        )
    near_top = found.near_top
    if near_top > NEAR_TOP_SHARE:
        return (
            f"{near_top:.2%} of households own more than nine tenths of the largest capital of the grid of k, "
            f"{economy.top:g}, and at most {NEAR_TOP_SHARE:.0%} may: raise top."
        )
    return ""


def _drawn(economy: Calibration, options: Options, timing: dict[str, float], report: Progress | None) -> shocks.Shocks:
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
    """Return the state of the solve after iteration ``done``, without a message and times."""
    discard, device = options.discard, options.device
    law, r2 = regression(run.capital[discard:], drawn.aggregate[discard:])
    change = float(np.abs(law - believed).max())
    success = change < options.tol
    return Equilibrium(
        success=success,
        status=(Outcome.CONVERGED if success else Outcome.ITERATIONS).value,
        message="",
        law=law,
        r2=r2,
        change=change,
        tol=options.tol,
        iterations=done,
        relaxation=options.relaxation,
        household_iterations=household.work,
        capital=run.capital,
        aggregate=drawn.aggregate,
        discard=discard,
        wealth=run.wealth,
        employed=drawn.employment(options.periods - 1),
        start=np.broadcast_to(start, run.wealth.shape),
        grid=household.grid,
        policy=policy,
        below=run.below,
        above=run.above,
        outside=run.outside,
        household=str(options.household),
        device=device if isinstance(device, str) else "an open device",
        interpolation=options.interpolation,
        panel=options.panel,
        seed=options.seed,
        timing={},
        economy=economy,
    )
