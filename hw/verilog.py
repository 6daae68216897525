"""Verilog of a build."""

from __future__ import annotations

import hashlib

from amaranth.back import verilog
from amaranth.hdl import Value
from amaranth.lib import wiring

from . import axi_machine, evaluator, machine, ram
from .parameters import MachineParameters


def shared_modules() -> dict[str, str]:
    """The modules that others instance: the evaluator and the RAM, ``{file name: text}``."""
    unit = evaluator.Evaluator(evaluator.EvaluatorParameters())
    return {
        f"{evaluator.MODULE}.v": convert(unit, evaluator.MODULE),
        f"{ram.MODULE}.v": ram.VERILOG,
    }


def convert(component: wiring.Component, name: str) -> str:
    """One component as Verilog, its module called ``name``. Needs a Yosys, see Amaranth's documentation.

    A bus's signals are called as tools know them, ``s_axi_tables_awaddr``: with one underscore.
    """
    # Without a direction: what the component drives is an output.
    ports = {"_".join(path): (Value.cast(value), None) for path, _, value in component.signature.flatten(component)}
    text: str = verilog.convert(component, name=name, ports=ports, emit_src=False)
    return text


def generate(parameters: MachineParameters) -> dict[str, str]:
    """The machine's Verilog, ``{file name: text}``; the top module is ``beltline``.

    The build hash, which the registers report, is the SHA-256 of all other files, cut to 64 bits.
    """
    files = shared_modules()
    files[f"{axi_machine.MODULE}.v"] = convert(axi_machine.AxiMachine(parameters), axi_machine.MODULE)
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{files[name]}\0".encode())
    files[f"{machine.BUILD_MODULE}.v"] = (
        f"module {machine.BUILD_MODULE}(output [63:0] hash);\n"
        f"    assign hash = 64'h{digest.hexdigest()[:16]};\n"
        "endmodule\n"
    )
    return files
