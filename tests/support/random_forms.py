"""Random general problems for tests: ties, kinks, jumps, costs that fall, binding bounds, forced choices.

Every problem that :func:`random_form` draws

- is a valid :class:`beltline.gpu_ref.general.form.Form`: every regime has an allowed choice in every state at every
  age. A single alternative may lack a choice in some states, and rows without one may lie between rows with one;
- has up to ``grid`` points, 4 exogenous states, 3 regimes, 3 alternatives in each, and with a horizon 4 ages;
- has ``eta`` from 0 to 10, with and without negative consumption if ``eta = 0``, and a ``beta`` that differs by state;
- has wealth with jumps, flat pieces and exact ties, which falls in ``x`` in some problems with negative consumption; a
  cost that rises, turns (as the revenue from a bond does) or has no order, with exact ties; values that rise, jump,
  tie, or have any shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from beltline.gpu_ref.general.form import Alternative, Branch, Form, Outside
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import crra_utility

ETAS = (0.0, 0.0, 0.2, 0.5, 1.0, 2.0, 3.7, 10.0)
"""Values of ``eta``, equally likely; two of the eight are linear utility."""


@dataclass(frozen=True, eq=False)
class RandomForm:
    """A random problem, with a value and a policy from which to sweep.

    Attributes
    ----------
    form
        The problem.
    value
        ``(N_r, N_k, N_z)``.
    policy
        ``(N_d, N_k, N_z)``, arbitrary whole numbers, some of which are no index.
    kind
        Description for messages.
    """

    form: Form
    value: Array
    policy: Any
    kind: str


def _cost(rng: np.random.Generator, grid: Array, states: int) -> Array:
    """Draw the cost of ending with ``x'``, ``(N_k, N_z)``."""
    span = grid[-1]
    kind = rng.integers(5)
    price = rng.uniform(0.3, 1.5, states)
    if kind <= 1:
        found = grid[:, None] * price
    elif kind == 2:
        # Debt from -span to span, whose price falls with the debt: revenue turns.
        debt = np.linspace(-span, span, grid.size)[:, None]
        found = debt * np.clip(price + rng.uniform(0.0, 2.0) * debt / span, 0.0, 1.0)
    elif kind == 3:
        # A hump: profit that rises and falls in x'.
        found = grid[:, None] - rng.uniform(0.5, 3.0, states) * np.sqrt(grid[:, None] * span)
    else:
        found = rng.normal(0.3, 0.4, (grid.size, states)) * span
    if rng.random() < 0.4:
        found = np.round(found / span * 12) / 12 * span
    return np.asarray(found, np.float64)


def _bounds(rng: np.random.Generator, grid: int, states: int) -> dict[str, Any]:
    """Draw ``low`` and ``high`` of a branch, or neither."""
    kind = rng.integers(7)
    if kind <= 1:
        return {}
    if kind == 2:
        low = int(rng.integers(grid))
        return {"low": low, "high": int(rng.integers(low, grid))}
    first = np.sort(rng.integers(0, grid, (grid, states)), axis=0)
    second = np.sort(rng.integers(0, grid, (grid, states)), axis=0)
    if kind == 3:
        return {"low": np.arange(grid)[:, None].repeat(states, axis=1) if rng.random() < 0.5 else first}
    if kind == 4:
        return {"high": np.arange(grid)[:, None].repeat(states, axis=1) if rng.random() < 0.5 else first}
    if kind == 5:
        return {"low": first, "high": first}
    return {"low": np.minimum(first, second), "high": np.maximum(first, second)}


def _wealth(rng: np.random.Generator, grid: Array, states: int) -> Array:
    """Draw cash on hand, ``(N_k, N_z)``, which does not fall in ``x``."""
    span = grid[-1]
    kind = rng.integers(3)
    if kind == 0:
        found = 1.03 * grid[:, None] + rng.uniform(0.02, 0.5, states) * span
        # A kink and a jump.
        found += np.maximum(grid[:, None] - 0.5 * span, 0.0) * rng.uniform(0.0, 1.0)
        found += (grid[:, None] > rng.uniform(0.0, 1.0) * span) * rng.uniform(0.0, 0.3) * span
    else:
        found = np.sort(rng.uniform(-0.2, 1.3, (grid.size, states)), axis=0) * span
    if kind == 2 or rng.random() < 0.3:
        found = np.round(found / span * 12) / 12 * span
    return np.asarray(found, np.float64)


def _chain(rng: np.random.Generator, states: int) -> Array:
    """Draw a transition matrix, ``(N_z, N_z)``, with some zeros."""
    if rng.random() < 0.15:
        return np.eye(states)
    found: Array = rng.dirichlet(np.ones(states), states)
    found[rng.random(found.shape) < 0.2] = 0.0
    found += 0.05 * np.eye(states)
    return found / found.sum(axis=1, keepdims=True)


def _value(rng: np.random.Generator, shape: tuple[int, ...], size: float) -> Array:
    """Draw a value of magnitude ``size``: of any shape, accumulated, rising, or rising with ties."""
    found = rng.normal(0.0, 1.0, shape) * size
    kind = rng.integers(4)
    if kind == 1:
        found = np.cumsum(found, axis=-2) / shape[-2]
    elif kind >= 2:
        found = np.sort(found, axis=-2)
    if kind == 3:
        found = np.round(found / size * 2) / 2 * size
    return np.asarray(found, np.float64)


def _affordable(branch: dict[str, Any], scale: float) -> None:
    """Raise the wealth of a branch until every row can afford something in bounds."""
    wealth, cost = branch["wealth"], branch["cost"]
    grid = wealth.shape[-2]
    low = np.broadcast_to(branch.get("low", 0), wealth.shape[-2:])
    high = np.broadcast_to(branch.get("high", grid - 1), wealth.shape[-2:])
    candidates = np.arange(grid)[:, None, None]
    inside = (low <= candidates) & (candidates <= high)
    for table, prices in zip(wealth.reshape(-1, *low.shape), cost.reshape(-1, *low.shape), strict=True):
        cheapest = np.where(inside, prices[:, None, :], np.inf).min(axis=0)
        table += max(0.0, float((cheapest - table).max())) + 0.02 * scale


def random_form(seed: int, grid: int = 40) -> RandomForm:
    """Draw a problem with up to ``grid`` points."""
    rng = np.random.default_rng(seed)
    points, states = int(rng.integers(1, grid + 1)), int(rng.integers(1, 5))
    X = np.cumsum(rng.exponential(1.0, points)) * 10.0 ** rng.uniform(-2, 2)
    scale = float(X[-1])
    eta = float(rng.choice(ETAS))
    negative = bool(eta == 0.0 and rng.random() < 0.5)
    size = 0.1 * scale if eta == 0.0 else abs(float(crra_utility(0.1 * scale, eta))) or 1.0
    regimes = int(rng.integers(1, 4))
    horizon = int(rng.integers(1, 5)) if rng.random() < 0.3 else None
    ages = horizon or 1
    found: list[Alternative] = []
    for regime in range(regimes):
        for d in range(int(rng.integers(1, 4))):
            name = f"{regime}.{d}"
            if d and rng.random() < 0.2:
                found.append(Outside(name, regime, _value(rng, (points, states), size)))
                continue
            aged = horizon is not None and rng.random() < 0.6
            draws = ages if aged else 1
            branch: dict[str, Any] = {
                "wealth": np.stack([_wealth(rng, X, states) for _ in range(draws)]),
                "cost": np.stack([_cost(rng, X, states) for _ in range(draws)]),
                "transition": np.stack([_chain(rng, states) for _ in range(draws)]),
                "beta": rng.uniform(0.3, 0.98 if horizon is None else 1.2, (draws, states)),
                "kappa": rng.normal(0.0, 0.3, (draws, states)) * size * (rng.random() < 0.6),
            }
            if not aged:
                branch = {key: table[0] for key, table in branch.items()}
            branch |= _bounds(rng, points, states)
            if negative and rng.random() < 0.5:
                branch["wealth"] = -branch["wealth"]
            if d == 0 and not negative:
                _affordable(branch, scale)
            mix = rng.dirichlet(np.ones(regimes)) if rng.random() < 0.5 else int(rng.integers(regimes))
            found.append(Branch(name, regime, mix=mix, **branch))
    sigma = float(rng.uniform(0.01, 1.0)) * size if rng.random() < 0.3 else 0.0
    form = Form(tuple(found), eta, sigma, negative, horizon)
    policy = rng.integers(-3, points + 3, (len(found), points, states)).astype(np.int32)
    kind = f"eta {eta:g}{', negative' * negative}{', shocks' * (sigma > 0)}{f', {ages} ages' * (horizon is not None)}"
    return RandomForm(form, _value(rng, form.shape, size), policy, kind)
