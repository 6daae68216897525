"""A household of Aiyagari's economy at one date: choices between grid points, and where they lead."""

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
    """What households do at one date, ``(N_k, N_z)`` each.

    Parameters
    ----------
    value : float64 array
        In utility.
    choice : float64 array
        Assets that are kept, units of the good, between grid points.
    below : int32 array
        The grid point at or below each choice, at most ``N_k - 2``.
    share : float64 array
        Of each mass that goes to the point above, so that the mean is the choice (Young 2010).
    """

    value: Array
    choice: Array
    below: NDArray[np.int32]
    share: Array

    def carry(self, mass: Array, chain: Array) -> Array:
        """The households of the next date."""
        return shared(mass, self.below, self.share, chain)


@dataclass(frozen=True, eq=False)
class Household:
    """The household of an economy, at any prices.

    Parameters
    ----------
    problem : Problem
        At some prices.
    units : (N_z,) array
        Labour by state.
    """

    problem: Problem
    units: Array

    @classmethod
    def of(cls, economy: Calibration) -> Household:
        """That of ``economy``."""
        return cls(replace(economy.problem(), marginal_wealth=None, output=None), economy.labour()[0])

    @property
    def chain(self) -> Array:
        """Of labour, ``(N_z, N_z)``."""
        return self.problem.transition

    @property
    def assets(self) -> Array:
        """The grid of assets, ``(N_k,)``, units of the good."""
        return self.problem.grid

    def at(self, interest: float, wage: float) -> Problem:
        """The household's problem at these prices."""
        return replace(self.problem, wealth=self.wealth(interest, wage))

    def wealth(self, interest: float, wage: float) -> Array:
        """Cash on hand, ``(N_k, N_z)``, units of the good."""
        found: Array = (1.0 + interest) * self.assets[:, None] + wage * self.units
        return found

    def choose(self, interest: float, wage: float, ahead: Array) -> Period:
        """The best choices of a date whose next one has the value ``ahead``."""
        found = maximise(self.at(interest, wage), ahead, monotone_cubics)
        below = np.ascontiguousarray(found.cell.T)
        share = np.clip(np.ascontiguousarray(found.at.T) / np.diff(self.assets)[below], 0.0, 1.0)
        return Period(found.value, found.choice, below, share)
