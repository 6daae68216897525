"""Consumption, output and investment from the policy of a result.

For each state ``(x, s)``: consumption ``c = W(x, s) - x'``; output ``Y(x, s)`` and investment ``Y - c`` if the problem
has ``output``; the asset ``x``; and the exogenous state ``s`` as a number if the problem has ``shock_values``.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from beltline.host.problem.arrays import Array
from beltline.host.problem.problem import Problem


class Solution(Protocol):
    """What :func:`variables` needs of a result; :class:`~beltline.host.results.result.Result` has all of it."""

    @property
    def problem(self) -> Problem:
        """The problem that was solved."""

    @property
    def value(self) -> Array:
        """The value ``V(x, s)``."""

    @property
    def policy_values(self) -> Array:
        """The best ``x'``, an array of the shape of ``value``."""


def variables(result: Solution) -> dict[str, Array]:
    """Return consumption, output, investment, asset and shock by name, each of the shape of ``result.value``.

    The shape is ``(N_k, N_z)``, and with a horizon ``(T, N_k, N_z)``, the first age first. Tables that the problem does
    not have are left out; see the head of this module.
    """
    problem = result.problem
    shape = result.value.shape
    consumption = problem.wealth - result.policy_values
    tables = {"consumption": consumption}
    if problem.output is not None:
        output = np.broadcast_to(problem.output, shape)
        tables = {"output": output, "consumption": consumption, "investment": problem.output - consumption}
    tables[problem.asset_name] = np.broadcast_to(problem.grid[:, None], shape)
    if problem.shock_values is not None:
        tables[problem.shock_name] = np.broadcast_to(problem.shock_values, shape)
    return tables
