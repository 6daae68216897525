"""Print the tables of the pages on models, by default all.

Run ``python -m docs.tables.models [life-cycle] [aiyagari] ...``.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from beltline.gpu_ref.published import grid_search
from beltline.host.devices import REFERENCES
from beltline.host.models.aiyagari.model import aiyagari
from beltline.host.models.aiyagari.result import Economy
from beltline.host.models.life_cycle import life_cycle
from beltline.host.solver.solve import solve
from beltline.sim.progress import StatusLine
from docs.tables import (
    aiyagari_path,
    aiyagari_types,
    arellano,
    cohort,
    hopenhayn_rogerson,
    krusell_smith,
    lumpy_investment,
    refine,
    retirement,
)

CALLS = 51
"""Number of solves whose median is reported as the time of one."""

Cells = tuple[tuple[float, float], tuple[float, float], tuple[float, float]]

TABLE_II: dict[tuple[float, float], Cells] = {
    (0.2, 0.0): ((4.1666, 23.67), (4.1456, 23.71), (4.0858, 23.83)),
    (0.2, 0.3): ((4.1365, 23.73), (4.0432, 23.91), (3.9054, 24.19)),
    (0.2, 0.6): ((4.0912, 23.82), (3.8767, 24.25), (3.5857, 24.86)),
    (0.2, 0.9): ((3.9305, 24.14), (3.2903, 25.51), (2.5260, 27.36)),
    (0.4, 0.0): ((4.0649, 23.87), (3.7816, 24.44), (3.4177, 25.22)),
    (0.4, 0.3): ((3.9554, 24.09), (3.4188, 25.22), (2.8032, 26.66)),
    (0.4, 0.6): ((3.7567, 24.50), (2.7835, 26.71), (1.8070, 29.37)),
    (0.4, 0.9): ((3.3054, 25.47), (1.2894, 31.00), (-0.3456, 37.63)),
}
"""Table II of Aiyagari (1994): net return and saving rate in percent by ``(sigma, rho)``, for ``eta`` 1, 3 and 5.

The numbers are those of three public replications (docs/aiyagari.md names them). They agree in all but three saving
rates, for which two of them have 24.12, 27.32 and 28.64; here these are ``alpha delta / (r + delta)``, as the other 21.
"""


def life_cycle_tables(device: str, grid: int = 1500, states: int = 15, ages: int = 10, calls: int = CALLS) -> None:
    """Print the life cycle compared with full search, and the time of a whole life on one device."""
    problem = life_cycle(grid, states, ages)
    result = solve(problem, device=device, progress=False)
    following, wrong = problem.start, 0
    furthest = 0.0
    for age in range(result.value.shape[0] - 1, -1, -1):
        value, policy = grid_search.sweep(
            problem.grid, problem.wealth, problem.transition, following, problem.beta, problem.eta
        )
        wrong += int((policy != result.policy[age]).sum())
        furthest = max(furthest, float(np.abs(value - result.value[age]).max()))
        following = value
    print(f"{problem.points:,} x {problem.states} x {problem.horizon} on device {device}\n")
    print("| quantity | figure |\n|---|---:|")
    for s in range(min(states, 3)):
        print(f"| V(x_1, e_{s + 1}) at age 1 | {result.value[0, 0, s]:.5f} |")
    print(f"| choices that differ from full search | {wrong} of {result.policy.size:,} |")
    print(f"| largest difference of values | {furthest:.1e} |")
    second = np.diff(result.value, 2, axis=1)
    print(f"| second differences of V above zero | {int((second > 0).sum()):,} of {second.size:,} |")
    if device in REFERENCES:
        spent = []
        for _ in range(calls):
            found = solve(problem, device=device, progress=False, verify=False)
            parts = [found.timing[part] for part in ("allocate", "load", "solve", "read") if part in found.timing]
            spent.append((sum(parts), found.timing["solve"]))
        whole, alone = (1e3 * statistics.median(times) for times in zip(*spent, strict=True))
        fastest = 1e3 * min(times[0] for times in spent)
        print(f"| a whole life, median of {calls} | {whole:.3f} ms, of which the solve {alone:.3f} ms |")
        print(f"| the fastest of them | {fastest:.3f} ms |")
    else:
        print(f"| clocks | {result.clocks:,} ({result.clocks_source}) |")
    print()


def highest(sigma: float, rho: float) -> float:
    """Return the highest assets of the grid: hardly anybody owns more, and unused points are left out."""
    return (40.0 if sigma < 0.3 else 60.0) if rho < 0.9 else 60.0 if sigma < 0.3 else 120.0


def aiyagari_tables(device: str, grid: int = 2000, cells: Mapping[tuple[float, float], Cells] = TABLE_II) -> None:
    """Print table II of Aiyagari (1994) as published and as solved here, all of it or some ``cells``."""
    print(f"{grid:,} grid points, 7 states, on device {device}\n")
    print("| sigma | rho | eta | published r, % | r, % | published saving, % | saving, % | Gini | at the top |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    begin = time.perf_counter()
    done, size = 0, 3 * len(cells)
    with contextlib.closing(StatusLine()) as line:
        for (sigma, rho), published in cells.items():
            for eta, (rate, saving) in zip((1.0, 3.0, 5.0), published, strict=True):
                model = aiyagari(grid=grid, eta=eta, rho=rho, sigma=sigma, high=highest(sigma, rho))
                done += 1
                where = f"economy {done} of {size}"
                economy = solve(
                    model, tol=1e-7, device=device, progress=lambda text, where=where: line(f"{where}, {text}")
                )
                assert isinstance(economy, Economy)
                row = [f"{sigma}", f"{rho}", f"{eta:g}", f"{rate:.4f}", f"{100 * economy.interest:.4f}"]
                row += [f"{saving:.2f}", f"{100 * economy.saving_rate:.2f}", f"{economy.gini:.3f}"]
                row += [f"{economy.at_top:.0e}"]
                line.close()
                print(f"| {' | '.join(row)} |{'' if economy.success else f' {economy.message}'}", flush=True)
    print(f"\nAll of it took {time.perf_counter() - begin:.0f} s of this computer.\n")


TABLES: dict[str, Callable[[str], None]] = {
    "life-cycle": life_cycle_tables,
    "cohort": cohort.tables,
    "aiyagari": aiyagari_tables,
    "aiyagari-path": aiyagari_path.tables,
    "aiyagari-types": aiyagari_types.tables,
    "arellano": arellano.tables,
    "retirement": retirement.tables,
    "lumpy-investment": lumpy_investment.tables,
    "hopenhayn-rogerson": hopenhayn_rogerson.tables,
    "refine": refine.tables,
    "krusell-smith": krusell_smith.tables,
}
"""The function of each model, which is called with a device and prints."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables of the given models."""
    parser = argparse.ArgumentParser(description="Print the tables of the models' pages.")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"one or more of {', '.join(TABLES)} (default: all)")
    parser.add_argument("--device", default="cpu", metavar="NAME", help="device that solves (default %(default)s)")
    given = parser.parse_args(arguments)
    for name in given.models:
        if name not in TABLES:
            parser.error(f"model must be one of {', '.join(map(repr, TABLES))}, not {name!r}")
    for name in given.models or TABLES:
        print(f"## {name}\n")
        TABLES[name](given.device)
    return 0


if __name__ == "__main__":
    sys.exit(main())
