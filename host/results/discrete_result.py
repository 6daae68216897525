"""The result of a discrete problem (states, actions, rewards): value, policy and how accurate they are."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.problem.report import Report, as_html, as_text, report
from beltline.host.results.services import service

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset


@dataclass(frozen=True, eq=False)
class DiscreteResult:
    """Value and policy of a discrete problem, with a bound on their error.

    :func:`beltline.solve` returns it for a :class:`~beltline.host.problem.discrete.DiscreteProblem`::

        V(s) = max over actions a of  R(s, a) + beta * sum_s' Q(s' | s, a) V(s')

    ``TV`` below is the right-hand side for a given ``V``, and ``V*`` is the exact solution.

    Parameters
    ----------
    value : (n,) or (N_k, N_z) float64 array
        ``V``, in units of utility; its shape is that of the problem.
    policy : int64 array of the same shape
        The best action, numbered as in the arrays that the problem was made from. If several are best, the one that
        leads to the lowest next states. -1 in a state without an action, which occurs only where ``success`` is false.
    success : bool
        Whether the solve converged and, unless ``verify`` was False, a second search confirmed every choice.
    status : str
        How the solve ended, one of :class:`~beltline.host.results.outcome.Outcome`.
    message : str
        The status in a sentence.
    sweeps : int
        Number of sweeps that maximise; between them the policy is evaluated.
    residual : float
        Largest ``|TV - V|`` of ``value``, recomputed by a search of every pair of state and action. With
        ``verify=False`` the largest change in the last sweep.
    error_bound : float
        Proven upper bound on the largest ``|V - V*|``, rounding errors included.
    verified : bool
        Whether ``residual`` and ``error_bound`` were recomputed and every choice was proven by a search that is
        independent of the solver's.
    tol : float
        Tolerance of the solve.
    evaluations : int
        Number of pairs of state and action whose value was computed, in all sweeps.
    ordered : bool
        Whether rewards have increasing differences, so that all sweeps but the last search few pairs.
    timing : dict of str to float
        Wall-clock seconds of the host computer for ``open``, ``solve`` and ``verify``.
    device, method : str
        Device and solution method.
    problem : DiscreteProblem
        The problem that was solved.

    Examples
    --------
    >>> import beltline as bl
    >>> R, Q = [[5, 10], [-1, -float("inf")]], [[(0.5, 0.5), (0, 1)], [(0, 1), (0.5, 0.5)]]
    >>> bl.solve(bl.from_discrete_dp(R, Q, 0.95), progress=False).policy
    array([0, 0])
    """

    value: NDArray[np.float64]
    policy: NDArray[np.int64]
    success: bool
    status: str
    message: str
    sweeps: int
    residual: float
    error_bound: float
    verified: bool
    tol: float
    evaluations: int
    ordered: bool
    timing: dict[str, float]
    device: str
    method: str
    problem: DiscreteProblem

    def transitions(self) -> Any:
        """Return the Markov matrix of the states under the policy.

        Returns
        -------
        (n, n) scipy.sparse array
            Entry ``[i, j]`` is the probability that state ``j`` follows state ``i``.

        Raises
        ------
        ValueError
            A state has no action.

        Examples
        --------
        >>> import beltline as bl
        >>> R, Q = [[5, 10], [-1, -float("inf")]], [[(0.5, 0.5), (0, 1)], [(0, 1), (0.5, 0.5)]]
        >>> bl.solve(bl.from_discrete_dp(R, Q, 0.95)).transitions().toarray()
        array([[0.5, 0.5],
               [0. , 1. ]])
        """
        program, policy = self.problem.program, self.policy.reshape(-1)
        if (policy < 0).any():
            raise ValueError(f"state {int(np.argmax(policy < 0))} has no action")
        own = np.flatnonzero(program.action == np.repeat(policy, np.diff(program.first)))
        return program.chances[program.lottery[own]]

    def to_xarray(self) -> Dataset:
        """Return value and policy as an ``xarray.Dataset``.

        The dimension is ``state``, or the dimensions are ``endogenous`` and ``exogenous``. ``attrs`` holds status,
        residual, error bound and so on.

        Raises
        ------
        ProblemError
            The package xarray is not installed.
        """
        dataset: Dataset = service("DiscreteResult.to_xarray")(self)
        return dataset

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save the result and its problem to a file that :func:`beltline.load` reads.

        The file is written completely or not at all.

        Parameters
        ----------
        path : str or path
            Name that ends in ``.npz``.

        Returns
        -------
        pathlib.Path
            The path of the file.

        Raises
        ------
        ProblemError
            A file of this name cannot be written there.
        OSError
            The system could not write the file; an existing file is unchanged.

        Examples
        --------
        >>> import beltline as bl
        >>> R, Q = [[5, 10], [-1, -float("inf")]], [[(0.5, 0.5), (0, 1)], [(0, 1), (0.5, 0.5)]]
        >>> path = bl.solve(bl.from_discrete_dp(R, Q, 0.95)).save("two_states.npz")  # doctest: +SKIP
        >>> bl.load(path).policy  # doctest: +SKIP
        array([0, 0])
        """
        written: Path = service("DiscreteResult.save")(self, path)
        return written

    def plot(self, path: str | os.PathLike[str] | None = None, kind: str = "policy") -> Figure:
        """Draw value and best action by state.

        Parameters
        ----------
        path : str or path, optional
            Also write the figure to this file, which ends in ``.png``, ``.pdf`` or ``.svg``.
        kind : str
            ``"policy"``, the only kind: value and best action, one colour for each exogenous state.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, which a notebook displays.

        Raises
        ------
        ProblemError
            A figure cannot be written to ``path``, ``kind`` is another word, or Matplotlib is not installed.
        """
        figure: Figure = service("DiscreteResult.plot")(self, path, kind)
        return figure

    def _report(self) -> Report:
        how = "recomputed by a second, full search" if self.verified else "of the solver's last sweep; not verified"
        bound = "none: max |V - V*| is not known"
        if math.isfinite(self.error_bound):
            bound = f"max |V - V*| <= {self.error_bound:.3g} (including rounding errors)"
        search = "few pairs (rewards have increasing differences), finally all" if self.ordered else "all pairs"
        rows = [
            ("status", f"{self.status}: {self.message}"),
            ("sweeps", f"{self.sweeps:,}"),
            ("residual", f"max |TV - V| = {self.residual:.3g} ({how})"),
            ("error bound", bound),
            ("method", f"policy iteration, searching {search}: {self.evaluations:,} evaluations"),
            ("numbers", "double precision"),
            ("this computer", ", ".join(f"{name} {spent:.2f} s" for name, spent in self.timing.items())),
        ]
        problem = self.problem
        return report(f"{problem.name}, {problem.size}, {problem.pairs:,} pairs, on device {self.device}", rows)

    __str__ = __repr__ = as_text
    _repr_html_ = as_html
