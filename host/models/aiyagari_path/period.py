"""The household's choices at one date, between grid points, and the distribution that they lead to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.host.analysis.between import maximise, monotone_cubics
from beltline.host.analysis.policy import shared
from beltline.host.models.aiyagari.calibration import Calibration
from beltline.host.problem.arrays import Array
from beltline.host.problem.problem import Problem


class Period(NamedTuple):
    """Value and choices of households at one date; each array is ``(N_k, N_z)``.

    Parameters
    ----------
    value : float64 array
        Value in units of utility.
    choice : float64 array
        Assets of the next date, in units of the good; they may lie between grid points.
    below : int32 array
        Index of the grid point at or below each choice, at most ``N_k - 2``.
    share : float64 array
        Share of the mass that goes to the point above, such that the mean is the choice (Young 2010).
    """

    value: Array
    choice: Array
    below: NDArray[np.int32]
    share: Array

    def carry(self, mass: Array, chain: Array) -> Array:
        """Return the distribution of households at the next date."""
        return shared(mass, self.below, self.share, chain)


@dataclass(frozen=True, eq=False)
class Household:
    """The household of an economy, for any prices.

    Parameters
    ----------
    economy : Calibration
        The economy.
    problem : Problem
        Its problem at some prices.
    units : (N_z,) array
        Labour by state.
    """

    economy: Calibration
    problem: Problem
    units: Array

    @classmethod
    def of(cls, economy: Calibration) -> Household:
        """Return the household of ``economy``."""
        return cls(economy, replace(economy.problem(), marginal_wealth=None, output=None), economy.labour()[0])

    @property
    def chain(self) -> Array:
        """Markov matrix of labour, ``(N_z, N_z)``."""
        return self.problem.transition

    @property
    def assets(self) -> Array:
        """The grid of assets, ``(N_k,)``, units of the good."""
        return self.problem.grid

    def at(self, interest: float, wage: float) -> Problem:
        """Return the household's problem at these prices."""
        return replace(self.problem, wealth=self.wealth(interest, wage))

    def wealth(self, interest: float, wage: float) -> Array:
        """Return cash on hand at these prices, ``(N_k, N_z)``, in units of the good."""
        found: Array = (1.0 + interest) * self.assets[:, None] + wage * self.units
        return found

    def choose(self, interest: float, wage: float, ahead: Array) -> Period:
        """Return the best choices at these prices, given the value of the next date, ``ahead``."""
        found = maximise(self.at(interest, wage), ahead, monotone_cubics)
        below = np.ascontiguousarray(found.cell.T)
        share = np.clip(np.ascontiguousarray(found.at.T) / np.diff(self.assets)[below], 0.0, 1.0)
        return Period(found.value, found.choice, below, share)
