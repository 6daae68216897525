"""Solution on a machine with prices that depend on the solution, which the host computes.

After each run the host calls the user's function ``update``, which computes new prices, converts the tables that it
returns, and writes those that changed, usually only window ``X``, the costs. Values stay on the machine, so the next
run continues from them. ``update`` is the same function as for a solve on the processor
(:func:`beltline.gpu_ref.general.solve.solve`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.general.form import Form
from beltline.gpu_ref.general.outcome import converged, unfinished
from beltline.gpu_ref.general.solution import Iterate
from beltline.gpu_ref.general.solve import Update, change_of, with_prices
from beltline.gpu_ref.general.sweep import Found as Sweep
from beltline.host.devices.base import Progress
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.moved import with_form
from beltline.host.problem.problem import Problem
from beltline.host.results.outcome import Outcome
from beltline.host.results.result import Result
from beltline.host.solver.complete import INVALID, Completed
from beltline.host.solver.fixed_point import Image
from beltline.host.solver.prepare import Prepared, from_last
from beltline.host.solver.product_image import found_of, product_image
from beltline.host.solver.products import check_products
from beltline.host.solver.run import Run
from beltline.hw.interface.registers import Status

UPDATE_EVERY = 10
"""Default number of sweeps of a run, after which prices are updated.

The first sweep of a run searches every state, because costs have changed; more sweeps of a run spread that cost.
"""


def _together(runs: list[Completed]) -> Completed:
    """Return the last of several runs with the counters and times of all."""
    done = [one.run for one in runs]
    counters = {name: sum(getattr(one, name) for one in done) for name in ("sweeps", "states_done", "clocks")}
    names = dict.fromkeys(name for one in runs for name in one.timing)
    timing = {name: sum(one.timing.get(name, 0.0) for one in runs) for name in names}
    return replace(runs[-1], run=replace(done[-1], **counters, timing=timing), timing=timing)


def solve_moving(
    work: Prepared,
    run: Callable[[Prepared, Progress | None], Completed],
    update: Update,
    every: int = UPDATE_EVERY,
    report: Progress | None = None,
) -> Result:
    """Solve a problem with alternatives on a machine, with prices that depend on the solution."""
    problem, options = work.problem, work.options
    assert work.image.products is not None
    image, form = work.image, work.image.products.form
    prices: NDArray[np.float64] | None = None
    change, price_change, refused = math.inf, math.inf, ""
    runs, sweeps = list[Completed](), 0
    deadline = math.inf if options.timeout is None else time.monotonic() + options.timeout
    while True:
        left = None if options.timeout is None else max(deadline - time.monotonic(), 1e-3)
        limit = min(every, options.max_sweeps - sweeps)
        part = replace(work, image=image, options=replace(options, max_sweeps=limit, timeout=left))
        runs.append(run(part, _reporting(report, sweeps)))
        last = runs[-1].run
        sweeps += last.sweeps
        change = math.ldexp(last.norm, -image.value_bits)
        if last.status & (INVALID | Status.STOPPED) or not last.sweeps:
            break
        try:
            form, new = with_prices(form, update(_iterate(image, last, change)))
            price_change, prices = change_of(new, prices), new
            if report:
                report(f"sweep {sweeps:,}, largest change of V {change:.2e}, of prices {price_change:.2e}")
            settled = last.converged and price_change < options.tol
            if settled or sweeps >= options.max_sweeps:
                break
            image = _next(problem, options.value_bits, options.amount_bits, form, image, last, options.tol)
        except ValueError as fault:
            refused = f"After sweep {sweeps:,}: {fault}"
            break
    result: Result = replace(_together(runs), work=replace(work, image=image)).result(report)
    assert image.products is not None
    at_last = with_form(problem, image.products.form)
    result = replace(result, prices=prices, price_change=price_change, problem=at_last)
    if refused:
        return replace(result, success=False, status=Outcome.PRICES.value, message=refused)
    if result.status not in (Outcome.CONVERGED.value, Outcome.LIMIT.value):
        return result
    if last.converged and price_change < options.tol:
        message = converged(change, price_change, sweeps, True)
        return replace(result, message=f"{message} {image.note}".strip())
    message = unfinished(change, price_change, sweeps, options.tol, True, result.value)
    return replace(result, success=False, status=Outcome.LIMIT.value, message=message)


def _reporting(report: Progress | None, sweeps: int) -> Progress | None:
    """Return a function that reports lines of a run, and adds that ``sweeps`` sweeps were made before it."""
    if report is None or not sweeps:
        return report
    return lambda line: report(f"{line} (after {sweeps:,} sweeps at earlier prices)")


def _iterate(image: Image, run: Run, change: float) -> Iterate:
    """Return the outcome of a run in the form in which ``update`` takes it."""
    assert image.products is not None
    found = found_of(image, run.value, run.policy)
    form = image.products.form
    states_first = {name: np.ascontiguousarray(part.swapaxes(1, 2)) for name, part in found._asdict().items()}
    facts = np.zeros((form.shape[2], 3))
    facts[:, 0], facts[:, 2] = change, np.isfinite(found.value).all()
    counts = np.zeros((len(form.alternatives), form.shape[2], 3), np.int64)
    sweep = Sweep(**states_first, slack=np.zeros_like(states_first["values"]), facts=facts, counts=counts)
    return Iterate(form, sweep, with_slack=False)


def _next(
    problem: Problem, value_bits: int | None, amount_bits: int | None, form: Form, before: Image, last: Run, tol: float
) -> Image:
    """Return the image of the problem with the new tables ``form``, with the values of the last run as its start."""
    check_products(problem, form)
    try:
        image = product_image(problem, tol, before.value_bits, before.amount_bits, form, before)
    except ProblemError:
        image = product_image(problem, tol, value_bits, amount_bits, form)
    if image.value_bits == before.value_bits:
        return replace(image, start=last.value)
    return from_last(image, before, last)
