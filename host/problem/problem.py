"""The Bellman equation that devices solve, as tables on a grid.

    V(x, s) = max over x' in X, x' < W(x, s) of  U(W(x, s) - x')  +  beta * sum_s' Q(s, s') V(x', s')

with CRRA utility ``U(c) = c**(1 - eta) / (1 - eta)``, or ``ln c`` at ``eta = 1``. This is the simple form, which every
device solves. Processors also solve the general form (:mod:`beltline.host.problem.general`), of which it is the
simplest case.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.gpu_ref.remedies import FALLING, of_sums
from beltline.host.problem.alternative import Alternative, read_only
from beltline.host.problem.checks import (
    ProblemError,
    dimensions,
    first,
    flag,
    place,
    plain_text,
    real,
    shown,
    table,
    whole,
)
from beltline.host.problem.general import costs_itself, extras, form_of, regimes_of
from beltline.host.problem.report import Report, as_html, as_text, report
from beltline.hw.arithmetic.numbers import ETA_LIMIT

if TYPE_CHECKING:
    from beltline.gpu_ref.general.form import Form

ROW_SUM_TOLERANCE = 1e-12
"""Largest difference from 1 of the sum of a row of probabilities: several thousand roundings of double precision, yet
far less than the last digit of a published table."""

ETA_WANTED = f"a number from 0 to {ETA_LIMIT:g}"

HORIZON_LIMIT = 65_536
"""Largest ``horizon``, in ages."""

RESERVED = frozenset(
    {"age", "state", "next_state", "value", "policy", "policy_values", "wealth", "transition", "start"}
    | {"marginal_wealth", "output", "consumption", "investment", "regime", "alternative", "choice", "probability"}
    | {"values", "probabilities", "prices", "cost", "low", "high", "beta"}
)
"""Names of variables and dimensions of results and files, which states must not have."""


def names(asset: str, shock: str) -> tuple[str, str]:
    """Return the descriptions ``asset`` and ``shock`` as names of dimensions for tables and files.

    A name is in lower case, without a symbol at the end (a last word of one letter), with underscores in place of
    spaces and punctuation. Where that is no valid name, or is in :data:`RESERVED`, the names are ``x`` and ``s``.

    >>> names("capital k", "productivity z")
    ('capital', 'productivity')
    """

    def plain(text: str, otherwise: str) -> str:
        words = re.sub(r"\W+", " ", text.lower()).split()
        if len(words) > 1 and len(words[-1]) == 1:
            words.pop()
        name = "_".join(words)
        return name if name.isidentifier() and name not in RESERVED else otherwise

    first, second = plain(asset, "x"), plain(shock, "s")
    return first, second if second != first else "shock"


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """A Bellman equation on a grid, given by tables; checked when it is made, and solved with ``bl.solve``.

        V(x, s) = max over x' in grid, x' < W(x, s) of  U(W(x, s) - x') + beta * sum_s' Q(s, s') V(x', s')

    ``U`` is CRRA utility, ``c**(1 - eta) / (1 - eta)``, or ``ln c`` at ``eta = 1``. Every device solves this simple
    form.

    Parameters marked *general form* give the problem the general form (``docs/general-form.md``), which processors
    solve and of which the accelerator solves only a few features. The same is true of ``eta = 0`` (``U(c) = c``), of a
    ``beta`` by state, ``(N_z,)``, and, with a horizon of ``T`` ages, of tables by age: ``wealth`` ``(T, N_k, N_z)``,
    ``transition`` ``(T, N_z, N_z)``, ``beta`` ``(T, N_z)``, and of a ``beta`` of 1 or more. In the general form
    ``start`` may have a table for each regime, ``(N_r, N_k, N_z)``, and in every state at least one alternative must be
    feasible.

    Arrays are copied to read-only float64. Solvers do not read the parameters that describe the problem: ``name``,
    ``asset``, ``labels``, ``marginal_wealth``, ``output``, ``shock``, ``shock_values`` and ``parameters``.

    Parameters
    ----------
    grid : (N_k,) array
        Grid of the endogenous state ``x``, strictly increasing, with any spacing; at least 2 points.
    wealth : (N_k, N_z) array
        Cash on hand ``W(x, s)``, in units of the good. It must not fall in ``x`` and must be above ``grid[0]``, so that
        every state has a feasible choice.
    transition : (N_z, N_z) array
        Markov matrix ``Q(s, s')``. Rows (today's state) sum to 1 within ``ROW_SUM_TOLERANCE`` (1e-12).
    start : (N_k, N_z) array, optional
        With an infinite horizon a first guess of the value function, from which solvers begin unless they compute a
        better one; with a finite horizon the value after the last age. Finite, in units of utility; by default 0. It
        need not be concave in ``x``: a device or method that needs a concave first guess replaces it by its
        :func:`~beltline.host.problem.concavity.concave_majorant`, and ``message`` of the result says so.
    beta : float
        Discount factor, above 0 and below 1.
    eta : float
        Relative risk aversion, above 0 and at most ``ETA_LIMIT`` (16); 0 is *general form*.
    horizon : int, optional
        Number of ages ``T`` of a problem with a finite horizon, at most 65,536. By default the horizon is infinite.
    cost : (N_k,) or (N_k, N_z) array, optional
        *General form.* Cost ``G(x', s)`` of ending the period with ``x'``, in units of the good; it replaces ``x'`` in
        the budget, and need not rise in ``x'``. With a horizon also ``(T, N_k, N_z)``. A cost that is ``x'`` itself
        everywhere is stored as None.
    low, high : int, or (N_k,) or (N_k, N_z) array of int, optional
        *General form.* Lowest and highest grid index of ``x'``; must not fall in ``x``.
    alternatives : sequence of Alternative, optional
        *General form.* The alternatives of which the best is taken in each period. Where an alternative leaves out a
        table, that of the problem applies.
    taste : float, default 0
        *General form.* Scale of taste shocks (type I extreme value) to the alternatives, in units of utility; 0 means
        none.
    negative : bool, default False
        *General form*, with ``eta = 0`` only. Whether consumption (a dividend, say) may be negative.
    name : str
        Name of the problem in reports and plots.
    asset : str
        Name of ``x`` in reports and plots, such as "capital k".
    labels : sequence of N_z str, optional
        Names of the exogenous states in reports and plots. By default they are made from ``shock_values``.
    marginal_wealth : (N_k, N_z) array, optional
        ``dW/dx (x, s)``: the gain in cash on hand from one more unit of ``x``, above 0. Needed for Euler equation
        errors.
    output : (N_k, N_z) array, optional
        Income of the period ``Y(x, s)``, in units of the good; ``Y`` less consumption is investment. Needed for moments
        and impulse responses of output and investment.
    shock : str
        Name of ``s`` in reports and plots, such as "productivity z".
    shock_values : (N_z,) array, optional
        The exogenous states as numbers, such as productivity, if a single number describes each state.
    parameters : mapping of str to float, optional
        Parameters from which the tables were made, for reports and files. Nothing is computed from them.

    Raises
    ------
    ProblemError
        A table has a wrong shape, a value that is not finite, or breaks a condition above. The message is one sentence
        about the first error found.

    Examples
    --------
    Saving at a gross return of 1.03, with a random income and no borrowing:

    >>> import numpy as np
    >>> import beltline as bl
    >>> grid, income = np.linspace(0.0, 10.0, 200), np.array([0.6, 1.4])
    >>> problem = bl.Problem(
    ...     grid=grid,
    ...     wealth=1.03 * grid[:, None] + income,
    ...     transition=[[0.9, 0.1], [0.1, 0.9]],
    ...     beta=0.95,
    ...     eta=2.0,
    ... )
    >>> result = bl.solve(problem, device="cpu")
    >>> result.success, result.value.shape
    (True, (200, 2))
    """

    grid: NDArray[np.float64]
    wealth: NDArray[np.float64]
    transition: NDArray[np.float64]
    start: NDArray[np.float64] = None  # type: ignore[assignment]
    beta: float
    eta: float
    horizon: int | None = None
    cost: NDArray[np.float64] | None = None
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    alternatives: Sequence[Alternative] = ()
    taste: float = 0.0
    negative: bool = False
    name: str = "problem"
    asset: str = "x"
    labels: tuple[str, ...] = ()
    marginal_wealth: NDArray[np.float64] | None = None
    output: NDArray[np.float64] | None = None
    shock: str = "s"
    shock_values: NDArray[np.float64] | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        def keep(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        if costs_itself(self.cost, self.grid):
            keep("cost", None)
        general = bool(extras(self)) or self.negative is not False
        if self.horizon is not None:
            wanted = f"a whole number from 1 to {HORIZON_LIMIT}, or None for an infinite horizon"
            keep("horizon", whole("horizon", self.horizon, wanted, lambda ages: 1 <= ages <= HORIZON_LIMIT))
        keep("grid", table("grid", self.grid, 1))
        self._check_grid()
        if general:
            self._check_general(keep)
        else:
            self._check_simple(keep)
        for name, axes, above in (("marginal_wealth", 2, 0.0), ("output", 2, -np.inf), ("shock_values", 1, -np.inf)):
            if getattr(self, name) is not None:
                keep(name, table(name, getattr(self, name), axes, above=above))
        self._check_shapes("marginal_wealth", "output")
        self._check_facts()
        for name in ("name", "asset", "shock"):
            plain_text(name, getattr(self, name))
        labels = self.labels if isinstance(self.labels, tuple | list) else (None,)
        if not all(isinstance(label, str) for label in labels):
            raise ProblemError(f"labels must be a sequence of strings, not {shown(self.labels)}")
        for s, label in enumerate(labels):
            plain_text(f"labels[{s}]", label)
        if labels and len(labels) != self.states:
            raise ProblemError(f"labels must name all {self.states} exogenous states, not {len(labels)}")
        keep("labels", tuple(labels))
        if not isinstance(self.parameters, Mapping):
            raise ProblemError(f"parameters must be a mapping of names to numbers, not {shown(self.parameters)}")
        for name, value in self.parameters.items():
            if not isinstance(name, str):
                raise ProblemError(f"names of parameters must be strings, not {shown(name)}")
            plain_text(f"the name of parameters[{shown(name)}]", name)
            real(f"parameters[{name!r}]", value, "a finite number", math.isfinite)
        keep("parameters", {name: float(value) for name, value in self.parameters.items()})

    def _check_simple(self, keep: Callable[[str, object], None]) -> None:
        wanted = "a number above 0" if self.horizon is not None else "a number above 0 and below 1"
        keep("beta", real("beta", self.beta, wanted, lambda beta: 0 < beta < 1))
        # An eta of 0 makes the problem general, and then _check_general checks it.
        keep("eta", real("eta", self.eta, ETA_WANTED, lambda eta: 0 < eta <= ETA_LIMIT))
        for name in ("transition", "wealth"):
            keep(name, table(name, getattr(self, name), 2))
        keep("start", table("start", self._start(), 2))
        keep("alternatives", ())
        self._check_transition()
        self._check_shapes("wealth", "start")
        self._check_wealth()

    def _check_general(self, keep: Callable[[str, object], None]) -> None:
        keep("eta", real("eta", self.eta, ETA_WANTED, lambda eta: 0 <= eta <= ETA_LIMIT))
        keep("taste", real("taste", self.taste, "a number from 0", lambda taste: 0 <= taste < math.inf))
        keep("negative", flag("negative", self.negative))
        for name in ("transition", "wealth"):
            keep(name, table(name, getattr(self, name), (2, 3)))
        self._check_square()
        start = table("start", self._start(), (2, 3))
        keep("start", start)
        if dimensions(self.beta) == 0:
            keep("beta", real("beta", self.beta, "a number above 0", lambda beta: 0 < beta < math.inf))
        for name in ("cost", "low", "high", "beta"):
            keep(name, read_only(name, getattr(self, name)))
        regimes = self.form.shape[0]
        keep("alternatives", tuple(self.alternatives))
        if start.shape[-2:] != (self.points, self.states) or (start.ndim == 3 and start.shape[0] != regimes):
            shape = (self.points, self.states)
            raise ProblemError(
                f"start must have shape {shape} or, one table a regime, {(regimes, *shape)}, not {start.shape}"
            )

    def _start(self) -> NDArray[np.float64]:
        """Return ``start`` as it was given, by default zeros."""
        return np.zeros((self.points, self.states)) if self.start is None else self.start

    def _check_shapes(self, *names: str) -> None:
        shape = (self.points, self.states)
        for name in names:
            given = shape if getattr(self, name) is None else getattr(self, name).shape
            if given != shape:
                raise ProblemError(
                    f"{name} must have one row per grid point and one column per exogenous state, "
                    f"shape {shape}, not {given}"
                )

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling: all attributes but those that are computed again from the others."""
        computed = ("form", "general", "modulus", "least_left")
        return {name: value for name, value in self.__dict__.items() if name not in computed}

    @cached_property
    def form(self) -> Form:
        """The problem as solvers of the general form read it; a problem of the simple form has one, too.

        Raises
        ------
        ProblemError
            A table breaks a condition of the general form; one sentence about the first error found.
        """
        return form_of(self)

    def _report(self) -> Report:
        rows = [
            ("grid", f"{self.asset}, {self.points:,} points from {self.grid[0]:.6g} to {self.grid[-1]:.6g}"),
            ("states", f"{self.shock}, {self.states}"),
            ("beta", f"{self.beta:.6g}" if isinstance(self.beta, float) else "by state"),
            ("eta", f"{self.eta:.6g}"),
            ("horizon", "infinite" if self.horizon is None else f"{self.horizon:,} ages"),
        ]
        if self.general:
            named = ", ".join(one.name for one in self.alternatives)
            rows.append(("form", f"general{f', alternatives {named}' if named else ''}"))
        if self.parameters:
            rows.append(("parameters", ", ".join(f"{name} = {value:.6g}" for name, value in self.parameters.items())))
        return report(self.name, rows)

    __str__ = __repr__ = as_text
    _repr_html_ = as_html

    @cached_property
    def general(self) -> bool:
        """Whether the problem has features that only the general form has; processors solve all of these."""
        return bool(extras(self))

    @cached_property
    def modulus(self) -> float:
        """Contraction modulus of the Bellman operator, with a horizon that of the first age.

        With a single ``beta`` it is ``beta`` times the largest row sum of ``transition``, and at least ``beta``, also
        where all rows sum to less than 1 by rounding.

        >>> from beltline import rbc
        >>> rbc(grid=64, beta=0.95).modulus == 0.95
        True
        """
        if self.alternatives or not isinstance(self.beta, float) or self.transition.ndim == 3:
            return self.form.modulus()
        return self.beta * max(1.0, float(self.transition.sum(axis=1).max()))

    @cached_property
    def least_left(self) -> float:
        """Consumption of staying at ``x``, ``W(x, s) - x``, where it is lowest; a problem of the simple form, in units
        of the good.

        >>> from beltline import rbc
        >>> rbc(grid=64).least_left > 0.0
        True
        """
        from beltline.gpu_ref.methods import least_left
        from beltline.gpu_ref.tables import as_writable

        return float(least_left(as_writable(self.grid), as_writable(self.wealth)))

    @property
    def regimes(self) -> tuple[str, ...]:
        """Names of the regimes, in the order in which the alternatives first name them; ``("",)`` by default."""
        return regimes_of(tuple(self.alternatives))

    @property
    def points(self) -> int:
        """``N_k``, the number of grid points."""
        return self.grid.shape[0]

    @property
    def states(self) -> int:
        """``N_z``, the number of exogenous states."""
        return self.transition.shape[-1]

    @property
    def size(self) -> str:
        """The number of grid points and exogenous states as text for reports."""
        return f"{self.points:,} grid points x {self.states} states"

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the exogenous states in reports and plots.

        These are the ``labels``; without labels the ``shock_values`` after the symbol in ``shock`` ("z = 0.984" if
        ``shock`` is "productivity z"); without either "state 0", "state 1" and so on.
        """
        if self.labels:
            return self.labels
        if self.shock_values is None:
            return tuple(f"state {s}" for s in range(self.states))
        last = self.shock.split()[-1:]
        symbol = last[0] if last and len(last[0]) == 1 else self.shock
        # The fewest digits (at least 4) with which different values have different names.
        values = self.shock_values.tolist()
        digits = next((d for d in range(4, 17) if len({f"{v:.{d}g}" for v in values}) == len(set(values))), 17)
        return tuple(f"{symbol} = {value:.{digits}g}" for value in values)

    @property
    def asset_name(self) -> str:
        """``asset`` as the name of a dimension of tables and files: "capital k" becomes ``capital``."""
        return names(self.asset, self.shock)[0]

    @property
    def shock_name(self) -> str:
        """``shock`` as the name of a dimension of tables and files: "productivity z" becomes ``productivity``."""
        return names(self.asset, self.shock)[1]

    def _check_facts(self) -> None:
        if self.shock_values is not None and self.shock_values.size != self.states:
            raise ProblemError(
                f"shock_values must have one value for each of the {self.states} exogenous states, "
                f"not {self.shock_values.size}"
            )

    def _check_grid(self) -> None:
        if self.points < 2:
            raise ProblemError(f"grid must have at least 2 points, not {self.points}")
        falls = np.diff(self.grid) <= 0
        if falls.any():
            (i,) = first(falls)
            raise ProblemError(
                f"grid must be strictly increasing, but grid[{i + 1}] = {self.grid[i + 1]:.17g} "
                f"is not above grid[{i}] = {self.grid[i]:.17g}"
            )

    def _check_square(self) -> None:
        rows, columns = self.transition.shape[-2:]
        if rows != columns or rows < 1:
            raise ProblemError(
                "transition must be square, one row and one column per exogenous state, not of shape "
                f"{self.transition.shape}"
            )

    def _check_transition(self) -> None:
        self._check_square()
        negative = self.transition < 0
        if negative.any():
            where = first(negative)
            raise ProblemError(
                f"transition must not be negative, but {place('transition', where)} is {self.transition[where]:.6g}"
            )
        sums = self.transition.sum(axis=1)
        off = np.abs(sums - 1) > ROW_SUM_TOLERANCE
        if off.any():
            (s,) = first(off)
            raise ProblemError(
                f"rows of transition must sum to 1 within {ROW_SUM_TOLERANCE:g}, but row {s} sums to {sums[s]:.15g}"
                f"{of_sums(self.transition)}"
            )

    def _check_wealth(self) -> None:
        falls = np.diff(self.wealth, axis=0) < 0
        if falls.any():
            i, s = first(falls)
            raise ProblemError(
                f"wealth must not fall as the grid rises, but wealth[{i + 1}, {s}] = {self.wealth[i + 1, s]:.17g} "
                f"is below wealth[{i}, {s}] = {self.wealth[i, s]:.17g}: {FALLING}"
            )
        poor = self.wealth[0] <= self.grid[0]
        if poor.any():
            (s,) = first(poor)
            raise ProblemError(
                f"wealth[0, {s}] = {self.wealth[0, s]:.17g} must exceed grid[0] = {self.grid[0]:.17g}, "
                f"or no choice is affordable in that state"
            )
