"""The tables of a period by economic name.

They are ``x``; ``Y(x, s)``, output, where the problem has it; ``c = W(x, s) - x'``; ``Y - c``, investment; and ``s`` as
a number.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from beltline.host.problem.arrays import Array
from beltline.host.problem.problem import Problem


class Solution(Protocol):
    """What tables of a period are made of; :class:`~beltline.host.results.result.Result` is one."""

    @property
    def problem(self) -> Problem:
        """That was solved."""

    @property
    def value(self) -> Array:
        """``V``."""

    @property
    def policy_values(self) -> Array:
        """The best ``x'``, of the shape of ``value``."""


def variables(result: Solution) -> dict[str, Array]:
    """The tables of a period by name, ``(N_k, N_z)`` each: what the module says, those that the problem knows.

    With a horizon ``(T, N_k, N_z)``, the first age first.
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
