"""What a solve returns."""

from __future__ import annotations

import enum
import json
import os
import textwrap
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from host.checks import ProblemError
from host.files import check_target, replacing
from host.problem import Problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLOCK_HZ = 250e6
"""The clock at which reports turn clocks into time: that of the boards the machine is meant for. A model, not a
measurement, until a build closes timing there."""

REPORT_WIDTH = 118
"""Columns of a printed report."""

FILE_FORMAT = 1
"""Version of what :meth:`Result.save` writes."""


class Outcome(enum.StrEnum):
    """How a run ended."""

    CONVERGED = "converged"
    FINISHED = "finished"
    LIMIT = "sweep limit reached"
    STOPPED = "stopped"
    SATURATED = "saturated"
    INFEASIBLE = "infeasible"
    NOT_VERIFIED = "not verified"


@dataclass(frozen=True, eq=False)
class Result:
    """Value, policy, and what is known about them.

    Parameters
    ----------
    value : (N_k, N_z) float64 array
        ``V(x, s)`` in utility. With a horizon ``(T, N_k, N_z)``, the first age first: ``value[T - 1]`` is the last
        age's, whose continuation is the problem's ``start``.
    policy : int32 array of the same shape
        Index of the best ``x'``; the lowest, where several are best.
    success : bool
        Converged or finished and, unless that was turned off, verified.
    status : str
        One of :class:`Outcome`.
    message : str
        The status in a sentence, with what to do about it.
    sweeps : int
    change : float
        Largest ``|V_n - V_(n-1)|`` of the last sweep, as the device reported it.
    residual : float
        Largest ``|TV - V|`` of ``value``, recomputed by an exact double-precision sweep; with ``verify=False`` what the
        device's ``change`` implies.
    error_bound : float
        Bound on the largest ``|V - V*|`` (contraction bound, from ``residual``), ``V*`` being the exact solution on the
        grid.
    verified : bool
        Whether residual and bound were recomputed from ``value``.
    tol : float
        The tolerance asked for.
    clocks : int
        Clocks of the machine, 0 for solvers in double precision, which have none.
    clocks_source : str
        Where they come from, empty where there are none.
    timing : dict of str to float
        Seconds of this computer for ``open``, ``load``, ``solve``, ``read`` and ``verify``.
    device : str
    money_bits, value_bits : int or None
        Fraction bits of the run; None in double precision.
    build_hash : int
        Content hash of the gateware build, 0 where there is none.
    problem : Problem
    method : str
        Of a solver in double precision.
    """

    value: NDArray[np.float64]
    policy: NDArray[np.int32]
    success: bool
    status: str
    message: str
    sweeps: int
    change: float
    residual: float
    error_bound: float
    verified: bool
    tol: float
    clocks: int
    clocks_source: str
    timing: dict[str, float]
    device: str
    money_bits: int | None
    value_bits: int | None
    build_hash: int
    problem: Problem
    method: str = ""

    @property
    def policy_values(self) -> NDArray[np.float64]:
        """The best ``x'`` itself, in units of the grid."""
        values: NDArray[np.float64] = self.problem.grid[self.policy]
        return values

    def __str__(self) -> str:
        problem = self.problem
        ages = "" if problem.horizon is None else f", {problem.horizon} ages"
        rows = [
            ("status", f"{self.status}: {self.message}"),
            ("sweeps", f"{self.sweeps:,}"),
        ]
        if problem.horizon is None:
            rows.append(("last change", f"max |V_n - V_(n-1)| = {self.change:.3g} (tolerance {self.tol:g})"))
        how = "recomputed in double precision by an exact search" if self.verified else "device's own"
        bound = "contraction bound" if self.verified else how
        rows += [
            ("residual", f"max |TV - V| = {self.residual:.3g} ({how})"),
            ("error bound", f"max |V - V*| <= {self.error_bound:.3g} ({bound})"),
            *self._machine_rows(),
            ("this computer", ", ".join(f"{name} {spent:.2f} s" for name, spent in self.timing.items())),
        ]
        margin = " " * 16
        wrapped = [
            textwrap.fill(f"  {name:<14}{text}", REPORT_WIDTH, subsequent_indent=margin, break_on_hyphens=False)
            for name, text in rows
        ]
        size = f"{problem.points:,} grid points x {problem.states} states{ages}"
        return "\n".join([f"{problem.name}, {size}, on device {self.device}", *wrapped])

    __repr__ = __str__

    def _machine_rows(self) -> list[tuple[str, str]]:
        if not self.clocks_source:
            return [("method", self.method), ("numbers", "double precision")]
        seconds = self.clocks / CLOCK_HZ
        time = f"{seconds * 1e3:,.3f} ms" if seconds < 1 else f"{seconds:,.3f} s"
        return [
            ("clocks", f"{self.clocks:,} ({self.clocks_source})"),
            ("", f"= {time} at {CLOCK_HZ / 1e6:g} MHz (modelled, if timing closes)"),
            ("numbers", f"64-bit fixed point, {self.money_bits} fraction bits of money, {self.value_bits} of value"),
        ]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the result and its problem to ``path`` (``.npz``), whole or not at all, and return the path.

        The arrays ``value``, ``policy``, ``policy_values``, ``grid``, ``wealth``, ``transition`` and ``start`` can be
        read with ``numpy.load``; ``about`` is JSON with everything else.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file.
        OSError
            The disk refused; nothing is left behind.
        """
        target = check_target("out", path, (".npz",))
        problem = self.problem
        about = {
            "format": FILE_FORMAT,
            "result": {name: getattr(self, name) for name in (*_PLAIN, "method")},
            "problem": {name: getattr(problem, name) for name in _PLAIN_PROBLEM},
        }
        arrays: dict[str, Any] = {name: getattr(problem, name) for name in _TABLES}
        with replacing(target) as neighbour:
            np.savez_compressed(
                neighbour,
                about=np.array(json.dumps(about)),
                value=self.value,
                policy=self.policy,
                policy_values=self.policy_values,
                **arrays,
            )
        return target

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw value and policy; with ``path`` (``.png``, ``.pdf`` or ``.svg``) also write them there.

        Raises
        ------
        ProblemError
            ``path`` is no place for such a file, or matplotlib is not installed.
        """
        from host.plot import plot

        return plot(self, path)


_PLAIN = (
    "success",
    "status",
    "message",
    "sweeps",
    "change",
    "residual",
    "error_bound",
    "verified",
    "tol",
    "clocks",
    "clocks_source",
    "timing",
    "device",
    "money_bits",
    "value_bits",
    "build_hash",
)
_PLAIN_PROBLEM = ("beta", "eta", "horizon", "name", "asset", "labels")
_TABLES = ("grid", "wealth", "transition", "start")


def load(path: str | os.PathLike[str]) -> Result:
    """Return the :class:`Result` that :meth:`Result.save` wrote to ``path``.

    Raises
    ------
    ProblemError
        The file is not one of those.
    OSError
        It cannot be read.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            if about["format"] != FILE_FORMAT:
                raise ProblemError(f"{str(path)!r} has file format {about['format']}, not {FILE_FORMAT}")
            tables = {name: file[name] for name in _TABLES}
            known = about["problem"]
            problem = Problem(**tables, **{name: known[name] for name in _PLAIN_PROBLEM})
            plain = {name: about["result"][name] for name in _PLAIN}
            # Files of before there were methods lack it.
            method = about["result"].get("method", "")
            return Result(value=file["value"], policy=file["policy"], problem=problem, method=method, **plain)
    except (KeyError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, ProblemError):
            raise
        raise ProblemError(f"{os.fspath(path)!r} is not a file that a result was saved to") from error
