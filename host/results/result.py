"""The result of a solve: value, policy, and how accurate they are.

Other modules save, draw and label results; methods here find them with :mod:`beltline.host.results.services`.
"""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError, word
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.problem.general import ONLY_ALTERNATIVE
from beltline.host.problem.problem import Problem
from beltline.host.problem.report import Report, as_html, as_text
from beltline.host.results.machine_rows import machine_rows, report_of
from beltline.host.results.services import service
from beltline.host.results.variables import consumption_of, variables

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

_FORMER = {
    "policy_values": ("choice", lambda result: result.choice),
    "values": ("tables.values or by_alternative[name].value", lambda result: result.tables.values),
    "probabilities": ("by_alternative[name].probability", lambda result: result.tables.probabilities),
}
"""Attributes of earlier versions: what to write instead, and how to find the value."""

Array = NDArray[np.float64]
Indexes = NDArray[np.int32]


class Tables(NamedTuple):
    """Values and choices with all axes, as solvers compute them; with a horizon ages come first.

    Attributes
    ----------
    value, choice
        ``(N_r, N_k, N_z)``, by regime: the value, and the number of the best alternative, -1 without one.
    values, policy, probabilities
        ``(N_d, N_k, N_z)``, by alternative: the value of taking it, ``-inf`` where it cannot be taken; the index of the
        best ``x'``, -1 without one; its probability in its regime.
    """

    value: Array
    values: Array
    policy: Indexes
    choice: Indexes
    probabilities: Array


class OfAlternative(NamedTuple):
    """The solution for one alternative.

    Attributes
    ----------
    value
        ``(N_k, N_z)``, with a horizon ``(T, N_k, N_z)``: value of taking it, units of utility; ``-inf`` where it cannot
        be taken.
    policy
        Index in the grid of the best ``x'``, -1 where it cannot be taken or has no choice of ``x'``.
    probability
        Probability of taking it in its regime; 0 or 1 without taste shocks.
    """

    value: Array
    policy: Indexes
    probability: Array


@dataclass(frozen=True, eq=False)
class Result:
    """Value and policy of a problem, with a bound on their error: what :func:`beltline.solve` returns.

    ``TV`` below is the right-hand side of the Bellman equation for a given ``V``, and ``V*`` is the exact solution on
    the grid. The axes of ``value``, ``policy`` and ``alternative`` are, in this order, age, regime, ``x`` and ``s``:
    ``(N_k, N_z)`` for a problem with an infinite horizon and one regime, ``(T, N_k, N_z)`` with a horizon of ``T``
    ages (the first age first), ``(N_r, N_k, N_z)`` with regimes, in the order of :attr:`regimes`. Tables of a discrete
    problem have the shape of that problem.

    Parameters
    ----------
    value : float64 array
        ``V``, in units of utility. Ages that were not reached have nan.
    policy : int32 array of the same shape
        Index in ``problem.grid`` of the best ``x'`` under the best alternative, the lowest if several are best; -1
        without one. In a discrete problem the number of the best action (int64), as in the arrays that the problem was
        made from.
    success : bool
        Whether the solve converged (or finished all ages), the check in double precision passed, and ``error_bound`` is
        small beside the spread of ``value`` (:mod:`beltline.host.solver.judgement`). With ``verify=False`` the check is
        made only where there is no error bound without it.
    status : str
        How the solve ended, one of :class:`~beltline.host.results.outcome.Outcome`.
    message : str
        The status in a sentence and, after a failure, what to do.
    sweeps : int
        Number of sweeps (Bellman updates of all states); with a horizon the number of ages solved.
    residual : float
        Largest ``|TV - V|`` of ``value``, with a horizon the largest difference between the value of an age and one
        recomputed from the next age, by an exact search in double precision. With ``verify=False`` it is derived from
        ``change``.
    error_bound : float
        Proven upper bound on the largest ``|V - V*|``, rounding errors included. If prices are updated in each sweep,
        ``V*`` is the solution at the prices of the last sweep.
    verified : bool
        Whether ``residual`` and ``error_bound`` were recomputed from ``value`` and every choice was proven by a search
        that is independent of the solver's.
    tol : float
        Tolerance of the solve.
    timing : dict of str to float
        Wall-clock seconds of the host computer for ``open``, ``load``, ``solve``, ``read`` and ``verify``.
    device, method : str
        Device and solution method that solved the problem; the accelerator has no methods.
    problem : Problem or DiscreteProblem
        The problem that was solved; after a solve with ``update``, with the tables of the last sweep.
    change : float
        Largest ``|V_n - V_(n-1)|`` of the last sweep, as the device reported it; for a solver in double precision the
        measure of its method's stopping rule. nan if it is not known.
    alternative : int32 array of the shape of ``value``, or None
        Number of the best alternative, the first if several are best, -1 without one. None if the problem has
        only one.
    of_alternatives : OfAlternative or None
        The arrays of :attr:`by_alternative` with the alternatives as an axis before ``x``. None if there is only one.
    prices : array or None
        Prices that ``update`` returned last.
    price_change : float
        Largest change of the prices in the last sweep, in their units.
    evaluations : int
        Number of objectives that were computed in all sweeps; 0 where a device does not count them.
    searched : int
        Number of pairs of an alternative and an exogenous state in which every candidate is searched, because no order
        of the candidates fits their bounds.
    ordered : bool
        Whether the rewards of a discrete problem have increasing differences, so that all sweeps but the last search
        few pairs.
    clocks : int
        Clock cycles of the machine; 0 for solvers in double precision.
    clocks_source : str
        Whether ``clocks`` was counted by hardware, counted in simulation or computed by a formula; empty for solvers in
        double precision.
    amount_bits, value_bits : int or None
        Fraction bits of the fixed-point format for amounts of the good and for values; None in double precision.
    build_hash : int
        Content hash of the gateware build; 0 without one.
    chosen : str
        Why this device and method were chosen, if the caller did not name them; otherwise empty.
    proven : bool
        Whether a machine proved, in its own fixed-point numbers, that every choice of its last sweep (or, with a
        horizon, of all ages) is the best on the grid: bit ``PROVEN`` of its status.

    Examples
    --------
    >>> import beltline as bl
    >>> result = bl.solve(bl.rbc(grid=64), progress=False)
    >>> result.success, result.policy.shape, bool(result.error_bound < 1e-6)
    (True, (64, 4), True)
    """

    value: Array
    policy: NDArray[Any]
    success: bool
    status: str
    message: str
    sweeps: int
    residual: float
    error_bound: float
    verified: bool
    tol: float
    timing: dict[str, float]
    device: str
    problem: Any
    method: str = ""
    change: float = math.nan
    alternative: Indexes | None = None
    of_alternatives: OfAlternative | None = None
    prices: Array | None = None
    price_change: float = 0.0
    evaluations: int = 0
    searched: int = 0
    ordered: bool = False
    clocks: int = 0
    clocks_source: str = ""
    amount_bits: int | None = None
    value_bits: int | None = None
    build_hash: int = 0
    chosen: str = ""
    proven: bool = False

    @classmethod
    def of(cls, problem: Problem, tables: Tables, **facts: Any) -> Result:
        """Return the result with these tables and ``facts``, without axes of length one that the problem lacks."""
        value, choice = tables.value, tables.choice
        if len(problem.alternatives) < 2:
            return cls(value=value[..., 0, :, :], policy=tables.policy[..., 0, :, :], problem=problem, **facts)
        best = np.take_along_axis(tables.policy, np.maximum(choice, 0).astype(np.intp), axis=-3)
        policy = np.where(choice < 0, np.int32(-1), best)
        if len(problem.regimes) == 1:
            value, policy, choice = value[..., 0, :, :], policy[..., 0, :, :], choice[..., 0, :, :]
        each = OfAlternative(tables.values, tables.policy, tables.probabilities)
        return cls(value=value, policy=policy, alternative=choice, of_alternatives=each, problem=problem, **facts)

    @property
    def tables(self) -> Tables:
        """The solution with all axes of :class:`Tables`, also those of length one."""
        regimes = len(self.regimes) > 1
        value = self.value if regimes else self.value[..., None, :, :]
        policy = self.policy if regimes else self.policy[..., None, :, :]
        if self.of_alternatives is None or self.alternative is None:
            return Tables(value, value, policy, np.zeros_like(policy), np.ones(value.shape))
        choice = self.alternative if regimes else self.alternative[..., None, :, :]
        return Tables(
            value, self.of_alternatives.value, self.of_alternatives.policy, choice, self.of_alternatives.probability
        )

    @property
    def regimes(self) -> tuple[str, ...]:
        """Names of the regimes, in the order of their axis; ``("",)`` without regimes."""
        regimes: tuple[str, ...] = self.problem.regimes
        return regimes

    @property
    def alternatives(self) -> tuple[str, ...]:
        """Names of the alternatives, in the order of their numbers in ``alternative``."""
        return tuple(one.name for one in self.problem.alternatives) or (ONLY_ALTERNATIVE,)

    @property
    def by_alternative(self) -> dict[str, OfAlternative]:
        """Value, policy and probability of each alternative by name; see :class:`OfAlternative`.

        >>> result.by_alternative["repay"].value  # doctest: +SKIP
        """
        tables = self.tables
        return {
            name: OfAlternative(
                tables.values[..., d, :, :], tables.policy[..., d, :, :], tables.probabilities[..., d, :, :]
            )
            for d, name in enumerate(self.alternatives)
        }

    def taken(self, alternative: str) -> NDArray[np.bool_]:
        """Return where an alternative is the best of its regime.

        Parameters
        ----------
        alternative
            Name of an alternative, one of :attr:`alternatives`.

        Returns
        -------
        (N_k, N_z) bool array, with a horizon (T, N_k, N_z)

        Raises
        ------
        ProblemError
            ``alternative`` is not the name of an alternative.

        Examples
        --------
        >>> result.taken("default").mean()  # doctest: +SKIP
        0.21
        """
        number = self.alternatives.index(word("alternative", alternative, self.alternatives))
        regime = self.regimes.index(self.problem.alternatives[number].regime) if self.alternative is not None else 0
        where: NDArray[np.bool_] = self.tables.choice[..., regime, :, :] == number
        return where

    @property
    def choice(self) -> Array:
        """The best ``x'`` in units of the grid, an array of the shape of ``policy``; nan without one.

        Raises
        ------
        ProblemError
            The problem is discrete: its actions have numbers, in ``policy``, and no amounts.
        """
        if isinstance(self.problem, DiscreteProblem):
            raise ProblemError(
                "choice needs a grid, and a discrete problem has none: policy has the numbers of actions"
            )
        return np.where(self.policy >= 0, self.problem.grid[self.policy], np.nan)

    @property
    def consumption(self) -> Array:
        """Consumption of the best choice, an array of the shape of ``value``; nan without one."""
        return self.variables()["consumption"]

    def variables(self) -> dict[str, Array]:
        """Return consumption and the other variables of a period by name, each an array of the shape of ``value``.

        Returns
        -------
        dict of str to float64 array
            ``consumption``; ``output`` and ``investment`` if the problem has ``output``; the asset and the shock under
            their names, such as ``capital`` and ``productivity``; and ``next_`` with the asset's name for the choice.
            They are those of the best alternative. Where there is no choice they are nan.

        Raises
        ------
        ProblemError
            The problem is discrete: its states and actions have no amounts.

        Examples
        --------
        >>> import beltline as bl
        >>> sorted(bl.solve(bl.rbc(grid=64), progress=False).variables())
        ['capital', 'consumption', 'investment', 'next_capital', 'output', 'productivity']
        """
        choice, problem = self.choice, self.problem
        tables, policies = self.tables, self.tables.policy
        first = 0 if problem.horizon is None else problem.horizon - self.value.shape[0]
        consumption = np.full(tables.value.shape, np.nan)
        for number in range(policies.shape[-3]):
            spent = consumption_of(problem, policies[..., number, :, :], number, first)
            consumption = np.where(tables.choice == number, spent[..., None, :, :], consumption)
        found = variables(problem, consumption.reshape(choice.shape)) | {f"next_{problem.asset_name}": choice}
        without = np.isnan(choice)
        return {name: np.where(without, np.nan, table) for name, table in found.items()} if without.any() else found

    def transitions(self) -> Any:
        """Return the Markov matrix of the states under the policy.

        Returns
        -------
        (n, n) scipy.sparse array
            Entry ``[i, j]`` is the probability that state ``j`` follows state ``i``, where states have the order of
            ``value.ravel()``. With taste shocks alternatives are taken with their probabilities. A state with the value
            minus infinity stays.

        Raises
        ------
        ProblemError
            A state has no choice, an alternative ends the problem with a value, or there is a horizon.

        Examples
        --------
        >>> import beltline as bl
        >>> R, Q = [[5, 10], [-1, -float("inf")]], [[(0.5, 0.5), (0, 1)], [(0, 1), (0.5, 0.5)]]
        >>> bl.solve(bl.from_discrete_dp(R, Q, 0.95)).transitions().toarray()
        array([[0.5, 0.5],
               [0. , 1. ]])
        """
        return service("Result.transitions")(self)

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            """Return an attribute by its former name, with a warning that says what to write."""
            instead, of = _FORMER.get(name, ("", None))
            if of is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            warnings.warn(f"{name} of a result is deprecated: write {instead}", FutureWarning, stacklevel=2)
            return of(self)

    def _report(self) -> Report:
        return report_of(self)

    __str__ = __repr__ = as_text
    _repr_html_ = as_html

    @property
    def measured_by(self) -> str:
        """Where ``residual`` and ``error_bound`` come from, as text for reports."""
        return "recomputed in double precision by an exact search" if self.verified else "of the device, not verified"

    @property
    def bound(self) -> str:
        """The error bound as text for reports."""
        if not math.isfinite(self.error_bound):
            return "none: max |V - V*| is not known" + ("" if self.verified else ", verify=True measures it")
        how = "including rounding errors" if self.verified else "of the device, not verified"
        return f"max |V - V*| <= {self.error_bound:.3g} ({how})"

    def machine_rows(self) -> list[tuple[str, str]]:
        """Return the rows of a report on the method, the work and the numbers of the device."""
        if self.clocks_source:
            return machine_rows(self.clocks, self.clocks_source, self.amount_bits, self.value_bits, self.proven)
        work = f", {self.evaluations:,} evaluations" if self.evaluations else ""
        if self.ordered:
            work += ", few pairs a sweep (rewards have increasing differences), finally all"
        if self.searched:
            work += f"; {self.searched} columns (an alternative and an exogenous state) searched in full"
        return [("method", f"{self.method}{work}"), ("numbers", "double precision")]

    def verify(self) -> Result:
        """Check value and policy again, as of a result that was loaded from a file.

        Residual and bound are computed from the problem, value and choices alone (:func:`beltline.certify`).

        Returns
        -------
        Result
            This result with ``residual`` and ``error_bound`` as found now. If a choice is not the best, or the bound is
            too large, ``success`` is false and ``message`` says why.

        Raises
        ------
        ProblemError
            The solve ended before there was a value and a choice for every state and age.

        Examples
        --------
        >>> bl.load("rbc.npz").verify().success  # doctest: +SKIP
        True
        """
        return cast("Result", service("Result.verify")(self))

    def to_xarray(self) -> Dataset:
        """Return value, policy and the tables of the problem as an ``xarray.Dataset``, with names and units.

        Dimensions are ``age`` (only with a horizon; the first age is 1), ``regime`` (only with regimes), the asset
        under its name (``capital``, for example), with the grid as coordinate, and ``state``, with the labels of the
        exogenous states as coordinate, or their numbers if they have no labels. Arrays of alternatives have the
        dimension ``by_alternative``. A discrete problem has ``state``, or ``endogenous`` and ``exogenous``. ``attrs``
        holds everything else. Its entry ``about`` is JSON, with which :func:`beltline.load` can read a netCDF file.

        Raises
        ------
        ProblemError
            The package xarray is not installed.

        Examples
        --------
        >>> import beltline as bl
        >>> dict(bl.solve(bl.rbc(grid=64), progress=False).to_xarray().value.sizes)
        {'capital': 64, 'state': 4}
        """
        return cast("Dataset", service("Result.to_xarray")(self))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save the result and its problem to a file that :func:`beltline.load` reads.

        The file is written completely or not at all.

        Parameters
        ----------
        path : str or path
            Name that ends in ``.npz`` (the arrays under their names here, and those of the problem, which
            ``numpy.load`` reads too, and ``about``, JSON with everything else) or ``.nc`` (netCDF-4 of
            :meth:`to_xarray`).

        Returns
        -------
        pathlib.Path
            The path of the file.

        Raises
        ------
        ProblemError
            A file of this name cannot be written there, or a package that writes netCDF is not installed.
        OSError
            The system could not write the file, for example because the disk is full; an existing file is unchanged.

        Examples
        --------
        >>> bl.solve(bl.rbc(grid=64)).save("rbc.npz")  # doctest: +SKIP
        PosixPath('rbc.npz')
        """
        return cast(Path, service("Result.save")(self, path))

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str | None = None) -> Figure:
        """Draw the result.

        Parameters
        ----------
        path : str or path, optional
            Also write the figure to this file, which ends in ``.png``, ``.pdf`` or ``.svg``.
        kind : str, optional
            ``"policy"``: value and policy, by default. ``"regions"``: where each alternative is taken, the default with
            alternatives. ``"consumption"``: consumption against cash on hand. ``"euler"``: Euler equation errors on the
            grid. ``"distribution"``: stationary distribution of the asset. ``"irf"``: response to a change of the
            exogenous state. With a horizon also ``"ages"``, value and choice by age, and ``"life"``, simulated lives.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook displays.

        Raises
        ------
        ProblemError
            A figure cannot be written to ``path``, Matplotlib is not installed, or the result has no figure ``kind``.

        Examples
        --------
        >>> bl.solve(bl.rbc(grid=64)).plot("rbc.png")  # doctest: +SKIP
        """
        return cast("Figure", service("Result.plot")(self, path, kind))
