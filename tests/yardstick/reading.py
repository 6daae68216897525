"""Read any result of a solve into one shape: the only place that knows how results are laid out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import beltline as bl

NUMBERS = ("interest", "price")
"""Attributes of solutions of models that are recorded, too."""


@dataclass(eq=False)
class Answer:
    """A result: tables ``(ages, regimes, N_k, N_z)``, axes of length one included, and facts.

    ``policy`` is that of the best alternative, -1 where there is no choice of ``x'``. ``problem`` is None after loading
    from a file, and for a solution of several problems, which also has no policy.
    """

    value: NDArray[np.float64]
    policy: NDArray[np.int32]
    alternative: NDArray[np.int32]
    facts: dict[str, Any]
    problem: Any = None


def read(result: Any) -> Answer:
    """Read a result of a problem, of a discrete program or of a model."""
    inner = next((getattr(result, name) for name in ("solution", "household") if hasattr(result, name)), result)
    facts: dict[str, Any] = {
        name: float(getattr(inner, name, np.nan)) for name in ("error_bound", "residual", "sweeps")
    }
    facts |= {"status": str(result.status), "success": bool(result.success)}
    facts |= {name: float(getattr(result, name)) for name in NUMBERS if np.ndim(getattr(result, name, [])) == 0}
    problem = getattr(inner, "problem", None)
    if problem is None:
        # Types of households, or dates of a path: values, then choices in units of the grid.
        value = np.stack([result.value, result.choice], axis=1)
        return Answer(value, *np.zeros((2, *value.shape), np.int32), facts)
    if not isinstance(problem, bl.Problem):
        shape = (1, 1, problem.states, 1)
        policy = inner.policy.reshape(shape).astype(np.int32)
        return Answer(inner.value.reshape(shape), policy, np.zeros(shape, np.int32), facts, problem)
    shape = (problem.horizon or 1, len(problem.regimes), problem.points, problem.states)
    policy, best = np.asarray(inner.policy), np.zeros(shape, np.int32)
    if len(problem.alternatives) > 1:
        unified = hasattr(inner, "alternative")
        best = np.asarray(inner.alternative if unified else inner.choice).reshape(shape).astype(np.int32)
        if not unified:
            # Choices of every alternative, of which the best is taken.
            policy = policy.reshape(shape[0], -1, *shape[2:])
            policy = np.take_along_axis(policy, np.maximum(best, 0), axis=1)
    return Answer(inner.value.reshape(shape), policy.reshape(shape).astype(np.int32), best, facts, problem)
