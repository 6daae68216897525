"""Print the tables of ``docs/hopenhayn-rogerson.md``.

Run ``python -m docs.tables.hopenhayn_rogerson``, or :mod:`docs.tables.models`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from beltline.host.models.hopenhayn_rogerson.model import hopenhayn_rogerson
from beltline.host.models.hopenhayn_rogerson.result import FirmEconomy
from beltline.host.solver.solve import solve

TAUS = (0.0, 0.1, 0.2)
"""Firing costs of table 3 of the paper."""

ROWS: dict[str, tuple[int, Callable[[FirmEconomy], float]]] = {
    "price": (3, lambda e: e.price),
    "consumption (output)": (1, lambda e: 100.0 / e.price),
    "average productivity": (1, lambda e: 100.0 / e.price / (e.employment / e.model.employment)),
    "total employment": (1, lambda e: 100.0 * e.employment / e.model.employment),
    "utility-adjusted consumption": (1, lambda e: 100.0 * e.welfare),
    "average firm size": (1, lambda e: e.average_size),
    "layoff costs / wage bill": (3, lambda e: e.layoff_costs),
    "job turnover rate": (2, lambda e: e.jobs_created),
}
"""Rows of this table: digits that are printed, and how each is computed."""

PAPER = {
    "price": (1.00, 1.026, 1.048),
    "consumption (output)": (100, 97.5, 95.4),
    "average productivity": (100, 99.2, 97.9),
    "total employment": (100, 98.3, 97.5),
    "utility-adjusted consumption": (100, 98.7, 97.2),
    "average firm size": (61.2, 61.8, 65.1),
    "layoff costs / wage bill": (0, 0.026, 0.044),
    "job turnover rate": (0.30, 0.26, 0.22),
}
"""Hopenhayn and Rogerson (1993), table 3."""

REPLICATION = {
    "price": (1.000, 1.021, 1.040),
    "consumption (output)": (100.0, 98.2, 96.7),
    "average productivity": (100.0, 99.4, 98.3),
    "total employment": (100.0, 98.8, 98.4),
    "utility-adjusted consumption": (100.0, 98.2, 96.8),
    "average firm size": (25.2, 25.7, 26.6),
    "layoff costs / wage bill": (0.0, 0.009, 0.013),
    "job turnover rate": (0.24, 0.21, 0.18),
}
"""The same table in the replication of vfitoolkit/vfitoolkit-matlab-replication on GitHub
(``HopenhaynRogerson1993/HopenhaynRogerson1993.pdf``)."""

BENCHMARK: dict[str, tuple[str, str, Callable[[FirmEconomy], float]]] = {
    "average firm size": ("61.2", "25.18", lambda e: e.average_size),
    "exit rate of firms": (".39", ".30", lambda e: e.exit_rate),
    "average size of a new firm": ("7.5", "5.02", lambda e: e.entrant_size),
    "fraction of hiring by new firms": (".15", ".06", lambda e: e.entrant_hiring),
    "entrants that produce once and then exit": (".75", ".85", lambda e: e.entrant_hazard),
}
"""Rows of table 2: number in the paper, number in the replication, and how each is computed here.

The replication divides by all firms at the beginning of a period, including those that exit without producing. It calls
the last row the hazard of two periods.
"""

AS_REPLICATION: dict[str, Any] = {"grid": 601, "variance": 0.53 / 1.93, "width": 4.0, "exits": "after"}
"""Settings of the replication: its variance of the shock is ``.53 (1 - rho)``, so that of ``ln z`` is ``.53 / (1 +
rho)``."""

GRIDS = (
    *(("log", points) for points in (60, 250, 601, 1_001, 4_001, 16_001, 65_536)),
    *(("uniform", points) for points in (251, 601, 1_001, 4_001, 16_001, 65_536)),
)
"""Spacings and numbers of points of the study of the grid."""

COSTS = ((12.0, 0.65), (12.0, 0.6), (16.0, 0.65), (20.0, 0.65), (20.0, 0.6))
"""Fixed cost, and share of the states that entrants draw from; the paper reports neither."""


def _solved(tau: float, **parameters: Any) -> FirmEconomy:
    found: FirmEconomy = solve(hopenhayn_rogerson(tau=tau, **parameters), progress=False)
    return found


def _failures(economies: Sequence[FirmEconomy]) -> str:
    """Return the messages of the economies that are not solved."""
    return "".join(f" tau = {e.model.tau:g}: {e.message}" for e in economies if not e.success)


def effects(parameters: Mapping[str, Any] | None = None, like: Mapping[str, Any] = AS_REPLICATION) -> None:
    """Print table 3 as published and as solved here, and the replication's beside ours with its settings."""
    ours = [_solved(tau, **parameters or {}) for tau in TAUS]
    same = [_solved(tau, **like) for tau in TAUS]
    heads = ("paper", "here", "replication", "here, with its settings")
    columns = " | ".join(f"{head}, tau = {tau:g}" for head in heads for tau in TAUS)
    print(f"| | {columns} |\n|---|{'---:|' * len(heads) * len(TAUS)}")
    for name, (digits, of) in ROWS.items():
        cells = [f"{value:.{digits}f}" for value in PAPER[name]] + [f"{of(e):.{digits}f}" for e in ours]
        cells += [f"{value:.{digits}f}" for value in REPLICATION[name]] + [f"{of(e):.{digits}f}" for e in same]
        print(f"| {name} | {' | '.join(cells)} |")
    print(_failures([*ours, *same]), flush=True)
    print("| without firing costs | paper | here | replication | here, with its settings |\n|---|---:|---:|---:|---:|")
    for name, (paper, replication, of) in BENCHMARK.items():
        cells = [paper, f"{of(ours[0]):.2f}", replication, f"{of(same[0]):.2f}"]
        print(f"| {name} | {' | '.join(cells)} |")
    print(flush=True)


def grids(sizes: Sequence[tuple[str, int]] = GRIDS) -> None:
    """Print the economy on grids of increasing size."""
    print("| spacing | points | price, .1 | price, .2 | employment, .1 | employment, .2 | welfare, .1 | welfare, .2 | "
          "turnover, 0 | turnover, .1 | turnover, .2 | unchanged workers at the highest z, .1 | s |")  # fmt: skip
    print(f"|---|{'---:|' * 12}", flush=True)
    for spacing, points in sizes:
        # Economies are solved and dropped one after the other: on fine grids each takes hundreds of megabytes.
        found, spent = [], 0.0
        for tau in TAUS:
            e = _solved(tau, grid=points, spacing=spacing)
            row = {"price": f"{e.price:.5f}", "employment": f"{100 * e.employment / e.model.employment:.2f}"}
            row |= {"welfare": f"{100 * e.welfare:.2f}", "turnover": f"{e.jobs_created:.4f}", "wrong": _failures([e])}
            found.append(row | {"band": " to ".join(f"{n:,.0f}" for n in e.bands[-1])})
            spent += sum(step.seconds for step in e.steps)
            del e
        cells = [spacing, f"{points:,}"]
        cells += [row[name] for name in ("price", "employment", "welfare") for row in found[1:]]
        cells += [*(row["turnover"] for row in found), found[1]["band"], f"{spent:.1f}"]
        print(f"| {' | '.join(cells)} |{''.join(row['wrong'] for row in found)}", flush=True)
    print(flush=True)


def costs(cases: Sequence[tuple[float, float]] = COSTS, **parameters: Any) -> None:
    """Print the effect of the parameters that the paper does not report."""
    heads = [
        "fixed cost", "entrants from the lowest", "price, .1", "price, .2", "employment, .1", "turnover, 0",
        "turnover, .1", "average size, 0", "exit rate, 0",
    ]  # fmt: skip
    print(f"| {' | '.join(heads)} |\n|{'---:|' * len(heads)}", flush=True)
    for fixed_cost, share in cases:
        free, low, high = economies = [_solved(tau, fixed_cost=fixed_cost, share=share, **parameters) for tau in TAUS]
        cells = [f"{fixed_cost:g}", f"{share:g}", f"{low.price:.4f}", f"{high.price:.4f}"]
        cells += [f"{100 * low.employment / low.model.employment:.2f}", f"{free.jobs_created:.3f}"]
        cells += [f"{low.jobs_created:.3f}", f"{free.average_size:.1f}", f"{free.exit_rate:.3f}"]
        print(f"| {' | '.join(cells)} |{_failures(economies)}", flush=True)
    print(flush=True)


def tables(device: str, sizes: Sequence[tuple[str, int]] = GRIDS) -> None:
    """Print all tables; the economy is solved on ``cpu``, and ``device`` only changes a note."""
    print(f"On device cpu{'' if device == 'cpu' else ', the only one that these tables use'}.\n")
    effects()
    costs()
    grids(sizes)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Print the tables of the page on Hopenhayn and Rogerson's economy.")
    parser.add_argument(
        "--points", type=int, default=GRIDS[-1][1], metavar="N", help="finest grid of the study (default %(default)s)"
    )
    given = parser.parse_args(arguments)
    tables("cpu", [(spacing, points) for spacing, points in GRIDS if points <= given.points])
    return 0


if __name__ == "__main__":
    sys.exit(main())
