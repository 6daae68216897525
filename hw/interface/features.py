"""What sets the engines apart for those who drive them: which modes an engine has, and how its tables lie."""

from __future__ import annotations

from dataclasses import dataclass

from beltline.hw.interface.registers import Engine


@dataclass(frozen=True)
class EngineFeatures:
    """What an engine can do, without its gateware.

    Parameters
    ----------
    ages
        A run with a horizon keeps value and policy of every sweep. Otherwise it has one sweep, and ``results`` of a
        build is ``grid * states``.
    shifts
        Sweeps may keep the choices or be followed by a shift, as ``Mode.SHIFT`` and ``HELD`` of register ``MODE`` say.
        The weights of the shifts are a second matrix behind ``Q``.
    peaks
        ``Mode.PEAKS``: the engine can look for other peaks behind the last sweep.
    proofs
        It proves the choices of every sweep that maximises, and says so in ``Status.PROVEN``; of a build.
    costs
        Window ``X`` has what a choice costs in each exogenous state, in place of the grid; of a build.
    alternatives
        The maximum over groups of neighbouring exogenous states is taken before the expectation; of a build. What it
        needs of a problem is a second matrix behind ``Q`` (:mod:`beltline.hw.interface.groups`), and there are no
        shifts.
    folds
        It has physical stages, with ``fold`` and ``evaluators``.
    lanes
        It has lanes, and tables in as many blocks: :class:`beltline.hw.interface.layout.Layout`.
    padded
        ``X`` must be filled up to the built grid.
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

    @property
    def matrices(self) -> int:
        """Matrices of ``states * states`` words in window ``Q``: a second one has the weights of shifts, or groups."""
        return 2 if self.shifts or self.alternatives else 1


FEATURES: dict[Engine, EngineFeatures] = {
    Engine.ASSEMBLY_LINE: EngineFeatures(ages=True, shifts=False, peaks=False, folds=True, lanes=False, padded=True),
    Engine.SWEEP: EngineFeatures(ages=False, shifts=True, peaks=True, folds=False, lanes=True, padded=False),
}
"""By the value of register ``ENGINE``; :data:`beltline.hw.top.engine_table.ENGINES` has the engines themselves."""
