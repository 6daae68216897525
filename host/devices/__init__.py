"""Devices by name, all behind :class:`beltline.host.devices.base.Device`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from beltline.host.devices import f2, pynq, rtl, serial, xdma
from beltline.host.devices import software_model as emulator
from beltline.host.devices.base import (
    Backend,
    Device,
    DeviceError,
    DeviceInUseError,
    DeviceLostError,
    DeviceTimeoutError,
    Progress,
)
from beltline.host.devices.made import sweep_build
from beltline.host.problem.checks import ProblemError, meant, shown
from beltline.host.problem.general import WORKAROUND
from beltline.hw.interface.parameters import GRID_LIMIT, RESULTS_LIMIT, STATES_LIMIT, MachineParameters

if TYPE_CHECKING:
    # It compiles, and takes a second.
    from beltline.host.problem.problem import Problem

__all__ = [
    "ARGUMENTS",
    "DEVICES",
    "REFERENCES",
    "Backend",
    "Device",
    "DeviceError",
    "DeviceInUseError",
    "DeviceLostError",
    "DeviceTimeoutError",
    "Progress",
    "check_options",
    "known",
    "open_device",
    "renamed",
    "smallest_build",
]

DEVICES: dict[str, Backend] = {
    "emulator": emulator.BACKEND,
    "rtl": rtl.BACKEND,
    "pynq": pynq.BACKEND,
    "f2": f2.BACKEND,
    "serial": serial.BACKEND,
    "xdma": xdma.BACKEND,
}
"""The machines, by the names that users call them."""

OLDER = {"model": "emulator"}
"""Names that devices had before, and are taken to mean."""

REFERENCES = ("cpu", "gpu")
"""Names of the solvers in double precision (:mod:`beltline.host.solver.reference`), which are no machine."""

ARGUMENTS = (
    "checkpoint",
    "checkpoint_every",
    "device",
    "max_sweeps",
    "method",
    "money_bits",
    "progress",
    "start",
    "timeout",
    "tol",
    "value_bits",
    "verify",
)
"""Arguments of a solve, which those that are misspelt are compared with."""


def renamed(device: Any) -> Any:
    """Return ``device``, or if it is a name that a device had before, the name that it has now.

    >>> renamed("model")
    'emulator'
    """
    return OLDER.get(device, device) if isinstance(device, str) else device


def known(name: object) -> str:
    """Return the name of a device, or of a solver in double precision, as it is now.

    Raises
    ------
    ProblemError
        ``name`` is none; the message lists them.
    """
    now = renamed(name)
    if isinstance(now, str) and (now in DEVICES or now in REFERENCES):
        return now
    raise ProblemError(
        f"device must be one of {', '.join(map(repr, ('auto', *DEVICES, *REFERENCES)))}, not {shown(name)}"
    )


def smallest_build(problem: Problem, lanes: int | None = None) -> MachineParameters:
    """Return the sizes of the smallest assembly line that ``problem`` fits, or sweep engine of so many lanes.

    Of a problem with several alternatives each is a state of its own in each exogenous state.

    Raises
    ------
    ProblemError
        No build is that large.
    """
    if problem.points > GRID_LIMIT:
        raise ProblemError(
            f"grid has {problem.points} points, more than the {GRID_LIMIT} that the largest build can hold"
        )
    count = max(1, len(problem.alternatives))
    if count > 1 and count * problem.states > STATES_LIMIT:
        raise ProblemError(
            f"{count} alternatives in {problem.states} exogenous states take {count * problem.states} states of a "
            f"machine, more than the {STATES_LIMIT} that the largest build can hold: {WORKAROUND}"
        )
    if problem.states > STATES_LIMIT:
        raise ProblemError(
            f"transition has {problem.states} states, more than the {STATES_LIMIT} that the largest build can hold"
        )
    grid = max(4, 1 << (problem.points - 1).bit_length())
    if lanes is not None:
        # A horizon's values are read after each of its ages.
        return sweep_build(MachineParameters(grid, problem.states * count), lanes)
    results = (problem.horizon or 1) * problem.points * problem.states
    if results > RESULTS_LIMIT:
        raise ProblemError(
            f"horizon {problem.horizon} keeps {results} values, more than the {RESULTS_LIMIT} "
            f"that the largest build can hold"
        )
    return MachineParameters(grid=grid, states=problem.states, results=max(results, grid * problem.states))


def check_options(name: str, options: Mapping[str, object]) -> None:
    """Check that ``name`` is a machine that has these options, as far as can be told without opening it.

    Raises
    ------
    ProblemError
        No machine has that name, or it has no such option, or not of that value.
    """
    name = known(name)
    if name not in DEVICES:
        raise ProblemError(
            f"device {name!r} is no machine, and there is nothing of it to open: call bl.solve(problem, "
            f"device={name!r}), or open one of {', '.join(map(repr, DEVICES))}"
        )
    has = DEVICES[name].options
    for option in options:
        if option not in has:
            takes = f"it takes {', '.join(has)}" if has else "it takes none"
            raise ProblemError(f"device {name!r} has no option {option!r}: {takes}{meant(option, (*ARGUMENTS, *has))}")
    DEVICES[name].check(**options)


def open_device(
    name: str, parameters: MachineParameters | None = None, progress: Progress | None = None, **options: object
) -> Device:
    """Open the device called ``name``.

    Parameters
    ----------
    name
        One of ``DEVICES``.
    parameters
        Sizes that are needed. An elastic device is built to them; another one has its own.
    progress
    **options
        Of the device, as ``DEVICES[name].options`` lists them.

    Raises
    ------
    ProblemError
        No device has that name or such an option.
    DeviceError
        It cannot be opened.
    """
    name = known(name)
    check_options(name, options)
    return DEVICES[name].open(parameters, progress, **options)
