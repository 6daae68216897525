"""The devices of the accelerator by name. All have the interface :class:`beltline.host.devices.base.Device`."""

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
from beltline.host.problem.checks import ProblemError, shown, suggestion
from beltline.host.problem.general import WORKAROUND
from beltline.hw.interface.parameters import (
    GENERAL_STATES,
    GRID_LIMIT,
    RESULTS_LIMIT,
    STATES_LIMIT,
    MachineParameters,
)

if TYPE_CHECKING:
    # Not imported at run time: it loads compiled code, which takes a second.
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
"""The devices of the accelerator, by the names that users give in ``device=``."""

OLDER = {"model": "emulator"}
"""Former names of devices, which are still accepted, and their current names."""

REFERENCES = ("cpu", "gpu")
"""Names of the solvers in double precision (:mod:`beltline.host.solver.reference`), which have no accelerator."""

ARGUMENTS = (
    "checkpoint",
    "checkpoint_every",
    "device",
    "max_sweeps",
    "method",
    "amount_bits",
    "progress",
    "start",
    "timeout",
    "tol",
    "value_bits",
    "verify",
)
"""Names of the arguments of a solve, for suggestions where one is misspelt."""


def renamed(device: Any) -> Any:
    """Return the current name of a device if ``device`` is a former name; otherwise ``device`` itself.

    >>> renamed("model")
    'emulator'
    """
    return OLDER.get(device, device) if isinstance(device, str) else device


def known(name: object) -> str:
    """Return the current name of a device, ``"cpu"`` and ``"gpu"`` included.

    Raises
    ------
    ProblemError
        There is no such device; the message lists all.
    """
    now = renamed(name)
    if isinstance(now, str) and (now in DEVICES or now in REFERENCES):
        return now
    raise ProblemError(
        f"device must be one of {', '.join(map(repr, ('auto', *DEVICES, *REFERENCES)))}, not {shown(name)}"
    )


def _too_many_states(problem: Problem, count: int, limit: int) -> str:
    """Return the message for a problem with more than the ``limit`` states of the largest build."""
    if not problem.general:
        return (
            f"transition has {problem.states} states, more than the {limit} that the largest build of the accelerator "
            f"can hold: use device 'cpu' or 'gpu'"
        )
    alternatives = max(1, len(problem.alternatives))
    shared = "" if count == alternatives else f", of which {count} differ,"
    needed, advice = count * problem.states, WORKAROUND
    if limit < needed <= GENERAL_STATES[1]:
        advice = f"give general=1, with which builds hold {GENERAL_STATES[1]}, or {WORKAROUND}"
    return (
        f"{alternatives} alternatives{shared} in {problem.states} exogenous states take {needed} "
        f"states of a machine, more than the {limit} that the largest build can hold: {advice}"
    )


def smallest_build(
    problem: Problem, lanes: int | None = None, count: int = 1, general: bool = False
) -> MachineParameters:
    """Return the parameters of the smallest accelerator that ``problem`` fits.

    Parameters
    ----------
    problem
        A problem of the simple form, or one with a cost or alternatives.
    lanes
        Number of lanes of a sweep engine; by default the accelerator has an assembly line.
    count
        Number of states of the machine for each exogenous state of the problem: more than 1 if it has several
        alternatives (:mod:`beltline.host.solver.products`).
    general
        Whether the sweep engine is to solve the general form.

    Raises
    ------
    ProblemError
        The problem is larger than the largest possible build.
    """
    if problem.points > GRID_LIMIT:
        raise ProblemError(
            f"grid has {problem.points} points, more than the {GRID_LIMIT} that the largest build of the "
            f"accelerator can hold: use device 'cpu' or 'gpu'"
        )
    states = problem.states * count
    limit = GENERAL_STATES[1] if general else STATES_LIMIT
    if states > limit:
        raise ProblemError(_too_many_states(problem, count, limit))
    grid = max(4, 1 << (problem.points - 1).bit_length())
    if lanes is not None:
        # A sweep engine does not store the values of all ages: the host reads them after each age.
        return sweep_build(MachineParameters(), grid, states, lanes, general)
    results = (problem.horizon or 1) * problem.points * problem.states
    if results > RESULTS_LIMIT:
        raise ProblemError(
            f"a problem with horizon {problem.horizon} has {results} values at all ages, more than the {RESULTS_LIMIT} "
            f"that the largest build of the accelerator can hold: use device 'cpu' or 'gpu', or lanes= for a "
            f"sweep engine"
        )
    return MachineParameters(grid=grid, states=problem.states, results=max(results, grid * problem.states))


def check_options(name: str, options: Mapping[str, object]) -> None:
    """Check that a device of the accelerator has these options, as far as possible without opening it.

    Raises
    ------
    ProblemError
        There is no such device, it has no such option, or the option has a wrong value.
    """
    name = known(name)
    if name not in DEVICES:
        raise ProblemError(
            f"device {name!r} is not a device of the accelerator: call bl.solve(problem, device={name!r}) or "
            f"bl.open({name!r}), or open one of {', '.join(map(repr, DEVICES))}"
        )
    has = DEVICES[name].options
    for option in options:
        if option not in has:
            takes = f"it takes {', '.join(has)}" if has else "it takes none"
            hint = suggestion(option, (*ARGUMENTS, *has))
            raise ProblemError(f"device {name!r} has no option {option!r}: {takes}{hint}")
    DEVICES[name].check(**options)


def open_device(
    name: str, parameters: MachineParameters | None = None, progress: Progress | None = None, **options: object
) -> Device:
    """Open a device of the accelerator.

    Parameters
    ----------
    name
        One of ``DEVICES``.
    parameters
        Sizes of the problem. The devices ``"emulator"`` and ``"rtl"`` are built for them; a board has the sizes of its
        bitstream.
    progress
        Called with lines of progress.
    **options
        Options of the device, as ``DEVICES[name].options`` lists them.

    Raises
    ------
    ProblemError
        There is no such device or option.
    DeviceError
        The device cannot be opened.
    """
    name = known(name)
    check_options(name, options)
    return DEVICES[name].open(parameters, progress, **options)
