"""Problems with a horizon whose tables depend on age, and that the accelerator supports."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.alternative import Alternative
from beltline.host.problem.problem import Problem
from support.alternatives import with_alternatives
from support.costs import with_cost

PATIENT = 1
"""Age at which discount factors of kind "random" are above 1."""


def with_ages(kind: str, seed: int = 0, points: int = 40, states: int = 2, ages: int = 4) -> Problem:
    """Return a problem of a kind of :func:`support.alternatives.with_alternatives` whose tables depend on age.

    Each age has the tables of a random problem of its own, so other candidates are dominated at each age. ``leads_to``
    and bounds are those of the first, and so is the transition of kind "exit".
    """
    first = with_alternatives(kind, seed, points, states, ages)
    others, number = [first], seed
    while len(others) < ages:
        # Seeds with the same utility.
        number += 4
        drawn = with_alternatives(kind, number, points, states, ages)
        if len(drawn.alternatives) == len(first.alternatives) and drawn.regimes == first.regimes:
            others.append(drawn)
    alternatives = [
        _aged(one, [other.alternatives[d] for other in others], states) for d, one in enumerate(first.alternatives)
    ]
    if kind == "random" and states > 1 and ages > PATIENT:
        alternatives = [_patient(one) for one in alternatives]
    shared: dict[str, Any] = {
        "wealth": np.stack([other.wealth for other in others]),
        "beta": np.stack([np.broadcast_to(other.beta, (states,)) for other in others]),
    }
    if kind != "exit":
        shared["transition"] = np.stack([other.transition for other in others])
    return replace(first, alternatives=alternatives, name=f"{kind} {seed} by age", **shared)


def _aged(one: Alternative, by_age: list[Alternative], states: int) -> Alternative:
    """Return an alternative with the tables of another alternative at each age."""
    new: dict[str, Any] = {}
    for name in ("wealth", "cost", "transition", "value"):
        tables = [getattr(other, name) for other in by_age]
        if all(table is not None for table in tables):
            new[name] = np.stack([np.asarray(table) for table in tables])
    for name in ("beta", "kappa"):
        if getattr(one, name) is not None:
            new[name] = np.stack([np.broadcast_to(getattr(other, name), (states,)) for other in by_age])
    return replace(one, **new)


def _patient(one: Alternative) -> Alternative:
    """Return an alternative with a discount factor above 1 at one age, at which no probability is near 1."""
    beta, transition = np.array(one.beta), np.array(one.transition)
    beta[PATIENT] = 1.04
    transition[PATIENT] = 0.5 * transition[PATIENT] + 0.5 / transition.shape[-1]
    return replace(one, beta=beta, transition=transition)


def with_cost_by_age(seed: int = 0, points: int = 40, states: int = 2, ages: int = 4) -> Problem:
    """Return a problem with one alternative whose cost, cash on hand and discount factor depend on age."""
    shapes = ("laffer", "jumps", "kink", "random")
    others = [with_cost(shapes[(seed + age) % 4], seed + 4 * age, points, states) for age in range(ages)]
    first = others[0]
    return replace(
        first,
        wealth=np.stack([one.wealth for one in others]),
        beta=np.random.default_rng(seed).uniform(0.8, 1.05, (ages, states)),
        horizon=ages,
        cost=np.stack([_by_state(one.cost, states) for one in others]),
        name=f"cost by age {seed}",
    )


def _by_state(cost: Any, states: int) -> NDArray[np.float64]:
    table = np.asarray(cost, np.float64)
    return table if table.ndim == 2 else np.repeat(table[:, None], states, axis=1)
