"""The host's work before a run: conversion of a problem to the accelerator's fixed-point tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError
from beltline.host.problem.concavity import with_concave_start
from beltline.host.problem.problem import Problem
from beltline.host.solver.fixed_point import RANGE, Image, fixed_point
from beltline.host.solver.options import SolveOptions
from beltline.host.solver.run import Run
from beltline.hw.interface.parameters import MachineParameters


@dataclass(frozen=True, eq=False)
class Prepared:
    """A problem ready for a device: what :meth:`Session.prepare` returns and :meth:`Session.run` takes.

    Parameters
    ----------
    problem
        As the user gave it.
    image
        Its tables in fixed point.
    build
        Parameters of the accelerator to emulate or simulate; None for a board, whose build is fixed.
    options
        Options of the solve.
    """

    problem: Problem
    image: Image
    build: MachineParameters | None
    options: SolveOptions


def image_of(problem: Problem, options: SolveOptions, any_start: bool = False) -> Image:
    """Convert a problem to fixed point, with the ``start`` of ``options``; ``"last"`` is left to :func:`from_last`.

    Parameters
    ----------
    problem, options
    any_start
        Whether the device's search finds the maximum from any first guess. If not, the problem's ``start`` is replaced
        by its concave majorant where needed.

    Raises
    ------
    ProblemError
        As :func:`beltline.host.solver.fixed_point.fixed_point`.
    """
    begun, note = (problem, "") if any_start or problem.cost is not None else with_concave_start(problem)
    image = fixed_point(begun, options.tol, options.value_bits, options.money_bits, shift=options.shift)
    if options.start in ("stay", "coarse"):
        return _with_computed_start(problem, image, options.start, options.tol)
    return replace(image, note=f"{image.note} {note}".strip())


def from_last(image: Image, last: Image, run: Run) -> Image:
    """Return ``image`` with the value function of the last run as its first guess, converted to its own format.

    Parameters
    ----------
    image
        The problem to be solved.
    last, run
        The last problem and its run.

    Raises
    ------
    ProblemError
        The last problem had another shape, or its values do not fit this problem's number format.
    """
    if run.value.shape != image.start.shape:
        raise ProblemError(
            f"start='last' needs a problem of the shape of the last one, {run.value.shape}, not {image.start.shape}: "
            f"use start='given'"
        )
    return replace(image, start=rescaled(run.value, image.value_bits - last.value_bits))


def _with_computed_start(problem: Problem, image: Image, start: Literal["stay", "coarse"], tol: float) -> Image:
    """Return ``image`` with a computed first guess, or unchanged where the problem has none or it does not fit."""
    # Imported here because it loads compiled code.
    from beltline.host.solver.starts import start_value

    value = start_value(problem, start, tol)
    if value is None:
        return image
    units = np.ldexp(value, image.value_bits)
    if not (np.abs(units) < RANGE).all():
        return image
    return replace(image, start=np.rint(units).astype(np.int64))


def rescaled(value: NDArray[np.int64], shift: int) -> NDArray[np.int64]:
    """Return a fixed-point ``value`` with ``shift`` more fraction bits, or fewer if negative, rounded to nearest.

    Raises
    ------
    ProblemError
        The result leaves the range of the format.
    """
    if shift == 0:
        return value
    if shift < 0:
        half = np.int64(1) << np.int64(-shift - 1)
        return (value >> np.int64(-shift)) + ((value & ((half << np.int64(1)) - 1)) >= half)
    if np.abs(value.astype(np.float64)).max() * 2.0**shift >= RANGE:
        raise ProblemError(
            "values of the last problem are too large for this problem's number format: use start='given', not 'last'"
        )
    return value << np.int64(shift)
