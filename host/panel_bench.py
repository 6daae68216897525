"""Time the panel and the whole Krusell-Smith economy: ``python -m host.panel_bench``.

Panels follow the policy of a household that believes ``LAW``; wealth begins as a log-normal that is as wide as what
economies end with, so that a short run costs an agent what a long one does. Times are those of whole calls without the
shocks, divided by periods; nothing is compiled in them. The gap is the largest one from the path of ``K`` by
Catmull-Rom interpolation in double precision on the processor, in per cent. Prints a table and, with ``--out``, writes
it as JSON. Other programs slow all of it down: the load that was there before is told.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np

from gpu_ref import panel
from gpu_ref.shocks import draw_shocks
from host.equilibrium import PANELS, EulerHousehold, krusell_smith
from host.files import check_target, replacing
from host.krusell_smith import Economy

LAW = ((0.127, 0.9647), (0.1385, 0.9630))
AGENTS = (10_000, 500_000, 10_000_000)
REPEATS = 3

Row = dict[str, Any]


def machine(where: str) -> dict[str, str]:
    """What times depend on."""
    known = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "processor": platform.processor() or platform.machine(),
        "cores": str(os.cpu_count()),
        "threads": str(numba.get_num_threads()),
        "load": f"{os.getloadavg()[0]:.1f}",
        "numba": numba.__version__,
    }
    if where == "gpu":
        from gpu_ref.cuda import device_name

        known["device"] = device_name()
    return known


def time_panels(where: str, sizes: Sequence[int], periods: int) -> list[Row]:
    """Time every interpolation at every size."""
    economy = Economy()
    policy = EulerHousehold(economy, 1e-6).solve(np.array(LAW), None)
    rows = []
    for agents in sizes:
        begin = time.perf_counter()
        shocks = draw_shocks(agents, periods, economy.transition, economy.unemployment)
        drawing = time.perf_counter() - begin
        rng = np.random.default_rng(0)
        start = np.minimum(rng.lognormal(np.log(economy.steady_capital) - 0.25, 0.7, agents), economy.top)

        on_cpu = partial(panel.simulate, policy, economy.grid, economy.mean_grid, shocks, start)
        run: Callable[[str], panel.Panel] = on_cpu
        if where == "gpu":
            from gpu_ref.cuda_panel import Simulator

            run = partial(Simulator(shocks).simulate, policy, economy.grid, economy.mean_grid, start)
        # Compiled, and the device's memory allocated.
        reference = on_cpu("bicubic").capital
        for name in panel.INTERPOLATIONS:
            run(name)
            seconds = []
            for _ in range(REPEATS):
                begin = time.perf_counter()
                found = run(name)
                seconds.append(time.perf_counter() - begin)
            rows.append(
                {
                    "agents": agents,
                    "periods": periods,
                    "method": name,
                    "milliseconds a period": 1e3 * statistics.median(seconds) / periods,
                    "seconds": statistics.median(seconds),
                    "gap, %": panel.path_error(found.capital, reference),
                    "held": found.below + found.above,
                    "drawing, s": drawing,
                    "shocks, MiB": shocks.employed.nbytes / 2**20,
                }
            )
    return rows


def time_economy(where: str) -> Row:
    """Time the whole economy of 10,000 agents and a grid of 100 x 4, household and panel on ``where``."""
    krusell_smith(panel=where, device=where, max_iterations=1, progress=False)
    runs = [krusell_smith(panel=where, device=where, progress=False) for _ in range(REPEATS)]
    found = sorted(runs, key=lambda run: run.timing["all"])[REPEATS // 2]
    return {
        "iterations": found.iterations,
        "household": f"{found.household} on {found.device}, {found.household_iterations} iterations",
        "converged": found.success,
        "law": found.law.tolist(),
        "r2": found.r2.tolist(),
        "forecast error, %": float(found.forecast_errors.max()),
        "seconds": found.timing,
    }


def markdown(result: dict[str, Any]) -> str:
    """Return the result as tables."""
    lines = [", ".join(f"{name} {value}" for name, value in result["machine"].items()), ""]
    lines += ["| agents | interpolation | ms a period | gap of K, % | held | drawing, s |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {row['agents']:,} | {row['method']} | {row['milliseconds a period']:.4g} | {row['gap, %']:.3g} "
        f"| {row['held']:,} | {row['drawing, s']:.2f} |"
        for row in result["panels"]
    ]
    economy = result["economy"]
    parts = ", ".join(f"{name} {spent:.2f} s" for name, spent in economy["seconds"].items())
    lines += ["", f"Whole economy of 10,000 agents: {economy['iterations']} iterations; {parts}"]
    return "\n".join([*lines, f"Household: {economy['household']}", ""])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m host.panel_bench", description="Time panels and an economy.")
    parser.add_argument("--panel", default="cpu", choices=PANELS, help="where to simulate")
    parser.add_argument("--agents", default=",".join(map(str, AGENTS)), metavar="N,N,...", help="default %(default)s")
    parser.add_argument("--periods", type=int, default=1_100, metavar="N", help="default %(default)s")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="write the result there")
    given = parser.parse_args(arguments)
    if given.out is not None:
        check_target("out", given.out, (".json",))
    sizes = [int(text) for text in given.agents.split(",")]
    result = {
        "machine": machine(given.panel),
        "panels": time_panels(given.panel, sizes, given.periods),
        "economy": time_economy(given.panel),
    }
    print(markdown(result), end="")
    if given.out is not None:
        with replacing(given.out) as neighbour:
            neighbour.write_text(json.dumps(result, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
