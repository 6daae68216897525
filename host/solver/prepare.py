"""The host's work before a run: a problem as it goes to a device."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError
from beltline.host.problem.concavity import searchable
from beltline.host.problem.general import extras
from beltline.host.problem.problem import Problem
from beltline.host.solver.fixed_point import RANGE, Image, fixed_point
from beltline.host.solver.options import SolveOptions
from beltline.host.solver.run import Run
from beltline.hw.interface.groups import Mark
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
    if needs_alternatives(problem):
        # Here, because it compiles.
        from beltline.host.solver.product_image import product_image

        return product_image(problem, options.tol, options.value_bits, options.money_bits)
    begun, note = (problem, "") if any_start or problem.cost is not None else searchable(problem)
    image = fixed_point(begun, options.tol, options.value_bits, options.money_bits, shift=options.shift)
    if options.start in ("stay", "coarse"):
        return _from_elsewhere(problem, image, options.start, options.tol)
    return replace(image, note=f"{image.note} {note}".strip())


def needs_alternatives(problem: Problem) -> bool:
    """Return whether a problem has more of the general form than a cost, so that a machine needs alternatives."""
    return problem.negative or any(name != "cost" for name in extras(problem))


def from_last(image: Image, last: Image, run: Run) -> Image:
    """Return ``image`` with the value of the last run as its start, in its own units.

    Raises
    ------
    ProblemError
        The last problem had another shape or other regimes, or its value is out of this one's range.
    """
    if run.value.shape != image.start.shape:
        raise ProblemError(
            f"start = 'last' needs a problem of the last one's shape {run.value.shape}, not {image.start.shape}"
        )
    if _marks(image) != _marks(last):
        raise ProblemError(
            "start = 'last' needs a problem with the alternatives and regimes of the last one, or without any after "
            "one without any: use 'given'"
        )
    if image.products is not None:
        return _continued_from(image, run.value, image.value_bits - last.value_bits)
    return replace(image, start=rescaled(run.value, image.value_bits - last.value_bits))


def _marks(image: Image) -> list[int]:
    """Which exogenous states belong together; nothing where there are no alternatives."""
    return [] if image.groups is None else image.groups.marks.tolist()


def _continued_from(image: Image, value: NDArray[np.int64], shift: int) -> Image:
    """Return ``image`` with the values of another run as its start: those of regimes, for each of their alternatives.

    Parameters
    ----------
    image
        Of a problem with alternatives.
    value : (N_k, N_p) int64 array
        Of a run of a problem with the same alternatives.
    shift
        Fraction bits that ``image`` has more than that run.

    Raises
    ------
    ProblemError
        A value leaves the range.
    """
    assert image.groups is not None
    begins, keeps = image.groups.has(Mark.BEGINS), image.groups.has(Mark.KEEPS)
    groups = np.flatnonzero(begins)
    largest = np.maximum.reduceat(value, groups, axis=1)
    sizes = np.diff(np.append(groups, begins.size))
    start = np.repeat(rescaled(largest, shift), sizes, axis=1)
    return replace(image, start=np.where(keeps, image.start, start))


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
