"""The host's work before a run: conversion of a problem to the accelerator's fixed-point tables, with a first guess."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.concavity import concave_majorant, with_concave_start
from beltline.host.problem.general import extras
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import slope_rise
from beltline.host.solver.fixed_point import RANGE, Image, fixed_point
from beltline.host.solver.options import SolveOptions
from beltline.host.solver.run import Run
from beltline.hw.arithmetic.numbers import MINIMUM
from beltline.hw.interface.groups import Mark
from beltline.hw.interface.parameters import MachineParameters


def start_value(problem: Problem, start: Literal["stay", "coarse"], tol: float) -> Array | None:
    """Compute a first guess of the value function that is concave in ``x``, as some searches need."""
    # Imported here because they compile.
    from beltline.gpu_ref.methods import can_stay, stay_start
    from beltline.gpu_ref.starts import nearest

    X, W, Q, beta, eta = problem.grid, problem.wealth, problem.transition, problem.beta, problem.eta
    if problem.horizon is not None or (start == "stay" and not can_stay(X, W, eta)):
        return None
    value = stay_start(X, W, beta, eta) if start == "stay" else nearest(X, W, Q, beta, eta, tol, problem.start)
    return value if (slope_rise(X, value) <= 0).all() else concave_majorant(value, X)


_TOO_LARGE = "values of the last problem are too large for this problem's number format: use start='given', not 'last'"


@dataclass(frozen=True, eq=False)
class Prepared:
    """A problem with its tables in fixed point, and the build to emulate or simulate (None for a board)."""

    problem: Problem
    image: Image
    build: MachineParameters | None
    options: SolveOptions


def image_of(problem: Problem, options: SolveOptions, any_start: bool = False, general: bool = False) -> Image:
    """Convert a problem to fixed point, with the first guess that ``options.start`` names."""
    if general or problem.general:
        # Here, because it compiles.
        from beltline.host.solver.product_image import product_image

        bits = options.value_bits, options.amount_bits
        return product_image(problem, options.tol, *bits, raises_tol=options.lowers_tol)
    begun, note = (problem, "") if any_start else with_concave_start(problem)
    image = fixed_point(
        begun, options.tol, options.value_bits, options.amount_bits, shift=options.shift, raises_tol=options.lowers_tol
    )
    if options.start in ("stay", "coarse"):
        return _with_computed_start(problem, image, options.start, options.tol)
    return replace(image, note=f"{image.note} {note}".strip())


def needs_alternatives(problem: Problem) -> bool:
    """Return whether the accelerator must be built for alternatives, because the problem has several or has bounds."""
    needs = ("alternatives", "low", "high", "taste", "eta = 0")
    return problem.negative or any(name in needs for name in extras(problem))


def from_last(image: Image, last: Image, run: Run) -> Image:
    """Return ``image`` with the value function of the last run, in its own number format, as first guess."""
    if run.value.shape != image.start.shape:
        raise ProblemError(
            f"start='last' needs a problem of the shape of the last one, {run.value.shape}, not {image.start.shape}: "
            f"use start='given'"
        )
    if _marks(image) != _marks(last):
        raise ProblemError(
            "start='last' needs a problem with the same alternatives and regimes as the last one: use start='given'"
        )
    if image.products is not None:
        return _continued_from(image, run.value, image.value_bits - last.value_bits)
    return replace(image, start=rescaled(run.value, image.value_bits - last.value_bits))


def _marks(image: Image) -> list[int]:
    """Return the marks of the product states, which show how alternatives are grouped; empty without alternatives."""
    return [] if image.groups is None else image.groups.marks.tolist()


def _continued_from(image: Image, value: NDArray[np.int64], shift: int) -> Image:
    """Return ``image`` with the values of another run as its start: each alternative starts from its regime's value."""
    assert image.products is not None
    assert image.groups is not None
    keeps = image.groups.has(Mark.KEEPS)
    arrangement, count = image.products.arrangement, image.products.count
    if image.products.form.sigma > 0.0:
        shocked = _shocked_start(image, value, shift)
        return replace(image, start=np.where(keeps, image.start, shocked))
    by_place = value.reshape(value.shape[0], -1, count)
    start = image.start.reshape(by_place.shape).copy()
    # Of regimes that share a product state the one that ends first comes last: its value is the lower one.
    for r in np.argsort(-arrangement.last):
        first, end = arrangement.first[r], arrangement.last[r] + 1
        largest = by_place[:, :, first:end].max(axis=2, keepdims=True)
        start[:, :, first:end] = rescaled(largest, shift)
    return replace(image, start=np.where(keeps, image.start, start.reshape(value.shape)))


def _shocked_start(image: Image, value: NDArray[np.int64], shift: int) -> NDArray[np.int64]:
    """Return the start of :func:`_continued_from` with taste shocks, whose log-sums are the values of regimes."""
    # Imported here because it loads compiled code.
    from beltline.host.solver.product_image import words_of_tables
    from beltline.host.solver.products import fill_start

    assert image.products is not None
    products, bits = image.products, image.value_bits
    values = np.where(value == MINIMUM, -np.inf, np.ldexp(value.astype(np.float64), shift - bits))
    start = products.start.copy()
    fill_start(products.form, products.arrangement, products.best(values), start)
    if np.abs(start[np.isfinite(start)]).max() * 2.0**bits >= RANGE:
        raise ProblemError(_TOO_LARGE)
    return words_of_tables(start, bits, MINIMUM)


def _with_computed_start(problem: Problem, image: Image, start: Literal["stay", "coarse"], tol: float) -> Image:
    """Return ``image`` with a computed first guess; unchanged if the problem has no such guess or it does not fit."""
    value = start_value(problem, start, tol)
    if value is None:
        return image
    # Multiplication by a power of two is exact.
    units = value * 2.0**image.value_bits
    if not max(float(units.max()), -float(units.min())) < RANGE:
        return image
    return replace(image, start=np.rint(units, out=units).astype(np.int64))


def rescaled(value: NDArray[np.int64], shift: int) -> NDArray[np.int64]:
    """Return a fixed-point ``value`` with ``shift`` more fraction bits, or fewer if negative, rounded to nearest."""
    if shift == 0:
        return value
    if shift < 0:
        half = np.int64(1) << np.int64(-shift - 1)
        return (value >> np.int64(-shift)) + ((value & ((half << np.int64(1)) - 1)) >= half)
    if np.abs(value.astype(np.float64)).max() * 2.0**shift >= RANGE:
        raise ProblemError(_TOO_LARGE)
    return value << np.int64(shift)
