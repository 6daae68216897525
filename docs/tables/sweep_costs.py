"""Print the work of the sweep engine for problems with costs: ``python -m docs.tables.sweep_costs``.

The problems are saving with taxes and bonuses, and bonds whose price falls with debt. They are solved by the software
model of a build with costs, with clocks of the clock model; the columns are those of
:mod:`docs.tables.sweep_proof`. The first problem has no cost and is solved by a build without.
A line ``measure`` compares the clocks of their sweeps with twice those of the first; the command returns 1 if it does
not hold.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

import numpy as np

from beltline.host.problem.problem import Problem
from beltline.hw.sweep.parameters import SweepParameters
from docs.tables.several_peaks import POINTS, STATES, savings, wealths
from docs.tables.sweep_proof import at_most_twice, header, table

TOL = 1e-6


def problems(points: int = POINTS) -> dict[str, Problem]:
    """Return the problems by name; the first is concave and has no cost."""
    plain = savings(wealths(points)["concave"])
    saved = plain.grid
    debt = np.linspace(-1.0, 0.0, points)
    income = np.linspace(1.1, 1.6, STATES)
    price = 0.97 / (1.0 + np.exp(-12.0 * (debt[:, None] + income - 0.7)))
    bonds = replace(
        plain,
        grid=debt,
        wealth=debt[:, None] + income,
        start=np.zeros((points, STATES)),
        cost=price * debt[:, None],
        beta=0.9,
    )
    return {
        "no cost": plain,
        "a tax above 20": replace(plain, cost=saved + 0.02 * np.maximum(saved - 20.0, 0.0)),
        "a bonus above 20": replace(plain, cost=saved - 0.02 * np.maximum(saved - 20.0, 0.0)),
        "a bonus at each 5": replace(plain, cost=saved - 0.1 * np.floor(saved / 5.0)),
        "bonds, price falls with debt": bonds,
    }


def main(arguments: list[str] | None = None) -> int:
    """Solve and print."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.sweep_costs", description=__doc__)
    parser.add_argument("--lanes", type=int, default=4, help="number of lanes, a power of two (default: %(default)s)")
    given = parser.parse_args(arguments)
    try:
        SweepParameters(2_048, 8, given.lanes)
    except ValueError as error:
        parser.error(str(error))
    header()
    return 0 if at_most_twice(table(problems(), given.lanes, TOL)) else 1


if __name__ == "__main__":
    sys.exit(main())
