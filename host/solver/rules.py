"""Rules that choose the device and the method where the user names none.

They are based on times from call to return, verification included (``python -m docs.tables.benchmarks``).
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from beltline.host.devices import ARGUMENTS, DEVICES
from beltline.host.devices.base import DeviceError
from beltline.host.problem.checks import ProblemError, suggestion
from beltline.host.problem.problem import Problem
from beltline.host.solver.options import UNNAMED

AUTO = UNNAMED
"""Name of the method that stands for a choice by these rules."""

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
    """Return the methods that suit ``problem`` on ``"cpu"`` or ``"gpu"``, the fastest first, with options ``more``.

    The solver tries the next one where a method fails.

    >>> import beltline as bl
    >>> print(ways(bl.rbc(grid=256))[0])
    mpi (start=coarse)
    """
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
    """Check the options of a solve for which no device is named.

    Raises
    ------
    ProblemError
        An option belongs to a device or a method that must then be named, or to nothing.
    """
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
    """Check the names of the options of a solve in double precision for which no method is named.

    ``what`` begins the message, and ``takes`` are the options; a mistyped name may mean one of ``others``.

    Raises
    ------
    ProblemError
        There is no such option.
    """
    for name in options:
        if name in takes:
            continue
        hint = suggestion(name, (*ARGUMENTS, *others, *takes))
        raise ProblemError(f"{what} has no option {name!r}: it takes {', '.join(takes) or 'none'}{hint}")
