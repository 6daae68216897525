"""Problems with bounds of ``x'`` that depend on ``x``, which the accelerator supports."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import beltline as bl
from beltline.host.problem.alternative import Alternative
from beltline.host.problem.problem import Problem
from support.alternatives import chain

BOUNDED = ("firing", "any order", "rising costs")

SHAPES = ("any", "narrow", "single", "plateaus", "ends", "low", "high", "same")


def bounded(kind: str, seed: int = 0, points: int = 40, states: int = 2, horizon: int | None = None) -> Problem:
    """Return a problem of a kind, with numbers that ``seed`` draws.

    ``"firing"``: a firm of Hopenhayn and Rogerson (1993), which takes 5 product states for each of ``states``. ``"any
    order"``: one to three alternatives with linear utility, negative dividends, and costs, values and cash on hand in
    any order. ``"rising costs"``: the same number of alternatives with curved utility, costs that do not fall, and
    states that can afford nothing. The bounds of both have :data:`SHAPES`.
    """
    rng = np.random.default_rng([seed, BOUNDED.index(kind), 7])
    if kind == "firing":
        model = bl.hopenhayn_rogerson(
            grid=points, states=states, share=1.0, tau=float(rng.uniform(0.0, 0.5)), exits=("before", "after")[seed % 2]
        )
        return model.problem(float(rng.uniform(0.8, 1.3)))
    linear = kind == "any order"
    regimes = ["a", "b"][: int(rng.integers(1, 3))]
    alternatives = []
    for d in range(int(rng.integers(len(regimes), max(len(regimes), min(3, 8 // states)) + 1))):
        chance, wealth = float(rng.uniform(0.0, 1.0)), rng.normal(0.0, 3.0, (points, states))
        cost = np.cumsum(rng.normal(0.0, 1.0, (points, states)), axis=0)
        shape = SHAPES[int(rng.integers(len(SHAPES)))]
        if not linear:
            # The first alternative of a regime is cheap, so that every state can afford something.
            wealth = np.sort(rng.uniform(0.5, 9.0, (points, states)), axis=0)
            wealth[-1] = 13.0
            cost = np.sort(rng.uniform(0.0, 0.4 if d < len(regimes) else 12.0, (points, states)), axis=0)
        low, high = bounds(rng, shape, points, states)
        alternatives.append(
            Alternative(
                name=f"alternative {d}", regime=regimes[d % len(regimes)], wealth=wealth, cost=cost, low=low, high=high,
                transition=chain(rng, states), beta=rng.uniform(0.6, 0.9, states), kappa=rng.normal(0.0, 1.0, states),
                leads_to=dict(zip(regimes, (chance, 1.0 - chance), strict=False)) if len(regimes) > 1 else None,
            )
        )  # fmt: skip
    return Problem(
        grid=np.arange(float(points)),
        wealth=np.zeros((points, states)),
        transition=chain(rng, states),
        start=rng.normal(0.0, 1.0, (points, states)),
        beta=0.8,
        eta=0.0 if linear else float((2.0, 1.0, 0.5)[seed % 3]),
        negative=linear,
        alternatives=tuple(alternatives),
        horizon=horizon,
        name=f"{kind} {seed}",
    )


def bounds(rng: np.random.Generator, shape: str, points: int, states: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return bounds of a shape, ``(N_k, N_z)`` each, which do not fall in ``x``.

    ``"narrow"``: at most three candidates; ``"single"``: one; ``"plateaus"``: few steps; ``"ends"``: only the first
    candidate up to some point, and only the last from another point on; ``"low"`` and ``"high"``: no bound on the other
    side; ``"same"``: the same for all ``x``.
    """
    last = points - 1
    size = (points, states)

    def rising(number: int) -> NDArray[Any]:
        drawn = rng.integers(0, points, (number, states))
        return np.sort(drawn[np.sort(rng.integers(0, number, points))], axis=0)

    low, high = np.sort(np.stack([rising(points), rising(points)]), axis=0)
    if shape == "narrow":
        high = np.minimum(low + rng.integers(1, 3), last)
    elif shape == "single":
        high = low
    elif shape == "plateaus":
        low, high = np.sort(np.stack([rising(3), rising(3)]), axis=0)
    elif shape == "ends":
        low, high = np.zeros(size, np.int64), np.full(size, last)
        high[: int(rng.integers(1, points))] = 0
        low[int(rng.integers(1, points)) :] = last
        high = np.maximum(low, high)
    elif shape == "low":
        high = np.full(size, last)
    elif shape == "high":
        low = np.zeros(size, np.int64)
    elif shape == "same":
        low, high = np.broadcast_to(low[0], size), np.broadcast_to(high[-1], size)
    return low, high
