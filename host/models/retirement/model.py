"""The retirement model of Iskhakov, Jorgensen, Rust and Schjerning (2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from beltline.host.models.aged import AgedModel
from beltline.host.models.model_result import reading
from beltline.host.models.retirement.calibration import Calibration
from beltline.host.models.retirement.result import RetirementResult


@dataclass(frozen=True)
class Retirement(Calibration, AgedModel[RetirementResult]):
    """The retirement model of Iskhakov, Jorgensen, Rust and Schjerning (2017), for a given number of ages.

    A worker with wealth ``M`` works or retires for ever, and consumes ``c <= M``::

        V_t(M)   = max(W_t(M), R_t(M))
        W_t(M)   = max over c of  ln c - disutility + beta V_(t+1)((1 + interest) (M - c) + wage)
        R_t(M)   = max over c of  ln c + beta R_(t+1)((1 + interest) (M - c))

    The wage of an age is paid at the next one. The value after the last age is 0.

    ``bl.solve(bl.retirement(...))`` returns a :class:`~beltline.RetirementResult`. Default parameters are those of the
    paper's figure 2, except the grid: it is uniform in ``ln M`` below and above ``M = wage``, which is a grid point, so
    that a worker who saves nothing consumes exactly ``M``. A retired person who saves nothing has ``low`` at the next
    age; otherwise consumption at the lowest grid point would have to be 0. Only the poorest retired are affected.

    Raises
    ------
    ProblemError
        An argument is out of range, or the tables do not fit into the memory of this computer.

    Sources
    -------
    Iskhakov, Jorgensen, Rust and Schjerning (2017), "The endogenous grid method for discrete-continuous dynamic choice
    models with (or without) taste shocks", Quantitative Economics 8(2), 317-365.

    Examples
    --------
    >>> import beltline as bl
    >>> lives = bl.solve(bl.retirement(grid=500, ages=10), progress=False)
    >>> bool(abs(lives.threshold[0] / lives.closed_form().threshold(1) - 1) < 0.05)
    True
    """

    kinds: ClassVar[tuple[str, ...]] = tuple(RetirementResult.figures)
    called: ClassVar[str] = "the retirement model"
    solution: ClassVar[Any] = RetirementResult


retirement = Retirement

read = reading(RetirementResult, Retirement)
