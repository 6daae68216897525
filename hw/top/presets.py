"""Generated Verilog that a wheel includes, so that simulating these machines does not need Yosys.

``python -m beltline.hw.top.presets`` writes the Verilog of :data:`PRESETS` into ``hw/top/written``, which is not part
of the repository; ``make wheel`` includes it in the wheel. Each folder there also has the build's description
(:mod:`beltline.hw.interface.builds`), with the content hash of register ``BUILD_HASH``, and a stamp of the gateware's
sources. The Verilog is used if the stamp equals that of the installed sources and the hash that of the Verilog.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from beltline.hw.interface import builds
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.top.content import build_hash, hash_of, intact

PRESETS = tuple(MachineParameters(grid=grid, states=4) for grid in (64, 256, 1024))
"""Builds whose Verilog is included: assembly lines of common sizes."""

FOLDER = Path(__file__).with_name("written")
"""The Verilog, in one folder for each build."""

STAMP = "stamp"
"""Name of the file with the stamp."""


class DamagedError(ValueError):
    """Included Verilog differs from what :func:`write_presets` wrote."""


def stamp() -> str:
    """Return a hash of all sources from which the Verilog is generated."""
    from beltline.compiled import source_stamp

    return source_stamp(Path(__file__).resolve().with_name("verilog.py"))


def written(folder: Path | None = None) -> dict[MachineParameters, Path]:
    """Find included Verilog that was generated from the installed sources.

    Parameters
    ----------
    folder
        Folder to search instead of :data:`FOLDER`.

    Returns
    -------
    dict
        Folder of the Verilog, by build.

    Raises
    ------
    DamagedError
        A build's description is damaged.
    """
    folder = FOLDER if folder is None else folder
    found: dict[MachineParameters, Path] = {}
    for each in sorted(folder.glob(f"*/{STAMP}")):
        if each.read_text(encoding="ascii").strip() != stamp():
            continue
        try:
            (build,) = builds.read(each.with_name(builds.FILE))
        except (OSError, ValueError) as error:
            raise DamagedError(f"the Verilog in {each.parent} is damaged ({error}): install again") from None
        found[build.parameters] = each.parent
    return found


def find(parameters: MachineParameters, folder: Path | None = None) -> dict[str, str] | None:
    """Return the included Verilog of a machine.

    Parameters
    ----------
    parameters
        The build.
    folder
        Folder to search instead of :data:`FOLDER`.

    Returns
    -------
    dict or None
        ``{file name: text}``, as :func:`beltline.hw.top.verilog.generate` returns it; None if this build is not
        included.

    Raises
    ------
    DamagedError
        The Verilog does not have the content hash of its build.
    """
    place = written(folder).get(parameters)
    if place is None:
        return None
    (build,) = builds.read(place / builds.FILE)
    files = {path.name: path.read_text(encoding="ascii") for path in sorted(place.glob("*.v"))}
    digits = hash_of(files)
    if not intact(files) or digits != build.digits:
        raise DamagedError(
            f"the Verilog in {place} is damaged: its hash is {digits}, not {build.digits}: install again"
        )
    return files


def write_presets(presets: Sequence[MachineParameters], folder: Path) -> list[Path]:
    """Write the Verilog of machines into a folder, whose content is deleted first.

    Parameters
    ----------
    presets
        The builds.
    folder
        The folder to write.

    Returns
    -------
    list
        The folder of each build.

    Raises
    ------
    YosysError
        Yosys could not convert a build to Verilog.
    OSError
        A file could not be written.
    """
    from beltline.hw.top import verilog

    shutil.rmtree(folder, ignore_errors=True)
    places = []
    for parameters in presets:
        files = verilog.generate(parameters)
        place = folder / build_hash(files)
        facts = {builds.FILE: builds.to_json([verilog.build(files, parameters)]), STAMP: f"{stamp()}\n"}
        verilog.write(files | facts, place)
        places.append(place)
    return places


def main(argv: list[str] | None = None) -> int:
    """Write the Verilog of all presets and print their folders; returns the exit code."""
    from beltline.hw.top.verilog import find_yosys

    parser = argparse.ArgumentParser(prog="python -m beltline.hw.top.presets", description=__doc__)
    parser.add_argument("--grid", type=int, action="append", help="only these sizes (default: all)")
    given = parser.parse_args(argv)
    sizes = [one.grid for one in PRESETS]
    for grid in given.grid or ():
        if grid not in sizes:
            parser.error(f"--grid must be one of {', '.join(map(str, sizes))}, not {grid}")
    find_yosys()
    for place in write_presets([one for one in PRESETS if one.grid in (given.grid or sizes)], FOLDER):
        print(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
