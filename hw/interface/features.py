"""Differences between the engines that a driver must know: their modes, and the layout of their tables."""

from __future__ import annotations

from dataclasses import dataclass

from beltline.hw.interface.registers import Engine


@dataclass(frozen=True)
class EngineFeatures:
    """Features of an engine. Those from ``proofs`` on depend on the build.

    Parameters
    ----------
    ages
        A run with a horizon may have several sweeps, each of which stores its value and policy in a slot of its own. If
        false, such a run has one sweep, and ``results`` of a build is ``grid * states``.
    shifts
        Register ``MODE`` can request shifts (``Mode.SHIFT``) and policy evaluation steps (``STEPS_FIELD``). The weights
        of the shifts are a second matrix in window ``Q``.
    peaks
        Register ``MODE`` can request a search for other peaks after the last sweep (``Mode.PEAKS``).
    proofs
        The engine proves the choices of maximising sweeps, and reports that of the last in ``Status.PROVEN``.
    costs
        Window ``X`` has the cost of each candidate in each exogenous state, in place of the grid.
    alternatives
        The engine takes the maximum over groups of neighbouring exogenous states before the expectation. The groups are
        a second matrix in window ``Q`` (:mod:`beltline.hw.interface.groups`), and there are no shifts.
    prices
        The engine computes the prices of bonds between sweeps. Register ``MODE`` says after how many
        (``UPDATE_FIELD``), and what a bond pays is in the last column of window ``X``.
    linear
        Utility may be consumption itself, which may be negative (``UtilityForm.LINEAR``).
    bounds
        Each state has a lowest and a highest candidate of its own, in a second table in window ``X``
        (:mod:`beltline.hw.interface.bounds`).
    folds
        The engine has physical stages, with parameters ``fold`` and ``evaluators``.
    lanes
        The engine has lanes, and its tables consist of a block for each: :class:`beltline.hw.interface.layout.Layout`.
    padded
        The host must fill ``X`` up to the build's grid.
    """

    ages: bool
    shifts: bool
    peaks: bool
    folds: bool
    lanes: bool
    padded: bool
    proofs: bool = False
    costs: bool = False
    alternatives: bool = False
    prices: bool = False
    linear: bool = False
    bounds: bool = False

    @property
    def sparse(self) -> bool:
        """Whether ``MODE`` can leave out the proofs of some sweeps (``Mode.SPARSE``)."""
        return self.proofs and not self.alternatives

    @property
    def matrices(self) -> int:
        """Matrices of ``states * states`` words in window ``Q``. A second one has weights of shifts, or groups."""
        return 2 if self.shifts or self.alternatives else 1


FEATURES: dict[Engine, EngineFeatures] = {
    Engine.ASSEMBLY_LINE: EngineFeatures(ages=True, shifts=False, peaks=False, folds=True, lanes=False, padded=True),
    Engine.SWEEP: EngineFeatures(ages=False, shifts=True, peaks=True, folds=False, lanes=True, padded=False),
}
"""Features of each engine. :data:`beltline.hw.top.engine_table.ENGINES` has the engines themselves."""
