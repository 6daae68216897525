"""Print where the clocks of sovereign default go on a machine: ``python -m docs.tables.default_passes``.

The economy of Arellano (2008) is solved on the software model of a sweep engine with alternatives, from a coarser grid.
The clock model's clocks of all runs on the last grid are divided among the passes of a sweep. Sweeps that search every
state, because the run begins or costs have changed, are listed apart from the others. With ``--prices`` the machine
computes the prices itself, in a single run. For 251 x 51 a line then compares the clocks of all grids with what is
asked of 64 lanes. The command returns 1 if there are more, or if choices differ from the processor's.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.bench.measures import at_most
from beltline.host.devices.software_model import ModelDevice
from beltline.host.models.arellano.model import STATES_AN_INCOME, Arellano, arellano
from beltline.host.problem.checks import ProblemError
from beltline.host.solver.solve import solve
from beltline.hw.interface.parameters import ROW_WORDS, STATES_LIMIT, MachineParameters
from beltline.hw.interface.registers import Engine, Mode, Status
from beltline.hw.sweep.clocks import END_CLOCKS, Round, judged, pass_clocks, round_clocks
from beltline.hw.sweep.datapath import ROUND_BEGINS
from beltline.hw.sweep.lane_clocks import NEVER, SweepLog, lane_clocks
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.trees import join_clocks

HEADER = "| pass | clocks | share | in sweeps at new costs | in other sweeps |"

MEASURED, MOST = (251, 51), 2.0
"""Bonds and incomes of the economy with a measure, and the most clocks in millions, prices included."""

BEGINS, CHECK, SEARCH, MEETS = "beginnings and ends of runs", "check", "local search", "waits before rounds"
SCANS = {(False, 1): "scans of odd points", (False, 0): "scans of even points"} | {
    (True, 1): "division: scans of first points",
    (True, 0): "division: scans of other points",
}
SHARED, REPAIRS, EXPECTS = "shared brackets of the ends", "repairs", "expectations, end of the sweep"
PRICES = "updates of prices"
PASSES = (BEGINS, CHECK, SEARCH, SHARED, *SCANS.values(), REPAIRS, MEETS, EXPECTS, PRICES)


def passes_of(log: SweepLog, rounds: Sequence[Round]) -> Counter[str]:
    """Divide the clocks of a sweep with a proof among its passes; each ends with the slowest lane."""
    build = log.dealt.search.build
    total = pass_clocks(log.dealt, log, rounds=rounds)
    spent: Counter[str] = Counter()
    lanes = lane_clocks(log, np.zeros(build.lanes, np.int64), judged(build))
    if lanes.checked.max() != NEVER:
        spent[CHECK] = int(lanes.checked.max())
    spent[SEARCH] = max(0, int(lanes.ends.max()) - spent[CHECK])
    for one in rounds:
        lanes = round_clocks(log.dealt, one)
        scanned = int(lanes.checked.max()) + 1
        spent[SHARED if one.shared else SCANS[one.divide, one.odd]] += scanned
        spent[REPAIRS] += max(0, int(lanes.ends.max()) + 1 - scanned)
    spent[MEETS] = (1 + len(rounds)) * (join_clocks(build) + ROUND_BEGINS)
    spent[EXPECTS] = total - spent.total()
    return spent


class CountingMachine(SweepSoftwareMachine):
    """The software model, which divides the clocks of sweeps of a grid among their passes.

    Parameters
    ----------
    build
        Sizes of the engine.
    points
        Points of the grid whose sweeps are counted.

    Attributes
    ----------
    first, other
        Clocks of each pass, in sweeps that search every state at new costs, and in all others.
    finest, coarser
        Clocks of all runs on the last grid, once it is solved, and of those on other grids.
    """

    def __init__(self, build: SweepParameters, points: int) -> None:
        super().__init__(build, logged=True)
        self.points = points
        self.first: Counter[str] = Counter()
        self.other: Counter[str] = Counter()
        self.finest = self.coarser = 0
        self._searched_all = True

    def _begin(self, mode: Mode) -> None:
        super()._begin(mode)
        if self._grid == self.points:
            self.first[BEGINS] += self._clocks
        else:
            self.coarser += self._clocks + END_CLOCKS

    def _sweep(self, value: NDArray[np.int64]) -> Status:
        self._searched_all = self._cold
        return super()._sweep(value)

    def _prepare(self, *arguments: Any) -> None:
        super()._prepare(*arguments)
        if self._grid != self.points:
            self.coarser += self.sweep_clocks[-1]
            return
        assert self.log is not None
        spent = passes_of(self.log, self._rounds)
        spent[PRICES] = self.sweep_clocks[-1] - spent.total()
        (self.first if self._searched_all else self.other).update(spent)


def grid_of(model: Arellano, lanes: int) -> int:
    """Return the grid points of the smallest build with ``lanes`` lanes that takes the economy."""
    return max(ROW_WORDS * lanes, 1 << (model.bonds - 1).bit_length())


def multipliers_of(model: Arellano, multipliers: int) -> dict[str, int]:
    """Return the option ``multipliers`` of a build for the economy; none if a build has one for each of its states."""
    return {"multipliers": multipliers} if STATES_AN_INCOME * model.incomes > STATES_LIMIT else {}


def built(model: Arellano, lanes: int, multipliers: int, slots: int, prices: bool = False) -> SweepParameters:
    """Return the smallest build with ``lanes`` lanes that takes the economy, and computes its prices if ``prices``.

    Raises
    ------
    ValueError
        There is no such build.
    """
    states = 1 << (STATES_AN_INCOME * model.incomes - (not prices)).bit_length()
    turns = {"multipliers": multipliers} if prices else multipliers_of(model, multipliers)
    kinds: dict[str, Any] = {"proof": True, "costs": True, "alternatives": True, "slots": slots, "prices": prices}
    kinds |= turns
    return SweepParameters.of(
        MachineParameters(grid_of(model, lanes), states, engine=Engine.SWEEP, lanes=lanes, **kinds)
    )


def solved(model: Arellano, machine: CountingMachine, every: int = 0) -> Any:
    """Solve ``model`` on ``machine``, and return the economy; ``every`` is the number of sweeps to an update of prices,
    0 for the default.

    Raises
    ------
    ProblemError
        It is not solved.
    """
    options = {"update_every": every} if every else {}
    found: Any = solve(model, device=ModelDevice(machine), progress=False, **options)
    if not found.success:
        raise ProblemError(f"{model.bonds} x {model.incomes} is not solved: {found.message}")
    machine.finest = found.solution.clocks
    machine.first[BEGINS] += machine.finest - machine.first.total() - machine.other.total()
    return found


def rows(model: Arellano, machine: CountingMachine, sweeps: int) -> Iterator[str]:
    """Yield the lines of the table, once ``machine`` has solved ``model`` in ``sweeps`` sweeps on the last grid."""
    build, clocks = machine.build, machine.finest
    yield (
        f"{model.bonds} x {model.incomes}, {build.lanes} lanes, {build.multipliers or build.states} multipliers, "
        f"slots={build.slots}: {sweeps:,} sweeps, {clocks:,} clocks; on coarser grids before it "
        f"{machine.coarser:,} clocks"
    )
    if build.prices:
        yield f"prices computed by the machine, updated {machine.updates} times"
    yield ""
    yield HEADER
    yield "|---|" + "---:|" * 4
    for name in PASSES:
        first, other = machine.first[name], machine.other[name]
        yield f"| {name} | {first + other:,} | {(first + other) / clocks:.1%} | {first:,} | {other:,} |"


def compared(model: Arellano, found: Any) -> int:
    """Print how ``found`` differs from the processor's solution; return the number of choices that differ."""
    right: Any = solve(model, progress=False)
    differ = int((found.policy != right.policy).sum())
    print(
        f"\nchoices that differ from the processor's: {differ:,} of {found.policy.size:,}; largest difference of "
        f"a price {np.abs(found.prices - right.prices).max():.2g}"
    )
    return differ


def main(arguments: list[str] | None = None) -> int:
    """Solve the economy and print the table; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.default_passes", description=__doc__)
    for name, default, what in (
        ("bonds", 251, "bonds"),
        ("incomes", 51, "incomes"),
        ("lanes", 32, "lanes, a power of two"),
        ("multipliers", 16, "multipliers for expected values"),
        ("slots", 0, "lanes that share a row bus, 4 or 8; 0 for what builds have by default"),
        ("update-every", 0, "sweeps after which prices are updated; 0 for the default"),
    ):
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{what} (default: %(default)s)")
    parser.add_argument("--prices", action="store_true", help="the machine computes the prices")
    given = parser.parse_args(arguments)
    try:
        model = arellano(bonds=given.bonds, incomes=given.incomes)
        build = built(model, given.lanes, given.multipliers, given.slots, given.prices)
        machine = CountingMachine(build, model.bonds)
        found = solved(model, machine, given.update_every)
        for line in rows(model, machine, found.solution.sweeps):
            print(line, flush=True)
        differ = compared(model, found)
    except ValueError as error:
        parser.error(str(error))
    passed = at_most("choices that differ from the processor's", 0, differ)
    if given.prices and (model.bonds, model.incomes) == MEASURED:
        passed &= at_most("clocks of all grids, modelled", MOST, (machine.finest + machine.coarser) / 1e6, "million")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
