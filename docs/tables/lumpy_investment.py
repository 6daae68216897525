"""Print the tables of ``docs/lumpy-investment.md``: moments by grid, by fixed and by convex cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from beltline.host.models.lumpy_investment.model import MOMENTS, LumpyInvestmentResult, lumpy_investment
from beltline.host.solver.solve import solve
from beltline.host.solver.solve_general import DEVICES

PLANTS = {
    "mean_rate": 0.122,
    "inaction": 0.081,
    "spikes": 0.186,
    "negative": 0.104,
    "negative_spikes": 0.018,
    "serial_correlation": 0.058,
    "productivity_correlation": 0.143,
}
"""Moments of some 7,000 large plants in the United States, 1972 to 1988: Cooper and Haltiwanger (2006), table 1, as
quoted in the authors' slides."""

STEPS = (2, 8, 32, 128)
"""Values of ``steps`` in the columns of the first table."""

COSTS = (0.0, 0.0001, 0.001, 0.01, 0.03)
"""Fixed costs in the columns of the second table."""

MIXED = ((0.0, 0.0), (0.0, 0.05), (0.0, 0.2), (0.01, 0.0), (0.01, 0.05), (0.01, 0.2), (0.001, 0.05))
"""Fixed and convex costs in the columns of the third table."""

MIXED_STEPS = 4
"""``steps`` of that table; its grid is coarse because time grows with the square of the number of grid points."""


def _columns(name: str, found: Mapping[str, LumpyInvestmentResult]) -> None:
    print(f"| {name} | {' | '.join(found)} | plants |\n|---|{'---:|' * (len(found) + 1)}")
    points = " | ".join(f"{result.model.points:,}" for result in found.values())
    print(f"| grid points of capital | {points} | |")
    tables = [result.moments() for result in found.values()]
    for key, text in MOMENTS.items():
        plants = f"{PLANTS[key]:.3f}" if key in PLANTS else "-"
        print(f"| {text} | {' | '.join(f'{moments[key]:.4f}' for moments in tables)} | {plants} |")
    target = "target" if any(result.model.convex for result in found.values()) else "adjusted to"
    for text, end in (("lower end", "lower"), (target, "target"), ("upper end", "upper")):
        cells = [f"{getattr(result, end)[result.model.states // 2]:.4f}" for result in found.values()]
        print(f"| {text}, middle state | {' | '.join(cells)} | |")
    times = " | ".join(f"{result.solution.timing['solve']:.2f}" for result in found.values())
    print(f"| solve, s | {times} | |\n")
    for value, result in found.items():
        if not result.success:
            print(f"{name} {value}: {result.message}\n")


def _solved(device: str = "cpu", **parameters: Any) -> LumpyInvestmentResult:
    found: LumpyInvestmentResult = solve(lumpy_investment(**parameters), device=device, progress=False)
    return found


def by_steps(values: Sequence[int] = STEPS, device: str = "cpu") -> None:
    """Print moments on grids of increasing size."""
    _columns("steps", {f"{steps:,}": _solved(device, steps=steps) for steps in values})


def by_cost(values: Sequence[float] = COSTS, device: str = "cpu") -> None:
    """Print moments for increasing fixed costs."""
    _columns("fixed cost", {f"{fixed:g}": _solved(device, fixed=fixed) for fixed in values})


def by_both(values: Sequence[tuple[float, float]] = MIXED, steps: int = MIXED_STEPS) -> None:
    """Print moments with fixed and convex costs; these are solved on device ``cpu``, the only one that can."""
    found = {f"{fixed:g}, {convex:g}": _solved(steps=steps, fixed=fixed, convex=convex) for fixed, convex in values}
    _columns("fixed, convex cost", found)


def tables(device: str) -> None:
    """Print all tables, the first two on ``device``: ``cpu`` or ``gpu``."""
    where = device if device in DEVICES else DEVICES[0]
    print(f"On device {where}{'' if where == device else f', as {device} does not solve this model'}.\n")
    _solved(where, steps=1, states=1)
    by_steps(device=where)
    by_cost(device=where)
    print(f"With a convex cost, on device {DEVICES[0]}:\n")
    _solved(steps=1, states=1, convex=0.1)
    by_both()
