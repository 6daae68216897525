"""A substitute for Vivado, which has the commands that the scripts use and no others, and checks their arguments.

It keeps the block design as a graph, and refuses what Vivado would: an option, property, IP, pin or board that is not
in the tables below; a pin with two drivers; buses of different kinds; two slaves at one address. Each table names the
public file that its rows were read from. It computes nothing: results of runs are what the test sets.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

STUB = Path(__file__).with_name("vivado_stub.tcl")

NAMED = ("files", "runs", "nets", "pins", "pblocks", "cells", "bd_cells", "bd_pins", "bd_intf_pins", "bd_addr_spaces")
"""What ``get_NAME`` finds by its name."""

GETTERS = [f"get_{what}" for what in (*NAMED, "bd_addr_segs", "bd_intf_ports", "bd_ports")]

COMMANDS: dict[str, tuple[str, str, int, int]] = {
    # Flags, options with a value, and how many other arguments. UG835, "Vivado Design Suite Tcl Command Reference".
    "add_cells_to_pblock": ("-quiet", "", 2, 2),
    "add_files": ("-norecurse -quiet", "-fileset", 1, 1),
    "apply_bd_automation": ("-quiet", "-rule -config", 1, 1),
    "assign_bd_address": ("-force -quiet", "-offset -range -target_address_space", 1, 1),
    "connect_bd_intf_net": ("-quiet", "-intf_net", 2, 2),
    "connect_bd_net": ("-quiet", "-net", 2, 99),
    "create_bd_cell": ("-quiet", "-type -vlnv -reference", 1, 1),
    "create_bd_intf_port": ("-quiet", "-mode -vlnv", 1, 1),
    "create_bd_port": ("-quiet", "-dir -type -from -to", 1, 1),
    "create_project": ("-force -quiet", "-part", 2, 2),
    "generate_target": ("-force -quiet", "", 2, 2),
    "get_board_parts": ("-quiet -latest_file_version", "", 0, 1),
    "get_property": ("-quiet", "", 2, 2),
    "get_timing_paths": ("-setup -hold -quiet", "-max_paths", 0, 0),
    "launch_runs": ("-quiet", "-jobs -to_step", 1, 1),
    "make_wrapper": ("-top -import -force -quiet", "-files", 0, 0),
    "report_timing_summary": ("-quiet", "-delay_type -max_paths -file", 0, 0),
    "report_utilization": ("-hierarchical -quiet", "-cells -file", 0, 0),
    "resize_pblock": ("-quiet", "-add -remove", 1, 1),
    "set_false_path": ("-quiet", "-from -to", 0, 0),
    "set_msg_config": ("-quiet", "-id -string -new_severity", 0, 0),
    "set_property": ("-quiet", "-dict", 1, 999),
    "update_compile_order": ("-quiet", "-fileset", 0, 0),
    "wait_on_run": ("-quiet", "-timeout", 1, 1),
    "write_bitstream": ("-force -quiet", "", 1, 1),
    **dict.fromkeys(("create_bd_design", "create_pblock", "open_run", "open_checkpoint"), ("-quiet", "", 1, 1)),
    **dict.fromkeys(GETTERS, ("-quiet", "", 1, 1)),
    **dict.fromkeys(
        ("current_fileset", "current_project", "save_bd_design", "validate_bd_design"), ("-quiet", "", 0, 0)
    ),
    **dict.fromkeys(("report_drc", "report_route_status"), ("-quiet", "-file", 0, 0)),
}

PARTS = {
    # XilinxBoardStore, boards/TUL/pynq-z2/A.0/board.xml and boards/Digilent/arty-z7-20/A.0/board.xml
    "xc7z020clg400-1",
    # boards/Xilinx/zcu104/1.1/board.xml
    "xczu7ev-ffvc1156-2-e",
    # boards/Xilinx/kv260_som/1.4/board.xml
    "xck26-sfvc784-2LV-c",
    # boards/Xilinx/au250/1.3/board.xml at commit 5f19190f
    "xcu250-figd2104-2L-e",
}

BOARD_PARTS = {
    # Vendor, name and version of the board.xml just named.
    "xilinx.com:zcu104:part0:1.1": "xczu7ev-ffvc1156-2-e",
    "xilinx.com:kv260_som:part0:1.4": "xck26-sfvc784-2LV-c",
    # Beside it in the store; its carrier is another.
    "xilinx.com:kv260_som:part0:2.0": "xck26-sfvc784-2LV-c",
}

SHELL_REGIONS = "X0Y8:X7Y11 X0Y4:X3Y7 X5Y1:X5Y7 X0Y0:X3Y3 X4Y0:X7Y0 X4Y3:X4Y3 X6Y1:X6Y1 X4Y6:X4Y7 X4Y4:X4Y4"
"""Whole clock regions of ``pblock_CL``: aws-fpga, release 2.0.2,
hdk/common/shell_stable/build/constraints/small_shell_level_1_fp_cl.xdc."""

SHELL_NETS = {"WRAPPER/IO_SHIM/MMCM_CLK_HBM_REF/inst/clk_out1"}
"""Nets of the shell's clocks, from mmcm_cascade.xdc beside that file."""

CONNECTIONS = {
    # kria-base-hardware, k26_starter_kits/kv260/scripts/main.tcl
    "som240_1_connector xilinx.com:kv260_carrier:som240_1_connector:1.3",
}

REFERENCES = {
    # PSU__PSS_REF_CLK__FREQMHZ of preset.xml and preset_s4.xml beside them: Hz of the processor's crystal.
    "xilinx.com:zcu104:part0:1.1": 33_333_333,
    "xilinx.com:kv260_som:part0:1.4": 33_333_000,
}

MESSAGES = {
    # UG835 has no list; these are in logs and scripts on GitHub, with what they say.
    "Synth 8-327": "inferring latch for variable",
    "Synth 8-3352": "multi-driven net",
    "Synth 8-5559": "multi-driven net",
    "Synth 8-6858": "multi-driven net is connected to at least one constant driver",
    "Synth 8-6859": "multi-driven net on pin",
    "Common 17-55": "'set_property' expects at least one object",
}

STRATEGIES = {"Performance_ExplorePostRoutePhysOpt"}
"""UG904, "Vivado Implementation", appendix on strategies."""


@dataclass(frozen=True)
class Ip:
    """Interface of an IP: pins, buses, properties and address spaces.

    ``pins`` are ``name: direction``, where the direction ends with ``c`` for a clock, ``r`` for a reset and ``n`` for
    another pin that must be connected; ``buses`` are ``name: (mode, kind, pin of its clock)``; ``properties`` are
    patterns of values by patterns of names.
    """

    pins: dict[str, str] = field(default_factory=dict)
    buses: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    spaces: tuple[str, ...] = ()


BOOLEAN, NUMBER = r"0|1", r"-?\d+(\.\d+)?"

IPS: dict[str, Ip] = {
    # Pins and buses: github.com/Xilinx/PYNQ, boards/Pynq-Z2/base/base.tcl and petalinux_bsp/hardware_project/pynqz2.tcl
    "xilinx.com:ip:processing_system7": Ip(
        pins={"FCLK_CLK0": "O", "FCLK_RESET0_N": "O", "M_AXI_GP0_ACLK": "Ic", "IRQ_F2P": "In"},
        buses={
            "M_AXI_GP0": ("master", "aximm", "M_AXI_GP0_ACLK"),
            "DDR": ("master", "ddrx", ""),
            "FIXED_IO": ("master", "fixedio", ""),
        },
        properties={r"PCW_\w+": r"[\w .:()/-]+"},
        spaces=("Data",),
    ),
    # Pins and buses: boards/ZCU104/base/base.tcl there; properties: the same, and kria-base-hardware,
    # k26_starter_kits/kv260/scripts/config_bd.tcl
    "xilinx.com:ip:zynq_ultra_ps_e": Ip(
        pins={
            "pl_clk0": "O",
            "pl_resetn0": "O",
            "maxihpm0_fpd_aclk": "Ic",
            "pl_ps_irq0": "In",
            "emio_ttc0_wave_o": "O",
        },
        buses={"M_AXI_HPM0_FPD": ("master", "aximm", "maxihpm0_fpd_aclk")},
        properties={
            "PSU__USE__M_AXI_GP0": BOOLEAN,
            "PSU__USE__M_AXI_GP1": BOOLEAN,
            "PSU__USE__M_AXI_GP2": BOOLEAN,
            "PSU__MAXIGP0__DATA_WIDTH": "32|64|128",
            "PSU__USE__IRQ0": BOOLEAN,
            "PSU__USE__FABRIC__RST": BOOLEAN,
            "PSU__FPGA_PL0_ENABLE": BOOLEAN,
            "PSU__FPGA_PL1_ENABLE": BOOLEAN,
            "PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ": NUMBER,
            "PSU__TTC0__WAVEOUT__ENABLE": BOOLEAN,
            "PSU__TTC0__WAVEOUT__IO": "EMIO",
        },
        spaces=("Data",),
    ),
    # PYNQ, boards/Pynq-Z2/base/base.tcl
    "xilinx.com:ip:proc_sys_reset": Ip(
        pins={
            "slowest_sync_clk": "Ic",
            "ext_reset_in": "Ir",
            "aux_reset_in": "I",
            "dcm_locked": "I",
            "interconnect_aresetn": "O",
            "peripheral_aresetn": "O",
        }
    ),
    # PYNQ, boards/ZCU104/base/base.tcl, and so for what it is called in address maps
    "xilinx.com:ip:axi_intc": Ip(
        pins={"s_axi_aclk": "Ic", "s_axi_aresetn": "Ir", "intr": "In", "irq": "O"},
        buses={"s_axi": ("slave", "aximm", "s_axi_aclk")},
        properties={"C_IRQ_CONNECTION": BOOLEAN},
    ),
    # PG247, "SmartConnect"
    "xilinx.com:ip:smartconnect": Ip(
        pins={"aclk": "Ic", "aresetn": "Ir"},
        properties={"NUM_SI": r"[1-9]\d?", "NUM_MI": r"[1-9]\d?", "NUM_CLKS": "[12]"},
    ),
    # PG065, "Clocking Wizard"; PYNQ, boards/Pynq-Z2/base/base.tcl has most of the properties
    "xilinx.com:ip:clk_wiz": Ip(
        pins={"clk_in1": "Ic", "resetn": "Ir", "clk_out1": "O", "locked": "O"},
        properties={
            "PRIM_SOURCE": "No_buffer|Global_buffer",
            "PRIM_IN_FREQ": NUMBER,
            "CLKOUT1_REQUESTED_OUT_FREQ": NUMBER,
            "RESET_TYPE": "ACTIVE_LOW",
            "RESET_PORT": "resetn",
        },
    ),
    # UG974, "XPM_CDC_SINGLE"; the IP has its ports
    "xilinx.com:ip:xpm_cdc_gen": Ip(
        pins={"src_clk": "Ic", "src_in": "In", "dest_clk": "Ic", "dest_out": "O"},
        properties={"CDC_TYPE": "xpm_cdc_single"},
    ),
    # kria-base-hardware, k26_starter_kits/kv260/scripts/config_bd.tcl
    "xilinx.com:ip:xlslice": Ip(
        pins={"Din": "I", "Dout": "O"},
        properties={"DIN_WIDTH": r"\d+", "DIN_FROM": r"\d+", "DIN_TO": r"\d+", "DOUT_WIDTH": r"\d+"},
    ),
    # github.com/firesim/firesim, platforms/xilinx_alveo_u250/cl_firesim/scripts/bd_lib/2022.1/create_bd_instances.tcl,
    # create_bd_interface_connections.tcl and create_bd_port_connections.tcl, for this and for the next
    "xilinx.com:ip:util_ds_buf": Ip(
        pins={"IBUF_OUT": "O", "IBUF_DS_ODIV2": "O"},
        buses={"CLK_IN_D": ("slave", "diff_clock", "")},
        properties={"C_BUF_TYPE": "IBUFDSGTE"},
    ),
    # Also: github.com/fpgasystems/Coyote, the block design of its static layer for U250 (512_bit, 250, the bypass
    # bus and its properties), and the board store's au250/1.3/preset.xml at commit 5f19190f (mode_selection,
    # en_gt_selection, select_quad and the link's)
    "xilinx.com:ip:xdma": Ip(
        pins={
            "sys_clk": "Ic",
            "sys_clk_gt": "Ic",
            "sys_rst_n": "Ir",
            "usr_irq_req": "In",
            "axi_aclk": "O",
            "axi_aresetn": "O",
        },
        buses={
            "pcie_mgt": ("master", "pcie_7x_mgt", ""),
            "M_AXI": ("master", "aximm", "axi_aclk"),
            "M_AXI_LITE": ("master", "aximm", "axi_aclk"),
            "M_AXI_BYPASS": ("master", "aximm", "axi_aclk"),
        },
        properties={
            "functional_mode": "DMA",
            "mode_selection": "Basic|Advanced",
            "en_gt_selection": "true|false",
            "select_quad": r"GTY_Quad_22[4-7]",
            "pl_link_cap_max_link_speed": r"(2\.5|5\.0|8\.0|16\.0)_GT/s",
            "pl_link_cap_max_link_width": "X(1|2|4|8|16)",
            "axi_data_width": "(64|128|256|512)_bit",
            "axisten_freq": "62.5|125|250",
            "xdma_axi_intf_mm": "AXI_Memory_Mapped|AXI_Stream",
            "xdma_rnum_chnl": "[1-4]",
            "xdma_wnum_chnl": "[1-4]",
            "xdma_num_usr_irq": r"[1-9]|1[0-6]",
            "axilite_master_en": "true|false",
            "axilite_master_scale": "Kilobytes|Megabytes|Gigabytes",
            "axilite_master_size": "1|2|4|8|16|32|64|128|256|512",
            "pciebar2axibar_axil_master": "0x[0-9A-F]{8,16}",
            "axist_bypass_en": "true|false",
            "axist_bypass_scale": "Kilobytes|Megabytes|Gigabytes",
            "axist_bypass_size": "1|2|4|8|16|32|64|128|256|512",
            "axi_bypass_64bit_en": "true|false",
            "axi_bypass_prefetchable": "true|false",
            "pciebar2axibar_axist_bypass": "0x[0-9A-F]{8,16}",
            "pf0_msix_cap_table_bir": "BAR_[0-5]",
            "pf0_msix_cap_pba_bir": "BAR_[0-5]",
            "cfg_mgmt_if": "true|false",
        },
        spaces=("M_AXI", "M_AXI_LITE", "M_AXI_BYPASS"),
    ),
}

INTERFACES = {
    # pynqz2.tcl and firesim's create_bd_interfaces.tcl, as above
    "xilinx.com:interface:ddrx_rtl:1.0": "ddrx",
    "xilinx.com:display_processing_system7:fixedio_rtl:1.0": "fixedio",
    "xilinx.com:interface:pcie_7x_mgt_rtl:1.0": "pcie_7x_mgt",
    "xilinx.com:interface:diff_clock_rtl:1.0": "diff_clock",
}

CLOCKS = {
    "ps/FCLK_CLK0": "PCW_FPGA0_PERIPHERAL_FREQMHZ",
    "ps/pl_clk0": "PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ",
    "xdma/axi_aclk": "axisten_freq",
    "clock/clk_out1": "CLKOUT1_REQUESTED_OUT_FREQ",
}
"""Clocks that IPs make, and the property that requests one."""

RULES = {"xilinx.com:bd_rule:zynq_ultra_ps_e": 'apply_board_preset "1"'}
"""kria-base-hardware, k26_starter_kits/kv260/scripts/config_bd.tcl"""

APERTURES = {
    # UG585 "System-Level Address Map", UG1085 "Top-Level System Address Map": what a bus of the processor reaches.
    "xilinx.com:ip:processing_system7": (0x4000_0000, 0x8000_0000),
    "xilinx.com:ip:zynq_ultra_ps_e": (0xA000_0000, 0xB000_0000),
    "xilinx.com:ip:xdma": (0, 2**64),
}


class Refused(Exception):
    """A command or value that Vivado would refuse."""


def clock_regions(ranges: Sequence[str]) -> set[tuple[int, int]]:
    """Return column and row of each clock region in ranges such as ``X0Y4:X3Y7``."""
    found = set()
    for text in ranges:
        left, low, right, high = (int(number) for number in re.findall(r"\d+", text))
        found |= {(x, y) for x in range(left, right + 1) for y in range(low, high + 1)}
    return found


def wrapper_ip(verilog: str) -> tuple[str, Ip]:
    """Return name and interface of a module, from its attributes."""
    name = re.search(r"^module (\w+)", verilog, re.M)
    assert name is not None
    pins: dict[str, str] = {}
    buses: dict[str, tuple[str, str, str]] = {}
    signals: dict[str, set[str]] = {}
    clock, clocked = "", ""
    pattern = (
        r'\(\* X_INTERFACE_INFO = "xilinx\.com:(signal|interface):(\w+):1\.0 (\w+) (\w+)" \*\)\s*'
        r'(?:\(\* X_INTERFACE_PARAMETER = "XIL_INTERFACENAME (\w+), ([^"]*)" \*\)\s*)?'
        r"(input|output) (?:\[\d+:0\] )?(\w+)"
    )
    for kind, what, bus, signal, named, properties, direction, port in re.findall(pattern, verilog):
        assert named in ("", bus)
        if kind == "signal":
            letter = {"clock": "c", "reset": "r", "interrupt": ""}[what]
            pins[port] = ("I" if direction == "input" else "O") + letter
            if what == "clock":
                clock, clocked = port, properties
            continue
        assert what == "aximm"
        assert port == f"{bus}_{signal.lower()}"
        signals.setdefault(bus, set()).add(signal)
    # AXI's required signals, Arm IHI 0022.
    for bus, found in signals.items():
        assert found >= {f"{c}{s}" for c in ("AW", "W", "B", "AR", "R") for s in ("VALID", "READY")}
        assert bus in clocked.split("ASSOCIATED_BUSIF ")[1].split(",")[0].split(":")
        buses[bus] = ("slave", "aximm", clock)
    assert clocked.endswith("ASSOCIATED_RESET aresetn")
    return name[1], Ip(pins=pins, buses=buses)


@dataclass
class Vivado:
    """The model: a project, its block design, and what the test wants of runs."""

    directory: Path
    results: dict[str, dict[str, str]] = field(default_factory=dict)
    """Properties of runs other than those of success."""
    slacks: dict[str, str] = field(default_factory=lambda: {"setup": "0.125", "hold": "0.010"})
    boards: dict[str, str] = field(default_factory=lambda: dict(BOARD_PARTS))
    part: str = ""
    board: str = ""
    top: str = ""
    sources: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    cells: dict[str, str] = field(default_factory=dict)
    """IP, or module, of each cell."""
    modules: dict[str, Ip] = field(default_factory=dict)
    properties: dict[str, dict[str, str]] = field(default_factory=dict)
    ports: dict[str, str] = field(default_factory=dict)
    """Direction, or kind of bus, of each port of the block design."""
    drivers: dict[str, str] = field(default_factory=dict)
    """Driver of each connected input."""
    buses: dict[str, str] = field(default_factory=dict)
    """Master of each connected slave, and slave of each master."""
    addresses: list[tuple[str, str, int, int]] = field(default_factory=list)
    """Space, segment, offset, and bytes."""
    done: list[str] = field(default_factory=list)
    """Names of commands that change the project's state, in order."""
    written: list[str] = field(default_factory=list)
    opened: bool = False
    said: str = ""
    """Text of the log of each run, in which ``@HERE@`` stands for the directory."""
    logic: set[str] = field(default_factory=set)
    """Cells and pins of AWS F2's custom logic."""
    excepted: list[str] = field(default_factory=list)
    """Ends of paths that are excluded from timing."""
    blocks: dict[str, set[tuple[int, int]]] = field(
        default_factory=lambda: {"pblock_CL": clock_regions(SHELL_REGIONS.split())}
    )
    """Clock regions of each pblock."""
    placed: dict[str, str] = field(default_factory=dict)
    """Pblock of each cell that has one."""
    fatal: dict[str, str] = field(default_factory=dict)
    """Messages that are errors here, and the text that one has to contain."""

    commands: ClassVar[dict[str, tuple[str, str, int, int]]] = COMMANDS
    """Commands that are accepted, as :data:`COMMANDS`."""

    def call(self, command: str, *arguments: str) -> str:
        flags, options, least, most = self.commands[command]
        given: dict[str, str] = {}
        rest = list(arguments)
        others: list[str] = []
        while rest:
            word = rest.pop(0)
            if re.match(r"-[a-z]", word) and not (command == "set_property" and others):
                if word in flags.split():
                    given[word] = "1"
                elif word in options.split():
                    if not rest:
                        raise Refused(f"{command}: {word} lacks its value")
                    given[word] = rest.pop(0)
                    if word == "-dict":
                        others += rest
                        rest = []
                else:
                    raise Refused(f"{command}: unknown option {word}")
            else:
                others.append(word)
        if not least <= len(others) <= most:
            raise Refused(f"{command}: {len(others)} arguments: {others}")
        self.done.append(command)
        if command.removeprefix("get_") in NAMED:
            return self._get(command, others[0])
        handler: Callable[..., str | None] = getattr(self, f"_{command}")
        return handler(given, *others) or ""

    def _get(self, command: str, name: str) -> str:
        """Return a name that exists; the part after the slash of a cell's pin, bus or address space."""
        cell, _, part = name.partition("/")
        if command in ("get_bd_pins", "get_bd_intf_pins", "get_bd_addr_spaces"):
            self._known(cell, set(self.cells), "cell")
            ip = self._ip(cell)
            parts = {"get_bd_pins": ip.pins, "get_bd_intf_pins": ip.buses, "get_bd_addr_spaces": ip.spaces}
            self._known(part, set(parts[command]), f"{command} of {cell}")
            return name
        names = {
            "get_files": {"system.bd"},
            "get_runs": {"synth_1", "impl_1"},
            "get_nets": SHELL_NETS,
            "get_pins": self.logic,
            "get_pblocks": set(self.blocks),
            "get_bd_cells": set(self.cells),
            # build_level_1_cl.tcl of the HDK
            "get_cells": {"WRAPPER/CL"} | {f"WRAPPER/CL/{cell}" for cell in self.logic},
        }
        self._known(name, names[command], command)
        return name

    # Project

    def _create_project(self, given: dict[str, str], name: str, directory: str) -> None:
        self._known(given["-part"], PARTS, "part")
        self.part = given["-part"]
        self.project, self.place = name, self.directory / directory

    def _get_board_parts(self, given: dict[str, str], pattern: str) -> str:
        return " ".join(name for name in self.boards if fnmatch.fnmatchcase(name, pattern))

    def _current_project(self, given: dict[str, str]) -> str:
        if not self.part:
            raise Refused("there is no project")
        return "project"

    def _current_fileset(self, given: dict[str, str]) -> str:
        return "fileset"

    def _add_files(self, given: dict[str, str], names: str) -> None:
        for name in names.split():
            if not (self.directory / name).is_file():
                raise Refused(f"there is no file {name}")
        (self.constraints if given.get("-fileset") == "constrs_1" else self.sources).extend(names.split())

    def _update_compile_order(self, given: dict[str, str]) -> None:
        self._known(given["-fileset"], {"sources_1"}, "fileset")

    def _set_property(self, given: dict[str, str], *arguments: str) -> None:
        if "-dict" in given:
            size = int(given["-dict"])
            pairs, objects = arguments[:size], arguments[size:]
        else:
            pairs, objects = arguments[:2], arguments[2:]
        if len(objects) != 1 or not objects[0]:
            raise Refused(f"set_property: no object for {pairs}")
        for name, value in zip(pairs[::2], pairs[1::2], strict=True):
            self._set(objects[0], name, value)

    def _set(self, thing: str, name: str, value: str) -> None:
        if thing == "project" and name == "board_part":
            self._known(value, set(self.boards), "board_part")
            if self.boards[value] != self.part:
                raise Refused(f"board {value} has no part {self.part}")
            self.board = value
        elif thing == "project" and name == "board_connections":
            self._known(value, CONNECTIONS, "board_connections")
        elif thing == "fileset" and name == "top":
            self._known(value, {"system_wrapper"}, "top")
            self.top = value
        elif thing in self.blocks and name == "PARENT":
            if not self.blocks[thing] <= self.blocks[value]:
                raise Refused(f"{thing} is not within {value}")
        elif thing in self.blocks and name == "IS_SOFT":
            self._known(value, {"0", "1"}, name)
        elif thing in SHELL_NETS and name == "CLOCK_DEDICATED_ROUTE":
            self._known(value, {"ANY_CMT_COLUMN"}, name)
        elif thing == "impl_1" and name == "strategy":
            self._known(value, STRATEGIES, "strategy")
        elif thing in self.ports and name in ("CONFIG.FREQ_HZ", "CONFIG.POLARITY"):
            self._known(value, {"100000000"} if name.endswith("HZ") else {"ACTIVE_LOW", "ACTIVE_HIGH"}, name)
        elif thing in self.cells and name.startswith("CONFIG."):
            short = name.removeprefix("CONFIG.")
            values = [value for name, value in self._ip(thing).properties.items() if re.fullmatch(name, short)]
            if not (values and re.fullmatch(values[0], value)):
                raise Refused(f"{thing}: {short} cannot be {value!r}")
            self.properties.setdefault(thing, {})[short] = value
        else:
            raise Refused(f"{thing!r} has no property {name}")
        self.properties.setdefault(thing, {})[name.removeprefix("CONFIG.")] = value

    # Block design

    def _create_bd_design(self, given: dict[str, str], name: str) -> None:
        self._known(name, {"system"}, "block design")
        for file in self.sources:
            text = (self.directory / file).read_text()
            if "X_INTERFACE_INFO" in text:
                module, ip = wrapper_ip(text)
                self.modules[module] = ip

    def _create_bd_cell(self, given: dict[str, str], name: str) -> str:
        if name in self.cells:
            raise Refused(f"there is a cell {name} already")
        if given["-type"] == "ip":
            self._known(given["-vlnv"], set(IPS), "IP")
            self.cells[name] = given["-vlnv"]
        elif given["-type"] == "module":
            self._known(given["-reference"], set(self.modules), "module")
            self.cells[name] = given["-reference"]
        else:
            raise Refused(f"type of a cell: {given['-type']}")
        return name

    def _ip(self, cell: str) -> Ip:
        what = self.cells[cell]
        if what in self.modules:
            return self.modules[what]
        ip = IPS[what]
        if what.endswith(":smartconnect"):
            numbers = self.properties.get(cell, {})
            buses = {f"S{n:02}_AXI": ("slave", "aximm", "aclk") for n in range(int(numbers.get("NUM_SI", 1)))}
            buses |= {f"M{n:02}_AXI": ("master", "aximm", "aclk") for n in range(int(numbers.get("NUM_MI", 1)))}
            pins = ip.pins | ({"aclk1": "Ic"} if numbers.get("NUM_CLKS") == "2" else {})
            return Ip(pins=pins, buses=buses, properties=ip.properties)
        return ip

    def _apply_bd_automation(self, given: dict[str, str], cell: str) -> None:
        self._known(given["-rule"], set(RULES), "rule")
        self._known(given["-config"].strip(), {RULES[given["-rule"]]}, "configuration")
        self._known(cell, set(self.cells), "cell")
        if not self.board:
            raise Refused("no board was chosen, and so there is no preset")
        self.properties.setdefault(cell, {})["preset"] = self.board

    def _create_bd_port(self, given: dict[str, str], name: str) -> str:
        self._known(given["-dir"], {"I", "O"}, "direction")
        self._known(given.get("-type", "rst"), {"rst", "clk"}, "type")
        self.ports[name] = given["-dir"]
        return name

    def _create_bd_intf_port(self, given: dict[str, str], name: str) -> str:
        self._known(given["-mode"], {"Master", "Slave"}, "mode")
        self._known(given["-vlnv"], set(INTERFACES), "interface")
        self.ports[name] = f"{given['-mode'].lower()} {INTERFACES[given['-vlnv']]}"
        return name

    def _get_bd_ports(self, given: dict[str, str], name: str) -> str:
        self._known(name, {port for port, kind in self.ports.items() if kind in "IO"}, "port")
        return f"/{name}"

    def _get_bd_intf_ports(self, given: dict[str, str], name: str) -> str:
        self._known(name, {port for port, kind in self.ports.items() if kind not in "IO"}, "bus port")
        return f"/{name}"

    def _drives(self, name: str) -> bool:
        if name.startswith("/"):
            return self.ports[name[1:]] == "I"
        cell, _, pin = name.partition("/")
        return self._ip(cell).pins[pin].startswith("O")

    def _connect_bd_net(self, given: dict[str, str], *pins: str) -> None:
        sources = [pin for pin in pins if self._drives(pin)]
        if len(sources) != 1:
            raise Refused(f"a net needs one driver: {pins}")
        for pin in pins:
            if pin == sources[0]:
                continue
            if pin in self.drivers:
                raise Refused(f"{pin} is driven by {self.drivers[pin]} already")
            self.drivers[pin] = sources[0]

    def _connect_bd_intf_net(self, given: dict[str, str], first: str, second: str) -> None:
        kinds, masters = [], []
        for name in (first, second):
            if name in self.buses:
                raise Refused(f"{name} is connected already")
            if name.startswith("/"):
                mode, kind = self.ports[name[1:]].split()
                # Seen from inside, a master port is a slave.
                masters.append(mode == "slave")
            else:
                cell, _, bus = name.partition("/")
                mode, kind, _ = self._ip(cell).buses[bus]
                masters.append(mode == "master")
            kinds.append(kind)
        if kinds[0] != kinds[1] or masters[0] == masters[1]:
            raise Refused(f"{first} and {second} do not fit: {kinds}, masters {masters}")
        self.buses[first], self.buses[second] = second, first

    def _get_bd_addr_segs(self, given: dict[str, str], name: str) -> str:
        cell, bus, segment = name.split("/")
        self._known(cell, set(self.cells), "cell")
        if self.cells[cell] in self.modules:
            self._known(segment, {"reg0"}, "segment of a module")
        else:
            self._known(f"{bus}/{segment}", {"S_AXI/Reg"}, "segment of the controller of interrupts")
            bus = bus.lower()
        self._get("get_bd_intf_pins", f"{cell}/{bus}")
        return f"{cell}/{bus}/{segment}"

    def _assign_bd_address(self, given: dict[str, str], segment: str) -> None:
        space = given["-target_address_space"]
        offset, size = int(given["-offset"], 0), int(given["-range"], 0)
        if size < 4096 or size & (size - 1) or offset % size:
            raise Refused(f"{segment}: {size} bytes at 0x{offset:X}")
        if segment.rpartition("/")[0] not in self.reached(space):
            raise Refused(f"{space} does not reach {segment}")
        low, high = APERTURES[self.cells[space.partition("/")[0]]]
        if not low <= offset <= offset + size <= high:
            raise Refused(f"{segment} lies outside what {space} reaches")
        for other, _, at, more in self.addresses:
            if other == space and offset < at + more and at < offset + size:
                raise Refused(f"{segment} overlaps in {space}")
        self.addresses.append((space, segment, offset, size))

    def reached(self, space: str) -> set[str]:
        """Return the slaves that a master's address space reaches, through any crossbar."""
        cell, _, name = space.partition("/")
        starts = [f"{cell}/{bus}" for bus, (_, kind, _) in self._ip(cell).buses.items() if kind == "aximm"]
        if name != "Data":
            starts = [space]
        found: set[str] = set()
        while starts:
            end = self.buses.get(starts.pop())
            if end is None:
                continue
            behind = end.partition("/")[0]
            if self.cells[behind].endswith(":smartconnect"):
                starts += [
                    f"{behind}/{bus}" for bus, (mode, _, _) in self._ip(behind).buses.items() if mode == "master"
                ]
            else:
                found.add(end)
        return found

    def _validate_bd_design(self, given: dict[str, str]) -> None:
        for cell in self.cells:
            for pin, kind in self._ip(cell).pins.items():
                if kind[1:] and f"{cell}/{pin}" not in self.drivers:
                    raise Refused(f"{cell}/{pin} is not connected")
            for bus in self._ip(cell).buses:
                if f"{cell}/{bus}" not in self.buses:
                    raise Refused(f"bus {cell}/{bus} is not connected")
        for port, kind in self.ports.items():
            if f"/{port}" not in (self.drivers if kind == "O" else {*self.drivers.values(), *self.buses}):
                raise Refused(f"port {port} is not connected")
        for name, end in self.buses.items():
            if not name.startswith("/") and not end.startswith("/") and not self.clocks(name) & self.clocks(end):
                raise Refused(f"{name} and {end} have different clocks")
        for cell in self.cells:
            for space in self._ip(cell).spaces:
                mapped = {
                    segment.rpartition("/")[0] for other, segment, *_ in self.addresses if other == f"{cell}/{space}"
                }
                if missing := self.reached(f"{cell}/{space}") - mapped:
                    raise Refused(f"{missing} have no address in {cell}/{space}")

    def clocks(self, bus: str) -> set[str]:
        """Return the drivers of the clock of a bus; for a crossbar, those of all its clocks, of which it uses that of
        the other end.
        """
        cell, _, name = bus.partition("/")
        pins = [f"{cell}/{self._ip(cell).buses[name][2]}"]
        if "aclk1" in self._ip(cell).pins:
            pins.append(f"{cell}/aclk1")
        return {self.drivers.get(pin, pin) for pin in pins}

    def _save_bd_design(self, given: dict[str, str]) -> None:
        if [command for command in self.done if not command.startswith("get_")][-2] != "validate_bd_design":
            raise Refused("the block design is saved before it is valid")

    def _generate_target(self, given: dict[str, str], what: str, file: str) -> None:
        self._known(what, {"all"}, "target")
        handoff = self.place / f"{self.project}.gen/sources_1/bd/system/hw_handoff/system.hwh"
        handoff.parent.mkdir(parents=True, exist_ok=True)
        handoff.write_text("handoff")

    def _make_wrapper(self, given: dict[str, str]) -> None:
        if not {"-top", "-import"} <= set(given):
            raise Refused("the wrapper is not added to the project")

    # Runs

    def _launch_runs(self, given: dict[str, str], name: str) -> None:
        self._get("get_runs", name)
        if self.top != "system_wrapper":
            raise Refused("nothing is the top")
        if name == "impl_1" and "launch_runs synth_1" not in self.written:
            raise Refused("impl_1 before synth_1")
        self.written.append(f"launch_runs {name}")
        log = self.place / f"{self.project}.runs" / name / "runme.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        said = self.said.replace("@HERE@", str(self.directory))
        log.write_text(said)
        for line in said.splitlines():
            if any(f"[{message}]" in line and text in line for message, text in self.fatal.items()):
                self.results[name] = {"PROGRESS": "50%", "STATUS": "synth_design ERROR"}

    def _wait_on_run(self, given: dict[str, str], name: str) -> None:
        self._get("get_runs", name)

    def _open_run(self, given: dict[str, str], name: str) -> None:
        self._known(name, {"impl_1"}, "run")
        self.opened = True

    def _get_property(self, given: dict[str, str], name: str, thing: str) -> str:
        if thing in self.slacks and name == "SLACK":
            return self.slacks[thing]
        if thing in ("synth_1", "impl_1"):
            good = {"PROGRESS": "100%", "STATUS": "write_bitstream Complete!"}
            self._known(name, set(good), "property of a run")
            return self.results.get(thing, good)[name]
        if name == "CONFIG.FREQ_HZ" and thing in CLOCKS:
            return str(self.hertz(thing))
        raise Refused(f"{thing!r} has no property {name}")

    def hertz(self, pin: str) -> int:
        """Return the frequency of a clock that an IP makes: the nearest that its PLL can make, as on the IP's page in
        Vivado.
        """
        properties = self.properties[pin.partition("/")[0]]
        if CLOCKS[pin] == "axisten_freq":
            return round(float(properties[CLOCKS[pin]]) * 1e6)
        if pin == "clock/clk_out1":
            source = self.drivers["clock/clk_in1"]
            if self.hertz(source) != round(float(properties["PRIM_IN_FREQ"]) * 1e6):
                raise Refused(f"clock/clk_in1 has {self.hertz(source)} Hz")
            return self._mmcm(self.hertz(source), float(properties[CLOCKS[pin]]) * 1e6)
        # UG585 and UG1085: the IO PLL at 20 times the crystal of a PYNQ-Z2, or at 45 times; then two dividers.
        pll = 50_000_000 * 20 if CLOCKS[pin].startswith("PCW") else REFERENCES[self.board] * 45
        wanted = float(properties[CLOCKS[pin]]) * 1e6
        divisors = {a * b for a in range(1, 64) for b in range(1, 64)}
        return round(min((pll / divisor for divisor in divisors), key=lambda got: abs(got - wanted)))

    @staticmethod
    def _mmcm(source: int, wanted: float) -> int:
        """Return the nearest frequency that an MMCM of UltraScale+ can make, with 800 to 1,600 MHz inside it (UG572,
        DS923).
        """
        best = 0.0
        for multiplier in range(16, 1025):
            inner = source * multiplier / 8
            if 800e6 <= inner <= 1600e6:
                divider = min(1024, max(16, round(8 * inner / wanted)))
                best = min(best, 8 * inner / divider, key=lambda got: abs(got - wanted))
        return round(best)

    def _set_msg_config(self, given: dict[str, str]) -> None:
        if not self.part:
            raise Refused("there is no project, and so nothing that would keep the rule")
        self._known(given["-id"], set(MESSAGES), "message")
        self._known(given["-new_severity"], {"ERROR"}, "severity")
        texts = given.get("-string", "")
        if not re.fullmatch(r"\S+|\{.+\}", texts):
            raise Refused(f"{texts!r} is no list of one text")
        self.fatal[given["-id"]] = texts.strip("{}")

    def _open_checkpoint(self, given: dict[str, str], name: str) -> None:
        if not (self.directory / name).is_file():
            raise Refused(f"there is no checkpoint {name}")
        self.opened = True

    def _set_false_path(self, given: dict[str, str]) -> None:
        self.excepted.append(given["-to"])

    def _create_pblock(self, given: dict[str, str], name: str) -> str:
        if name in self.blocks:
            raise Refused(f"there is a pblock {name} already")
        self.blocks[name] = set()
        return name

    def _resize_pblock(self, given: dict[str, str], name: str) -> None:
        self._get("get_pblocks", name)
        ranges = given["-add"].split()
        for text in ranges:
            if not re.fullmatch(r"CLOCKREGION_X\dY\d+:CLOCKREGION_X\dY\d+", text):
                raise Refused(f"{text} is no range of clock regions")
        self.blocks[name] |= clock_regions(ranges)

    def _add_cells_to_pblock(self, given: dict[str, str], name: str, cell: str) -> None:
        self._get("get_pblocks", name)
        if cell in self.placed:
            raise Refused(f"{cell} is in {self.placed[cell]} already")
        self.placed[cell] = name

    def _get_timing_paths(self, given: dict[str, str]) -> str:
        if not self.opened:
            raise Refused("no design is open")
        check = "setup" if "-setup" in given else "hold"
        return check if self.slacks[check] else ""

    def _report(self, given: dict[str, str]) -> None:
        if not self.opened:
            raise Refused("no design is open")
        (self.directory / given["-file"]).write_text("report")

    _report_timing_summary = _report_utilization = _report_drc = _report_route_status = _report

    def _write_bitstream(self, given: dict[str, str], name: str) -> None:
        if not self.opened:
            raise Refused("no design is open")
        (self.directory / name).write_text("bitstream")

    @staticmethod
    def _known(name: str, names: set[str], what: str) -> None:
        if name not in names:
            raise Refused(f"unknown {what}: {name!r}")


@dataclass(frozen=True)
class Ran:
    """How a script ended: its exit code and its output."""

    code: int
    said: str


def run(vivado: Vivado, script: Path, arguments: Sequence[str] = ()) -> Ran:
    """Run a script as ``vivado -mode batch -source script -tclargs arguments`` would."""
    import tkinter

    tcl: Any = tkinter.Tcl()
    said: list[str] = []
    codes: list[int] = []

    def ask(*words: object) -> tuple[int, str]:
        command, *given = (str(word) for word in words)
        try:
            return 1, vivado.call(command, *given)
        except Refused as error:
            return 0, str(error)

    tcl.createcommand("ask", ask)
    tcl.createcommand("noticed", lambda text: said.append(str(text)))
    tcl.eval("rename puts say")
    tcl.eval("proc puts args {if {[string match file* [lindex $args 0]]} {say {*}$args} {noticed [lindex $args end]}}")
    tcl.createcommand("noted", lambda code: codes.append(int(code)))
    tcl.eval("proc call args {lassign [ask {*}$args] good text; if {!$good} {error $text}; return $text}")
    # The interpreter lives in this process, which must not end: the scripts leave outside of any catch.
    tcl.eval("proc exit {{code 0}} {noted $code; error left}")
    tcl.setvar("commands", " ".join(vivado.commands))
    tcl.setvar("argv", " ".join(arguments))
    tcl.eval(STUB.read_text())
    before = Path.cwd()
    try:
        tcl.eval(f"catch {{source {{{script}}}}}")
    finally:
        os.chdir(before)
    return Ran(codes[0] if codes else 1, "".join(f"{line}\n" for line in said))
