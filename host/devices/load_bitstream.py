"""Loading of a bitstream into an ECP5 board, after a check against the checksums in the same folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from beltline.constraints import board_builds
from beltline.constraints.bitstreams import Bitstream, BitstreamError, check
from beltline.constraints.boards import BOARDS
from beltline.host.devices.base import DeviceError, Progress
from beltline.host.problem.checks import path_of
from beltline.hw.interface.builds import Build

LOADER = "openFPGALoader"
"""The program that writes a bitstream into a chip by its cable."""

CABLES = {"ecp5": "ecp5_evn", "ulx3s": "ulx3s"}
"""What the program calls the boards, by :attr:`beltline.constraints.boards.Board.circuit`."""

SECONDS = 120.0
"""After which loading has failed: a bitstream takes some seconds."""


def checked(path: object, known: Sequence[Build] = ()) -> Bitstream:
    """Check size and SHA-256 of a bitstream against ``bitstreams.json`` in the same folder; return its entry there.

    Parameters
    ----------
    path
        The bitstream, ``.bit`` or ``.svf``.
    known
        Builds that the bitstream may have, in addition to those of the boards.

    Raises
    ------
    ProblemError
        ``path`` is not a path.
    DeviceError
        The bitstream differs from its entry, or its build is unknown to this version of Beltline.
    """
    file = path_of("bitstream", path, "the path of a bitstream, such as 'beltline.bit'")
    try:
        found = check(file)
    except BitstreamError as error:
        raise DeviceError(f"the bitstream was not loaded: {error}") from None
    builds = (*board_builds.recorded().values(), *known)
    if not any(build.digits == found.build_hash for build in builds):
        raise DeviceError(
            f"the bitstream was not loaded: '{file}' is of build {found.build_hash}, which this Beltline "
            f"does not make: rebuild with '{board_builds.rebuild(found.board)}', or name the build.json of your own "
            "build with option builds"
        )
    return found


def load(path: object, known: Sequence[Build] = (), progress: Progress | None = None) -> Bitstream:
    """Check a bitstream and load it into the board that it is for; arguments as of :func:`checked`.

    Raises
    ------
    ProblemError, DeviceError
        As :func:`checked`; or the program that loads bitstreams is missing or failed.
    """
    found = checked(path, known)
    program = shutil.which(LOADER)
    if program is None:
        raise DeviceError(
            f"the bitstream was not loaded: {LOADER} is not installed: on Debian and Ubuntu, apt install openfpgaloader"
        )
    if progress:
        progress(f"loading {found.file} into the board")
    # A name that begins with a hyphen would be an option.
    command = [program, "--board", CABLES[BOARDS[found.board].circuit], os.path.abspath(str(path))]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=SECONDS,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise DeviceError(f"the bitstream was not loaded: {LOADER} did not end in {SECONDS:g} s") from None
    except OSError as error:
        raise DeviceError(f"the bitstream was not loaded: {LOADER} cannot be run: {error.strerror or error}") from None
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()
        raise DeviceError(f"the bitstream was not loaded: {LOADER} ended with {done.returncode}: {lines[-1]}")
    return found
