"""Analysis of a synthesised netlist: its area, and its longest logic path.

The netlist is a flattened design from Yosys's ``write_json``, mapped to the cells of UltraScale+, 7-series or ECP5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

Bit = int | str
"""A net, or a constant ``0``, ``1``, ``x``, ``z``."""

_LUT = re.compile(r"LUT(\d)$")
_LUTRAM = {
    "RAM32M": 4,
    "RAM64M": 4,
    "RAM32M16": 8,
    "RAM64M8": 8,
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM128X1D": 4,
    "RAM256X1D": 8,
    "RAM512X1S": 8,
    "TRELLIS_DPR16X4": 6,
}
"""Numbers of LUTs of a RAM that is made of them; on ECP5 including those of the slice that writes it."""

_FLIP_FLOPS = {"FDRE", "FDSE", "FDCE", "FDPE", "TRELLIS_FF"}
_SHIFT_REGISTERS = {"SRL16E", "SRLC32E"}
_MULTIPLIERS = {"DSP48E1", "DSP48E2", "MULT18X18D"}
_BLOCK_RAMS = {"RAMB18E1": 1, "RAMB18E2": 1, "RAMB36E1": 2, "RAMB36E2": 2, "DP16KD": 1, "PDPW16KD": 1}
"""RAM cells, with their numbers of blocks of 18 kbit."""

_MUXES = {"MUXF7", "MUXF8", "MUXF9", "PFUMX", "L6MUX21"}


_PAIR_INPUTS = 5
"""Largest number of inputs of two functions together that share a LUT with two outputs."""

_NEAR = 40
"""Signals with more users than this are ignored when functions that share inputs are paired: it saves time."""


class NetlistError(ValueError):
    """A netlist has an unknown cell or a combinational loop."""


@dataclass(frozen=True)
class Area:
    """Numbers of cells of a netlist.

    Parameters
    ----------
    lut
        LUTs of 6 inputs (of 4 on ECP5), including those used as RAM or shift register, and on ECP5 including the two of
        every carry cell. A LUT with fewer inputs counts as one.
    lutram
        LUTs that are used as RAM or shift register.
    ff
        Flip-flops.
    carry
        Carry cells: ``CARRY4`` of 4 bits, ``CCU2C`` of 2.
    dsp
        Multipliers.
    bram18
        Blocks of RAM of 18 kbit; one of 36 kbit counts twice.
    uram
        UltraRAMs.
    """

    lut: int = 0
    lutram: int = 0
    ff: int = 0
    carry: int = 0
    dsp: int = 0
    bram18: int = 0
    uram: int = 0

    def __add__(self, other: Area) -> Area:
        return Area(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __mul__(self, count: int) -> Area:
        return Area(*(getattr(self, f.name) * count for f in fields(self)))


@dataclass(frozen=True)
class Path:
    """Lengths of the longest logic paths.

    Parameters
    ----------
    levels
        Largest number of LUTs on a path between two registers.
    carry
        Largest number of carry cells on a path between two registers, which may be another path.
    into, out_of
        Largest number of LUTs from an input port to a register, and from a register to an output port.
    begins, ends
        Names of the registers or ports at the ends of a path with ``levels`` LUTs.
    """

    levels: int
    carry: int
    into: int
    out_of: int
    begins: str = ""
    ends: str = ""


@dataclass
class Netlist:
    """The netlist of one module.

    Parameters
    ----------
    module
        The module, in the format of Yosys's JSON.
    boxes
        Modules that are instantiated but not part of the netlist, with the paths to and from their registers.
    """

    module: dict[str, Any]
    boxes: dict[str, Path] = field(default_factory=dict)

    def instances(self, module: str) -> int:
        """Return the number of instances of a module."""
        return sum(cell["type"] == module for cell in self.module["cells"].values())

    def area(self) -> Area:
        """Count the cells; instances of ``boxes`` do not count.

        Raises
        ------
        NetlistError
            A cell is unknown.
        """
        count = dict.fromkeys((f.name for f in fields(Area)), 0)
        for cell in self.module["cells"].values():
            kind = cell["type"]
            if kind in self.boxes or kind in _MUXES or kind == "$scopeinfo":
                continue
            if _LUT.match(kind) or kind == "INV":
                count["lut"] += 1
            elif kind in _LUTRAM or kind in _SHIFT_REGISTERS:
                luts = _LUTRAM.get(kind, 1)
                count["lut"] += luts
                count["lutram"] += luts
            elif kind in _FLIP_FLOPS:
                count["ff"] += 1
            elif kind in ("CARRY4", "CARRY8"):
                count["carry"] += 1 if kind == "CARRY4" else 2
            elif kind == "CCU2C":
                count["carry"] += 1
                count["lut"] += 2
            elif kind in _MULTIPLIERS:
                count["dsp"] += 1
            elif kind in _BLOCK_RAMS:
                count["bram18"] += _BLOCK_RAMS[kind]
            elif kind == "URAM288":
                count["uram"] += 1
            else:
                raise NetlistError(f"cell {kind} is unknown: add it to {__name__}")
        return Area(**count)

    def sites(self) -> int:
        """Return the number of LUTs of six inputs if pairs of functions with at most five inputs together share one.

        A function is paired with the one that shares most of its inputs, and at least one. Tools of the vendor may find
        more pairs.
        """
        functions: list[frozenset[Bit]] = []
        others = 0
        for cell in self.module["cells"].values():
            if _LUT.match(cell["type"]):
                bits = (bit for port, word in cell["connections"].items() if port != "O" for bit in word)
                functions.append(frozenset(bit for bit in bits if not isinstance(bit, str)))
            elif cell["type"] in _LUTRAM or cell["type"] in _SHIFT_REGISTERS:
                others += _LUTRAM.get(cell["type"], 1)
        users: dict[Bit, set[int]] = {}
        for number, inputs in enumerate(functions):
            for bit in inputs:
                users.setdefault(bit, set()).add(number)
        paired: set[int] = set()
        pairs = 0
        for number in sorted(range(len(functions)), key=lambda k: -len(functions[k])):
            inputs = functions[number]
            if number in paired or len(inputs) > _PAIR_INPUTS:
                continue
            near = {k for bit in inputs if len(users[bit]) <= _NEAR for k in users[bit]} - paired - {number}
            fitting = [k for k in near if len(inputs | functions[k]) <= _PAIR_INPUTS]
            if fitting:
                paired |= {number, max(fitting, key=lambda k: len(inputs & functions[k]))}
                pairs += 1
        return len(functions) - pairs + others

    def path(self) -> Path:
        """Find the longest paths between registers; ports count as registers.

        Registers are flip-flops, shift registers, the write port of a RAM made of LUTs, both ports of a block RAM or
        UltraRAM, and multipliers with registers. Paths go through multipliers without registers, carry chains and the
        multiplexers inside a slice, none of which counts as a level. A LUT counts as a level, as do the LUT before each
        bit of an ECP5 carry cell and the read of a RAM made of LUTs.

        Raises
        ------
        NetlistError
            The netlist has a combinational loop.
        """
        whole = _LongestPaths(self, ports=0, registers=0).run()
        into = _LongestPaths(self, ports=0, registers=None).run()
        out_of = _LongestPaths(self, ports=None, registers=0)
        out_of.run()
        levels, carry, ends, begins = whole
        return Path(levels, carry, max(into[0], 0), out_of.at_outputs(), begins, ends)


@dataclass(frozen=True)
class _Arc:
    """A combinational path through a cell, from bit ``source`` to one of its outputs, with LUTs and carry cells."""

    source: Bit
    levels: int
    carry: int


_NOWHERE = -(1 << 30)


class _LongestPaths:
    """Longest-path search from ports and registers.

    ``ports`` and ``registers`` are the numbers of LUTs with which paths from these begin; None to leave them out.
    """

    def __init__(self, netlist: Netlist, ports: int | None, registers: int | None) -> None:
        self._netlist = netlist
        self._arcs: dict[Bit, list[_Arc]] = {}
        # Ends of paths: the bit, the LUTs after it, and the name of the end, or a bit after which it is named.
        self._ends: list[tuple[Bit, int, str | int]] = []
        # For each bit, the most LUTs and carry cells of a path to it, and the bit where the path with most LUTs begins.
        self._depth: dict[Bit, tuple[int, int, Bit]] = {}
        self._outputs: list[Bit] = []
        self._ports = _NOWHERE if ports is None else ports
        self._registers = _NOWHERE if registers is None else registers

    def _begin(self, bit: Bit, levels: int) -> None:
        """Let paths begin at ``bit``, with ``levels`` LUTs."""
        self._depth[bit] = (levels, 0 if levels >= 0 else _NOWHERE, bit)

    def _prepare(self) -> None:
        """Collect the arcs through cells, and the beginnings and ends of paths."""
        module = self._netlist.module
        for name, port in module["ports"].items():
            for bit in port["bits"]:
                if port["direction"] == "input":
                    self._begin(bit, self._ports)
                else:
                    self._ends.append((bit, 0, f"port {name}"))
                    self._outputs.append(bit)
        for name, cell in module["cells"].items():
            if cell["type"] == "$scopeinfo":
                continue
            inner = self._netlist.boxes.get(cell["type"])
            passed = [] if inner else list(_arcs(cell))
            for target, arc in passed:
                self._arcs.setdefault(target, []).append(arc)
            through = {arc.source for _, arc in passed}
            driven = {target for target, _ in passed}
            # A register is named after its output.
            output_bits = [bit for bit in cell["connections"].get("Q", ()) if isinstance(bit, int)]
            register = cell["type"] in _FLIP_FLOPS | _SHIFT_REGISTERS and output_bits
            for port, bits in cell["connections"].items():
                if cell["port_directions"][port] == "output":
                    for bit in bits:
                        if bit not in driven:
                            self._begin(bit, self._registers + (inner.out_of if inner else 0))
                else:
                    for bit in bits:
                        if bit not in through:
                            end = output_bits[0] if register else f"{cell['type']} {name}.{port}"
                            self._ends.append((bit, inner.into if inner else 0, end))

    def run(self) -> tuple[int, int, str, str]:
        """Return ``(levels, carry, end, begin)`` of the longest path."""
        self._prepare()
        for bit in list(self._arcs):
            self._settle(bit)
        worst: tuple[int, str | int, Bit] = (0, "", "")
        carry = 0
        for bit, more, what in self._ends:
            levels, carries, begin = self._depth.get(bit, (_NOWHERE, _NOWHERE, bit))
            carry = max(carry, carries)
            if levels + more > worst[0]:
                worst = (levels + more, what, begin)
        levels, what, begin = worst
        return levels, carry, self._name(what) if isinstance(what, int) else what, self._name(begin) if begin else ""

    def at_outputs(self) -> int:
        """Return the largest number of LUTs on a path to an output port."""
        return max([0, *(self._depth[bit][0] for bit in self._outputs if bit in self._depth)])

    def _settle(self, bit: Bit) -> None:
        """Compute the depth of ``bit`` after the depths of all bits that it depends on."""
        stack = [bit]
        open_bits: set[Bit] = set()
        while stack:
            top = stack[-1]
            if top in self._depth:
                stack.pop()
                continue
            waiting = [a.source for a in self._arcs.get(top, ()) if a.source in self._arcs]
            waiting = [source for source in waiting if source not in self._depth]
            if waiting:
                if top in open_bits:
                    raise NetlistError(f"the logic of {self._name(top)} has a combinational loop")
                open_bits.add(top)
                stack += waiting
                continue
            levels, carry, begin = _NOWHERE, _NOWHERE, top
            for arc in self._arcs.get(top, ()):
                before = self._depth.get(arc.source)
                if before is None:
                    continue
                carry = max(carry, before[1] + arc.carry)
                if before[0] + arc.levels > levels:
                    levels, begin = before[0] + arc.levels, before[2]
            self._depth[top] = (levels, carry, begin)
            stack.pop()

    def _name(self, wanted: Bit) -> str:
        """Return the shortest name of a bit, if possible one from the Verilog."""
        names = [
            f"{name}[{net['bits'].index(wanted)}]"
            for name, net in self._netlist.module["netnames"].items()
            if wanted in net["bits"]
        ]
        return min(names, key=lambda name: (name.startswith("$"), len(name)), default=str(wanted))


def _arcs(cell: dict[str, Any]) -> Iterator[tuple[Bit, _Arc]]:
    """Return the combinational paths through a cell, as pairs of an output bit and an arc to it."""
    kind = cell["type"]
    wires = cell["connections"]
    inputs = [port for port, way in cell["port_directions"].items() if way == "input"]
    outputs = [port for port, way in cell["port_directions"].items() if way == "output"]

    def every(sources: list[str], targets: list[str], levels: int, carry: int = 0) -> Iterator[tuple[Bit, _Arc]]:
        for source in sources:
            for target in targets:
                for a in wires.get(source, ()):
                    if isinstance(a, int):
                        for b in wires.get(target, ()):
                            yield b, _Arc(a, levels, carry)

    if _LUT.match(kind) or kind == "INV":
        yield from every(inputs, outputs, 1)
    elif kind in _MUXES:
        yield from every(inputs, outputs, 0)
    elif kind in ("CARRY4", "CARRY8"):
        for k in range(len(wires["S"])):
            for source in ("S", "DI", "CI", "CYINIT", "CI_TOP"):
                for at, a in enumerate(wires.get(source, ())):
                    if not isinstance(a, int) or (source in ("S", "DI") and at > k):
                        continue
                    yield wires["CO"][k], _Arc(a, 0, 1)
                    # A sum bit depends on its own S and on the carry from the lower bits.
                    if source == "S" or at < k or source not in ("S", "DI"):
                        yield wires["O"][k], _Arc(a, 0, 1)
    elif kind == "CCU2C":
        own = [f"{letter}0" for letter in "ABCD"]
        yield from every(own, ["S0"], 1, 1)
        yield from every(own, ["S1", "COUT"], 1, 1)
        yield from every([f"{letter}1" for letter in "ABCD"], ["S1", "COUT"], 1, 1)
        yield from every(["CIN"], ["S0", "S1", "COUT"], 0, 1)
    elif kind in _LUTRAM:
        if kind == "TRELLIS_DPR16X4":
            yield from every(["RAD"], ["DO"], 1)
        else:
            for source in inputs:
                if source.startswith("ADDR"):
                    yield from every([source], [f"DO{source[4:]}"], 1)
                elif source.startswith("DPRA"):
                    yield from every([source], ["DPO"], 1)
                elif re.fullmatch(r"A\d*", source):
                    yield from every([source], ["SPO", "O"], 1)
    elif kind in _SHIFT_REGISTERS:
        yield from every([port for port in inputs if re.fullmatch(r"A\d?", port)], ["Q"], 1)
    elif kind == "MULT18X18D":
        if not _clocked(cell, ("REG_PIPELINE_CLK", "REG_OUTPUT_CLK")):
            for port in ("A", "B"):
                if not _clocked(cell, (f"REG_INPUT{port}_CLK",)):
                    yield from every([p for p in inputs if re.fullmatch(rf"{port}\d+", p)], outputs, 0)
    elif kind in _MULTIPLIERS and not _number(cell, "PREG"):
        if not _number(cell, "MREG"):
            for port in ("A", "B", "D"):
                if not _number(cell, f"{port}REG"):
                    yield from every([port], outputs, 0)
        if not _number(cell, "CREG"):
            yield from every(["C"], outputs, 0)
        yield from every(["PCIN", "CARRYCASCIN"], outputs, 0)


def _number(cell: dict[str, Any], name: str) -> int:
    """Return a parameter of a cell; 1 if it is not given, the default of the registers of a DSP48."""
    return int(cell["parameters"].get(name, "1"), 2)


def _clocked(cell: dict[str, Any], names: tuple[str, ...]) -> bool:
    """Return whether one of the registers whose clock parameters are ``names`` is used."""
    return any(cell["parameters"].get(name, "NONE") != "NONE" for name in names)
