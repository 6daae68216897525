"""Problems with linear utility that the accelerator supports: firms, whose dividends may be negative."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from beltline.host.problem.alternative import Alternative
from beltline.host.problem.problem import Problem
from support.alternatives import KINDS, chain, with_alternatives

FIRMS = ("entry", "random firm", "linear")

SCALES = (1.0, 1e-9, 1e9)


def firm(kind: str, seed: int = 0, points: int = 40, states: int = 2, horizon: int | None = None) -> Problem:
    """Return a problem with ``eta = 0`` of a kind, with numbers that ``seed`` draws.

    ``"entry"``: a firm that invests, may close for its scrap value, and may open again; it takes 5 product states for
    each of ``states``. ``"random firm"``: one to three alternatives in one or two regimes, with costs, values
    and sometimes cash on hand in any order. Both may pay negative dividends. ``"linear"``: a problem of
    :func:`support.alternatives.with_alternatives`, whose consumption must be positive. Amounts are tiny or huge with
    some seeds.
    """
    if kind == "linear":
        return replace(with_alternatives(KINDS[seed % len(KINDS)], seed, points, states, horizon), eta=0.0)
    rng = np.random.default_rng([seed, FIRMS.index(kind)])
    drawn = {"entry": _entry, "random firm": _random}[kind](rng, points, states, SCALES[seed % len(SCALES)])
    return Problem(horizon=horizon, eta=0.0, negative=True, name=f"{kind} {seed}", **drawn)


def _entry(rng: np.random.Generator, points: int, states: int, scale: float) -> dict[str, Any]:
    capital = np.linspace(0.0, 9.0, points)
    worn = float(rng.uniform(0.05, 0.15))
    shock = np.sort(rng.uniform(0.2, 1.4, states))
    profit = shock * capital[:, None] ** 0.6 - rng.uniform(0.1, 0.6)
    # New capital costs more than old capital sells for, and large investments cost more than their size.
    cost = capital + 0.04 * capital**2 + rng.uniform(0.0, 0.3) * np.sin(3.0 * capital)
    scrap = np.linspace(-1.0, rng.uniform(2.0, 9.0), points)
    outside: dict[str, Any] = {"cost": np.zeros(points), "wealth": np.zeros((points, states))}
    return {
        "grid": capital,
        "wealth": scale * (profit + (1.0 - worn) * capital[:, None]),
        "transition": chain(rng, states),
        "start": np.zeros((points, states)),
        "beta": float(rng.uniform(0.85, 0.93)),
        "alternatives": (
            Alternative(name="run", regime="open", cost=scale * cost),
            Alternative(
                name="close", regime="open", leads_to="closed", choice=0, **outside | {
                    "wealth": scale * (rng.uniform(0.2, 0.8) * capital[:, None] + np.zeros(states)),
                },
            ),
            Alternative(name="sell", regime="open", value=np.repeat(scale * scrap[:, None], states, axis=1)),
            Alternative(name="wait", regime="closed", choice=0, **outside),
            Alternative(name="enter", regime="closed", **outside | {"cost": scale * (cost + rng.uniform(0.5, 3.0))}),
        ),
    }  # fmt: skip


def _random(rng: np.random.Generator, points: int, states: int, scale: float) -> dict[str, Any]:
    regimes = ["a", "b"][: int(rng.integers(1, 3))]
    falls = rng.random() < 0.5
    alternatives = []
    for d in range(int(rng.integers(len(regimes), max(len(regimes), min(3, 16 // states)) + 1))):
        low = int(rng.integers(0, points // 3)) if rng.random() < 0.6 else 0
        high = int(rng.integers(points // 2, points)) if rng.random() < 0.6 else points - 1
        chance, wealth = float(rng.uniform(0.0, 1.0)), rng.normal(0.0, 3.0, (points, states))
        alternatives.append(
            Alternative(
                name=f"alternative {d}", regime=regimes[d % len(regimes)],
                wealth=scale * (wealth if falls else np.sort(wealth, axis=0)),
                cost=scale * np.cumsum(rng.normal(0.0, 1.0, (points, states)), axis=0),
                low=low, high=low if rng.random() < 0.2 else high,
                transition=chain(rng, states), beta=rng.uniform(0.6, 0.9, states),
                kappa=scale * rng.normal(0.0, 1.0, states),
                leads_to=dict(zip(regimes, (chance, 1.0 - chance), strict=False)) if len(regimes) > 1 else None,
            )
        )  # fmt: skip
    return {
        "grid": np.arange(float(points)),
        "wealth": np.zeros((points, states)),
        "transition": chain(rng, states),
        # Values need not rise in x.
        "start": scale * rng.normal(0.0, 1.0, (points, states)),
        "beta": 0.8,
        "alternatives": tuple(alternatives),
    }
