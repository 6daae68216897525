"""Which bitstreams a device takes: those that this Beltline's own generator makes, and those recorded by it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from beltline.constraints import board_builds as builds
from beltline.constraints.boards import BOARDS, Flow
from beltline.host.devices.base import Device, DeviceError
from beltline.host.problem.checks import ProblemError, shown
from beltline.hw.interface.builds import Build, read

OPTION = "build.json of a build of your own, as `python -m beltline.hw.top.verilog` writes it"
"""What option ``builds`` means."""

_FLOWS = {"pynq": (Flow.ZYNQ, Flow.MPSOC), "f2": (Flow.F2,), "serial": (Flow.ECP5,), "xdma": (Flow.XDMA,)}
"""How the bitstreams of the boards are made that a device reaches."""

CLOCK = "CLOCK_HZ"

_FEW = 2
"""Most boards whose commands are written out."""


def recorded(path: object) -> tuple[Build, ...]:
    """The builds in a user's file; none if ``path`` is None.

    Raises
    ------
    ProblemError
        It is no path, or there is no such file, or it is none of builds.
    """
    if path is None:
        return ()
    if not isinstance(path, str | os.PathLike):
        raise ProblemError(f"builds must be the path of a file of builds, such as 'build.json', not {shown(path)}")
    try:
        return read(Path(path))
    except OSError as error:
        raise ProblemError(f"builds '{os.fspath(path)}' cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise ProblemError(f"builds '{os.fspath(path)}' is no file of builds: {error}") from None


def check_build(device: Device, known: Sequence[Build] = ()) -> None:
    """Check that the bitstream in ``device`` is one of the boards' builds, or one of ``known``, by its content hash.

    Raises
    ------
    DeviceError
        It is neither. The message has its hash, what was expected of which boards, and the commands that build it.
    """
    built = device.read_register("BUILD_HASH")
    recorded = builds.recorded()
    if any(build.build_hash == built for build in (*recorded.values(), *known)):
        return
    mine = [name for name in recorded if BOARDS[name].flow in _FLOWS[device.name]]
    # A clock of its builder's choice does not change the hash of a build: it is looked at last.
    sizes = {name: recorded[name].parameters.reported for name in mine}
    meant = [name for name in mine if all(device.read_register(r) == v for r, v in sizes[name].items() if r != CLOCK)]
    meant = [name for name in meant if device.read_register(CLOCK) == sizes[name][CLOCK]] or meant
    names = meant or mine
    hashes: dict[str, list[str]] = {}
    for name in names:
        hashes.setdefault(recorded[name].digits, []).append(name)
    expected = ", ".join(f"{digits} for {' and '.join(names)}" for digits, names in hashes.items())
    commands = " or ".join(f"'{builds.rebuild(name)}'" for name in names)
    if len(names) > _FEW:
        commands = f"'{builds.rebuild('NAME', names[0])}', NAME being one of {', '.join(names)}"
    raise DeviceError(
        f"device {device.name!r} has a bitstream of build {built:016x}, which this Beltline does not make"
        f"{', though its sizes are those of one' if meant else ''}: it makes {expected}; rebuild with {commands}, or "
        f"name the build.json of your own build with option builds"
    )
