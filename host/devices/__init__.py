"""Devices by name, all behind :class:`host.devices.base.Device`."""

from __future__ import annotations

from collections.abc import Callable

from host.checks import ProblemError, shown
from host.devices import model, rtl
from host.devices.base import Device, DeviceError, Progress
from host.problem import Problem
from hw.parameters import GRID_LIMIT, STATES_LIMIT, MachineParameters

__all__ = [
    "DEVICES",
    "REFERENCES",
    "RESULTS_LIMIT",
    "Device",
    "DeviceError",
    "Progress",
    "known",
    "open_device",
    "smallest_build",
]

RESULTS_LIMIT = 2**24
"""Most words of a build's value memory: the table windows' addresses have 24 bits."""

DEVICES: dict[str, Callable[[MachineParameters, Progress | None], Device]] = {
    "model": model.open_model,
    "rtl": rtl.open_rtl,
}
"""What each name opens."""

REFERENCES = ("cpu", "gpu")
"""Names of the solvers in double precision (:mod:`host.reference`), which are no machine."""


def known(name: object) -> str:
    """Return ``name`` if it names a device, or a solver in double precision.

    Raises
    ------
    ProblemError
        It does not; the message lists those that do.
    """
    if isinstance(name, str) and (name in DEVICES or name in REFERENCES):
        return name
    raise ProblemError(f"device must be one of {', '.join(map(repr, (*DEVICES, *REFERENCES)))}, not {shown(name)}")


def smallest_build(problem: Problem) -> MachineParameters:
    """Return the sizes of the smallest machine that ``problem`` fits.

    Raises
    ------
    ProblemError
        No build is that large.
    """
    if problem.points > GRID_LIMIT:
        raise ProblemError(
            f"grid has {problem.points} points, more than the {GRID_LIMIT} that the largest build can hold"
        )
    if problem.states > STATES_LIMIT:
        raise ProblemError(
            f"transition has {problem.states} states, more than the {STATES_LIMIT} that the largest build can hold"
        )
    grid = max(4, 1 << (problem.points - 1).bit_length())
    results = (problem.horizon or 1) * problem.points * problem.states
    if results > RESULTS_LIMIT:
        raise ProblemError(
            f"horizon {problem.horizon} keeps {results} values, more than the {RESULTS_LIMIT} "
            f"that the largest build can hold"
        )
    return MachineParameters(grid=grid, states=problem.states, results=max(results, grid * problem.states))


def open_device(name: str, parameters: MachineParameters, progress: Progress | None = None) -> Device:
    """Open the device called ``name`` as a machine of these sizes.

    Raises
    ------
    ProblemError
        No device has that name.
    DeviceError
        It cannot be opened.
    """
    return DEVICES[known(name)](parameters, progress)
