"""Print the tables on choices between grid points: ``python -m docs.tables.refine``.

They show the error of consumption by number of grid points, against a closed form or the endogenous grid method on a
grid of :data:`FINE` points; Euler equation errors; and the bounds on the error of the grid.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.published import interpolation
from beltline.gpu_ref.published.endogenous_grid import Endogenous, marginal_wealth
from beltline.host.analysis.between import Between, straight
from beltline.host.analysis.euler import errors_between, summary
from beltline.host.analysis.refine import refine, settled
from beltline.host.models.rbc import rbc
from beltline.host.problem.arrays import Array
from beltline.host.problem.grids import grid_polynomial
from beltline.host.problem.markov import tauchen
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility
from beltline.host.results.result import Result
from beltline.host.solver.solve import solve

GRIDS = (65, 257, 1025)
"""Numbers of grid points. Each grid has every fourth point of the next; all are part of the finest."""

COST_GRIDS = (*GRIDS, 16_385)
"""Numbers of grid points of the table of bounds, which needs no other method."""

FINE = 32_769
TOL = 1e-10
SETTLED = 1e-12
"""Change of consumption at which the endogenous grid method stops."""

INTERP_TOL = 1e-8
"""Tolerance of method ``interp``, which takes a hundred times as long as the others."""

HEADS = ("grid", "parabola", "one step", "lines", "refined", "`interp`", "`egm`")


def closed(points: int) -> Problem:
    """Return the RBC model of Brock and Mirman (1972), with log utility and full depreciation.

    Its closed form is ``c = (1 - alpha beta) z k**alpha``.
    """
    return rbc(grid=points, states=5, beta=0.95, eta=1.0, alpha=0.35, delta=1.0, sigma=0.05)


def savings(points: int) -> Problem:
    """Return the problem of a household with risky income that cannot borrow."""
    grid = grid_polynomial(0.0, 30.0, points, 2.0)
    log_income, transition = tauchen(5, 0.9, 0.2)
    wealth = 1.03 * grid[:, None] + np.exp(log_income)
    return Problem(
        grid=grid, wealth=wealth, transition=transition, start=np.zeros(wealth.shape), beta=0.95, eta=2.0,
        marginal_wealth=np.full(wealth.shape, 1.03), name="savings", asset="assets a", shock="income y",
        shock_values=np.exp(log_income),
    )  # fmt: skip


def growth(points: int) -> Problem:
    """Return the standard RBC model."""
    return rbc(grid=points)


MODELS: Mapping[str, Callable[[int], Problem]] = {
    "RBC, log utility, full depreciation": closed,
    "RBC": growth,
    "savings without debt": savings,
}


def endogenous(problem: Problem) -> Array:
    """Return consumption by the endogenous grid method, ``(N_k, N_z)``."""
    slope = marginal_wealth(problem.grid, problem.wealth, problem.marginal_wealth)
    method = Endogenous(problem.grid, problem.wealth, slope, problem.transition, problem.beta, problem.eta)
    method.load()
    if not method.solve(SETTLED, 100_000) < SETTLED:
        raise RuntimeError(f"the endogenous grid method did not converge on {problem.points:,} points")
    return method.consumption


def exact(make: Callable[[int], Problem], points: int = FINE) -> Array:
    """Return the consumption to compare with, ``(points, N_z)``: the closed form if there is one."""
    problem = make(points)
    if make is closed:
        assert problem.output is not None
        return np.asarray((1 - problem.parameters["alpha"] * problem.beta) * problem.output)
    return endogenous(problem)


def parabola(problem: Problem, value: Array, policy: NDArray[np.int32]) -> Array:
    """Return an approximation of the best ``x'`` between grid points, ``(N_k, N_z)``.

    It is the maximum of the parabola through the objective at the chosen point and at its two neighbours, at most half
    way to these. The chosen point itself is returned at an end of the grid, and where a neighbour is not affordable.
    """
    x, eta = problem.grid, problem.eta
    if x.size < 3:
        return np.asarray(x[policy])
    ahead = problem.beta * value @ problem.transition.T
    at = np.clip(policy, 1, problem.points - 2)
    points = [x[at + j] for j in (-1, 0, 1)]
    objective = [utility(problem.wealth - points[j], eta) + np.take_along_axis(ahead, at + j - 1, 0) for j in range(3)]
    with np.errstate(invalid="ignore", divide="ignore"):
        left = (objective[1] - objective[0]) / (points[1] - points[0])
        right = (objective[2] - objective[1]) / (points[2] - points[1])
        curvature = (right - left) / (points[2] - points[0])
        top = (points[0] + points[1]) / 2 - left / (2 * curvature)
        inner = (policy == at) & np.isfinite(objective[0]) & np.isfinite(objective[2]) & (curvature < 0)
    low, high = (points[0] + points[1]) / 2, (points[1] + points[2]) / 2
    return np.where(inner, np.clip(top, low, high), x[policy])


def choices(result: Result) -> dict[str, Array]:
    """Return the choice of each method by its heading, ``(N_k, N_z)``, in units of the grid."""
    problem = result.problem
    tables = problem.grid, problem.wealth, problem.transition, result.value, problem.beta, problem.eta
    searched = interpolation.solve(*tables, INTERP_TOL)
    found = (
        result.choice,
        parabola(problem, result.value, result.policy),
        Between(problem).improve(result.value[None]).choice[0],
        settled(Between(problem, pieces=straight), result.value[None], TOL, 100)[0].choice[0],
        refine(result).choice,
        interpolation.candidates(problem.grid, 1000)[searched.policy],
        problem.wealth - endogenous(problem),
    )
    return dict(zip(HEADS, found, strict=True))


def errors(name: str, grids: Sequence[int] = GRIDS, fine: int = FINE) -> None:
    """Print relative errors of consumption of each method, and Euler equation errors, by number of grid points."""
    make = MODELS[name]
    reference = exact(make, fine)
    if make is not closed:
        half = np.abs(exact(make, fine // 2 + 1) / reference[::2] - 1).max()
        print(f"Reference: `egm` on {fine:,} points, which differs from half of them by {half:.1g} at most.\n")
    print(f"| grid points | error of | {' | '.join(HEADS)} |\n|---:|---|{'---:|' * len(HEADS)}")
    for points in grids:
        result = solve(make(points), tol=TOL, device="cpu", method="shift", progress=False)
        problem, true = result.problem, reference[:: (fine - 1) // (points - 1)]
        assert problem.marginal_wealth is not None
        cells: dict[str, list[str]] = {"consumption, largest": [], "consumption, mean": [], "Euler, mean log10": []}
        for choice in choices(result).values():
            off = np.abs((problem.wealth - choice) / true - 1)
            euler = summary(errors_between(problem, problem.marginal_wealth, choice))
            texts = f"{off.max():.1e}", f"{off.mean():.1e}", f"{euler.mean:.2f}"
            for row, text in zip(cells.values(), texts, strict=True):
                row.append(text)
        for name_of_error, row in cells.items():
            print(f"| {points:,} | {name_of_error} | {' | '.join(row)} |", flush=True)
    print()


def cost_of_the_grid(name: str, grids: Sequence[int] = COST_GRIDS) -> None:
    """Print the error bound on the grid, the bounds on the error of the grid, steps and time."""
    print("| grid points | on the grid | without it | of the refined value | proof | steps | s |")
    print("|---:|---:|---:|---:|---|---:|---:|")
    for points in grids:
        result = solve(MODELS[name](points), tol=TOL, device="cpu", method="shift", progress=False)
        found = refine(result)
        cells = [f"{points:,}", *(f"{e:.1e}" for e in (found.error_bound, found.grid_error, found.value_error))]
        cells += [found.proof, f"{found.steps}", f"{found.seconds:.2f}"]
        print(f"| {' | '.join(cells)} |{'' if found.success else f' {found.message}'}", flush=True)
    print()


def tables(device: str) -> None:
    """Print all tables; problems are solved on ``cpu``, and ``device`` only changes a note."""
    print(f"On device cpu{'' if device == 'cpu' else ', the only one that these tables use'}.\n")
    for name in MODELS:
        print(f"### {name}\n")
        errors(name)
        cost_of_the_grid(name)


if __name__ == "__main__":
    tables("cpu")
    sys.exit(0)
