"""Rules for what nobody names: the method that suits a problem, and whether a graphics card pays.

They rest on times from call to return, verification included, that ``python -m beltline.host.bench.defaults --rules``
measures on models of the literature: it prints every method beside the one that the rule takes.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from beltline.host.devices import ARGUMENTS, DEVICES
from beltline.host.devices.base import DeviceError
from beltline.host.problem.checks import ProblemError, meant
from beltline.host.problem.problem import Problem
from beltline.host.solver.fixed_point import modulus
from beltline.host.solver.options import UNNAMED

AUTO = UNNAMED
"""As a method: chosen by these rules."""

PATIENT = 0.9
"""Contraction modulus from which policy evaluation between sweeps saves more than it costs."""

EVALUATION_STEPS = 10
"""Policy evaluation steps after each sweep that maximises."""

GPU_WORTH = 2**18
"""States (grid points times exogenous states) from which a graphics card saves more than the moment that its first
solve in a process takes."""


@dataclass(frozen=True)
class Way:
    """A method with its options, and why it was chosen."""

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.method} ({given})" if given else self.method


def ways(problem: Problem, device: str = "cpu") -> list[Way]:
    """The exact methods that suit ``problem`` on ``"cpu"`` or ``"gpu"``, the fastest first.

    A later one is for where those before it fail.

    >>> import beltline as bl
    >>> print(ways(bl.rbc(grid=256))[0])
    mpi (start=coarse, inner=10)
    """
    if problem.horizon is not None:
        return [Way("warm", why="with a horizon an age is one sweep, and this one sweeps fastest")]
    contraction = modulus(problem)
    evaluated = Way(
        "mpi",
        {"start": "coarse", "inner": EVALUATION_STEPS},
        f"policy evaluation between sweeps pays from beta {PATIENT:g} on",
    )
    shifted = Way(
        "shift",
        {"start": "coarse"},
        f"below beta {PATIENT:g} sweeps are so few that policy evaluation between them does not pay",
    )
    if device == "gpu":
        return [replace(shifted, why="on a GPU sweeps cost next to nothing, and this one makes the fewest"), evaluated]
    return [evaluated, shifted] if contraction >= PATIENT else [shifted, evaluated]


def without_gpu(problem: Problem) -> str:
    """Why a graphics card does not solve ``problem``; empty where one does. Quick where there is none."""
    if importlib.util.find_spec("cupy") is None:
        return "there is no GPU"
    states = problem.points * problem.states
    if states < GPU_WORTH:
        return f"a GPU pays from {GPU_WORTH:,} states, and these are {states:,}"
    from beltline.gpu_ref.cuda import solver as cuda

    return "there is no GPU" if cuda.available() else ""


def boards() -> list[tuple[str, dict[str, Any]]]:
    """Boards that are known to hold a Beltline: the device of each and its options. Opens nothing."""
    found = []
    for name, backend in DEVICES.items():
        try:
            found += [(name, options) for options in backend.ready()]
        except DeviceError:
            continue
    return found


def check_unnamed(method: str | None, options: Mapping[str, Any]) -> None:
    """Check the options of a solve that names no device.

    Raises
    ------
    ProblemError
        One is of a device, which is to be named, or of a method, or of nothing.
    """
    from beltline.gpu_ref.methods import METHODS

    of_methods = {name: [method for method, has in METHODS.items() if name in has.options] for name in options}
    for name in options:
        devices = [device for device, has in DEVICES.items() if name in has.options]
        if devices and not (method is not None and of_methods[name]):
            raise ProblemError(f"option {name!r} needs a device that has it: {_named('device', devices)}")
        if method is not None:
            continue
        if not of_methods[name]:
            known = {option for has in DEVICES.values() for option in has.options}
            known |= {option for has in METHODS.values() for option in has.options}
            raise ProblemError(
                f"no device and no method has an option {name!r}{meant(name, sorted(known | {*ARGUMENTS}))}"
            )
        raise ProblemError(f"option {name!r} needs a method that has it: {_named('method', of_methods[name])}")


def _named(what: str, names: Iterable[str]) -> str:
    return f"add {' or '.join(f'{what}={name!r}' for name in names)}"
