"""Parameters of the Aiyagari economy with several types of households."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from beltline.host.models.aiyagari.model import Aiyagari
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, place, table
from beltline.host.problem.model_parameters import RISK_AVERSION, SHARE, Check
from beltline.host.results.fields import Declared, parameter

TYPES_LIMIT = 1000
"""Largest number of types, so that a mistyped number is refused before memory is allocated."""


def _each(rule: Check) -> Check:
    def check(name: str, values: Any) -> tuple[float, ...]:
        given = table(name, values, 1)
        if not 1 <= given.size <= TYPES_LIMIT:
            raise ProblemError(f"{name} must have one number for each of 1 to {TYPES_LIMIT} types, not {given.size}")
        return tuple(rule(place(name, (i,)), value) for i, value in enumerate(given.tolist()))

    return check


def _numbers(name: str, values: Any) -> tuple[float, ...]:
    return tuple(table(name, values, 1).tolist())


@dataclass(frozen=True)
class Calibration(Declared):
    """Parameters of the economy."""

    economy: Aiyagari = parameter(
        ..., lambda _, economy: economy,
        "An Aiyagari economy with the ``beta`` of the most patient type and the ``eta`` of the first type", of=Aiyagari,
    )  # fmt: skip
    betas: tuple[float, ...] = parameter(..., _each(SHARE), "Discount factor of each type")
    etas: tuple[float, ...] = parameter(..., _each(RISK_AVERSION), "Relative risk aversion of each type")
    weights: tuple[float, ...] = parameter(..., _numbers, "Share of each type among all households; they add up to 1")

    def validate(self) -> None:
        """Check that there is a number for each type and that weights add up to 1; set preferences of the economy."""
        for name in ("etas", "weights"):
            count = len(getattr(self, name))
            if count != len(self.betas):
                raise ProblemError(f"{name} must have one number for each of the {len(self.betas)} types, not {count}")
        if min(self.weights) <= 0 or abs(sum(self.weights) - 1.0) > 1e-12:
            raise ProblemError(
                f"weights must be above 0 and add up to 1, but the lowest is {min(self.weights):.6g} and their sum "
                f"{sum(self.weights):.15g}"
            )
        object.__setattr__(self, "economy", replace(self.economy, beta=max(self.betas), eta=self.etas[0]))

    @property
    def economies(self) -> tuple[Aiyagari, ...]:
        """The economy with the preferences of each type."""
        return tuple(replace(self.economy, beta=beta, eta=eta) for beta, eta in zip(self.betas, self.etas, strict=True))

    @property
    def shares(self) -> Array:
        """Share of each type among all households, ``(n,)``."""
        return np.array(self.weights)

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each type in reports and figures: the preferences in which types differ."""
        several = [("beta", self.betas), ("eta", self.etas)]
        shown = [(name, values) for name, values in several if len(set(values)) > 1] or several[:1]
        return tuple(
            ", ".join(f"{name} {values[kind]:.4g}" for name, values in shown) for kind in range(len(self.betas))
        )
