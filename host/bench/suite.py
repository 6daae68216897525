"""Every device and method on the same problem, in one run and one table, in the form of the papers.

The problem is the RBC of :func:`beltline.host.models.rbc.rbc` with ``epsilon = 1e-10``, on grids of 16 to 65,536 points
and beyond. Each method climbs the list of grids until its next solve would take longer than its budget, which the table
then says. Times are wall-clock seconds of this computer, medians where a solve is quick; compiling is in none of them.
Rows of the machine are *modelled*: clocks that the gateware's counters give, in simulation or by the formula that
simulation confirms, over a stated clock. ``ratio`` is the published algorithm's total time over the row's, on the same
device and grid and in the same run: Aldrich et al.'s binary search, here method ``binary``, in our own rewrite.
"""

from __future__ import annotations

import csv
import datetime
import json
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.host import __version__
from beltline.host.bench.throughput import GRID, TOL, as_dicts, rates
from beltline.host.bench.throughput import table as rate_table
from beltline.host.devices import DeviceError
from beltline.host.models.rbc import rbc
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.problem import Problem
from beltline.host.results.result import Result
from beltline.hw.interface.parameters import CLOCK_HZ, ROW_WORDS

GRIDS = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 262_144)
"""The papers' and one beyond."""

EPSILON = 1e-10
PUBLISHED = "binary"
"""The method that stands for the papers' CPU and CUDA programs."""

BUDGET = 12.0
"""Seconds that a solve may be expected to take."""

MODEL_BUDGETS = 5
"""As many of them for a model of the machine, whose own time says nothing of what it models."""

RTL_GRID, RTL_TOL = 16, 1e-3
REPEATS, ENOUGH = 3, 0.1
"""A solve is repeated so often and so many seconds at least, once more for the first, which finds cold caches and a
clock that is still low."""

QUICK = 2.0
"""Seconds up to which a solve is repeated."""

VARIANTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("grid", {}),
    ("binary", {}),
    ("grid+howard", {}),
    ("interp", {"choices": 100}),
    ("interp", {"choices": 1000}),
    ("monotone", {}),
    ("warm", {}),
    ("mpi", {}),
    ("macqueen", {"start": "stay"}),
    ("shift", {}),
    ("shift", {"start": "stay"}),
    ("shift", {"start": "coarse"}),
    ("egm", {}),
)
"""Methods and options that are timed on the processor, and on a graphics card where they run there."""

BATCH, BATCH_GRIDS = 1000, (1024, 65_536)
"""Calibrations of a batch on a graphics card, and grid points of each batch."""

ORDER = ("cpu", "gpu", "fpga", "model", "rtl")
"""Of devices in the table."""

Report = Callable[[str], None]


@dataclass(frozen=True)
class Row:
    """One line of the table; seconds are wall-clock, and nan where there is nothing to say."""

    device: str
    method: str
    grid: int
    states: int
    sweeps: int
    allocate: float
    load: float
    solve: float
    read: float
    total: float
    per_sweep: float
    ratio: float
    residual: float
    error_bound: float
    policy_differences: int
    value_difference: float
    agrees: bool
    kind: str
    note: str = ""


@dataclass(frozen=True)
class Answer:
    """What a row is judged by: the solution of ``warm`` on the processor."""

    value: NDArray[np.float64]
    policy: NDArray[np.int32]
    error_bound: float


def machine() -> dict[str, Any]:
    """Processor, cores, memory, versions and date; nothing that names the computer or its user."""
    from beltline.gpu_ref.memory import available

    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            name = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), name)
    except OSError:
        pass
    about: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "processor": name,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "free memory GiB": round(available() / 2**30, 1),
        "load at the start": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "system": platform.system(),
        "python": platform.python_version(),
        "beltline": __version__,
    }
    for package in ("numpy", "numba", "llvmlite", "cupy"):
        try:
            about[package] = version(package)
        except PackageNotFoundError:
            continue
    return about


def _label(method: str, options: dict[str, Any]) -> str:
    return " ".join([method, *(f"{name}={value}" for name, value in options.items())])


def _judge(
    problem: Problem, value: NDArray[np.float64], policy: NDArray[np.int32], bound: float, answer: Answer, own: bool
) -> tuple[float, int, float, bool]:
    """``(residual, policy differences, value difference, agrees)``.

    A row agrees if its value is within both bounds of the answer's, and each choice that differs is a tie as far as
    these bounds tell. Methods that approximate agree with nothing but themselves, and are not judged.
    """
    from beltline.gpu_ref.exact import exact_sweep
    from beltline.host.problem.utility import utility

    best, _ = exact_sweep(problem.grid, problem.wealth, problem.transition, value, problem.beta, problem.eta)
    residual = float(np.abs(best - value).max())
    gap = float(np.abs(value - answer.value).max())
    differs = np.argwhere(policy != answer.policy)
    agrees = True
    if not own:
        slack = bound + answer.error_bound
        ahead = problem.beta * (answer.value @ problem.transition.T)
        agrees = gap <= slack
        for x, s in differs:
            one, other = (
                float(utility(problem.wealth[x, s] - problem.grid[p], problem.eta) + ahead[p, s])
                for p in (policy[x, s], answer.policy[x, s])
            )
            agrees &= abs(one - other) <= slack
    return residual, len(differs), gap, bool(agrees)


class _Bench:
    def __init__(self, report: Report, budget: float, grids: Sequence[int], deadline: float) -> None:
        self.report = report
        self.budget = budget
        self.grids = sorted(grids)
        self.deadline = deadline
        self.rows: list[Row] = []
        self.notes: list[str] = []
        self.problems: dict[int, Problem] = {}
        self.answers: dict[int, Answer] = {}

    def problem(self, grid: int) -> Problem:
        if grid not in self.problems:
            self.problems[grid] = rbc(grid=grid)
        return self.problems[grid]

    def answer(self, grid: int) -> Answer:
        if grid not in self.answers:
            from beltline.gpu_ref import cpu

            given = self.problem(grid)
            found = cpu.solve(*_tables(given), epsilon=EPSILON)
            self.answers[grid] = Answer(found.value, found.policy, found.error_bound)
        return self.answers[grid]

    def late(self) -> bool:
        return time.perf_counter() > self.deadline

    def climb(self, device: str, label: str, one: Callable[[int], Row], growth: float, budget: float) -> None:
        """Time ``one`` on grid after grid while the next is expected to fit the budget."""
        last: tuple[int, float] | None = None
        for grid in self.grids:
            if last is not None:
                expected = last[1] * (grid / last[0]) ** growth
                if expected > budget or time.perf_counter() + expected > self.deadline:
                    self.notes.append(f"{device} {label}: not above {last[0]:,} points, for want of time")
                    return
            begin = time.perf_counter()
            try:
                row = one(grid)
            except ProblemError as error:
                self.notes.append(f"{device} {label}: {error}")
                return
            modelled = row.kind == "modelled"
            last = grid, time.perf_counter() - begin if modelled else row.total
            self.rows.append(row)
            self.report(f"{device} {label}: {grid:,} points in {row.total:.3g} s{', modelled' if modelled else ''}")


def _tables(given: Problem) -> tuple[Any, Any, Any, Any, float, float]:
    return given.grid, given.wealth, given.transition, given.start, given.beta, given.eta


def _medians(runs: list[dict[str, float]]) -> dict[str, float]:
    return {
        part: statistics.median(run.get(part, 0.0) for run in runs) for part in ("allocate", "load", "solve", "read")
    }


def _reference(bench: _Bench, module: Any, device: str, method: str, options: dict[str, Any], grid: int) -> Row:
    from beltline.gpu_ref.methods import METHODS

    given = bench.problem(grid)
    runs = []
    begin = time.perf_counter()
    try:
        while True:
            found = module.solve(*_tables(given), epsilon=EPSILON, method=method, **options)
            runs.append(found.seconds)
            if sum(found.seconds.values()) > QUICK:
                break
            if len(runs) > REPEATS and time.perf_counter() - begin > ENOUGH:
                del runs[0]
                break
    except (ValueError, MemoryError) as error:
        raise ProblemError(f"{error}") from error
    part = _medians(runs)
    own = METHODS[method].rule == "own"
    policy = found.policy
    if found.choices is not None:
        from beltline.host.solver.reference import nearest

        policy = nearest(given.grid, found.choices)[policy]
    residual, differences, gap, agrees = _judge(given, found.value, policy, found.error_bound, bench.answer(grid), own)
    note = "another fixed point" if own else ""
    if not found.converged:
        note = "did not converge"
    return Row(
        device,
        _label(method, options),
        grid,
        given.states,
        found.sweeps,
        **part,
        total=sum(part.values()),
        per_sweep=part["solve"] / found.sweeps,
        ratio=math.nan,
        residual=residual,
        error_bound=found.error_bound,
        policy_differences=differences,
        value_difference=gap,
        agrees=agrees and found.converged,
        kind="measured",
        note=note,
    )


def _machine_row(bench: _Bench, device: str, grid: int, tol: float) -> Row:
    from beltline.host.solver.solve import solve

    given = bench.problem(grid)
    result = solve(given, tol=tol, device=device, progress=False)
    part = {name: result.timing.get(name, 0.0) for name in ("load", "solve", "read")}
    answer = bench.answer(grid)
    if tol > EPSILON:
        from beltline.gpu_ref import cpu

        found = cpu.solve(*_tables(given), epsilon=tol)
        answer = Answer(found.value, found.policy, found.error_bound)
    residual, differences, gap, agrees = _judge(
        given, result.value, result.policy, result.error_bound, answer, own=False
    )
    source = "counted in simulation" if device == "rtl" else "formula"
    judged = (residual, differences, gap, agrees)
    bench.rows.append(_fpga_row("line", given, result, judged, source, f", epsilon {tol:g}" if tol > EPSILON else ""))
    return Row(
        device,
        "line",
        grid,
        given.states,
        result.sweeps,
        result.timing.get("open", 0.0),
        **part,
        total=sum(part.values()),
        per_sweep=part["solve"] / result.sweeps,
        ratio=math.nan,
        residual=residual,
        error_bound=result.error_bound,
        policy_differences=differences,
        value_difference=gap,
        agrees=agrees,
        kind="simulation",
        note="what the machine computes, on this computer" + (f", epsilon {tol:g}" if tol > EPSILON else ""),
    )


def _fpga_row(
    method: str, given: Problem, result: Result, judged: tuple[float, int, float, bool], source: str, more: str = ""
) -> Row:
    """What a run would take on a chip, from its clocks."""
    modelled = result.clocks / CLOCK_HZ
    residual, differences, gap, agrees = judged
    return Row(
        "fpga",
        method,
        given.points,
        given.states,
        result.sweeps,
        math.nan,
        math.nan,
        modelled,
        math.nan,
        modelled,
        modelled / result.sweeps,
        math.nan,
        residual,
        result.error_bound,
        differences,
        gap,
        agrees,
        "modelled",
        f"{result.clocks:,} clocks ({source}) at {CLOCK_HZ / 1e6:g} MHz{more}",
    )


def _sweep_label(method: str | None) -> str:
    return f"sweep {method} start=coarse" if method else "sweep"


def _sweep_row(bench: _Bench, grid: int, method: str | None) -> Row:
    """The sweep engine, as many lanes as a grid can have up to 64: its model computes, its clock model counts."""
    from beltline.host.solver.solve import solve

    given = bench.problem(grid)
    lanes = min(64, grid // ROW_WORDS)
    options: dict[str, Any] = {"lanes": lanes} | ({"method": method, "start": "coarse"} if method else {})
    result = solve(given, tol=EPSILON, device="model", progress=False, **options)
    judged = _judge(given, result.value, result.policy, result.error_bound, bench.answer(grid), own=False)
    return _fpga_row(_sweep_label(method), given, result, judged, "clock model", f", {lanes} lanes")


def _batch(bench: _Bench, cuda: Any, grid: int) -> Row:
    from beltline.gpu_ref.memory import check_memory

    given = bench.problem(grid)
    # Value, wealth and start in double precision, and the policy, once as given and once as found.
    check_memory(BATCH * grid * given.states * 36, f"a batch of {BATCH:,} problems of {grid:,} points")
    problems = [_tables(rbc(grid=grid, eta=1.5 + i / BATCH)) for i in range(BATCH)]
    runs = []
    for _ in range(REPEATS + 1):
        begin = time.perf_counter()
        found = cuda.solve_batch(problems, EPSILON, method="shift", start="coarse")
        wall = time.perf_counter() - begin
        parts = ("allocate", "load", "solve", "read")
        runs.append({part: sum(one.seconds.get(part, 0.0) for one in found) for part in parts} | {"wall": wall})
    # The first compiles.
    del runs[0]
    part = {name: seconds / BATCH for name, seconds in _medians(runs).items()}
    middle = found[BATCH // 2]
    residual, differences, gap, agrees = _judge(
        given, middle.value, middle.policy, middle.error_bound, bench.answer(grid), own=False
    )
    return Row(
        "gpu",
        f"shift start=coarse, batch of {BATCH:,}, each",
        grid,
        given.states,
        middle.sweeps,
        **part,
        total=sum(part.values()),
        per_sweep=part["solve"] / middle.sweeps,
        ratio=math.nan,
        residual=residual,
        error_bound=middle.error_bound,
        policy_differences=differences,
        value_difference=gap,
        agrees=agrees and all(one.converged for one in found),
        kind="measured",
        note=f"eta from 1.5 to 2.5; judged at eta = 2; with checks of tables and bounds on the processor "
        f"{statistics.median(run['wall'] for run in runs) / BATCH * 1e3:.3g} ms each",
    )


GROWTH = {"grid": 2.0, "grid+howard": 1.9}
"""How the time of a method grows with the grid, as a power; 1.1 where it is not here."""


def bench(
    out: Path | None = None,
    budget: float = BUDGET,
    seconds: float = 540.0,
    grids: Sequence[int] = GRIDS,
    report: Report = lambda line: None,
) -> dict[str, Any]:
    """Run everything that this computer has; return ``{"about", "rows", "throughput", "notes"}``, also in ``out``.

    Parameters
    ----------
    out
        A directory: ``bench.json``, ``bench.csv``, ``bench.md`` and ``bench.png`` go there.
    budget
        Seconds that a solve may be expected to take; the published method may take ten times as long, and a model of
        the machine five times.
    seconds
        Of the whole run: what is expected to end later is left out.
    grids
        Numbers of grid points.
    report
        Called with a line after each solve.

    Raises
    ------
    ProblemError
        ``out`` is no directory, or ``grids`` no list of grids.
    """
    from beltline.gpu_ref import cpu

    if out is not None and not out.is_dir():
        raise ProblemError(f"out {str(out)!r} is not a directory")
    if not grids or min(grids) < 4:
        raise ProblemError(f"grids must be numbers of grid points from 4, not {list(grids)}")
    about = machine()
    run = _Bench(report, budget, grids, time.perf_counter() + seconds)
    cuda = _cuda(run)
    if cuda is not None:
        about["gpu"] = cuda.device_name()
    # The processor's slow methods come last: they take what time is left.
    _compile_models()
    patience = MODEL_BUDGETS * budget
    run.climb("model", "line", lambda grid: _machine_row(run, "model", grid, EPSILON), 1.1, patience)
    for way in ("shift", None):
        run.climb("fpga", _sweep_label(way), lambda grid, w=way: _sweep_row(run, grid, w), 1.3, patience)  # type: ignore[misc]
    try:
        run.rows.append(_machine_row(run, "rtl", RTL_GRID, RTL_TOL))
    except (DeviceError, ProblemError) as error:
        run.notes.append(f"rtl: {error}")
    for grid in BATCH_GRIDS:
        if cuda is not None:
            try:
                run.rows.append(_batch(run, cuda, grid))
            except MemoryError as error:
                run.notes.append(f"gpu batch of {BATCH:,}: {error}")
    throughput = as_dicts(rates(grid=min(GRID, max(grids)), gpu=cuda is not None))
    for row in throughput:
        report(f"{row['device']} {row['note']}: {row['per_second']:.3g} problems a second")
    devices = ([("gpu", cuda)] if cuda is not None else []) + [("cpu", cpu)]
    for device, module in devices:
        for method, options in sorted(VARIANTS, key=lambda variant: GROWTH.get(variant[0], 1.0)):
            if device == "gpu" and method not in cuda.METHODS:
                continue
            run.climb(
                device,
                _label(method, options),
                lambda grid, m=method, o=options, d=device, c=module: _reference(run, c, d, m, o, grid),  # type: ignore[misc]
                GROWTH.get(method, 1.1),
                10 * budget if method == PUBLISHED else budget,
            )
    run.rows.sort(key=lambda row: ORDER.index(row.device))
    rows = [asdict(row) for row in _with_ratios(run.rows)]
    result = {"about": about, "rows": rows, "throughput": throughput, "notes": run.notes}
    if out is not None:
        _write(result, out)
    return result


def _compile_models() -> None:
    """Both engines' models, before anything is timed: a first time that is a compiler's would end a climb."""
    from beltline.host.solver.solve import solve

    engines: tuple[dict[str, Any], ...] = ({}, {"lanes": 2}, {"lanes": 2, "method": "shift"})
    for options in engines:
        solve(rbc(grid=16), tol=0.1, device="model", progress=False, **options)


def _cuda(run: _Bench) -> Any:
    try:
        from beltline.gpu_ref.cuda import solver as cuda
    except ImportError as error:
        run.notes.append(f"gpu: {error}")
        return None
    why = cuda.available()
    if why:
        run.notes.append(f"gpu: {why}")
        return None
    return cuda


def _with_ratios(rows: Sequence[Row]) -> list[Row]:
    from dataclasses import replace

    published = {(row.device, row.grid): row.total for row in rows if row.method == PUBLISHED}
    result = []
    for row in rows:
        # The machine is compared with the processor's: it has no published method of its own.
        base = published.get((row.device if row.device in ("cpu", "gpu") else "cpu", row.grid), math.nan)
        same_stop = "epsilon" not in row.note
        result.append(replace(row, ratio=base / row.total if same_stop else math.nan))
    return result


def _seconds(value: float) -> str:
    if math.isnan(value):
        return ""
    if value < 1e-3:
        return f"{value * 1e6:.1f} us"
    return f"{value * 1e3:.3g} ms" if value < 1 else f"{value:.3g} s"


def table(result: dict[str, Any], grid: int | None = None) -> str:
    """The table as Markdown: each method at its largest grid, or all rows of one grid."""
    rows = [Row(**row) for row in result["rows"]]
    if grid is None:
        largest: dict[tuple[str, str, str], Row] = {}
        for row in rows:
            if row.grid <= 65_536:
                key = row.device, row.method, row.kind
                if key not in largest or row.grid >= largest[key].grid:
                    largest[key] = row
        rows = list(largest.values())
    else:
        rows = [row for row in rows if row.grid == grid]
    head = (
        "device", "method", "N_k", "sweeps", "allocate", "load", "solve", "read", "total", "a sweep", "ratio",
        "max TV - V", "bound", "policy differs", "agrees", "kind", "note",
    )  # fmt: skip
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    for row in rows:
        cells = (
            row.device,
            row.method,
            f"{row.grid:,}",
            f"{row.sweeps:,}",
            *(_seconds(value) for value in (row.allocate, row.load, row.solve, row.read, row.total, row.per_sweep)),
            "" if math.isnan(row.ratio) else f"{row.ratio:.3g}",
            f"{row.residual:.2g}",
            "none" if math.isinf(row.error_bound) else f"{row.error_bound:.2g}",
            f"{row.policy_differences:,}",
            "yes" if row.agrees and row.note != "another fixed point" else ("" if row.agrees else "NO"),
            row.kind,
            row.note,
        )
        lines.append(" | ".join(cells))
    return "\n".join(f"| {line} |" for line in lines)


def markdown(result: dict[str, Any]) -> str:
    """Everything as Markdown: the computer, the table, times by grid, and what was left out."""
    rows = [Row(**row) for row in result["rows"]]
    parts = [
        "# Bench",
        "",
        f"RBC, 4 states, epsilon {EPSILON:g}; each method at its largest grid up to 65,536 points.",
        "",
    ]
    parts += [f"- {name}: {value}" for name, value in result["about"].items()]
    parts += ["", table(result), "", "## Total time by grid", ""]
    grids = sorted({row.grid for row in rows})
    comparable = [row for row in rows if "epsilon" not in row.note]
    names = list(dict.fromkeys((row.device, row.method, row.kind) for row in comparable))
    parts.append("| device | method | " + " | ".join(f"{grid:,}" for grid in grids) + " |")
    parts.append("| --- | --- |" + " --- |" * len(grids))
    for device, method, kind in names:
        times = {
            row.grid: row.total for row in comparable if (row.device, row.method, row.kind) == (device, method, kind)
        }
        cells = " | ".join(_seconds(times[grid]) if grid in times else "" for grid in grids)
        parts.append(f"| {device}{' (modelled)' if kind == 'modelled' else ''} | {method} | {cells} |")
    # Files of before it was measured lack it.
    if result.get("throughput"):
        parts += ["", "## Problems a second", "", f"Batches of calibrations, epsilon {TOL:g}, end to end.", ""]
        parts.append(rate_table(result["throughput"]))
    if result["notes"]:
        parts += ["", "## Left out", "", *(f"- {note}" for note in result["notes"])]
    return "\n".join(parts) + "\n"


def _finite(value: Any) -> Any:
    """The same without what JSON lacks: None for nan and infinity."""
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write(result: dict[str, Any], out: Path) -> None:
    from beltline.host.results.files import replacing

    with replacing(out / "bench.json") as file:
        file.write_text(json.dumps(_finite(result), indent=1, allow_nan=False) + "\n")
    with replacing(out / "bench.csv") as file, file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(result["rows"][0]))
        writer.writeheader()
        writer.writerows(result["rows"])
    with replacing(out / "bench.md") as file:
        file.write_text(markdown(result))
    try:
        figure = _figure(result)
    except ImportError:
        return
    with replacing(out / "bench.png") as file:
        figure.savefig(file, dpi=120)


def _figure(result: dict[str, Any]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 6), layout="constrained")
    axes = figure.add_subplot()
    rows = [Row(**row) for row in result["rows"]]
    styles = {"cpu": "-", "gpu": "--", "model": ":", "rtl": ":", "fpga": "-."}
    # A method has one colour on every device; where colours are used up, another marker.
    methods = list(dict.fromkeys(row.method for row in rows))
    for device, method in dict.fromkeys((row.device, row.method) for row in rows):
        turn, colour = divmod(methods.index(method), 10)
        points = sorted(
            (r.grid, r.total) for r in rows if (r.device, r.method) == (device, method) and "epsilon" not in r.note
        )
        if points:
            name = f"{device} {method}" + (" (modelled)" if device == "fpga" else "")
            axes.loglog(
                *zip(*points, strict=True), styles[device], color=f"C{colour}", marker=".^s"[turn], ms=5, label=name
            )
    axes.set_xlabel("grid points $N_k$")
    axes.set_ylabel("total time, seconds")
    axes.grid(True, which="major", alpha=0.4)
    # Outside the axes, where it hides no line.
    figure.legend(loc="outside right upper", fontsize=8)
    return figure
