"""The check that a bitstream is one that this version of Beltline generates, or one of the user's own builds."""

from __future__ import annotations

from collections.abc import Sequence

from beltline.constraints import board_builds as builds
from beltline.constraints.boards import BOARDS, Flow
from beltline.host.devices.base import Device, DeviceError
from beltline.host.problem.checks import ProblemError, path_of
from beltline.hw.interface.builds import Build, read

OPTION = (
    "path of the build.json of a build of your own, which `python -m beltline.hw.top.verilog` writes (default: accept "
    "only the builds of Beltline's boards)"
)
"""Description of the option ``builds``."""

_FLOWS = {"pynq": (Flow.ZYNQ, Flow.MPSOC), "f2": (Flow.F2,), "serial": (Flow.ECP5,), "xdma": (Flow.XDMA,)}
"""The tool flows of the boards that each device can be."""

CLOCK = "CLOCK_HZ"

_LISTED_COMMANDS = 2
"""Largest number of boards whose build commands are all written out in a message."""


def recorded(path: object) -> tuple[Build, ...]:
    """Return the builds in a user's file; none if ``path`` is None.

    Raises
    ------
    ProblemError
        ``path`` is not a path, or the file does not exist or is not a file of builds.
    """
    if path is None:
        return ()
    file = path_of("builds", path, "the path of a file of builds, such as 'build.json'")
    try:
        return read(file)
    except OSError as error:
        raise ProblemError(f"builds '{file}' cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise ProblemError(f"builds '{file}' is not a file of builds: {error}") from None


def check_build(device: Device, known: Sequence[Build] = ()) -> None:
    """Check that the bitstream in ``device`` is a build of one of the boards, or one of ``known``, by its hash.

    Raises
    ------
    DeviceError
        The build is unknown. The message has its hash, the hashes of builds for boards with the same sizes, and the
        commands that build them.
    """
    built = device.read_register("BUILD_HASH")
    recorded_builds = builds.recorded()
    if any(build.build_hash == built for build in (*recorded_builds.values(), *known)):
        return
    possible = [name for name in recorded_builds if BOARDS[name].flow in _FLOWS[device.name]]
    # The clock frequency can be chosen by the builder without a change of the hash, so it is compared last.
    sizes = {name: recorded_builds[name].parameters.reported for name in possible}
    similar = [
        name for name in possible if all(device.read_register(r) == v for r, v in sizes[name].items() if r != CLOCK)
    ]
    similar = [name for name in similar if device.read_register(CLOCK) == sizes[name][CLOCK]] or similar
    names = similar or possible
    hashes: dict[str, list[str]] = {}
    for name in names:
        hashes.setdefault(recorded_builds[name].digits, []).append(name)
    expected = ", ".join(f"{digits} for {' and '.join(names)}" for digits, names in hashes.items())
    commands = " or ".join(f"'{builds.rebuild(name)}'" for name in names)
    if len(names) > _LISTED_COMMANDS:
        commands = f"'{builds.rebuild('NAME', names[0])}', NAME being one of {', '.join(names)}"
    raise DeviceError(
        f"device {device.name!r} has a bitstream of build {built:016x}, which this version of Beltline does not make"
        f"{', although its sizes are those of one that it makes' if similar else ''}: it makes {expected}; rebuild "
        f"with {commands}, or pass the build.json of your own build with option builds"
    )
