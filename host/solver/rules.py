"""Rules that choose the device and the method where the user names none.

They are based on times from call to return, verification included. ``python -m beltline.host.bench.defaults --rules``
measures these on models of the literature, and prints every method beside the one that the rules choose.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from beltline.host.devices import ARGUMENTS, DEVICES
from beltline.host.devices.base import DeviceError
from beltline.host.problem.checks import ProblemError, suggestion
from beltline.host.problem.problem import Problem
from beltline.host.solver.options import UNNAMED

AUTO = UNNAMED
"""Name of the method that stands for a choice by these rules."""

OF_RULES = "start"
"""The option of the methods that needs no method to be named: all that the rules choose for an infinite horizon have
it.
"""

OF_GENERAL = ("steps", "update", "update_every")
"""Options of problems of the general form only."""

GPU_STATES = 2**18
"""Number of states (grid points times exogenous states) from which a GPU saves more time than its start-up in a new
process takes."""


@dataclass(frozen=True)
class Way:
    """A method with its options, and the reason for choosing it."""

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.method} ({given})" if given else self.method


def ways(problem: Problem, device: str = "cpu") -> list[Way]:
    """Return the exact methods that suit ``problem`` on ``"cpu"`` or ``"gpu"``, the fastest first.

    The solver tries the next one where a method fails.

    >>> import beltline as bl
    >>> print(ways(bl.rbc(grid=256))[0])
    mpi (start=coarse)
    """
    if problem.horizon is not None:
        return [Way("warm", why="a finite horizon takes one sweep for each age, and this method sweeps fastest")]
    evaluated = Way("mpi", {"start": "coarse"}, "policies evaluated along their paths leave few sweeps to make")
    if device == "gpu":
        why = "it needs the fewest steps on a GPU, where a sweep takes little time"
        return [Way("shift", {"start": "coarse"}, why), evaluated]
    return [evaluated]


def without_gpu(problem: Problem) -> str:
    """Return why a GPU is not used for ``problem``; empty if one is. Fast where there is no GPU."""
    if importlib.util.find_spec("cupy") is None:
        return "there is no GPU"
    states = problem.points * problem.states
    if states < GPU_STATES:
        return f"a GPU saves time from {GPU_STATES:,} states, and this problem has {states:,}"
    from beltline.gpu_ref.cuda import solver as cuda

    return "there is no GPU" if cuda.available() else ""


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

    of_methods = {name: [method for method, has in METHODS.items() if name in has.options] for name in options}
    for name in options:
        if name == OF_RULES and method is None:
            continue
        devices = [device for device, has in DEVICES.items() if name in has.options]
        if devices and not (method is not None and of_methods[name]):
            raise ProblemError(f"option {name!r} needs a device that has it: {_named('device', devices)}")
        if method is not None:
            continue
        if not of_methods[name]:
            known = {option for has in DEVICES.values() for option in has.options}
            known |= {option for has in METHODS.values() for option in has.options}
            raise ProblemError(
                f"no device and no method has an option {name!r}: their options are {', '.join(sorted(known))}"
                f"{suggestion(name, sorted(known | {*ARGUMENTS}))}"
            )
        raise method_needed(name)


def method_needed(name: str) -> ProblemError:
    """Return the error for an option of some methods, of which none is named."""
    from beltline.gpu_ref.methods import METHODS

    having = [method for method, has in METHODS.items() if name in has.options]
    return ProblemError(f"option {name!r} needs a method that has it: {_named('method', having)}")


def check_rule_options(options: Mapping[str, Any], what: str) -> None:
    """Check the options of a solve by these rules, which take ``start`` only; ``what`` begins the message.

    Raises
    ------
    ProblemError
        There is another option.
    """
    from beltline.gpu_ref.methods import METHODS

    for name in options:
        if name == OF_RULES:
            continue
        if any(name in has.options for has in METHODS.values()):
            raise method_needed(name)
        hint = suggestion(name, (*ARGUMENTS, OF_RULES))
        raise ProblemError(f"{what} has no option {name!r}: it takes {OF_RULES} if no method is named{hint}")


def _named(what: str, names: Iterable[str]) -> str:
    return f"add {' or '.join(f'{what}={name!r}' for name in names)}"
