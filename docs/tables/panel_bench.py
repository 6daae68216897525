"""Time the panel and the whole economy of Krusell and Smith: ``python -m docs.tables.panel_bench``.

Panels follow the policy of a household that believes ``LAW``. Initial wealth is log-normal with about the dispersion
that economies end with, so that agents cost the same in short and long runs. Times are those of whole calls without the
shocks and without compilation, divided by periods. The gap is the largest relative distance from the path of ``K`` with
Catmull-Rom interpolation in double precision on the processor, in percent. Each row is printed when it is measured;
``--out`` also writes all as JSON. Other programs slow everything down, so the load before the run is printed. Two cores
need some three minutes.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np

from beltline.gpu_ref.krusell_smith import panel
from beltline.gpu_ref.krusell_smith.shocks import draw_shocks, whole_numbers
from beltline.host.models.krusell_smith.household import EulerHousehold
from beltline.host.models.krusell_smith.model import krusell_smith
from beltline.host.models.krusell_smith.options import PANELS
from beltline.host.results.files import check_target, replacing
from beltline.host.solver.solve import solve
from beltline.sim.progress import reporting

LAW = ((0.127, 0.9647), (0.1385, 0.9630))
AGENTS = (10_000, 500_000, 10_000_000)
PERIODS = {"cpu": 110, "gpu": 1_100}
"""Default numbers of periods. On a processor the time per period does not depend on them."""
REPEATS = 3

Row = dict[str, Any]
Report = Callable[[str], None]


def machine(where: str) -> dict[str, str]:
    """Return the facts on which times depend."""
    known = {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "processor": platform.processor() or platform.machine(),
        "cores": str(os.cpu_count()),
        "threads": str(numba.get_num_threads()),
        "load": f"{os.getloadavg()[0]:.1f}",
        "numba": numba.__version__,
    }
    if where == "gpu":
        from beltline.gpu_ref.cuda.device import device_name

        known["device"] = device_name()
    return known


def time_panels(where: str, sizes: Sequence[int], periods: int, report: Report) -> Iterator[Row]:
    """Time every interpolation at every number of agents."""
    economy = krusell_smith()
    report("household of the panels")
    policy = EulerHousehold(economy, 1e-6).solve(np.array(LAW), None)
    for agents in sizes:
        report(f"shocks of {agents:,} agents")
        begin = time.perf_counter()
        shocks = draw_shocks(agents, periods, economy.transition, economy.unemployment)
        drawing = time.perf_counter() - begin
        rng = np.random.default_rng(0)
        start = np.minimum(rng.lognormal(np.log(economy.steady_capital) - 0.25, 0.7, agents), economy.top)

        on_cpu = partial(panel.simulate, policy, economy.grid, economy.mean_grid, shocks, start)
        run: Callable[[str], panel.Panel] = on_cpu
        if where == "gpu":
            from beltline.gpu_ref.krusell_smith.cuda_panel import Simulator

            run = partial(Simulator(shocks).simulate, policy, economy.grid, economy.mean_grid, start)
        # This also compiles, and allocates the device's memory.
        report(f"{agents:,} agents, the path of K on the processor")
        reference = on_cpu("bicubic").capital
        for name in panel.INTERPOLATIONS:
            report(f"{agents:,} agents, {name}, compiling")
            run(name)
            calls, periods_alone = [], []
            for number in range(1, REPEATS + 1):
                report(f"{agents:,} agents, {name}, run {number} of {REPEATS}")
                begin = time.perf_counter()
                found = run(name)
                calls.append(time.perf_counter() - begin)
                periods_alone.append(found.seconds)
            yield {
                "agents": agents,
                "periods": periods,
                "method": name,
                "milliseconds a period": 1e3 * statistics.median(periods_alone) / periods,
                "whole call, s": statistics.median(calls),
                "gap, %": panel.path_error(found.capital, reference),
                "held": found.below + found.above,
                "drawing, s": drawing,
                "shocks, MiB": shocks.employed.nbytes / 2**20,
            }


def time_economy(where: str, report: Report) -> Row:
    """Time the whole economy with 10,000 agents and a grid of 100 x 4, household and panel on ``where``."""
    report("the economy, compiling")
    solve(krusell_smith(), panel=where, device=where, max_iterations=1, progress=False)
    runs = []
    for number in range(1, REPEATS + 1):
        report(f"the economy, run {number} of {REPEATS}")
        runs.append(solve(krusell_smith(), panel=where, device=where, progress=False))
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


HEAD = "| agents | interpolation | ms per period | whole call, s | gap of K, % | off the grid | drawing, s |\n"
HEAD += 7 * "|---" + "|"


def panel_line(row: Row) -> str:
    """Return the row of a panel in the table with the heading ``HEAD``."""
    return (
        f"| {row['agents']:,} | {row['method']} | {row['milliseconds a period']:.4g} "
        f"| {row['whole call, s']:.3f} | {row['gap, %']:.3g} | {row['held']:,} | {row['drawing, s']:.2f} |"
    )


def economy_lines(economy: Row) -> str:
    """Return the lines on an economy."""
    parts = ", ".join(f"{name} {spent:.2f} s" for name, spent in economy["seconds"].items())
    return (
        f"Whole economy of 10,000 agents: {economy['iterations']} iterations; {parts}\n"
        f"Household: {economy['household']}"
    )


def measure(where: str, sizes: Sequence[int], periods: int) -> dict[str, Any]:
    """Time panels and an economy, print each when it is measured, and return all results."""
    with reporting(None) as status:
        report: Report = status or (lambda text: None)

        def show(text: str) -> None:
            report("")
            print(text, flush=True)

        result: dict[str, Any] = {"machine": machine(where), "panels": []}
        show(", ".join(f"{name} {value}" for name, value in result["machine"].items()))
        show(f"Panels of {periods:,} periods\n\n{HEAD}")
        for row in time_panels(where, sizes, periods, report):
            result["panels"].append(row)
            show(panel_line(row))
        result["economy"] = time_economy(where, report)
        show(f"\n{economy_lines(result['economy'])}")
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m docs.tables.panel_bench", description="Time panels and an economy."
    )
    parser.add_argument("--panel", default="cpu", choices=PANELS, help="where panels are simulated")
    parser.add_argument(
        "--agents",
        default=",".join(map(str, AGENTS)),
        metavar="N,N,...",
        help="numbers of agents (default %(default)s)",
    )
    parser.add_argument("--periods", type=int, metavar="N", help="number of periods (default 110, on a GPU 1,100)")
    parser.add_argument("--out", type=Path, metavar="FILE.json", help="also write the results to this file")
    given = parser.parse_args(arguments)
    if given.out is not None:
        check_target("out", given.out, (".json",))
    if given.periods is not None and given.periods < 2:
        parser.error(f"--periods must be at least 2, not {given.periods}")
    try:
        sizes = [int(text) for text in given.agents.split(",")]
    except ValueError:
        parser.error(f"--agents must be whole numbers separated by commas, not {given.agents!r}")
    try:
        for size in sizes:
            whole_numbers(size, np.array(krusell_smith().unemployment))
    except ValueError as error:
        parser.error(f"--{error}")
    result = measure(given.panel, sizes, given.periods or PERIODS[given.panel])
    if given.out is not None:
        with replacing(given.out) as file:
            file.write((json.dumps(result, indent=1) + "\n").encode())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
