"""Parameters of the Aiyagari economy with several types of households."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from beltline.host.models.aiyagari.calibration import Calibration as Stationary
from beltline.host.problem.arrays import Array


@dataclass(frozen=True)
class Calibration:
    """Parameters of the economy, which :func:`beltline.aiyagari_types` explains.

    Parameters
    ----------
    economy : Stationary
        An Aiyagari economy with the ``beta`` of the most patient type and the ``eta`` of the first type.
    betas, etas, weights : tuple of float
        Discount factor, relative risk aversion, and share of all households, of each type.
    """

    economy: Stationary
    betas: tuple[float, ...]
    etas: tuple[float, ...]
    weights: tuple[float, ...]

    @property
    def economies(self) -> tuple[Stationary, ...]:
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
