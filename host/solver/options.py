"""The arguments of a solve and their checks, the default tolerance, and the rules that choose device and method.

Tolerances and error bounds are in units of utility, and what is small depends on those units. With ``eta = 4``, amounts
in dollars and a consumption of 50,000, the utility of all consumption is some ``1e-15``, so that a tolerance of
``1e-10`` ends every solve after one sweep with arbitrary choices. The rules are based on times from call to return,
verification included (``python -m docs.tables.benchmarks``).
"""

from __future__ import annotations

import functools
import importlib.util
import math
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from beltline.host.devices import ARGUMENTS, DEVICES, REFERENCES, known
from beltline.host.devices.base import DeviceError
from beltline.host.problem.checks import ProblemError, flag, real, shown, suggestion, whole, word
from beltline.host.problem.problem import Problem
from beltline.host.solver.driver import SWEEP_LIMIT_MAX
from beltline.host.solver.fixed_point import FRACTION_LIMIT, SMALLEST_TOLERANCE, fraction_bits_asked
from beltline.host.solver.run import EVERY, Checkpoint
from beltline.hw.arithmetic.utility_constants import AMOUNT_BITS_LIMIT

if TYPE_CHECKING:
    from beltline.host.problem.discrete import DiscreteProblem
    from beltline.host.problem.problem import Problem

TOL = 1e-10
"""Default tolerance, in units of utility, of problems whose scale of utility is not small."""

SHARE = 1e-8
"""Default tolerance as a share of the scale of utility, where that is less than :data:`TOL`."""

EXTREME = 0.05
"""Share of the highest and of the lowest values that their spread leaves out: a state with hardly any consumption may
have a value that is lower than all others by orders of magnitude.
"""


def utility_scale(problem: Problem | DiscreteProblem) -> float:
    """Return the scale of utility of a problem: what one percent more consumption is worth, times 100."""
    if not isinstance(problem, Problem):
        reward = rewards_of(problem)
        return float(np.ptp(reward)) or float(np.abs(reward).max())
    if not problem.general:
        ends = [float(problem.wealth[0].min()), float(problem.wealth[-1].max())]
        return _worth([end - float(problem.grid[0]) for end in ends], problem.eta)
    from beltline.gpu_ref.general.form import Branch

    found = problem.form.sigma
    for one in problem.form.alternatives:
        if isinstance(one, Branch):
            ends = [float(one.wealth.min()), float(one.wealth.max())]
            found = max(found, _worth([end - float(one.cost.min()) for end in ends], problem.eta))
        else:
            present = one.value[np.isfinite(one.value)]
            found = max(found, float(np.ptp(present)) if present.size else 0.0)
    return found


def rewards_of(problem: DiscreteProblem) -> NDArray[np.float64]:
    """Return the rewards of the actions of a discrete problem, without those of states that have none."""
    program = problem.program
    found: NDArray[np.float64] = program.reward[~program.lost[program.state]] if program.lost.any() else program.reward
    return found


def usual_utility(problem: Problem | DiscreteProblem) -> float:
    """Return what one percent more consumption is worth, times 100, in the middle of the tables, units of utility."""
    if not isinstance(problem, Problem):
        return spread(rewards_of(problem)) or utility_scale(problem)
    # With a horizon tables may have an axis of ages before these two.
    wealth = problem.wealth.reshape(-1, problem.points, problem.states)[-1, problem.points // 2, problem.states // 2]
    if not problem.general:
        return _worth([float(wealth - problem.grid[0])], problem.eta)
    from beltline.gpu_ref.general.form import Branch

    costs = [float(one.cost.min()) for one in problem.form.alternatives if isinstance(one, Branch)]
    return max(problem.form.sigma, _worth([float(wealth) - cost for cost in costs], problem.eta))


def _worth(amounts: list[float], eta: float) -> float:
    """Return the largest ``c U'(c)`` of amounts; those that are not positive do not count, but with linear utility."""
    usable = np.array([abs(c) if eta == 0.0 else c for c in amounts if c > 0.0 or eta == 0.0])
    with np.errstate(over="ignore"):
        return float((usable ** (1.0 - eta)).max(initial=0.0))


def default_tol(problem: Problem | DiscreteProblem) -> float:
    """Return the tolerance with which a problem is solved if the user gives none, in units of utility."""
    scale = utility_scale(problem)
    return min(TOL, SHARE * scale) if scale > 0.0 else TOL


def spread(value: NDArray[np.float64]) -> float:
    """Return the spread of values without the highest and lowest of :data:`EXTREME`; of all if that leaves none."""
    low, high = np.quantile(value, [EXTREME, 1.0 - EXTREME])
    return float(high - low) if high > low else float(np.ptp(value))


Start = Literal["given", "last", "stay", "coarse", "problem"]
"""The value function with which a run begins. ``"given"``: ``problem.start``. ``"last"``: the last solution of the
session. ``"stay"``, ``"coarse"``: those of :func:`beltline.host.solver.prepare.start_value`. ``"problem"`` means the
same as ``"given"``."""

STARTS: tuple[str, ...] = get_args(Start)
"""All of these names."""

MachineMethod = Literal["shift"]
"""Methods of a sweep engine other than plain sweeps."""

UNNAMED = "auto"
"""Name of the device that stands for a choice by rules (:mod:`beltline.host.solver.options`)."""

FORMER_METHODS = ("monotone", "macqueen")
"""Methods of earlier versions, in place of which the default is used."""

LEAST_TOL = SMALLEST_TOLERANCE * 2.0**-FRACTION_LIMIT
"""Lowest tolerance of devices of the accelerator, in units of utility."""

MACHINE_ONLY = ("value_bits", "amount_bits", "timeout", "checkpoint", "checkpoint_every")
"""Options that only devices of the accelerator have, and solvers in double precision do not."""


@dataclass(frozen=True)
class SolveOptions:
    """The options of :func:`beltline.host.solver.solve.solve`, checked when they are made.

    ``lowers_tol`` says that the user gave no ``tol``. ``device`` is the name of the device that they are for, which is
    not stored; whether it has the method is not checked here.
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
        wanted = f"a whole number from 1 to {SWEEP_LIMIT_MAX}"
        self._store("max_sweeps", whole("max_sweeps", self.max_sweeps, wanted, lambda n: 1 <= n <= SWEEP_LIMIT_MAX))
        self._store("verify", flag("verify", self.verify))
        if self.timeout is not None:
            self._store("timeout", real("timeout", self.timeout, "a number of seconds above 0, or None", _positive))
        self._store("tol", real("tol", self.tol, "a number above 0", _positive))
        for name, most in (("value_bits", FRACTION_LIMIT), ("amount_bits", AMOUNT_BITS_LIMIT)):
            if getattr(self, name) is not None:
                self._store(name, fraction_bits_asked(name, getattr(self, name), most))
        self.saving()

    def _store(self, name: str, value: object) -> None:
        """Replace an option by its checked value, if that is another object."""
        if value is not getattr(self, name):
            object.__setattr__(self, name, value)

    def saving(self) -> Checkpoint | None:
        """Return the checkpoint file to save to; None if the option was not given."""
        if self.checkpoint is None:
            if self.checkpoint_every is not None:
                raise ProblemError("checkpoint_every needs a checkpoint, the file to save to")
            return None
        if isinstance(self.checkpoint, Checkpoint):
            return self.checkpoint
        return Checkpoint(self.checkpoint, EVERY if self.checkpoint_every is None else self.checkpoint_every)

    def of(self, problem: Problem | DiscreteProblem, least: float = 0.0) -> SolveOptions:
        """Return the options for one problem: with its default tolerance if the user gave none."""
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
    """Return :class:`SolveOptions` with the tolerance ``tol``; with None each problem has its default tolerance."""
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
    """Return :class:`SolveOptions` of these arguments; those of the last solves are not checked again."""
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
    """Return a :data:`Start` under its main name: ``"problem"`` becomes ``"given"``."""
    start = "given" if isinstance(start, str) and start == "problem" else start
    return cast(Start, word("start", start, [name for name in STARTS if name != "problem"]))


def machine_method(device: object, method: object, options: dict[str, Any]) -> tuple[MachineMethod | None, Start]:
    """Return the checked method for a device of the accelerator, and its ``start``, which is taken from ``options``."""
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


def no_lanes(device: str | None) -> ProblemError:
    """Return the error for method ``"shift"`` on a device that is opened without a sweep engine."""
    return ProblemError(f"method 'shift' needs the sweep engine: give device {device!r} the option lanes=, as lanes=16")


def _positive(number: float) -> bool:
    return 0.0 < number < math.inf


OF_GENERAL = ("steps", "update", "update_every")
"""Options of problems of the general form only."""

OF_RULES = ("start", "steps", "update")
"""The options that need neither a device nor a method to be named: ``start`` of the simple form, whose methods for an
infinite horizon all have it, and those of the general form."""

GPU_STATES = 2**18
"""Number of states (grid points times exogenous states) from which a GPU saves more time than its start-up in a new
process takes."""

GPU_STARTED_STATES = 2**12
"""The same, once this process has started CUDA and compiled for the number of grid points and states."""


@dataclass(frozen=True)
class Way:
    """A method with its options, and the reason for choosing it."""

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.method} ({given})" if given else self.method


def ways(problem: Problem, device: str = "cpu", more: Mapping[str, Any] | None = None) -> list[Way]:
    """Return the methods that suit ``problem`` on ``"cpu"`` or ``"gpu"``, the fastest first, with options ``more``."""
    if problem.horizon is not None:
        why = "a finite horizon takes one sweep for each age, and this method sweeps fastest"
        return [Way("warm", more or {}, why)]
    options = {"start": "coarse", **(more or {})}
    evaluated = Way("mpi", options, "policies evaluated along their paths leave few sweeps to make")
    if device == "gpu":
        why = "it needs the fewest steps on a GPU, where a sweep takes little time"
        return [Way("shift", options, why), evaluated]
    return [evaluated]


def without_gpu(problem: Problem) -> str:
    """Return why a GPU is not used for ``problem``; empty if one is. Fast where there is no GPU."""
    if importlib.util.find_spec("cupy") is None:
        return "there is no GPU"
    states = problem.points * problem.states
    sweeps = sys.modules.get("beltline.gpu_ref.cuda.sweeps")
    started = sweeps is not None and (problem.points, problem.states) in sweeps.COMPILED
    least = GPU_STARTED_STATES if started else GPU_STATES
    if states < least:
        return f"a GPU saves time from {least:,} states, and this problem has {states:,}"
    return no_gpu()


def no_gpu() -> str:
    """Return that there is no GPU which can be used; empty if there is one."""
    from beltline.gpu_ref.cuda.device import available

    return "there is no GPU" if available() else ""


def boards() -> list[tuple[str, dict[str, Any]]]:
    """Return the boards of this computer on which a Beltline is ready: name and options of the device. Opens none."""
    found = []
    for name, backend in DEVICES.items():
        try:
            found += [(name, options) for options in backend.ready()]
        except DeviceError:
            continue
    return found


def check_unnamed(method: str | None, options: Mapping[str, Any]) -> None:
    """Check the options of a solve for which no device is named."""
    from beltline.gpu_ref.methods import METHODS

    takes = METHODS[method].options if method in METHODS else OF_RULES
    for name in options:
        devices = [f"device={device!r}" for device, has in DEVICES.items() if name in has.options]
        if name not in takes and devices:
            raise ProblemError(f"option {name!r} needs a device that has it: add {' or '.join(devices)}")
    if method is None:
        check_names(options, "bl.solve without a named device")


def check_names(
    options: Mapping[str, Any], what: str, takes: Sequence[str] = OF_RULES, others: Sequence[str] = ()
) -> None:
    """Check the names of the options of a solve in double precision for which no method is named."""
    for name in options:
        if name in takes:
            continue
        hint = suggestion(name, (*ARGUMENTS, *others, *takes))
        raise ProblemError(f"{what} has no option {name!r}: it takes {', '.join(takes) or 'none'}{hint}")
