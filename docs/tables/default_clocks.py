"""Print the clocks of sovereign default on a machine: ``python -m docs.tables.default_clocks``.

Each economy of Arellano (2008) is solved on the processor and on the software model of a sweep engine with
alternatives, from the same start; clocks are those of the clock model, and times of a machine are modelled from them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from typing import Any

from beltline.host.models.arellano.model import STATES_AN_INCOME, Arellano, arellano
from beltline.host.problem.checks import ProblemError
from beltline.host.solver.solve import solve
from beltline.hw.interface.parameters import CLOCK_HZ, ROW_WORDS, STATES_LIMIT

SIZES = ((61, 7), (101, 21), (251, 51))
"""Bonds and incomes of the economies."""

HEADER = (
    "| bonds x incomes | states of the machine | lanes | multipliers | start | sweeps | clocks | clocks per sweep "
    f"| of them expectations | at {CLOCK_HZ / 1e6:g} MHz, modelled | processor, this computer | choices that differ |"
)


def grid_of(model: Arellano, lanes: int) -> int:
    """Return the grid points of the smallest build with ``lanes`` lanes that takes the economy."""
    return max(ROW_WORDS * lanes, 1 << (model.bonds - 1).bit_length())


def multipliers_of(model: Arellano, multipliers: int) -> dict[str, int]:
    """Return the option ``multipliers`` of a build for the economy; none if a build has one for each of its states."""
    return {"multipliers": multipliers} if STATES_AN_INCOME * model.incomes > STATES_LIMIT else {}


def expectation_clocks(model: Arellano, lanes: int, multipliers: int) -> int:
    """Return the clocks that expectations take in a sweep, in the lane with most points."""
    states = STATES_AN_INCOME * model.incomes
    turns = -(-states // multipliers) if multipliers_of(model, multipliers) else 1
    return min(model.bonds, grid_of(model, lanes) // lanes) * states * turns


def rows(sizes: tuple[tuple[int, int], ...], lanes: int, multipliers: int) -> Iterator[str]:
    """Yield the lines of the table."""
    yield HEADER
    yield "|---|" + "---:|" * 11
    for bonds, incomes in sizes:
        model = arellano(bonds=bonds, incomes=incomes)
        for start in ("coarse", "given"):
            solve(model, start=start, progress=False)
            begin = time.perf_counter()
            right: Any = solve(model, start=start, progress=False)
            spent = time.perf_counter() - begin
            own = min(lanes, max(1, 1 << ((bonds // ROW_WORDS).bit_length() - 1)))
            states = STATES_AN_INCOME * incomes
            turns = multipliers_of(model, multipliers)
            build = {"lanes": own, "proof": 1, "costs": 1, "alternatives": 1, **turns}
            found: Any = solve(model, start=start, device="emulator", progress=False, **build)
            if not found.success:
                raise ProblemError(f"{bonds} x {incomes} is not solved: {found.message}")
            # A coarse start has clocks of its own, which are those of smaller economies.
            clocks, sweeps = found.solution.clocks, found.solution.sweeps
            facts = (
                f"{bonds} x {incomes}",
                f"{states}",
                f"{own}",
                f"{multipliers if turns else states}",
                start,
                f"{sweeps:,}",
                f"{clocks:,}",
                f"{clocks // sweeps:,}",
                f"{expectation_clocks(model, own, multipliers):,}",
                f"{clocks / CLOCK_HZ * 1e3:,.3g} ms",
                f"{spent * 1e3:,.3g} ms",
                f"{int((found.policy != right.policy).sum()):,} of {found.policy.size:,}",
            )
            yield f"| {' | '.join(facts)} |"


def main(arguments: list[str] | None = None) -> int:
    """Solve the economies and print the table of clocks; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.default_clocks", description=__doc__)
    parser.add_argument(
        "--lanes", type=int, default=16, help="largest number of lanes, a power of two (default: %(default)s)"
    )
    parser.add_argument(
        "--multipliers", type=int, default=16, help="multipliers for expected values (default: %(default)s)"
    )
    parser.add_argument("--small", action="store_true", help="only the smallest economy")
    given = parser.parse_args(arguments)
    try:
        for line in rows(SIZES[:1] if given.small else SIZES, given.lanes, given.multipliers):
            print(line, flush=True)
    except ProblemError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
