"""Consumption, output and investment from the choices of a result."""

from __future__ import annotations

from typing import Any

import numpy as np

from beltline.host.problem.arrays import Array
from beltline.host.problem.problem import Problem


def variables(problem: Problem, consumption: Array) -> dict[str, Array]:
    """Return consumption, output, investment, asset and shock by name, each of the shape of ``consumption``.

    The last axes of the shape are ``N_k`` and ``N_z``. Tables that the problem does not have are left out.
    """
    shape = consumption.shape
    tables = {"consumption": consumption}
    if problem.output is not None:
        output = np.broadcast_to(problem.output, shape)
        tables = {"output": output, "consumption": consumption, "investment": problem.output - consumption}
    tables[problem.asset_name] = np.broadcast_to(problem.grid[:, None], shape)
    if problem.shock_values is not None:
        tables[problem.shock_name] = np.broadcast_to(problem.shock_values, shape)
    return tables


def consumption_of(problem: Problem, policy: Any, number: int = 0, first: int = 0) -> Array:
    """Return consumption ``W_d(x, s) - G_d(x', s)`` of an alternative; nan where there is no choice of ``x'``.

    Parameters
    ----------
    problem
    policy
        ``(N_k, N_z)``, with a horizon ``(ages, N_k, N_z)``: index of ``x'``, -1 where there is none.
    number
        Number of the alternative.
    first
        First of the ages.
    """
    if not problem.general:
        return np.where(policy < 0, np.nan, problem.wealth - problem.grid[policy])
    branch = problem.form.alternatives[number]
    found = np.full(policy.shape, np.nan)
    for age, (chosen, spent) in enumerate(
        zip(policy, found, strict=True) if problem.horizon is not None else [(policy, found)], first
    ):
        if (chosen >= 0).any():
            tables: Any = branch.at(age)
            cost = np.take_along_axis(tables.cost, np.maximum(chosen, 0).astype(np.intp), axis=0)
            spent[:] = np.where(chosen < 0, np.nan, tables.wealth - cost)
    return found
