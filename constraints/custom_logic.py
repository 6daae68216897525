"""The custom logic of AWS F2, in the form of the HDK's ``CL_TEMPLATE``, with the script that builds it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from beltline.constraints import fabric_clock
from beltline.constraints.boards import Board
from beltline.hw.interface.windows import WindowParameters

CL = "cl_beltline"
"""Name of the custom logic. The HDK requires that its top module and its directory have the same name."""

SIDE = "shell_"
"""Prefix of the names of nets between a register slice and a clock converter."""

OCL: dict[str, dict[str, int]] = {
    "aw": {"addr": 32},
    "w": {"data": 32, "strb": 4},
    "b": {"resp": 2},
    "ar": {"addr": 32},
    "r": {"data": 32, "resp": 2},
}
"""Widths of the signals of the registers' bus that the machine uses, by channel, without valid and ready."""

PCIS: dict[str, dict[str, int]] = {
    "aw": {"id": 16, "addr": 64, "len": 8, "size": 3},
    "w": {"data": 512, "strb": 64, "last": 1},
    "b": {"id": 16, "resp": 2},
    "ar": {"id": 16, "addr": 64, "len": 8, "size": 3},
    "r": {"id": 16, "data": 512, "resp": 2, "last": 1},
}
"""Widths of the signals of the tables' bus that the machine uses, by channel, without valid and ready."""

FIXED: dict[str, dict[str, str]] = {
    "ocl": {"prot": "3'b0"},
    "pcis": {
        "burst": "2'b01",
        "lock": "1'b0",
        "cache": "4'b0",
        "prot": "3'b0",
        "region": "4'b0",
        "qos": "4'b0",
        "user": "19'b0",
    },
}
"""Further inputs of the clock converters' address channels, by bus, with the constants to which they are tied."""

REGIONS: tuple[tuple[str, ...], ...] = (
    ("X0Y0:X3Y3", "X4Y0:X7Y0", "X4Y3:X4Y3", "X5Y1:X5Y3", "X6Y1:X6Y1"),
    ("X0Y4:X3Y7", "X4Y4:X4Y4", "X4Y6:X4Y7", "X5Y4:X5Y7"),
    ("X0Y8:X7Y11",),
)
"""Complete clock regions that the small shell leaves to the custom logic, by super logic region. Source: the HDK's
``hdk/common/shell_stable/build/constraints/small_shell_level_1_fp_cl.xdc``, release 2.0.2."""

REGION_LUTS = (381_000, 328_000, 435_000)
"""LUTs that the small shell leaves to the custom logic in each super logic region, by the same file."""

SHARES = (12, 7, 13)
"""Number of 32 lanes in each super logic region, in proportion to its LUTs, with fewer in the middle one, which has the
shell's buses and the engine's row buses."""


def lanes_of_regions(lanes: int) -> list[range]:
    """Return the numbers of the lanes that are placed in each super logic region."""
    whole = sum(SHARES)
    ends = [lanes * sum(SHARES[:count]) // whole for count in range(len(SHARES) + 1)]
    return [range(first, end) for first, end in pairwise(ends)]


def _template(name: str) -> str:
    """Return the text of a file of this folder."""
    return Path(__file__).with_name(name).read_text(encoding="ascii")


def _nets(bus: str, channels: dict[str, dict[str, int]]) -> list[str]:
    """Return the declarations of the nets between a register slice and a clock converter."""
    lines = []
    for channel, signals in channels.items():
        for signal, width in {**signals, "valid": 1, "ready": 1}.items():
            vector = f"[{width - 1}:0] " if width > 1 else ""
            lines.append(f"    logic {vector}{SIDE}{bus}_{channel}{signal};")
    return lines


def _connections(bus: str, channels: dict[str, dict[str, int]]) -> str:
    """Return the port connections of a clock converter."""
    lines = [
        ".s_axi_aclk(clk_main_a0)",
        ".s_axi_aresetn(reset_n)",
        ".m_axi_aclk(machine_clk)",
        ".m_axi_aresetn(~machine_reset)",
    ]
    for channel, signals in channels.items():
        for signal in (*signals, "valid", "ready"):
            name = f"{channel}{signal}"
            lines += [f".s_axi_{name}({SIDE}{bus}_{name})", f".m_axi_{name}({bus}_{name})"]
        if channel.startswith("a"):
            for signal, value in FIXED[bus].items():
                lines += [f".s_axi_{channel}{signal}({value})", f".m_axi_{channel}{signal}()"]
    return ",\n".join(f"        {line}" for line in lines)


def _clock(mmcm: fabric_clock.Mmcm | None) -> str:
    """Return the Verilog of clock and reset, and of the clock converters of buses if the machine has its own clock."""
    if mmcm is None:
        return (
            "    assign machine_clk = clk_main_a0;\n    always_ff @(posedge machine_clk) machine_reset <= ~reset_n;\n\n"
        )
    filled = {
        "MHZ": fabric_clock.shown(round(mmcm.hertz)),
        "MULTIPLIER": f"{mmcm.multiplier / 8:.3f}",
        "DIVIDER": f"{mmcm.divider / 8:.3f}",
        "OCL": _connections("ocl", OCL),
        "PCIS": _connections("pcis", PCIS),
    }
    text = _template("cl_clock.sv")
    for name, value in filled.items():
        text = text.replace(f"@{name}@", value)
    return text


def _timing(mmcm: fabric_clock.Mmcm | None) -> str:
    """Return the timing constraints in addition to the HDK's."""
    if mmcm is None:
        return "# The only clock is clk_main_a0, which the HDK constrains.\n"
    return (
        "# Vivado derives the machine's clock from clk_hbm_ref, which the HDK constrains. The clock converters have\n"
        "# constraints of the paths between it and clk_main_a0. Only the asynchronous reset needs an exception.\n"
        "set_false_path -to [get_pins {machine_resets_reg[*]/PRE}]\n"
    )


def _placement(board: Board, mmcm: fabric_clock.Mmcm | None) -> str:
    """Return the placement constraints in addition to the HDK's: of the clock, and of the lanes of a sweep engine."""
    lines = []
    if mmcm is not None:
        lines += [
            "# An MMCM of the shell drives this one, which may be in another column. The HDK sets the same property",
            "# for its own clock generator, in hdk/common/shell_stable/build/constraints/mmcm_cascade.xdc.",
            "set_property CLOCK_DEDICATED_ROUTE ANY_CMT_COLUMN "
            "[get_nets WRAPPER/IO_SHIM/MMCM_CLK_HBM_REF/inst/clk_out1]",
        ]
    if board.machine.is_sweep:
        lines += _floorplan(board.machine.lanes, mmcm is not None)
    return "\n".join(lines or ["# Placement is left to Vivado."]) + "\n"


def _floorplan(lanes: int, converters: bool) -> list[str]:
    """Return constraints that place each lane in one super logic region, so that only row buses cross between regions.

    ``converters`` is whether the buses have clock converters.
    """
    lines = [
        "# Lanes by super logic region, in complete clock regions of the small shell's floorplan. The middle region",
        "# has the shell's buses, so the units that connect to them are placed there. Vivado places all other cells.",
    ]
    for number, (regions, own) in enumerate(zip(REGIONS, lanes_of_regions(lanes), strict=True)):
        block = f"pblock_SLR{number}"
        cells = [f"machine/machine/data/lane{lane}" for lane in own]
        if number == 1:
            cells += ["ocl_slice", "pcis_slice", "machine/registers", "machine/tables"]
            cells += ["ocl_converter", "pcis_converter"] if converters else []
        lines += [f"create_pblock {block}"]
        for region in regions:
            ends = ":".join(f"CLOCKREGION_{corner}" for corner in region.split(":"))
            lines += [f"resize_pblock {block} -add {{{ends}}}"]
        lines += [
            f"set_property PARENT pblock_CL [get_pblocks {block}]",
            f"set_property IS_SOFT 1 [get_pblocks {block}]",
            *(f"add_cells_to_pblock {block} [get_cells WRAPPER/CL/{cell}]" for cell in cells),
        ]
    return lines


def custom_logic(board: Board, files: dict[str, str], name: str) -> dict[str, str]:
    """Return the files of the directory from which a board's bitstream is built, ``{path: text}``.

    Parameters
    ----------
    board
        The board.
    files
        Generated Verilog, ``{file name: text}``.
    name
        Name of the build.
    """
    address_bits = WindowParameters(board.machine).address_bits
    mmcm = fabric_clock.mmcm(board)
    top = _template(f"{CL}.sv").replace("@LAST@", str(address_bits - 1))
    nets = [*_nets("ocl", OCL), *_nets("pcis", PCIS)] if mmcm else []
    top = top.replace("@NETS@", "".join(f"{net}\n" for net in nets))
    top = top.replace("@SIDE@", SIDE if mmcm else "").replace("@CLOCK@", _clock(mmcm))
    converters = ("cl_axi_clock_converter", "cl_axi_clock_converter_light") if mmcm else ()
    ips = "".join(f"    ${{HDK_IP_SRC_DIR}}/{ip}/{ip}.xci \\\n" for ip in converters)
    here = {
        f"design/{CL}.sv": top,
        f"design/{CL}_defines.vh": _template(f"{CL}_defines.vh"),
        "design/cl_id_defines.vh": _template("cl_id_defines.vh"),
        "build/constraints/cl_synth_user.xdc": "# No constraints in addition to the HDK's.\n",
        "build/constraints/cl_timing_user.xdc": _timing(mmcm),
        "build/constraints/small_shell_cl_pnr_user.xdc": _placement(board, mmcm),
        f"build/scripts/synth_{CL}.tcl": _template("f2_synth.tcl").replace("@IPS@", ips),
        **{f"design/{file}": text for file, text in files.items()},
    }
    return {
        "build.sh": _template("f2_build.sh").replace("@NAME@", name),
        "report.tcl": _template("f2_report.tcl"),
        **{f"{CL}/{file}": text for file, text in here.items()},
    }
