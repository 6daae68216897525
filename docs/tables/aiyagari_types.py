"""Print the table of ``docs/aiyagari-types.md``: ``python -m docs.tables.aiyagari_types``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from beltline.host.models.aiyagari_types.model import TypesEconomy, aiyagari_types
from beltline.host.solver.solve import solve

CASES: dict[str, dict[str, Any]] = {
    "one type": {"types": 1},
    "beta 0.955 to 0.965": {"spread": 0.005},
    "beta 0.95 to 0.97": {"spread": 0.01},
    "beta 0.94 to 0.98": {"spread": 0.02},
    "eta 1, 3 and 5": {"etas": [1.0, 3.0, 5.0], "spread": 0.0},
}
"""Parameters of each economy by its name in the table."""


def types(grid: int = 200, cases: Mapping[str, Mapping[str, Any]] = CASES) -> None:
    """Print the table of economies with three types of households."""
    print("| three types, a third each | r, % | capital | Gini | wealth of each, % | zero assets of each, % |"
          " excess | s |")  # fmt: skip
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, case in cases.items():
        economy: TypesEconomy = solve(aiyagari_types(grid=grid, **case), progress=False)
        wealth, limit = (
            ", ".join(f"{100 * share:.1f}" for share in shares) for shares in (economy.wealth_shares, economy.at_limit)
        )
        cells = [name, f"{100 * economy.interest:.4f}", f"{economy.capital:.4f}", f"{economy.gini:.4f}", wealth, limit]
        cells += [f"{economy.excess:+.1e}", f"{economy.seconds:.1f}"]
        print(f"| {' | '.join(cells)} |{'' if economy.success else f' {economy.message}'}", flush=True)
    print(f"\n{grid:,} grid points.\n")


def tables(device: str) -> None:
    """Print the table; these economies are solved on ``cpu``, and ``device`` only changes a note."""
    print(f"On device cpu{'' if device == 'cpu' else ', the only one that solves them'}.\n")
    types()


if __name__ == "__main__":
    tables("cpu")
    sys.exit(0)
