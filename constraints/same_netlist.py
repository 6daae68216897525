"""Check whether two designs are the same except for names and hierarchy.

Command: ``python -m beltline.constraints.same_netlist OLD NEW --top NAME``. OLD and NEW are each a Verilog file or a
directory of Verilog files. Yosys flattens both designs into cells: gates and flip-flops of one bit, memories, and
arithmetic of whole words. Modules that are named with ``--box`` are cells too, compared by their names; so is the
module with the build hash, which is a hash of the other modules' text. The Verilog of all instantiated modules must be
given.

The bits of both designs are partitioned into classes by refinement. At first each bit of an input port is in its own
class, and all driven bits are in one. In every round a class is split by the kind of the cell that drives a bit, its
parameters, its initial value, and the classes of all inputs of that cell. When a round splits no class, bits of one
class have the same value in every clock, for all inputs. The designs are the same if each output port has the class of
its counterpart, and if both have the same cells: each class has the same number of registers, memories, arithmetic
cells and instances in OLD and NEW. For a class of gates it is enough that both designs have some, since a gate is
duplicated where the Verilog repeats an expression instead of using a wire.

Exit code 0: the designs are the same; 1: they differ, or a tool failed; 2: the options are wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.hw.top.content import BUILD_MODULE
from beltline.sim.cache import Progress, SimulationError, run_tool
from beltline.sim.progress import reporting
from beltline.sim.yosys import use_yosys

_SCRIPT = (
    "hierarchy -check -top {top}",
    "proc",
    "flatten",
    "memory_collect",
    "opt_expr",
    "opt_clean",
    "pmuxtree",
    "simplemap",
    "opt_expr",
    "opt_clean -purge",
    "write_json netlist.json",
)

_ROUNDS = 8
"""Rounds of refinement between two counts of the classes."""

_GATE = re.compile(r"^\$_(?!.*(FF|LATCH|SR))")
"""Names of combinational cells of one bit."""

_MOST = 10
"""Largest number of differences of each kind that are named."""


def read(source: Path) -> dict[str, str]:
    """Read a Verilog file, or all Verilog files of a directory: ``{file name: text}``.

    Raises
    ------
    OSError
        The file cannot be read, or the directory has no Verilog.
    """
    paths = [source] if source.is_file() else sorted(source.glob("*.v"))
    texts = {path.name: path.read_text(encoding="ascii") for path in paths}
    if not texts:
        raise FileNotFoundError(f"no Verilog in '{source}'")
    return texts


def flattened(
    files: Mapping[str, str], top: str, boxes: Iterable[str] = (), progress: Progress | None = None
) -> dict[str, Any]:
    """Flatten a module into one netlist, in the format of Yosys's JSON.

    Parameters
    ----------
    files
        Verilog, ``{file name: text}``.
    top
        Name of the module.
    boxes
        Modules that remain instances.
    progress
        Called with a line of text about the work in progress.

    Raises
    ------
    SimulationError
        Yosys failed, for example because a module is missing.
    """
    yosys = use_yosys(progress)
    with tempfile.TemporaryDirectory(prefix="beltline-netlist-") as name:
        directory = Path(name)
        for file, text in files.items():
            (directory / file).write_text(text, encoding="ascii")
        lines = [f"read_verilog {' '.join(files)}"]
        lines += [f"blackbox {box}" for box in (*boxes, BUILD_MODULE) if f"{box}.v" in files]
        lines += [line.format(top=top) for line in _SCRIPT]
        (directory / "script.ys").write_text("\n".join(lines) + "\n", encoding="ascii")
        log = directory / "tool.log"
        command = [yosys, "-q", "-s", "script.ys"]
        try:
            doing = f"flattening {top}"
            run_tool(command, directory=directory, log=log, environment=os.environ, doing=doing, progress=progress)
        except subprocess.CalledProcessError:
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-5:])
            raise SimulationError(f"flattening {top} failed:\n{tail}") from None
        module: dict[str, Any] = json.loads((directory / "netlist.json").read_text())["modules"][top]
    return module


def _seed(*words: Any) -> int:
    """Return a hash of ``words``, 64 bits."""
    return int.from_bytes(hashlib.blake2b(repr(words).encode(), digest_size=8).digest(), "little")


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash 64-bit words by the finalizer of SplitMix64, which is a bijection."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _columns(rows: list[tuple[int, int, int]]) -> tuple[NDArray[np.intp], NDArray[np.uint64], NDArray[np.intp]]:
    """Return the columns of a list of triples."""
    first, second, third = ([row[k] for row in rows] for k in range(3))
    return np.array(first, np.intp), np.array(second, np.uint64), np.array(third, np.intp)


@dataclass
class _Bits:
    """Bits and cells of both designs."""

    classes: list[int] = field(default_factory=list)
    # For each input of a cell: its bit, a hash of its port, and the number of its cell; likewise for each driven bit.
    inputs: list[tuple[int, int, int]] = field(default_factory=list)
    driven: list[tuple[int, int, int]] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)

    def add(self, module: Mapping[str, Any]) -> dict[str, list[int]]:
        """Add the bits and cells of a design; returns the bits of its output ports, by name."""
        numbers: dict[int | str, int] = {}
        initial: dict[int | str, str] = {}
        for net in module["netnames"].values():
            word = net.get("attributes", {}).get("init")
            if word is not None:
                initial |= {
                    bit: digit for bit, digit in zip(net["bits"], reversed(word), strict=False) if digit in "01"
                }

        def number(bit: int | str) -> int:
            if bit not in numbers:
                numbers[bit] = len(self.classes)
                self.classes.append(_seed("constant", bit) if isinstance(bit, str) else 0)
            return numbers[bit]

        outputs = {}
        for name, port in module["ports"].items():
            own = [number(bit) for bit in port["bits"]]
            if port["direction"] == "input":
                for place, bit in enumerate(own):
                    self.classes[bit] = _seed("input", name, place)
            else:
                outputs[name] = own
        for cell in module["cells"].values():
            parameters = sorted((k, v) for k, v in cell["parameters"].items() if k != "MEMID")
            self.kinds.append(cell["type"])
            self.seeds.append(_seed(cell["type"], parameters))
            here = len(self.seeds) - 1
            for name, bits in cell["connections"].items():
                for place, bit in enumerate(bits):
                    if cell["port_directions"][name] == "output":
                        # Yosys also leaves initial values at logic that is declared as a register in Verilog.
                        start = initial.get(bit, "x") if "FF" in cell["type"] else "x"
                        seed = _seed("output", name, place, start)
                        self.driven.append((number(bit), seed, here))
                    else:
                        self.inputs.append((number(bit), _seed("place", name, place), here))
        return outputs

    def refined(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return the final classes of bits and of cells."""
        classes = np.array(self.classes, np.uint64)
        (bit, place, cell), (out, of_out, by) = (_columns(rows) for rows in (self.inputs, self.driven))
        undriven = classes == 0
        undriven[out] = False
        classes[undriven] = _seed("undriven")
        seeds = np.array(self.seeds, np.uint64)
        cells = seeds
        # The inputs of a cell are consecutive in the list, so each cell is one segment of it.
        ends, first = np.unique(cell, return_index=True)
        before = 0
        while True:
            for _ in range(_ROUNDS):
                cells = seeds.copy()
                cells[ends] += np.add.reduceat(_mixed(classes[bit] ^ place), first)
                cells = _mixed(cells)
                classes[out] = _mixed(_mixed(classes[out]) + (cells[by] ^ of_out))
            count = np.unique(classes).size
            if count == before:
                return classes, cells
            before = count


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return sentences about the differences of two netlists of :func:`flattened`; empty if they are the same."""
    bits = _Bits()
    of_old = bits.add(old)
    cells_of_old = len(bits.kinds)
    of_new = bits.add(new)
    shapes = [{name: len(own) for name, own in ports.items()} for ports in (_ports(old), _ports(new))]
    if shapes[0] != shapes[1]:
        unlike = sorted(name for name in shapes[0] | shapes[1] if shapes[0].get(name) != shapes[1].get(name))
        return [f"ports are not the same: {', '.join(unlike[:_MOST])}"]
    classes, cells = bits.refined()
    found = []
    unlike = [name for name in of_old if (classes[of_old[name]] != classes[of_new[name]]).any()]
    if unlike:
        found.append(f"output ports are not the same: {', '.join(unlike[:_MOST])}")
    counts = []
    for part in (slice(None, cells_of_old), slice(cells_of_old, None)):
        own = Counter(zip(bits.kinds[part], cells[part].tolist(), strict=True))
        counts.append(Counter({key: 1 if _GATE.match(key[0]) else count for key, count in own.items()}))
    for more, name in ((counts[0] - counts[1], "OLD"), (counts[1] - counts[0], "NEW")):
        kinds: Counter[str] = Counter()
        for (kind, _), count in more.items():
            kinds[kind] += count
        if kinds:
            found.append(f"only in {name}: " + ", ".join(f"{n:,} {kind}" for kind, n in kinds.most_common(_MOST)))
    return found


def _ports(module: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the bits of the ports of a module, by direction and name."""
    return {f"{port['direction']} {name}": port["bits"] for name, port in module["ports"].items()}


def main(argv: list[str] | None = None) -> int:
    """Compare two designs and print their differences; returns the exit code."""
    summary, *_, codes = (__doc__ or "").split("\n\n")
    parser = argparse.ArgumentParser(
        prog="python -m beltline.constraints.same_netlist", description=summary, epilog=codes, allow_abbrev=False
    )
    parser.add_argument("old", metavar="OLD", type=Path, help="Verilog file, or directory of Verilog files")
    parser.add_argument("new", metavar="NEW", type=Path, help="Verilog file, or directory of Verilog files")
    parser.add_argument("--top", required=True, metavar="NAME", help="the module to compare")
    parser.add_argument("--box", metavar="NAME", action="append", default=[], help="module that remains an instance")
    given = parser.parse_args(argv)
    try:
        sources = [read(source) for source in (given.old, given.new)]
    except OSError as error:
        parser.exit(2, f"same_netlist: {error}\n")
    try:
        with reporting(None) as progress:
            old, new = (flattened(files, given.top, given.box, progress) for files in sources)
    except SimulationError as error:
        parser.exit(1, f"same_netlist: {error}\n")
    found = differences(old, new)
    for sentence in found:
        print(f"{given.top}: {sentence}")
    if not found:
        kinds = Counter(cell["type"] for cell in new["cells"].values())
        registers = sum(count for kind, count in kinds.items() if "DFF" in kind)
        print(f"{given.top}: the same, {sum(kinds.values()):,} cells, {registers:,} of them flip-flops")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
