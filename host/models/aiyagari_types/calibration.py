"""Aiyagari's economy with households of several kinds: its parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from beltline.host.models.aiyagari.calibration import Calibration as Stationary
from beltline.host.problem.arrays import Array


@dataclass(frozen=True)
class Calibration:
    """Parameters of the economy, whose meaning :func:`beltline.aiyagari_types` says, and what follows from them.

    Parameters
    ----------
    economy : Stationary
        Aiyagari's economy, whose ``beta`` is that of the most patient, and whose ``eta`` is that of the first kind.
    betas, etas, weights : tuple of float
        Of each kind: discount factor, relative risk aversion, and share of all households.
    """

    economy: Stationary
    betas: tuple[float, ...]
    etas: tuple[float, ...]
    weights: tuple[float, ...]

    @property
    def kinds_of_household(self) -> tuple[Stationary, ...]:
        """The economy with each kind's own preferences."""
        return tuple(replace(self.economy, beta=beta, eta=eta) for beta, eta in zip(self.betas, self.etas, strict=True))

    @property
    def shares(self) -> Array:
        """Share of all households that each kind is, ``(n,)``."""
        return np.array(self.weights)

    @property
    def names(self) -> tuple[str, ...]:
        """What reports and figures call each kind."""
        several = [("beta", self.betas), ("eta", self.etas)]
        told = [(name, values) for name, values in several if len(set(values)) > 1] or several[:1]
        return tuple(
            ", ".join(f"{name} {values[kind]:.4g}" for name, values in told) for kind in range(len(self.betas))
        )
