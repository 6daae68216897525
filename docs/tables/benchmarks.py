"""Print the page of benchmarks, ours beside its rivals: ``python -m docs.tables.benchmarks``; ``--out FILE`` writes it.

Each problem is solved alternately by ``bl.solve`` and by what else solves it here: a loop with Howard steps as an
economist writes it in Numba, the endogenous grid method, QuantEcon and JAX if they are installed. Times are medians,
from call to return, after a first call that compiles: CPU time of one thread, in a process of its own, or wall-clock
time of all cores, or of a GPU if there is one. Values are compared; the command returns 1 if two that are exact on the
grid differ by more than their bounds.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import beltline as bl
from beltline.compiled import njit
from beltline.gpu_ref.cuda.device import available, device_name
from beltline.gpu_ref.exact import exact_sweep
from beltline.gpu_ref.published import endogenous_grid
from beltline.gpu_ref.tables import Array

TOL = 1e-10
MOST_POINTS = 20_000
"""Largest number of points for which the loop is timed: on more it takes minutes, since choices move point by point."""

MOST_PAIRS = 2_000_000
"""Largest number of pairs of states and choices for which QuantEcon and full search in JAX are timed."""

HEAD = """# Benchmarks

`python -m docs.tables.benchmarks` prints this page: `bl.solve` beside what else solves the same problem, in one
process, by turns. *asked* is the goal that the project has set itself; a time that misses it is bold. Every solve is
verified. `bl.solve` ends where no choice moves and the residual is rounding (default: at 1e-8), its rivals at 1e-10.
JAX searches all choices, with 50 Howard steps; QuantEcon solves all pairs of states and choices, whose tables are
made before. EGM interpolates a smooth policy, so that its answer is not exact on the grid; its values are not
compared.
"""

REASONS = """
## Where the time goes
On 28 November 2026, two cores of an AMD EPYC, medians:

- *savings, 500 and 2,000 x 5*: 2.0 of 2.2 ms and 4.1 of 4.7 ms are the solve, a third of it on parts of the grid;
  of the whole solve, policies along paths take half, and sweeps that maximise a third. The loop proves nothing.
- *default, 251 x 51*: 13 of 36 ms are coarser grids, 17 eight sweeps with their policies and prices, 5
  verification. A sweep in which little moves takes .6 ms, of which the expectation is .07: what is left is proof
  and Python between sweeps.
- *On a GPU* (an H200, the same day): [policies along their
  paths](baselines.md#policies-evaluated-along-their-paths) and [families](batches.md#families).
"""


@dataclass
class Row:
    """A problem with the time of ``bl.solve`` in ms, what is asked of it, and the times of its rivals."""

    name: str
    ms: float
    asked: str
    missed: bool
    said: str
    rivals: dict[str, float] = field(default_factory=dict)


def savings(points: int, floor: float = 0.0) -> bl.Problem:
    """Return the problem of saving from 0 to 40 at 3% with AR(1) log income; ``floor`` is the least cash on hand."""
    log_income, chain = bl.tauchen(5, rho=0.9, sigma=0.2)
    assets = 40.0 * np.linspace(0.0, 1.0, points) ** 2
    wealth = np.maximum(1.03 * assets[:, None] + np.exp(log_income), floor)
    return bl.Problem(grid=assets, wealth=wealth, transition=chain, beta=0.95, eta=2.0)


@njit
def loop(X: Array, W: Array, Q: Array, beta: float, eta: float, tol: float, steps: int) -> Array:
    """Solve a concave problem by a monotone search, Howard steps, and a stop by the spread of changes."""
    points, states = W.shape
    value, after, utility = np.zeros(W.shape), np.empty(W.shape), np.empty(W.shape)
    choice = np.zeros(W.shape, np.int64)
    low, high = np.empty(states), np.empty(states)
    for _ in range(10_000):
        ahead = beta * (value @ Q.T)
        for s in range(states):
            low[s], high[s], first = np.inf, -np.inf, 0
            for x in range(points):
                best, at = -np.inf, first
                for i in range(first, points):
                    c = W[x, s] - X[i]
                    if c <= 0.0:
                        break
                    u = -1.0 / c if eta == 2.0 else np.log(c) if eta == 1.0 else c ** (1.0 - eta) / (1.0 - eta)
                    if u + ahead[i, s] > best:
                        best, at, utility[x, s] = u + ahead[i, s], i, u
                    elif i > at + 1:
                        break
                first = choice[x, s] = at
                after[x, s] = best
                low[s], high[s] = min(low[s], best - value[x, s]), max(high[s], best - value[x, s])
        middle = (low + high) / 2.0
        value[:] = after + np.linalg.solve(np.eye(states) - beta * Q, beta * (Q @ middle))
        if ((high - low) / 2.0).max() < tol:
            break
        for _ in range(steps):
            ahead = beta * (value @ Q.T)
            for s in range(states):
                for x in range(points):
                    value[x, s] = utility[x, s] + ahead[choice[x, s], s]
    return value


def by_jax(problem: bl.Problem) -> Callable[[], Array]:
    """Return a solve by full search with 50 Howard steps, as a user of JAX writes it."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy
    X, W, Q = map(jnp.asarray, (problem.grid, problem.wealth, problem.transition))
    beta, eta = problem.beta, problem.eta
    states = jnp.arange(W.shape[1])

    @jax.jit
    def solve() -> Any:
        c = W[:, :, None] - X
        reward = jnp.where(c > 0.0, jnp.where(c > 0.0, c, 1.0) ** (1.0 - eta) / (1.0 - eta), -jnp.inf)

        def step(state: Any) -> Any:
            value, _ = state
            objective = reward + (beta * value @ Q.T).T
            choice = objective.argmax(2)
            new = objective.max(2)
            own = jnp.take_along_axis(reward, choice[..., None], 2)[..., 0]
            better = jax.lax.fori_loop(0, 50, lambda _, v: own + (beta * v @ Q.T)[choice, states], new)
            return better, jnp.abs(new - value).max()

        return jax.lax.while_loop(lambda state: state[1] >= TOL, step, (jnp.zeros(W.shape), jnp.inf))[0]

    return lambda: np.asarray(solve())


def default_by_jax(model: Any) -> Callable[[], Array]:
    """Return a solve of default by full search and value iteration in JAX, to 1e-8."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy
    income, chain = model.chain
    B, y, P, autarky = map(jnp.asarray, (model.grid, income, chain, model.default_income))
    zero, beta, free, theta = int(model.zero), model.beta, 1.0 / (1.0 + model.interest), model.reentry
    eta = model.eta

    @jax.jit
    def solve() -> Any:
        def utility(c: Any) -> Any:
            return jnp.where(c > 0.0, jnp.where(c > 0.0, c, 1.0) ** (1.0 - eta) / (1.0 - eta), -jnp.inf)

        def step(state: Any) -> Any:
            repay, default, price, _ = state
            value = jnp.maximum(repay, default[:, None])
            ahead = beta * P @ value
            left = utility(autarky) + beta * P @ (theta * value[:, zero] + (1.0 - theta) * default)
            c = y[:, None, None] + B[None, :, None] - (price * B)[:, None, :]
            stay = (utility(c) + ahead[:, None, :]).max(2)
            new = free * (1.0 - P @ (stay < left[:, None]).astype(float))
            moved = jnp.maximum(jnp.abs(jnp.maximum(stay, left[:, None]) - value).max(), jnp.abs(new - price).max())
            return stay, left, new, moved

        shape = y.size, B.size
        begin = jnp.zeros(shape), jnp.zeros(y.size), jnp.full(shape, free), jnp.inf
        return jax.lax.while_loop(lambda state: state[3] >= 1e-8, step, begin)[0]

    return lambda: np.asarray(solve())


def by_quantecon(problem: bl.Problem) -> dict[str, Callable[[], Array]]:
    """Return solves of all affordable pairs by QuantEcon, whose tables are made before, by name."""
    program = importlib.import_module("quantecon.markov").DiscreteDP(*bl.to_discrete_dp(problem))
    shape = problem.wealth.shape
    names = {"QuantEcon, policy iteration": "policy_iteration", "QuantEcon, modified": "modified_policy_iteration"}

    def solve(method: str) -> Array:
        return np.asarray(program.solve(method=method, epsilon=TOL).v.reshape(shape))

    return {name: partial(solve, method) for name, method in names.items()}


def installed(name: str) -> bool:
    """Return whether a package can be imported."""
    return importlib.util.find_spec(name) is not None


def timed(runs: dict[str, Callable[[], Any]], clock: Callable[[], float], count: int) -> tuple[Any, Any]:
    """Run all by turns, one that takes longer than a second once; return the median ms and the last result of each."""
    spent: dict[str, list[float]] = {name: [] for name in runs}
    found = {}
    for turn in range(count + 1):
        for name, run in runs.items():
            if spent[name] and spent[name][0] > 1e3:
                continue
            begin = clock()
            found[name] = run()
            if turn:
                spent[name].append(1e3 * (clock() - begin))
    return {name: statistics.median(each) for name, each in spent.items()}, found


OURS, LOOP = "bl.solve", "Numba, Howard steps"


def row(name: str, problem: bl.Problem, limit: float, ratio: float, clock: Any, count: int, device: str = "cpu") -> Row:
    """Time a problem of the simple form; ``limit`` is asked in ms, ``ratio`` over :data:`LOOP`, 0 for neither."""
    tables = problem.grid, problem.wealth, problem.transition
    runs: dict[str, Callable[[], Any]] = {OURS: partial(bl.solve, problem, TOL, device=device, progress=False)}
    pairs = problem.points**2 * problem.states
    if device == "cpu" and problem.points <= MOST_POINTS:
        runs[LOOP] = lambda: loop(*tables, problem.beta, problem.eta, TOL, 20)
    if device == "cpu":
        runs["EGM"] = lambda: endogenous_grid.solve(*tables, problem.start, problem.beta, problem.eta, TOL).value
        if installed("quantecon") and pairs <= MOST_PAIRS:
            runs |= by_quantecon(problem)
    if installed("jax") and pairs <= 3 * MOST_PAIRS:
        runs["JAX"] = by_jax(problem)
    ms, found = timed(runs, clock, count)
    result = found.pop(OURS)
    again, best = exact_sweep(*tables, result.value, problem.beta, problem.eta)
    improvable = int((best != result.policy).sum())
    said = (
        f"{result.sweeps} sweeps and passes, residual {np.abs(again - result.value).max():.1e}, {improvable} improvable"
    )
    apart = {one: float(np.abs(value - result.value).max()) for one, value in found.items() if one != "EGM"}
    allowed = 2.0 * TOL / (1.0 - problem.beta) + result.error_bound
    wrong = [one for one, distance in apart.items() if distance > allowed]
    if wrong or not result.success:
        said += f"; NOT EQUAL: {', '.join(wrong) or result.message}"
    own = ms.pop(OURS)
    times = ms[LOOP] / own if ratio else 0.0
    asked = f"{ratio:g} times the loop (is {times:.1f})" if ratio else f"{limit:g} ms" if limit else ""
    return Row(name, own, asked, bool(ratio and times < ratio) or bool(limit and own > limit), said, ms)


def default_row(bonds: int, incomes: int, limit: float, count: int, device: str = "cpu") -> Row:
    """Time the economy with default."""
    model = bl.arellano(bonds=bonds, incomes=incomes)
    runs: dict[str, Callable[[], Any]] = {OURS: partial(bl.solve, model, 1e-8, device=device, progress=False)}
    if installed("jax") and bonds**2 * incomes <= 2 * MOST_PAIRS:
        runs["JAX"] = default_by_jax(model)
    ms, found = timed(runs, time.perf_counter, count)
    result, own = found[OURS], ms.pop(OURS)
    said = f"{result.sweeps} sweeps" + ("" if result.success else f"; NOT EQUAL: {result.message}")
    return Row(f"default, {bonds:,} x {incomes}", own, f"{limit:g} ms", own > limit, said, ms)


def family_row(count: int) -> Row:
    """Time each of many calibrations of the RBC on a GPU."""
    base = bl.rbc(grid=1024)

    def rbc(xp: Any, beta: Any, alpha: Any) -> dict[str, Any]:
        z, delta = xp.asarray(base.shock_values), 0.025
        steady = ((1.0 / beta - 1.0 + delta)[:, None] / (alpha[:, None] * z)) ** (1.0 / (alpha[:, None] - 1.0))
        low, high = 0.95 * steady[:, :1], 1.05 * steady[:, -1:]
        k = low + (high - low) * xp.linspace(0.0, 1.0, 1024)
        wealth = z * k[..., None] ** alpha[:, None, None] + (1.0 - delta) * k[..., None]
        return {"grid": k, "wealth": wealth, "transition": base.transition, "beta": beta, "eta": 2.0}

    rng = np.random.default_rng(0)
    columns = {"beta": rng.uniform(0.98, 0.988, count), "alpha": rng.uniform(0.3, 0.36, count)}
    ms, found = timed({OURS: lambda: bl.solve_family(rbc, columns, device="gpu", progress=False)}, time.perf_counter, 3)
    solved, own = found[OURS], ms[OURS] / count
    said = f"{int(solved.success.sum()):,} proven" + ("" if solved.success.all() else "; NOT EQUAL: some failed")
    return Row(f"each of {count:,}, RBC 1,024 x 4, `bl.solve_family`", own, "0.003 ms", own > 0.003, said)


def cost_row(points: int, count: int) -> Row:
    """Time the RBC with a cost that is ``x'`` itself, and without it."""
    problem = bl.rbc(grid=points)
    stated = {OURS: replace(problem, cost=np.repeat(problem.grid[:, None], problem.states, 1)), "without": problem}
    runs: dict[str, Callable[[], Any]] = {
        name: partial(bl.solve, one, TOL, device="cpu", progress=False) for name, one in stated.items()
    }
    ms, found = timed(runs, time.process_time, count)
    times = ms[OURS] / ms["without"]
    same = np.array_equal(found[OURS].value, found["without"].value)
    said = f"{times:.2f} times{'' if same else '; NOT EQUAL'}"
    return Row(f"RBC, {points:,} x 4, with `cost=` x'", ms[OURS], "2 times that without", times > 2.0, said)


def after_rows(points: int, count: int) -> list[Row]:
    """Time the stationary distribution of savings, and choices between grid points with their solve."""
    problem = savings(points)
    result = bl.solve(problem, TOL, device="cpu", progress=False)
    runs: dict[str, Callable[[], Any]] = {
        OURS: partial(bl.solve, problem, TOL, device="cpu", progress=False),
        "distribution": partial(bl.stationary_distribution, result, choices="grid"),
        "choices between points": partial(bl.solve, problem, TOL, device="cpu", progress=False, choices="continuous"),
    }
    ms, found = timed(runs, time.perf_counter, count)
    own, mass = ms.pop(OURS), found["distribution"]
    left = np.abs(result.transitions().T @ mass.ravel() - mass.ravel()).sum()
    said = {
        "distribution": f"moves {left:.1e} in a period",
        "choices between points": "" if found["choices between points"].success else "NOT EQUAL",
    }
    asked = {"distribution": 1.0, "choices between points": 2.0}
    return [
        Row(f"{name}, {points:,} x 5", spent, f"{asked[name]:g} times the solve (is {spent / own:.2f})",
            spent > asked[name] * own, said[name])
        for name, spent in ms.items()
    ]  # fmt: skip


def one_thread(count: int, small: bool) -> list[Row]:
    """Return the rows of CPU time; call it in a process with one thread."""
    rbc = ((1024, 1.5), (4096, 4.0)) if not small else ((256, 0.0),)
    save = ((500, 5.0), (2000, 8.0), (20_000, 12.0)) if not small else ((100, 0.0),)
    clock = time.process_time
    rows = [row(f"RBC, {n:,} x 4", bl.rbc(grid=n), limit, 0.0, clock, count) for n, limit in rbc]
    rows += [row(f"savings, {n:,} x 5", savings(n), 0.0, ratio, clock, count) for n, ratio in save]
    rows += [cost_row(points, count) for points in ((256, 1024, 4096) if not small else (64,))]
    points = 20_000 if not small else 100
    floor = savings(points, floor=2.0)
    ms, found = timed({OURS: partial(bl.solve, floor, TOL, device="cpu", progress=False)}, clock, count)
    result, own = found[OURS], ms[OURS]
    said = f"{result.sweeps} sweeps and passes" + ("" if result.success else f"; NOT EQUAL: {result.message}")
    return [*rows, Row(f"savings with a floor, {points:,} x 5", own, "100 ms", own > 100.0, said)]


def all_cores(count: int, small: bool) -> list[Row]:
    """Return the rows of wall-clock time on all cores."""
    if small:
        return [default_row(61, 7, 1e3, count), *after_rows(100, count)]
    large = row("RBC, 65,536 x 4, until no choice improves", bl.rbc(grid=65_536), 25.0, 0.0, time.perf_counter, count)
    after = [one for points in (400, 1200, 52_000) for one in after_rows(points, count)]
    return [large, default_row(251, 51, 5.0, count), default_row(1001, 21, 6.0, count), *after]


def on_gpu(count: int) -> list[Row]:
    """Return the rows of wall-clock time with a GPU."""
    clock = time.perf_counter
    return [
        row("RBC, 1,024 x 4", bl.rbc(grid=1024), 0.4, 0.0, clock, count, "gpu"),
        row("RBC, 65,536 x 4", bl.rbc(grid=65_536), 1.0, 0.0, clock, count, "gpu"),
        default_row(251, 51, 1.0, count, "gpu"),
        default_row(1001, 21, 1.5, count, "gpu"),
        family_row(10_000),
    ]


def machine() -> str:
    """Return a line about the computer, its packages, the commit and the date."""
    packages = [name for name in ("numpy", "numba", "quantecon", "jax", "cupy") if installed(name)]
    versions = ", ".join(f"{name} {importlib.import_module(name).__version__}" for name in packages)
    commit = subprocess.run(("git", "describe", "--always"), capture_output=True, text=True, check=False).stdout.strip()
    model = next((line.split(":")[1].strip() for line in _cpu() if line.startswith("model name")), platform.machine())
    card = "" if available() else f", {device_name()}"
    date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    python = f"Python {platform.python_version()}, {versions}"
    return f"{os.cpu_count()} cores of {model}{card}; {python}; commit {commit}, {date}."


def _cpu() -> list[str]:
    file = Path("/proc/cpuinfo")
    return file.read_text().splitlines() if file.exists() else []


def table(title: str, rows: Sequence[Row]) -> str:
    """Return a table of rows as Markdown."""
    lines = [f"\n## {title}", "| problem | `bl.solve`, ms | asked | rivals, ms | of ours |", "|---|---|---|---|---|"]
    for one in rows:
        own = f"**{one.ms:.3g}**" if one.missed else f"{one.ms:.3g}"
        others = ", ".join(f"{name} {ms:.3g} ({ms / one.ms:.1f} times)" for name, ms in one.rivals.items())
        lines.append(f"| {one.name} | {own} | {one.asked} | {others} | {one.said} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m docs.tables.benchmarks", description=__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="timed runs of each (default: %(default)s)")
    parser.add_argument("--small", action="store_true", help="small problems only, in seconds")
    parser.add_argument("--out", type=Path, help="file to write in place of printing")
    parser.add_argument("--one-thread", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.repeats < 1:
        parser.error(f"--repeats must be at least 1, not {asked.repeats}")
    if asked.one_thread:
        print(json.dumps([asdict(one) for one in one_thread(asked.repeats, asked.small)]))
        return 0
    print("measuring on one thread", file=sys.stderr, flush=True)
    names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    alone = os.environ | dict.fromkeys(names, "1") | {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-m", "docs.tables.benchmarks", "--one-thread", "--repeats", str(asked.repeats)]
    child = subprocess.run(
        command + ["--small"] * asked.small, env=alone, stdout=subprocess.PIPE, text=True, check=True
    )  # fmt: skip
    parts = {"CPU time of one thread": [Row(**one) for one in json.loads(child.stdout.splitlines()[-1])]}
    print("measuring on all cores", file=sys.stderr, flush=True)
    parts["Wall-clock time, all cores"] = all_cores(asked.repeats, asked.small)
    if not available():
        print("measuring on the GPU", file=sys.stderr, flush=True)
        parts["Wall-clock time, with a GPU"] = on_gpu(asked.repeats)
    page = HEAD + "\n" + machine() + "\n" + "".join(table(*each) for each in parts.items()) + REASONS
    if asked.out:
        asked.out.write_text(page)
    else:
        print(page)
    return int("NOT EQUAL" in page)


if __name__ == "__main__":
    sys.exit(main())
