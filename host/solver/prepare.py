"""The host's work before a run: a problem as it goes to a device."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError
from beltline.host.problem.concavity import searchable
from beltline.host.problem.problem import Problem
from beltline.host.solver.fixed_point import RANGE, Image, fixed_point
from beltline.host.solver.options import SolveOptions
from beltline.host.solver.run import Run
from beltline.hw.interface.parameters import MachineParameters


@dataclass(frozen=True, eq=False)
class Prepared:
    """A problem as it goes to a device: what :meth:`Session.prepare` returns, and :meth:`Session.run` takes.

    Parameters
    ----------
    problem
    image
        Its tables in fixed point.
    build
        Sizes of the machine to make, None where it is made already.
    options
    """

    problem: Problem
    image: Image
    build: MachineParameters | None
    options: SolveOptions


def image_of(problem: Problem, options: SolveOptions, any_start: bool = False) -> Image:
    """Return the fixed-point image of ``problem``, with the start that ``options`` ask for; ``"last"`` is none of them
    (:func:`from_last`). The problem's own start is made concave unless the search takes ``any_start``.

    Raises
    ------
    ProblemError
        As :func:`beltline.host.solver.fixed_point.fixed_point`.
    """
    begun, note = (problem, "") if any_start or problem.cost is not None else searchable(problem)
    image = fixed_point(begun, options.tol, options.value_bits, options.money_bits, shift=options.shift)
    if options.start in ("stay", "coarse"):
        return _from_elsewhere(problem, image, options.start, options.tol)
    return replace(image, note=f"{image.note} {note}".strip())


def from_last(image: Image, last: Image, run: Run) -> Image:
    """Return ``image`` with the value of the last run as its start, in its own units.

    Raises
    ------
    ProblemError
        The last problem had another shape, or its value is out of this one's range.
    """
    if run.value.shape != image.start.shape:
        raise ProblemError(
            f"start = 'last' needs a problem of the last one's shape {run.value.shape}, not {image.start.shape}"
        )
    return replace(image, start=rescaled(run.value, image.value_bits - last.value_bits))


def _from_elsewhere(problem: Problem, image: Image, start: Literal["stay", "coarse"], tol: float) -> Image:
    """``image`` with another start than the problem's, where it has such a one."""
    # Here, because it compiles.
    from beltline.host.solver.starts import start_value

    value = start_value(problem, start, tol)
    if value is None:
        return image
    units = np.ldexp(value, image.value_bits)
    if not (np.abs(units) < RANGE).all():
        return image
    return replace(image, start=np.rint(units).astype(np.int64))


def rescaled(value: NDArray[np.int64], shift: int) -> NDArray[np.int64]:
    """``value`` with ``shift`` more fraction bits, fewer if that is negative, rounded to the nearest.

    Raises
    ------
    ProblemError
        It leaves the range.
    """
    if shift == 0:
        return value
    if shift < 0:
        half = np.int64(1) << np.int64(-shift - 1)
        return (value >> np.int64(-shift)) + ((value & ((half << np.int64(1)) - 1)) >= half)
    if np.abs(value.astype(np.float64)).max() * 2.0**shift >= RANGE:
        raise ProblemError(
            "the last value is out of the range of this problem's, so start = 'last' cannot be used: use 'given'"
        )
    return value << np.int64(shift)
