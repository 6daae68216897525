// The custom logic of AWS F2, small shell: registers on OCL (BAR 0), tables on PCIS (BAR 4). Nothing else is used.
//
// Ports, the templates of unused interfaces and the register slices are those of the HDK (github.com/aws/aws-fpga,
// branch f2, hdk/common/shell_stable/design/interfaces and hdk/common/ip). The shell's buses are on clk_main_a0, 250 MHz,
// the machine on machine_clk.
`include "cl_id_defines.vh"

module cl_beltline (
    `include "cl_ports.vh"
);
    // The reset, and a copy with the name that the HDK's template of unused memory uses.
    logic reset_n_first, reset_n, rst_main_n_sync, machine_clk, machine_reset;
    always_ff @(posedge clk_main_a0) begin
        reset_n_first <= rst_main_n;
        reset_n <= reset_n_first;
    end
    assign rst_main_n_sync = reset_n;

    `include "unused_pcim_template.inc"
    `include "unused_cl_sda_template.inc"
    `include "unused_apppf_irq_template.inc"
    `include "unused_ddr_template.inc"

    assign cl_sh_id0 = `CL_SH_ID0;
    assign cl_sh_id1 = `CL_SH_ID1;
    // A reset of the PCIe function is acknowledged immediately: there is no state to save.
    assign cl_sh_flr_done = 1'b1;
    assign cl_sh_status0 = 32'b0;
    assign cl_sh_status1 = 32'b0;
    assign cl_sh_status2 = 32'b0;
    assign cl_sh_status_vled = 16'b0;
    assign cl_sh_dma_wr_full = 1'b0;
    assign cl_sh_dma_rd_full = 1'b0;
    // Signals of PCIM that the template leaves unconnected.
    assign cl_sh_pcim_awburst = 2'b01;
    assign cl_sh_pcim_awcache = 4'b0;
    assign cl_sh_pcim_awlock = 1'b0;
    assign cl_sh_pcim_awprot = 3'b0;
    assign cl_sh_pcim_awqos = 4'b0;
    assign cl_sh_pcim_wid = 16'b0;
    assign cl_sh_pcim_wuser = 64'b0;
    assign cl_sh_pcim_arburst = 2'b01;
    assign cl_sh_pcim_arcache = 4'b0;
    assign cl_sh_pcim_arlock = 1'b0;
    assign cl_sh_pcim_arprot = 3'b0;
    assign cl_sh_pcim_arqos = 4'b0;
    assign cl_sh_dma_pcis_ruser = 64'b0;
    assign tdo = 1'b0;
    // The monitors of the HBM stacks, and PCIe between cards.
    assign {hbm_apb_paddr_1, hbm_apb_pprot_1, hbm_apb_psel_1, hbm_apb_penable_1, hbm_apb_pwrite_1} = '0;
    assign {hbm_apb_pwdata_1, hbm_apb_pstrb_1, hbm_apb_pready_1, hbm_apb_prdata_1, hbm_apb_pslverr_1} = '0;
    assign {hbm_apb_paddr_0, hbm_apb_pprot_0, hbm_apb_psel_0, hbm_apb_penable_0, hbm_apb_pwrite_0} = '0;
    assign {hbm_apb_pwdata_0, hbm_apb_pstrb_0, hbm_apb_pready_0, hbm_apb_prdata_0, hbm_apb_pslverr_0} = '0;
    assign {PCIE_EP_TXP, PCIE_EP_TXN, PCIE_RP_PERSTN, PCIE_RP_TXP, PCIE_RP_TXN} = '0;

    logic [31:0] ocl_awaddr, ocl_wdata, ocl_araddr, ocl_rdata;
    logic ocl_awvalid, ocl_awready, ocl_wvalid, ocl_wready, ocl_bvalid, ocl_bready, ocl_arvalid, ocl_arready,
        ocl_rvalid, ocl_rready;
    logic [3:0] ocl_wstrb;
    logic [1:0] ocl_bresp, ocl_rresp;
    logic [15:0] pcis_awid, pcis_bid, pcis_arid, pcis_rid;
    logic [63:0] pcis_awaddr, pcis_wstrb, pcis_araddr;
    logic [7:0] pcis_awlen, pcis_arlen;
    logic [2:0] pcis_awsize, pcis_arsize;
    logic [1:0] pcis_bresp, pcis_rresp;
    logic pcis_awvalid, pcis_awready, pcis_wlast, pcis_wvalid, pcis_wready, pcis_bvalid, pcis_bready, pcis_arvalid,
        pcis_arready, pcis_rlast, pcis_rvalid, pcis_rready;
    logic [511:0] pcis_wdata, pcis_rdata;
@NETS@
    axi_register_slice_light ocl_slice (
        .aclk(clk_main_a0),
        .aresetn(reset_n),
        .s_axi_awaddr(ocl_cl_awaddr),
        .m_axi_awaddr(@SIDE@ocl_awaddr),
        .s_axi_awprot(3'b0),
        .m_axi_awprot(),
        .s_axi_awvalid(ocl_cl_awvalid),
        .m_axi_awvalid(@SIDE@ocl_awvalid),
        .s_axi_awready(cl_ocl_awready),
        .m_axi_awready(@SIDE@ocl_awready),
        .s_axi_wdata(ocl_cl_wdata),
        .m_axi_wdata(@SIDE@ocl_wdata),
        .s_axi_wstrb(ocl_cl_wstrb),
        .m_axi_wstrb(@SIDE@ocl_wstrb),
        .s_axi_wvalid(ocl_cl_wvalid),
        .m_axi_wvalid(@SIDE@ocl_wvalid),
        .s_axi_wready(cl_ocl_wready),
        .m_axi_wready(@SIDE@ocl_wready),
        .s_axi_bresp(cl_ocl_bresp),
        .m_axi_bresp(@SIDE@ocl_bresp),
        .s_axi_bvalid(cl_ocl_bvalid),
        .m_axi_bvalid(@SIDE@ocl_bvalid),
        .s_axi_bready(ocl_cl_bready),
        .m_axi_bready(@SIDE@ocl_bready),
        .s_axi_araddr(ocl_cl_araddr),
        .m_axi_araddr(@SIDE@ocl_araddr),
        .s_axi_arprot(3'b0),
        .m_axi_arprot(),
        .s_axi_arvalid(ocl_cl_arvalid),
        .m_axi_arvalid(@SIDE@ocl_arvalid),
        .s_axi_arready(cl_ocl_arready),
        .m_axi_arready(@SIDE@ocl_arready),
        .s_axi_rdata(cl_ocl_rdata),
        .m_axi_rdata(@SIDE@ocl_rdata),
        .s_axi_rresp(cl_ocl_rresp),
        .m_axi_rresp(@SIDE@ocl_rresp),
        .s_axi_rvalid(cl_ocl_rvalid),
        .m_axi_rvalid(@SIDE@ocl_rvalid),
        .s_axi_rready(ocl_cl_rready),
        .m_axi_rready(@SIDE@ocl_rready)
    );

    axi_register_slice pcis_slice (
        .aclk(clk_main_a0),
        .aresetn(reset_n),
        .s_axi_awid(sh_cl_dma_pcis_awid),
        .m_axi_awid(@SIDE@pcis_awid),
        .s_axi_awaddr(sh_cl_dma_pcis_awaddr),
        .m_axi_awaddr(@SIDE@pcis_awaddr),
        .s_axi_awlen(sh_cl_dma_pcis_awlen),
        .m_axi_awlen(@SIDE@pcis_awlen),
        .s_axi_awsize(sh_cl_dma_pcis_awsize),
        .m_axi_awsize(@SIDE@pcis_awsize),
        .s_axi_awburst(2'b01),
        .m_axi_awburst(),
        .s_axi_awvalid(sh_cl_dma_pcis_awvalid),
        .m_axi_awvalid(@SIDE@pcis_awvalid),
        .s_axi_awready(cl_sh_dma_pcis_awready),
        .m_axi_awready(@SIDE@pcis_awready),
        .s_axi_wdata(sh_cl_dma_pcis_wdata),
        .m_axi_wdata(@SIDE@pcis_wdata),
        .s_axi_wstrb(sh_cl_dma_pcis_wstrb),
        .m_axi_wstrb(@SIDE@pcis_wstrb),
        .s_axi_wlast(sh_cl_dma_pcis_wlast),
        .m_axi_wlast(@SIDE@pcis_wlast),
        .s_axi_wvalid(sh_cl_dma_pcis_wvalid),
        .m_axi_wvalid(@SIDE@pcis_wvalid),
        .s_axi_wready(cl_sh_dma_pcis_wready),
        .m_axi_wready(@SIDE@pcis_wready),
        .s_axi_bid(cl_sh_dma_pcis_bid),
        .m_axi_bid(@SIDE@pcis_bid),
        .s_axi_bresp(cl_sh_dma_pcis_bresp),
        .m_axi_bresp(@SIDE@pcis_bresp),
        .s_axi_bvalid(cl_sh_dma_pcis_bvalid),
        .m_axi_bvalid(@SIDE@pcis_bvalid),
        .s_axi_bready(sh_cl_dma_pcis_bready),
        .m_axi_bready(@SIDE@pcis_bready),
        .s_axi_arid(sh_cl_dma_pcis_arid),
        .m_axi_arid(@SIDE@pcis_arid),
        .s_axi_araddr(sh_cl_dma_pcis_araddr),
        .m_axi_araddr(@SIDE@pcis_araddr),
        .s_axi_arlen(sh_cl_dma_pcis_arlen),
        .m_axi_arlen(@SIDE@pcis_arlen),
        .s_axi_arsize(sh_cl_dma_pcis_arsize),
        .m_axi_arsize(@SIDE@pcis_arsize),
        .s_axi_arburst(2'b01),
        .m_axi_arburst(),
        .s_axi_arvalid(sh_cl_dma_pcis_arvalid),
        .m_axi_arvalid(@SIDE@pcis_arvalid),
        .s_axi_arready(cl_sh_dma_pcis_arready),
        .m_axi_arready(@SIDE@pcis_arready),
        .s_axi_rid(cl_sh_dma_pcis_rid),
        .m_axi_rid(@SIDE@pcis_rid),
        .s_axi_rdata(cl_sh_dma_pcis_rdata),
        .m_axi_rdata(@SIDE@pcis_rdata),
        .s_axi_rresp(cl_sh_dma_pcis_rresp),
        .m_axi_rresp(@SIDE@pcis_rresp),
        .s_axi_rlast(cl_sh_dma_pcis_rlast),
        .m_axi_rlast(@SIDE@pcis_rlast),
        .s_axi_rvalid(cl_sh_dma_pcis_rvalid),
        .m_axi_rvalid(@SIDE@pcis_rvalid),
        .s_axi_rready(sh_cl_dma_pcis_rready),
        .m_axi_rready(@SIDE@pcis_rready),
        .s_axi_awcache(4'b0),
        .m_axi_awcache(),
        .s_axi_awlock(1'b0),
        .m_axi_awlock(),
        .s_axi_awprot(3'b0),
        .m_axi_awprot(),
        .s_axi_awqos(4'b0),
        .m_axi_awqos(),
        .s_axi_awregion(4'b0),
        .m_axi_awregion(),
        .s_axi_arcache(4'b0),
        .m_axi_arcache(),
        .s_axi_arlock(1'b0),
        .m_axi_arlock(),
        .s_axi_arprot(3'b0),
        .m_axi_arprot(),
        .s_axi_arqos(4'b0),
        .m_axi_arqos(),
        .s_axi_arregion(4'b0),
        .m_axi_arregion()
    );

@CLOCK@    // The shell's identifiers have 16 bits, the machine's 4. The machine handles one write and one read at a time, so the
    // identifier of each is stored here from its address to its response.
    logic writing, reading, write_taken, read_taken;
    assign pcis_awready = write_taken & ~writing;
    assign pcis_arready = read_taken & ~reading;
    always_ff @(posedge machine_clk) begin
        if (pcis_awvalid & pcis_awready) begin
            writing <= 1'b1;
            pcis_bid <= pcis_awid;
        end else if (pcis_bvalid & pcis_bready) writing <= 1'b0;
        if (pcis_arvalid & pcis_arready) begin
            reading <= 1'b1;
            pcis_rid <= pcis_arid;
        end else if (pcis_rvalid & pcis_rready & pcis_rlast) reading <= 1'b0;
        if (machine_reset) begin
            writing <= 1'b0;
            reading <= 1'b0;
        end
    end

    // A burst of the shell may begin at any byte; the machine requires a multiple of the size of a beat, but at most of 8.
    // Clearing the lower address bits changes no data: strobes select the bytes of a write, and the shell ignores the
    // bytes of a read before its address.
    function automatic [2:0] aligned(input [2:0] address, input [2:0] size);
        aligned = {address[2] & (size < 3'd3), address[1] & (size < 3'd2), address[0] & (size < 3'd1)};
    endfunction

    beltline machine (
        .clk(machine_clk),
        .rst(machine_reset),
        .interrupt(),
        .s_axi_registers_awaddr(ocl_awaddr[11:0]),
        .s_axi_registers_awvalid(ocl_awvalid),
        .s_axi_registers_awready(ocl_awready),
        .s_axi_registers_wdata(ocl_wdata),
        .s_axi_registers_wstrb(ocl_wstrb),
        .s_axi_registers_wvalid(ocl_wvalid),
        .s_axi_registers_wready(ocl_wready),
        .s_axi_registers_bresp(ocl_bresp),
        .s_axi_registers_bvalid(ocl_bvalid),
        .s_axi_registers_bready(ocl_bready),
        .s_axi_registers_araddr(ocl_araddr[11:0]),
        .s_axi_registers_arvalid(ocl_arvalid),
        .s_axi_registers_arready(ocl_arready),
        .s_axi_registers_rdata(ocl_rdata),
        .s_axi_registers_rresp(ocl_rresp),
        .s_axi_registers_rvalid(ocl_rvalid),
        .s_axi_registers_rready(ocl_rready),
        .s_axi_tables_awid(4'b0),
        .s_axi_tables_awaddr({pcis_awaddr[@LAST@:3], aligned(pcis_awaddr[2:0], pcis_awsize)}),
        .s_axi_tables_awlen(pcis_awlen),
        .s_axi_tables_awsize(pcis_awsize),
        .s_axi_tables_awburst(2'b01),
        .s_axi_tables_awvalid(pcis_awvalid & ~writing),
        .s_axi_tables_awready(write_taken),
        .s_axi_tables_wdata(pcis_wdata),
        .s_axi_tables_wstrb(pcis_wstrb),
        .s_axi_tables_wlast(pcis_wlast),
        .s_axi_tables_wvalid(pcis_wvalid),
        .s_axi_tables_wready(pcis_wready),
        .s_axi_tables_bid(),
        .s_axi_tables_bresp(pcis_bresp),
        .s_axi_tables_bvalid(pcis_bvalid),
        .s_axi_tables_bready(pcis_bready),
        .s_axi_tables_arid(4'b0),
        .s_axi_tables_araddr({pcis_araddr[@LAST@:3], aligned(pcis_araddr[2:0], pcis_arsize)}),
        .s_axi_tables_arlen(pcis_arlen),
        .s_axi_tables_arsize(pcis_arsize),
        .s_axi_tables_arburst(2'b01),
        .s_axi_tables_arvalid(pcis_arvalid & ~reading),
        .s_axi_tables_arready(read_taken),
        .s_axi_tables_rid(),
        .s_axi_tables_rdata(pcis_rdata),
        .s_axi_tables_rresp(pcis_rresp),
        .s_axi_tables_rlast(pcis_rlast),
        .s_axi_tables_rvalid(pcis_rvalid),
        .s_axi_tables_rready(pcis_rready)
    );
endmodule
