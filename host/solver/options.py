"""The arguments of a solve as one object, and their checks."""

from __future__ import annotations

import functools
import importlib.util
import math
import os
import sys
import warnings
from dataclasses import InitVar, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from beltline.host.devices import DEVICES, REFERENCES, known
from beltline.host.problem.checks import ProblemError, flag, real, shown, whole, word
from beltline.host.solver.checkpoint import EVERY, Checkpoint
from beltline.host.solver.driver import SWEEP_LIMIT_MAX
from beltline.host.solver.fixed_point import FRACTION_LIMIT, SMALLEST_TOLERANCE
from beltline.host.solver.tolerance import TOL, default_tol
from beltline.hw.arithmetic.utility_constants import AMOUNT_BITS_LIMIT

if TYPE_CHECKING:
    from beltline.host.problem.discrete import DiscreteProblem
    from beltline.host.problem.problem import Problem

Start = Literal["given", "last", "stay", "coarse", "problem"]
"""The value function with which a run begins. ``"given"``: ``problem.start``. ``"last"``: the last solution of the
session. ``"stay"``, ``"coarse"``: those of :func:`beltline.host.solver.starts.start_value`. ``"problem"`` means the
same as ``"given"``."""

STARTS: tuple[str, ...] = get_args(Start)
"""All of these names."""

MachineMethod = Literal["shift"]
"""Methods of a sweep engine other than plain sweeps."""

UNNAMED = "auto"
"""Name of the device that stands for a choice by rules (:mod:`beltline.host.solver.rules`)."""

FORMER_METHODS = ("monotone", "macqueen")
"""Methods of earlier versions, in place of which the default is used."""

LEAST_TOL = SMALLEST_TOLERANCE * 2.0**-FRACTION_LIMIT
"""Lowest tolerance of devices of the accelerator, in units of utility."""

MACHINE_ONLY = ("value_bits", "amount_bits", "timeout", "checkpoint", "checkpoint_every")
"""Options that only devices of the accelerator have, and solvers in double precision do not."""


@dataclass(frozen=True)
class SolveOptions:
    """The options of a solve, checked when they are made.

    Parameters
    ----------
    tol, max_sweeps, verify, value_bits, amount_bits, timeout, checkpoint, checkpoint_every
        As in :func:`beltline.host.solver.solve.solve`.
    method
        Method of a solver in double precision, None for its default; on the accelerator ``"shift"``, or None for plain
        sweeps. Whether the device has the method is not checked here.
    start
        The value function with which a run of the accelerator begins, a :data:`Start`.
    lowers_tol
        Whether the user gave no ``tol``: it is the default, which :meth:`of` lowers for problems with a small scale of
        utility.
    device
        Name of the device that the options are for; it is used for checks and not stored. Solvers in double precision
        accept none of ``MACHINE_ONLY``.

    Raises
    ------
    ProblemError
        An option has a wrong type or value, or the device does not support it.

    Examples
    --------
    >>> SolveOptions(tol=1e-6, start="problem").start
    'given'
    """

    tol: float = TOL
    max_sweeps: int = 10_000
    verify: bool = True
    value_bits: int | None = None
    amount_bits: int | None = None
    timeout: float | None = None
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_every: float | None = None
    method: str | None = None
    start: Start = "given"
    lowers_tol: bool = False
    device: InitVar[object] = None

    def __post_init__(self, device: object) -> None:
        if sys.modules.get("numba") is None and importlib.util.find_spec("numba") is None:
            raise ProblemError(
                "solving needs the Python package numba, which is not installed here: compiled code checks the "
                "results; `beltline selftest` makes most of its checks without it"
            )
        if isinstance(device, str) and device in (UNNAMED, *REFERENCES):
            for name in MACHINE_ONLY:
                if getattr(self, name) is None:
                    continue
                if device == UNNAMED:
                    raise ProblemError(f"{name} needs a device of the accelerator: name one, as in device='emulator'")
                raise ProblemError(
                    f"{name} is not supported by device {device!r}: leave it out, or name a device of the "
                    f"accelerator, such as device='emulator'"
                )
        if self.method is not None and not isinstance(self.method, str):
            raise ProblemError(f"method must be the name of a method, or None, not {shown(self.method)}")
        self._store("start", start_named(self.start))
        self._store("max_sweeps", whole("max_sweeps", self.max_sweeps, SWEEPS_WANTED, _fits_sweeps))
        self._store("verify", flag("verify", self.verify))
        self._store("timeout", _seconds_limit(self.timeout))
        self._store("tol", real("tol", self.tol, "a number above 0", _positive))
        self._store("value_bits", _fraction_bits("value_bits", self.value_bits, FRACTION_LIMIT))
        self._store("amount_bits", _fraction_bits("amount_bits", self.amount_bits, AMOUNT_BITS_LIMIT))
        self.saving()

    def _store(self, name: str, value: object) -> None:
        """Replace an option by its checked value, if that is another object."""
        if value is not getattr(self, name):
            object.__setattr__(self, name, value)

    def saving(self) -> Checkpoint | None:
        """Return the checkpoint file to save to; None if the option was not given.

        Raises
        ------
        ProblemError
            The path cannot be used for such a file, or ``checkpoint_every`` is given alone.
        """
        if self.checkpoint is None:
            if self.checkpoint_every is not None:
                raise ProblemError("checkpoint_every needs a checkpoint, the file to save to")
            return None
        if isinstance(self.checkpoint, Checkpoint):
            return self.checkpoint
        return Checkpoint(self.checkpoint, EVERY if self.checkpoint_every is None else self.checkpoint_every)

    def of(self, problem: Problem | DiscreteProblem, least: float = 0.0) -> SolveOptions:
        """Return the options for one problem: with its default tolerance if the user gave none.

        Parameters
        ----------
        problem
        least
            The lowest tolerance that the device supports, in units of utility.
        """
        if not self.lowers_tol:
            return self
        tol = max(default_tol(problem), least)
        return self if tol == self.tol else replace(self, tol=tol)

    @property
    def shift(self) -> bool:
        """Whether the sweep engine extrapolates values between its sweeps (``method="shift"``)."""
        return self.method == "shift"


def current(method: Any) -> Any:
    """Return ``method``, or None, the default, for a former one; a warning then says what to write."""
    if isinstance(method, str) and method in FORMER_METHODS:
        warnings.warn(
            f"method={method!r} is deprecated: leave method out, which chooses the fastest", DeprecationWarning, 6
        )
        return None
    return method


def options_with(tol: float | None, *others: Any, **more: Any) -> SolveOptions:
    """Return :class:`SolveOptions` with the tolerance ``tol``; with None each problem has its default tolerance.

    Examples
    --------
    >>> options_with(None).lowers_tol, options_with(1e-6).tol
    (True, 1e-06)
    """
    if "method" in more:
        more["method"] = current(more["method"])
    options = SolveOptions(TOL if tol is None else tol, *others, **more)
    return replace(options, lowers_tol=True) if tol is None else options


def checked_options(
    tol: float | None,
    max_sweeps: int,
    verify: bool,
    value_bits: int | None,
    amount_bits: int | None,
    timeout: float | None,
    checkpoint: str | os.PathLike[str] | None,
    checkpoint_every: float | None,
    method: str | None,
    device: object,
) -> SolveOptions:
    """Return :class:`SolveOptions` of these arguments; those of the last solves are not checked again.

    In a small solve the checks would take as long as loading the tables.

    Raises
    ------
    ProblemError
        As for :class:`SolveOptions`.

    Examples
    --------
    >>> checked_options(1e-6, 100, True, None, None, None, None, None, "warm", "cpu").tol
    1e-06
    """
    method, name = current(method), device if isinstance(device, str) else None
    machine = value_bits, amount_bits, timeout, checkpoint, checkpoint_every
    given = tol, max_sweeps, verify, method, name
    if all(one is None for one in machine) and {type(one) for one in given} <= _PLAIN:
        return _in_double(*given)
    return options_with(tol, max_sweeps, verify, *machine, method=method, device=name)


_PLAIN = {bool, float, int, str, type(None)}
"""Types of arguments that are surely hashed and compared."""


@functools.lru_cache(maxsize=16, typed=True)
def _in_double(
    tol: float | None, max_sweeps: int, verify: bool, method: str | None, device: str | None
) -> SolveOptions:
    """Return options without those that only devices of the accelerator have."""
    return options_with(tol, max_sweeps, verify, method=method, device=device)


def start_named(start: object) -> Start:
    """Return a :data:`Start` under its main name: ``"problem"`` becomes ``"given"``.

    Raises
    ------
    ProblemError
        ``start`` is none of the names.
    """
    start = "given" if isinstance(start, str) and start == "problem" else start
    return cast(Start, word("start", start, [name for name in STARTS if name != "problem"]))


def machine_method(device: object, method: object, options: dict[str, Any]) -> tuple[MachineMethod | None, Start]:
    """Check the method for a device of the accelerator; return it and its ``start``, which is taken from ``options``.

    Parameters
    ----------
    device
        Name, session or device.
    method
        ``"shift"`` or None.
    options
        Options of the solve. ``start``, a :data:`Start`, is an option of method ``"shift"`` only.

    Raises
    ------
    ProblemError
        There is no such method or start, or the device has no sweep engine.
    """
    if method is None:
        return None, "given"
    if method != "shift":
        raise ProblemError(
            f"method {shown(method)} needs device {' or '.join(map(repr, REFERENCES))}: a device of the accelerator "
            f"has method 'shift' only"
        )
    if isinstance(device, str) and DEVICES[known(device)].elastic and "lanes" not in options:
        raise no_lanes(device)
    return "shift", start_named(options.pop("start", "given"))


def taken(options: dict[str, Any], *names: str) -> dict[str, Any]:
    """Take the options of these names out of ``options``, and return those that are not None."""
    found = {name: options.pop(name, None) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def no_lanes(device: str | None) -> ProblemError:
    """Return the error for method ``"shift"`` on a device that is opened without a sweep engine."""
    return ProblemError(f"method 'shift' needs the sweep engine: give device {device!r} the option lanes=, as lanes=16")


SWEEPS_WANTED = f"a whole number from 1 to {SWEEP_LIMIT_MAX}"
"""What ``max_sweeps`` must be to fit the device's register, in words."""


def _fits_sweeps(max_sweeps: int) -> bool:
    return 1 <= max_sweeps <= SWEEP_LIMIT_MAX


def _positive(number: float) -> bool:
    return 0.0 < number < math.inf


def _seconds_limit(timeout: object) -> float | None:
    if timeout is None:
        return None
    return real("timeout", timeout, "a number of seconds above 0, or None", _positive)


def _fraction_bits(name: str, bits: object, most: int) -> int | None:
    if bits is None:
        return None
    return whole(name, bits, f"a whole number from 0 to {most}, or None", lambda b: 0 <= b <= most)
