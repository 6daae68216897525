"""Check and time the solvers of a CUDA device on the headline problem: ``python -m beltline.gpu_ref.cuda.headline``.

It prints the results and, with ``--out``, writes them to a JSON file. Times are medians, in milliseconds, of the parts
of whole calls, without compilation. Each accelerated policy is compared with the exact one, and the exact one, in a
sample of states, with full search on the host. ``--differences`` lists every state whose policy differs, and what the
choice loses.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import importlib
import json
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from beltline.gpu_ref.cuda import solver as cuda
from beltline.gpu_ref.cuda.device import device_name
from beltline.gpu_ref.exact import exact_sweep
from beltline.gpu_ref.methods import PARTS, Solution
from beltline.gpu_ref.published import grid_search, staged_search_cuda
from beltline.gpu_ref.published.search_rule import ALPHA, DELTA, RHO, SIGMA, WIDTH, headline
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import crra_utility

EPSILON = 1e-10
EXACT = "warm"
FAST: tuple[tuple[str, str, float, dict[str, Any]], ...] = (
    ("shift", "shift", EPSILON, {}),
    ("shift, stay-put start", "shift", EPSILON, {"start": "stay"}),
    ("shift, coarse start", "shift", EPSILON, {"start": "coarse"}),
    ("shift, coarse start, epsilon 1e-11", "shift", 1e-11, {"start": "coarse"}),
    ("shift, coarse start, epsilon 1e-12", "shift", 1e-12, {"start": "coarse"}),
)
IDLE = 1.0
"""Seconds without work after which a device has lowered its clock frequency."""


def machine() -> dict[str, str]:
    """Return names and versions of everything on which a time depends."""
    cupy = importlib.import_module("cupy")
    runtime = cupy.cuda.runtime
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "device": device_name(),
        "devices": str(runtime.getDeviceCount()),
        "driver (CUDA)": str(runtime.driverGetVersion()),
        "runtime (CUDA)": str(runtime.runtimeGetVersion()),
        "cupy": cupy.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "host": f"{platform.machine()}, {platform.system()} {platform.release().split('-')[0]}",
    }


def timed(call: Callable[[], Solution], runs: int, idle: float = 0.0) -> tuple[Solution, dict[str, float]]:
    """Return the last of ``runs`` calls, and the medians of its parts in milliseconds.

    One call before them is not counted. ``idle`` seconds pass before each.
    """
    call()
    parts: list[dict[str, float]] = []
    for _ in range(runs):
        time.sleep(idle)
        solution = call()
        parts.append(solution.seconds)
    medians = {part: 1e3 * statistics.median(one.get(part, 0.0) for one in parts) for part in PARTS}
    medians["total"] = 1e3 * statistics.median(sum(one.values()) for one in parts)
    medians["least solve"] = 1e3 * min(one["solve"] for one in parts)
    return solution, medians


def tables(points: int) -> tuple[Array, Array, Array, Array, float, float]:
    """Return the headline problem in the order that solvers take."""
    problem = headline(points)
    return problem.X, problem.W, problem.Q, problem.V0, problem.beta, problem.eta


def row(name: str, solution: Solution, times: dict[str, float]) -> dict[str, Any]:
    """Print and return one line of a table of results."""
    entry = {
        "method": name,
        "sweeps": solution.sweeps,
        "converged": solution.converged,
        "residual": solution.residual,
        "error_bound": solution.error_bound,
        "exact_sweeps": solution.exact_sweeps,
        "ms": times,
        "us_a_sweep": 1e3 * times["solve"] / solution.sweeps,
    }
    print(
        f"{name:<34}{solution.sweeps:>6} sweeps  allocate {times['allocate']:8.3f}  load {times['load']:8.3f}  "
        f"solve {times['solve']:9.3f}  read {times['read']:8.3f}  total {times['total']:9.3f} ms  "
        f"{entry['us_a_sweep']:7.3f} us/sweep  residual {solution.residual:.2e}  exact {solution.exact_sweeps}",
        flush=True,
    )
    return entry


def differences(problem: Any, exact: Solution, other: Solution) -> tuple[Any, Array]:
    """Return the states whose choices differ, ``(n, 2)``, and how far their objectives differ at ``exact``'s value,
    ``(n,)``.
    """
    X, W, Q, _, beta, eta = problem
    ahead = beta * (exact.value @ Q.T)
    states = np.argwhere(other.policy != exact.policy)
    x, s = states.T
    one, two = (
        crra_utility(W[x, s] - X[policy[x, s]], eta) + ahead[policy[x, s], s] for policy in (exact.policy, other.policy)
    )
    return states, np.abs(one - two)


def check_headline(
    points: int, exact: Solution, others: dict[str, Solution], listed: list[tuple[Any, ...]] | None = None
) -> dict[str, Any]:
    """Compare the exact policy with full search, and the others with the exact one; ``listed`` receives the
    differences.
    """
    X, W, Q, _, beta, eta = tables(points)
    assert exact.previous is not None
    cpu_value, cpu_policy = exact_sweep(X, W, Q, exact.previous, beta, eta)
    some = np.random.default_rng(0).choice(W.size, min(W.size, 4000), replace=False)
    value, policy = grid_search.search_states(X, W, Q, exact.previous, beta, eta, some)
    found: dict[str, Any] = {
        "points": points,
        "policies unlike divide and conquer on the host": int((cpu_policy != exact.policy).sum()),
        "values unlike divide and conquer on the host": int((cpu_value != exact.value).sum()),
        "states sampled for full search on the host": int(some.size),
        "policies unlike full search on the host": int((policy != exact.policy.ravel()[some]).sum()),
        "values unlike full search on the host": int((value != exact.value.ravel()[some]).sum()),
    }
    for name, solution in others.items():
        again, _ = exact_sweep(X, W, Q, solution.value, beta, eta)
        states, gaps = differences((X, W, Q, exact.value, beta, eta), exact, solution)
        found[name] = {
            "states whose policy differs": len(gaps),
            "by grid points at most": int(np.abs(solution.policy - exact.policy).max()),
            "objective differs there by at most": float(gaps.max(initial=0.0)),
            "in the middle by": float(np.median(gaps)) if len(gaps) else 0.0,
            "value differs by at most": float(np.abs(solution.value - exact.value).max()),
            "max |TV - V|, recomputed": float(np.abs(again - solution.value).max()),
        }
        if listed is not None and any(name == fast[0] for fast in FAST):
            listed.extend(
                (name, x, s, exact.policy[x, s], solution.policy[x, s], f"{gap:.3g}")
                for (x, s), gap in zip(states, gaps, strict=True)
            )
    print(json.dumps(found, indent=1), flush=True)
    return found


def calibrations(points: int, count: int) -> list[tuple[Array, Array, Array, Array, float, float]]:
    """Return headline problems with ``beta`` from 0.980 to 0.988 and risk aversion from 1.5 to 3, drawn at random."""
    X, W, Q, _, _, _ = tables(points)
    rng = np.random.default_rng(1)
    half = WIDTH * SIGMA / np.sqrt(1.0 - RHO**2)
    z = np.exp(np.linspace(-half, half, Q.shape[0]))
    problems = []
    for _ in range(count):
        beta, eta = float(rng.uniform(0.980, 0.988)), float(rng.uniform(1.5, 3.0))
        steady = ((1 / beta - 1 + DELTA) / (ALPHA * z)) ** (1 / (ALPHA - 1))
        X = np.linspace(0.95 * steady[0], 1.05 * steady[-1], points)
        W = z * X[:, None] ** ALPHA + (1 - DELTA) * X[:, None]
        start = (z * steady**ALPHA - DELTA * steady) ** (1 - eta) / (1 - eta)
        problems.append((X, W, Q, np.tile(start, (points, 1)), beta, eta))
    return problems


def batch(points: int, count: int, runs: int, start: str = "coarse", devices: Sequence[int] = (0,)) -> dict[str, Any]:
    """Time a batch of calibrations with ``shift``."""
    problems = calibrations(points, count)

    def call() -> list[Solution]:
        return cuda.solve_batch(problems, EPSILON, method="shift", start=start, devices=devices)

    solutions = call()
    shares = []
    for _ in range(runs):
        begin = time.perf_counter()
        solutions = call()
        wall = (time.perf_counter() - begin) / count
        # Seconds are shares of one device's batch, and the devices work at the same time.
        shares.append({part: solutions[0].seconds[part] / len(devices) for part in PARTS} | {"call": wall})
    times = {part: 1e3 * statistics.median(share[part] for share in shares) for part in (*PARTS, "call")}
    sweeps = [solution.sweeps for solution in solutions]
    entry = {
        "points": points,
        "problems": count,
        "devices": len(devices),
        "start": start,
        "ms a problem": times,
        "sweeps": [min(sweeps), statistics.median(sweeps), max(sweeps)],
        "converged": sum(solution.converged for solution in solutions),
        "needed exact sweeps": sum(solution.exact_sweeps > 0 for solution in solutions),
    }
    compared = range(0, count, max(1, count // 8))
    gaps = [
        differences(problems[i], cuda.solve(*problems[i], EPSILON, method=EXACT), solutions[i])[1] for i in compared
    ]
    entry["problems compared with the exact solve"] = len(compared)
    entry["states whose policy differs there"] = [len(gap) for gap in gaps]
    entry["objective differs there by at most"] = max(float(gap.max(initial=0.0)) for gap in gaps)
    print(
        f"batch of {count} at {points} on {len(devices)} device(s), {start} start: "
        + ", ".join(f"{part} {spent:.4f}" for part, spent in times.items())
        + f" ms a problem; sweeps {entry['sweeps']}, converged {entry['converged']}, "
        f"exact {entry['needed exact sweeps']}; of {len(compared)}, "
        f"policies differ in {entry['states whose policy differs there']} states "
        f"by {entry['objective differs there by at most']:.2g} at most",
        flush=True,
    )
    return entry


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the requested checks and timings."""
    parser = argparse.ArgumentParser(prog="python -m beltline.gpu_ref.cuda.headline", description=__doc__)
    parser.add_argument("--runs", type=int, default=7, help="timed runs, whose median is reported (default 7)")
    parser.add_argument("--quick", action="store_true", help="the headline problem by its fast methods only")
    parser.add_argument("--batch", type=int, default=1000, help="calibrations of the batch (default 1,000)")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    parser.add_argument("--differences", type=Path, help="CSV file to write, a line for each state that differs")
    options = parser.parse_args(arguments)
    for name in ("out", "differences"):
        file = getattr(options, name)
        if file and (file.is_dir() or not file.parent.is_dir()):
            parser.error(f"{name} must be a file in a directory that exists, not '{file}'")
    reason = cuda.available()
    if reason:
        raise SystemExit(reason)
    found: dict[str, Any] = {"machine": machine(), "epsilon": EPSILON}
    print(json.dumps(found["machine"], indent=1), flush=True)

    problem = tables(65_536)
    solutions: dict[str, Solution] = {}
    found["headline"] = []
    fast = [(EXACT, EXACT, EPSILON, {}), *FAST]
    if not options.quick:
        fast += [
            ("mpi, stay-put start", "mpi", EPSILON, {"start": "stay"}),
        ]
    for name, method, epsilon, extra in fast:
        solution, times = timed(partial(cuda.solve, *problem, epsilon, method=method, **extra), options.runs)
        solutions[name] = solution
        found["headline"].append(row(name, solution, times))
    for name, method, epsilon, extra in fast[:1] + [one for one in FAST if one[0].startswith("shift, ")][:2]:
        solution, times = timed(partial(cuda.solve, *problem, epsilon, method=method, **extra), 5, IDLE)
        found["headline"].append(row(f"{name}, after {IDLE:g} s idle", solution, times))
    exact = solutions.pop(EXACT)
    listed: list[tuple[Any, ...]] = []
    found["checks"] = [check_headline(65_536, exact, solutions, listed)]
    if options.differences:
        with options.differences.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("solve", "grid point", "state", "exact choice", "its choice", "objectives differ by"))
            writer.writerows(listed)
    if not options.quick:
        for rule in ("corrected", "published"):
            solution, times = timed(partial(staged_search_cuda.solve, *problem, EPSILON, rule=rule), options.runs)
            found["headline"].append(row(f"staged search, {rule} rule", solution, times))
        found["by size"] = []
        for points in (16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576):
            size = tables(points)
            both: list[tuple[str, dict[str, Any]]] = [(EXACT, {}), ("shift", {"start": "coarse"})]
            for method, extra in both:
                solution, times = timed(partial(cuda.solve, *size, EPSILON, method=method, **extra), 5)
                found["by size"].append({"points": points, **row(f"{points} {method}", solution, times)})
    devices = importlib.import_module("cupy").cuda.runtime.getDeviceCount()
    found["batch"] = []
    if options.batch:
        found["batch"].append(batch(65_536, options.batch, 3))
        found["batch"].append(batch(65_536, min(options.batch, 64), 3, start="stay"))
        if not options.quick:
            for points in (256, 1024, 4096, 16_384):
                found["batch"].append(batch(points, options.batch, 3))
        if devices > 1:
            found["batch"].append(batch(65_536, options.batch, 3, devices=range(devices)))
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
