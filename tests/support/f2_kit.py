"""The shell of AWS F2 as a custom logic sees it: stand-ins for files of the HDK, which is not part of this project.

Names, directions and widths of the ports are facts of ``hdk/common/shell_stable/design/interfaces/cl_ports.vh``, those
of the IP's ports of ``hdk/common/ip/cl_ip``, and what the templates drive of ``unused_*_template.inc`` next to the
former: github.com/aws/aws-fpga, branch f2, release 2.0.2.
"""

from __future__ import annotations

import re

PORTS: dict[tuple[str, int], str] = {
    ("input", 1): """
        clk_main_a0 rst_main_n clk_hbm_ref sh_cl_flr_assert sh_cl_pcim_awready sh_cl_pcim_wready
        sh_cl_pcim_bvalid sh_cl_pcim_arready sh_cl_pcim_rlast sh_cl_pcim_rvalid CLK_DIMM_DP CLK_DIMM_DN
        sh_cl_ddr_stat_wr sh_cl_ddr_stat_rd sh_cl_dma_pcis_awlock sh_cl_dma_pcis_awvalid
        sh_cl_dma_pcis_wlast sh_cl_dma_pcis_wvalid sh_cl_dma_pcis_bready sh_cl_dma_pcis_arlock
        sh_cl_dma_pcis_arvalid sh_cl_dma_pcis_rready ocl_cl_awvalid ocl_cl_wvalid ocl_cl_bready
        ocl_cl_arvalid ocl_cl_rready sda_cl_awvalid sda_cl_wvalid sda_cl_bready sda_cl_arvalid sda_cl_rready
        drck shift tdi update sel tms tck runtest reset capture bscanid_en hbm_apb_preset_n_1
        hbm_apb_preset_n_0 PCIE_EP_PERSTN PCIE_EP_REF_CLK_P PCIE_EP_REF_CLK_N PCIE_RP_REF_CLK_P
        PCIE_RP_REF_CLK_N
    """,
    ("output", 1): """
        cl_sh_flr_done cl_sh_dma_wr_full cl_sh_dma_rd_full cl_sh_pcim_awlock cl_sh_pcim_awvalid
        cl_sh_pcim_wlast cl_sh_pcim_wvalid cl_sh_pcim_bready cl_sh_pcim_arlock cl_sh_pcim_arvalid
        cl_sh_pcim_rready M_ACT_N M_PAR RST_DIMM_N cl_sh_ddr_stat_ack cl_sh_dma_pcis_awready
        cl_sh_dma_pcis_wready cl_sh_dma_pcis_bvalid cl_sh_dma_pcis_arready cl_sh_dma_pcis_rlast
        cl_sh_dma_pcis_rvalid cl_ocl_awready cl_ocl_wready cl_ocl_bvalid cl_ocl_arready cl_ocl_rvalid
        cl_sda_awready cl_sda_wready cl_sda_bvalid cl_sda_arready cl_sda_rvalid tdo hbm_apb_psel_1
        hbm_apb_penable_1 hbm_apb_pwrite_1 hbm_apb_pready_1 hbm_apb_pslverr_1 hbm_apb_psel_0
        hbm_apb_penable_0 hbm_apb_pwrite_0 hbm_apb_pready_0 hbm_apb_pslverr_0 PCIE_RP_PERSTN
    """,
    ("output", 32): """
        cl_sh_status0 cl_sh_status1 cl_sh_status2 cl_sh_id0 cl_sh_id1 cl_sh_ddr_stat_rdata cl_ocl_rdata
        cl_sda_rdata hbm_apb_pwdata_1 hbm_apb_prdata_1 hbm_apb_pwdata_0 hbm_apb_prdata_0
    """,
    ("input", 32): """
        sh_cl_ctl0 sh_cl_ctl1 sh_cl_ctl2 sh_cl_ddr_stat_wdata ocl_cl_awaddr ocl_cl_wdata ocl_cl_araddr
        sda_cl_awaddr sda_cl_wdata sda_cl_araddr
    """,
    ("input", 16): """
        sh_cl_status_vdip sh_cl_pcim_bid sh_cl_pcim_rid sh_cl_apppf_irq_ack sh_cl_dma_pcis_awid
        sh_cl_dma_pcis_wid sh_cl_dma_pcis_arid
    """,
    ("output", 16): """
        cl_sh_status_vled cl_sh_pcim_awid cl_sh_pcim_wid cl_sh_pcim_arid cl_sh_apppf_irq_req
        cl_sh_dma_pcis_bid cl_sh_dma_pcis_rid
    """,
    ("input", 2): """
        sh_cl_pwr_state sh_cl_pcim_bresp sh_cl_pcim_rresp cfg_max_payload sh_cl_dma_pcis_awburst
        sh_cl_dma_pcis_arburst
    """,
    ("output", 64): """
        cl_sh_pcim_awaddr cl_sh_pcim_wstrb cl_sh_pcim_wuser cl_sh_pcim_araddr cl_sh_dma_pcis_ruser
    """,
    ("output", 8): """
        cl_sh_pcim_awlen cl_sh_pcim_arlen cl_sh_ddr_stat_int PCIE_EP_TXP PCIE_EP_TXN PCIE_RP_TXP PCIE_RP_TXN
    """,
    ("output", 3): """
        cl_sh_pcim_awsize cl_sh_pcim_awprot cl_sh_pcim_arsize cl_sh_pcim_arprot hbm_apb_pprot_1
        hbm_apb_pprot_0
    """,
    ("output", 2): """
        cl_sh_pcim_awburst cl_sh_pcim_arburst M_BA M_BG M_CKE M_ODT M_CS_N M_CLK_DN M_CLK_DP
        cl_sh_dma_pcis_bresp cl_sh_dma_pcis_rresp cl_ocl_bresp cl_ocl_rresp cl_sda_bresp cl_sda_rresp
    """,
    ("output", 4): """
        cl_sh_pcim_awcache cl_sh_pcim_awqos cl_sh_pcim_arcache cl_sh_pcim_arqos hbm_apb_pstrb_1
        hbm_apb_pstrb_0
    """,
    ("output", 55): """
        cl_sh_pcim_awuser cl_sh_pcim_aruser
    """,
    ("output", 512): """
        cl_sh_pcim_wdata cl_sh_dma_pcis_rdata
    """,
    ("input", 512): """
        sh_cl_pcim_rdata sh_cl_dma_pcis_wdata
    """,
    ("input", 64): """
        sh_cl_pcim_ruser sh_cl_dma_pcis_awaddr sh_cl_dma_pcis_wstrb sh_cl_dma_pcis_wuser
        sh_cl_dma_pcis_araddr sh_cl_glcount0 sh_cl_glcount1
    """,
    ("input", 3): """
        cfg_max_read_req sh_cl_ddr_stat_user sh_cl_dma_pcis_awsize sh_cl_dma_pcis_awprot
        sh_cl_dma_pcis_arsize sh_cl_dma_pcis_arprot
    """,
    ("output", 18): """
        M_MA
    """,
    ("inout", 64): """
        M_DQ
    """,
    ("inout", 8): """
        M_ECC
    """,
    ("inout", 18): """
        M_DQS_DP M_DQS_DN
    """,
    ("input", 8): """
        sh_cl_ddr_stat_addr sh_cl_dma_pcis_awlen sh_cl_dma_pcis_arlen PCIE_EP_RXP PCIE_EP_RXN PCIE_RP_RXP
        PCIE_RP_RXN
    """,
    ("input", 4): """
        sh_cl_dma_pcis_awcache sh_cl_dma_pcis_awqos sh_cl_dma_pcis_arcache sh_cl_dma_pcis_arqos ocl_cl_wstrb
        sda_cl_wstrb
    """,
    ("input", 55): """
        sh_cl_dma_pcis_awuser sh_cl_dma_pcis_aruser ocl_cl_awuser ocl_cl_aruser
    """,
    ("output", 22): """
        hbm_apb_paddr_1 hbm_apb_paddr_0
    """,
}
"""Names of the ports, by direction and width."""

TEMPLATES = {
    "unused_apppf_irq_template.inc": "cl_sh_apppf_irq_req",
    "unused_cl_sda_template.inc": "cl_sda_awready cl_sda_wready cl_sda_bvalid cl_sda_bresp cl_sda_arready "
    "cl_sda_rvalid cl_sda_rdata cl_sda_rresp",
    "unused_pcim_template.inc": "cl_sh_pcim_awid cl_sh_pcim_awaddr cl_sh_pcim_awlen cl_sh_pcim_awsize "
    "cl_sh_pcim_awuser cl_sh_pcim_awvalid cl_sh_pcim_wdata cl_sh_pcim_wstrb cl_sh_pcim_wlast cl_sh_pcim_wvalid "
    "cl_sh_pcim_bready "
    "cl_sh_pcim_arid cl_sh_pcim_araddr cl_sh_pcim_arlen cl_sh_pcim_arsize cl_sh_pcim_aruser cl_sh_pcim_arvalid "
    "cl_sh_pcim_rready",
    "unused_ddr_template.inc": "cl_sh_ddr_stat_ack cl_sh_ddr_stat_rdata cl_sh_ddr_stat_int",
}
"""Outputs that each template drives."""

MEMORY = "M_ACT_N M_MA M_BA M_BG M_CKE M_ODT M_CS_N M_CLK_DN M_CLK_DP M_PAR M_DQ M_ECC M_DQS_DP M_DQS_DN RST_DIMM_N"
"""Ports that the HDK's ``sh_ddr``, which the template instances, drives; it also takes ``rst_main_n_sync``."""

ADDRESS = {"addr": 0, "len": 8, "size": 3, "burst": 2, "lock": 1, "cache": 4, "prot": 3, "region": 4, "qos": 4}


def ports() -> dict[str, tuple[str, int]]:
    """Return direction and width of each port."""
    return {name: kind for kind, names in PORTS.items() for name in names.split()}


def _channels(light: bool, user: int = 0) -> dict[str, dict[str, int]]:
    """Return the signals of a bus and their bits, by channel, without valid and ready; ``user`` is the number of user
    bits of the address channels.
    """
    address = {"addr": 32, "prot": 3} if light else {"id": 16, **ADDRESS, "addr": 64}
    if user:
        address["user"] = user
    data = 32 if light else 512
    return {
        "aw": address,
        "w": {"data": data, "strb": data // 8} | ({} if light else {"last": 1}),
        "b": ({} if light else {"id": 16}) | {"resp": 2},
        "ar": address,
        "r": ({} if light else {"id": 16}) | {"data": data, "resp": 2} | ({} if light else {"last": 1}),
    }


def _declared(channels: dict[str, dict[str, int]], clocks: tuple[str, ...]) -> list[str]:
    """Return the ports between a master and a slave; ``clocks`` are the prefixes of the clocks and resets."""
    declared = [f"input {prefix}{pin}" for prefix in clocks for pin in ("aclk", "aresetn")]
    for channel, signals in channels.items():
        for signal, width in {**signals, "valid": 1, "ready": 1}.items():
            to_slave = (channel in "br") == (signal == "ready")
            ways = ("input", "output") if to_slave else ("output", "input")
            declared += [
                f"{way} [{width - 1}:0] {side}_axi_{channel}{signal}" for side, way in zip("sm", ways, strict=True)
            ]
    return declared


def between(name: str, light: bool, clocks: tuple[str, ...], user: int = 0) -> str:
    """Return module ``name`` between a master and a slave, AXI4-Lite if ``light``, which consists of wires only.

    ``clocks`` are the prefixes of its clocks and resets, ``user`` the bits of the address channels' ``user``.
    """
    channels = _channels(light, user)
    wires = []
    for channel, signals in channels.items():
        for signal in (*signals, "valid", "ready"):
            ends = ("m", "s") if (channel in "br") == (signal == "ready") else ("s", "m")
            wires.append(f"assign {ends[0]}_axi_{channel}{signal} = {ends[1]}_axi_{channel}{signal};")
    return f"module {name}({', '.join(_declared(channels, clocks))});\n" + "\n".join(wires) + "\nendmodule\n"


_REGISTERED = """\
module registered_channel #(parameter WIDTH = 1) (
    input clk, input reset_n,
    input [WIDTH-1:0] in, input in_valid, output in_ready,
    output [WIDTH-1:0] out, output out_valid, input out_ready
);
    reg [WIDTH-1:0] first, second;
    reg [1:0] held;
    // Nothing is taken during a reset.
    assign in_ready = reset_n && held != 2;
    assign out_valid = held != 0;
    assign out = first;
    wire put = in_valid && in_ready, take = out_valid && out_ready;
    always @(posedge clk) begin
        if (!reset_n) held <= 0;
        else held <= held + {1'b0, put} - {1'b0, take};
        if (take || held == 0) first <= held == 2 ? second : in;
        if (put) second <= in;
    end
endmodule
"""


def registered(name: str, light: bool, clocks: tuple[str, ...] = ("",), user: int = 0) -> str:
    """Do the same as :func:`between`, with registers: a queue of two transfers in every channel, like a full register
    slice.

    All of ``clocks`` are treated as one clock. No transfer is accepted before the last of the resets has ended.
    """
    channels = _channels(light, user)
    resets = " && ".join(f"{prefix}aresetn" for prefix in clocks)
    queues = []
    for channel, signals in channels.items():
        source, target = (f"{side}_axi_{channel}" for side in ("ms" if channel in "br" else "sm"))
        packed = {side: ", ".join(f"{side}{signal}" for signal in signals) for side in (source, target)}
        queues.append(
            f"registered_channel #(.WIDTH({sum(signals.values())})) {channel} (\n"
            f"    .clk({clocks[0]}aclk), .reset_n({resets}),\n"
            f"    .in({{{packed[source]}}}), .in_valid({source}valid), .in_ready({source}ready),\n"
            f"    .out({{{packed[target]}}}), .out_valid({target}valid), .out_ready({target}ready)\n);"
        )
    return f"module {name}({', '.join(_declared(channels, clocks))});\n" + "\n".join(queues) + "\nendmodule\n"


SHELL = "f2_shell"
"""Module around the custom logic whose ports are those of the machine itself."""


def shell() -> str:
    """Return the Verilog of module ``f2_shell``, which contains the custom logic ``cl_beltline``. Its ports OCL and
    PCIS have the names of the machine's buses for registers and tables; all other inputs are 0.
    """
    buses = {"registers": ("ocl_cl_", "cl_ocl_", True), "tables": ("sh_cl_dma_pcis_", "cl_sh_dma_pcis_", False)}
    declared, tied = ["input clk", "input rst", "output interrupt"], {}
    for bus, (inward, outward, light) in buses.items():
        for channel, signals in _channels(light).items():
            for signal, width in {**signals, "valid": 1, "ready": 1}.items():
                into = (channel in "br") == (signal == "ready")
                port = f"{inward if into else outward}{channel}{signal}"
                if port in ports():
                    way = "input" if into else "output"
                    declared.append(f"{way} [{width - 1}:0] s_axi_{bus}_{channel}{signal}")
                    tied[port] = f"s_axi_{bus}_{channel}{signal}"
    tied |= {"clk_main_a0": "clk", "clk_hbm_ref": "clk", "rst_main_n": "!rst"}
    others = {name: "'0" for name, (way, _) in ports().items() if way == "input" and name not in tied}
    connections = ", ".join(f".{name}({value})" for name, value in (tied | others).items())
    return (
        f"module {SHELL}({', '.join(declared)});\nassign interrupt = 1'b0;\n"
        f"cl_beltline logic_of_user ({connections});\nendmodule\n"
    )


def simulated(files: dict[str, str]) -> dict[str, str]:
    """Return the custom logic of a board's directory for the simulated board, with module ``f2_shell`` as the top.

    Every include is expanded, slices and clock converters have registers, and all clocks are the same. ``files`` is
    ``{path: text}`` of the directory.
    """
    named = {path.rpartition("/")[2]: text for path, text in files.items() if path.endswith((".v", ".sv", ".vh"))}
    named |= kit_files() | {
        "axi_register_slice.v": registered("axi_register_slice", False),
        "axi_register_slice_light.v": registered("axi_register_slice_light", True),
        "cl_axi_clock_converter.v": registered("cl_axi_clock_converter", False, ("s_axi_", "m_axi_"), 19),
        "cl_axi_clock_converter_light.v": registered("cl_axi_clock_converter_light", True, ("s_axi_", "m_axi_")),
        "registered_channel.v": _REGISTERED,
    }

    def included(match: re.Match[str]) -> str:
        return expanded(named[match[1]])

    def expanded(text: str) -> str:
        return re.sub(r'^\s*`include "([^"]+)"', included, text, flags=re.M)

    sources = {name: expanded(text) for name, text in named.items() if name.endswith((".v", ".sv"))}
    return sources | {f"{SHELL}.sv": shell()}


def primitives() -> dict[str, str]:
    """Return substitutes for Vivado's own modules of a clock, by file, with the ports and parameters of UG974."""
    outputs = [*(f"CLKOUT{n}{b}" for n in range(4) for b in ("", "B")), *(f"CLKOUT{n}" for n in (4, 5, 6))]
    parameters = {"CLKIN1_PERIOD": "0.0", "CLKFBOUT_MULT_F": "5.0", "DIVCLK_DIVIDE": "1", "CLKOUT0_DIVIDE_F": "1.0"}
    declared = ", ".join(f"parameter {name} = {value}" for name, value in parameters.items())
    ports = [f"output {name}" for name in [*outputs, "CLKFBOUT", "CLKFBOUTB", "LOCKED"]]
    ports += [f"input {name}" for name in ("CLKIN1", "CLKFBIN", "PWRDWN", "RST")]
    wires = "".join(f"assign {name} = CLKIN1;\n" for name in [*outputs, "CLKFBOUT", "CLKFBOUTB"])
    return {
        "MMCME4_BASE.v": f"module MMCME4_BASE #({declared}) ({', '.join(ports)});\n"
        f"{wires}assign LOCKED = ~RST;\nendmodule\n",
        "BUFG.v": "module BUFG(input I, output O);\nassign O = I;\nendmodule\n",
    }


def kit_files() -> dict[str, str]:
    """Return substitutes for the HDK's files, by name."""
    made = {
        "cl_ports.vh": ",\n".join(
            f"{way} {'wire' if way == 'inout' else 'logic'} [{width - 1}:0] {name}"
            for name, (way, width) in ports().items()
        )
        + "\n",
        "axi_register_slice.v": between("axi_register_slice", False, ("",)),
        "axi_register_slice_light.v": between("axi_register_slice_light", True, ("",)),
        "cl_axi_clock_converter.v": between("cl_axi_clock_converter", False, ("s_axi_", "m_axi_"), 19),
        "cl_axi_clock_converter_light.v": between("cl_axi_clock_converter_light", True, ("s_axi_", "m_axi_")),
        **primitives(),
    }
    for name, driven in TEMPLATES.items():
        made[name] = "".join(f"assign {port} = '0;\n" for port in driven.split())
    pins = [(name, *ports()[name]) for name in MEMORY.split()]
    declared = ", ".join(f"{way} [{width - 1}:0] {name}" for name, way, width in pins)
    driven = "".join(f"assign {name} = {width}'b{'0' if way == 'output' else 'z'};\n" for name, way, width in pins)
    made["sh_ddr.sv"] = f"module sh_ddr(input clk, input rst_n, {declared});\n{driven}endmodule\n"
    connections = ", ".join(f".{name}({name})" for name, *_ in pins)
    made["unused_ddr_template.inc"] += f"sh_ddr SH_DDR(.clk(clk_main_a0), .rst_n(rst_main_n_sync), {connections});\n"
    return made
