"""The tables of the page on lumpy investment: moments by fineness of the grid, and by fixed cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from beltline.host.models.lumpy_investment.model import lumpy_investment
from beltline.host.models.lumpy_investment.result import MOMENTS, LumpyInvestmentResult
from beltline.host.solver.solve import solve

PLANTS = {"mean_rate": 0.122, "inaction": 0.081, "spikes": 0.186, "negative": 0.104, "negative_spikes": 0.018}
"""Cooper and Haltiwanger (2006), table 1, as the authors' slides quote it: of some 7,000 large plants in the United
States, 1972 to 1988."""

STEPS = (2, 8, 32, 128)
"""Columns of the first table."""

COSTS = (0.0, 0.0001, 0.001, 0.01, 0.03)
"""Columns of the second table."""


def _columns(name: str, values: Sequence[float], solved: Callable[[float], LumpyInvestmentResult]) -> None:
    found = {value: solved(value) for value in values}
    print(f"| {name} | {' | '.join(f'{value:,g}' for value in values)} | plants |\n|---|{'---:|' * (len(values) + 1)}")
    points = " | ".join(f"{result.model.points:,}" for result in found.values())
    print(f"| grid points of capital | {points} | |")
    tables = [result.moments() for result in found.values()]
    for key, text in MOMENTS.items():
        told = f"{PLANTS[key]:.3f}" if key in PLANTS else "-"
        print(f"| {text} | {' | '.join(f'{moments[key]:.4f}' for moments in tables)} | {told} |")
    for text, end in (("lower end", "lower"), ("adjusted to", "target"), ("upper end", "upper")):
        cells = [f"{getattr(result, end)[result.model.states // 2]:.4f}" for result in found.values()]
        print(f"| {text}, middle state | {' | '.join(cells)} | |")
    times = " | ".join(f"{result.solution.timing['solve']:.2f}" for result in found.values())
    print(f"| solve, s | {times} | |\n")
    for value, result in found.items():
        if not result.success:
            print(f"{name} {value:,g}: {result.message}\n")


def by_steps(values: Sequence[int] = STEPS) -> None:
    """Print moments on finer and finer grids."""
    _columns("steps", values, lambda steps: solve(lumpy_investment(steps=int(steps)), progress=False))


def by_cost(values: Sequence[float] = COSTS) -> None:
    """Print moments with a higher and higher fixed cost."""
    _columns("fixed cost", values, lambda fixed: solve(lumpy_investment(fixed=fixed), progress=False))


def tables(device: str) -> None:
    """Print both tables; the model is solved on device ``cpu`` alone, whatever ``device`` is."""
    print(f"On device cpu{'' if device == 'cpu' else ', which alone solves this model'}.\n")
    solve(lumpy_investment(steps=1, states=1), progress=False)
    by_steps()
    by_cost()
