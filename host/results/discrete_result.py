"""The solution of a discrete problem, as data and as text."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.problem.report import as_html, report
from beltline.host.results.services import service

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset


@dataclass(frozen=True, eq=False)
class DiscreteResult:
    """Value and policy of a discrete problem, and what is known about them.

    Parameters
    ----------
    value : (n,) or (N_k, N_z) float64 array
        ``V``, in units of utility, of the problem's ``shape``.
    policy : int64 array of the same shape
        The best action, by its number in the arrays that the problem was made from. Of equals the one that leads to the
        lowest next states. -1 where there is none, which no success has.
    success : bool
        Converged and, unless that was turned off, verified.
    status : str
        One of :class:`~beltline.host.results.outcome.Outcome`.
    message : str
        The status in a sentence.
    sweeps : int
        That maximise; between them policies are evaluated.
    residual : float
        Largest ``|TV - V|`` of ``value``, recomputed by a search of every pair; with ``verify=False`` the largest
        change in the last sweep.
    error_bound : float
        Bound on the largest ``|V - V*|``, roundings included.
    verified : bool
        Whether both were recomputed, and every choice proven, by a search that is not the solver's.
    tol : float
    evaluations : int
        Pairs of a state and an action that all sweeps looked at.
    ordered : bool
        Whether rewards have increasing differences, so that sweeps before the last looked at few pairs.
    timing : dict of str to float
        Seconds of this computer for ``open``, ``solve`` and ``verify``.
    device, method : str
    problem : DiscreteProblem
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
        """Return the Markov chain of the states under the policy, an ``(n, n)`` scipy.sparse array, by rows.

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
        """Return value and policy as an ``xarray.Dataset`` with dimension ``state``, or ``endogenous`` and
        ``exogenous``; what is known about them are its attributes.

        Raises
        ------
        ProblemError
            xarray is not installed.
        """
        dataset: Dataset = service("DiscreteResult.to_xarray")(self)
        return dataset

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the result and its problem to ``path`` (``.npz``), whole or not at all, for :func:`beltline.load`;
        return the path.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file.
        OSError
            The disk refused; nothing is left behind.

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
        """Return a figure, which a notebook shows; with ``path`` (``.png``, ``.pdf`` or ``.svg``) also write it there.

        Parameters
        ----------
        path
        kind
            ``"policy"``: value and best action by state, one colour an exogenous state.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file, there is no such kind, or matplotlib is not installed.
        """
        figure: Figure = service("DiscreteResult.plot")(self, path, kind)
        return figure

    def __str__(self) -> str:
        how = "recomputed by a second, full search" if self.verified else "of the solver's last sweep; not verified"
        bound = "none: max |V - V*| is not known"
        if math.isfinite(self.error_bound):
            bound = f"max |V - V*| <= {self.error_bound:.3g} (roundings counted)"
        search = (
            "few pairs, as rewards have increasing differences, and in the end all" if self.ordered else "all pairs"
        )
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

    __repr__ = __str__
    _repr_html_ = as_html
