# PCIe through XDMA: registers on its AXI4-Lite master, tables on its bypass master and on its DMA engines.
proc design {} {
    global clock_mhz clock_hz shell_hz bus_bits quad registers_at registers_bytes tables_at tables_bytes
    create_bd_intf_port -mode Master -vlnv xilinx.com:interface:pcie_7x_mgt_rtl:1.0 pcie
    set clock [create_bd_intf_port -mode Slave -vlnv xilinx.com:interface:diff_clock_rtl:1.0 pcie_refclk]
    set_property CONFIG.FREQ_HZ 100000000 $clock
    set perst [create_bd_port -dir I -type rst pcie_perstn]
    set_property CONFIG.POLARITY ACTIVE_LOW $perst
    set buffer [create_bd_cell -type ip -vlnv xilinx.com:ip:util_ds_buf refclk]
    set_property CONFIG.C_BUF_TYPE IBUFDSGTE $buffer

    set xdma [create_bd_cell -type ip -vlnv xilinx.com:ip:xdma xdma]
    set_property -dict [list \
        CONFIG.functional_mode DMA \
        CONFIG.mode_selection Advanced \
        CONFIG.en_gt_selection true \
        CONFIG.select_quad $quad \
        CONFIG.pl_link_cap_max_link_speed 8.0_GT/s \
        CONFIG.pl_link_cap_max_link_width X16 \
        CONFIG.axi_data_width ${bus_bits}_bit \
        CONFIG.axisten_freq [expr {$shell_hz / 1000000}] \
        CONFIG.xdma_axi_intf_mm AXI_Memory_Mapped \
        CONFIG.xdma_rnum_chnl 1 \
        CONFIG.xdma_wnum_chnl 1 \
        CONFIG.xdma_num_usr_irq 1 \
        CONFIG.axilite_master_en true \
        CONFIG.axilite_master_scale Megabytes \
        CONFIG.axilite_master_size 1 \
        CONFIG.pciebar2axibar_axil_master $registers_at \
        CONFIG.axist_bypass_en true \
        CONFIG.axist_bypass_scale Megabytes \
        CONFIG.axist_bypass_size [expr {max(1, $tables_bytes >> 20)}] \
        CONFIG.axi_bypass_64bit_en true \
        CONFIG.axi_bypass_prefetchable true \
        CONFIG.pciebar2axibar_axist_bypass $tables_at \
        CONFIG.pf0_msix_cap_table_bir BAR_1 \
        CONFIG.pf0_msix_cap_pba_bir BAR_1 \
        CONFIG.cfg_mgmt_if false \
    ] $xdma
    connect_bd_intf_net [get_bd_intf_ports pcie] [get_bd_intf_pins xdma/pcie_mgt]
    connect_bd_intf_net [get_bd_intf_ports pcie_refclk] [get_bd_intf_pins refclk/CLK_IN_D]
    connect_bd_net [get_bd_pins refclk/IBUF_DS_ODIV2] [get_bd_pins xdma/sys_clk]
    connect_bd_net [get_bd_pins refclk/IBUF_OUT] [get_bd_pins xdma/sys_clk_gt]
    connect_bd_net [get_bd_ports pcie_perstn] [get_bd_pins xdma/sys_rst_n]

    crossbar registers_fabric xdma/M_AXI_LITE beltline/s_axi_registers
    crossbar tables_fabric {xdma/M_AXI xdma/M_AXI_BYPASS} beltline/s_axi_tables
    set crossbars {registers_fabric tables_fabric}
    if {$clock_hz == $shell_hz} {
        clock_and_reset xdma/axi_aclk xdma/axi_aresetn $crossbars {}
        connect_bd_net [get_bd_pins beltline/interrupt] [get_bd_pins xdma/usr_irq_req]
    } else {
        own_clock $crossbars
    }
    address xdma/M_AXI_LITE beltline/s_axi_registers/reg0 $registers_at $registers_bytes
    address xdma/M_AXI beltline/s_axi_tables/reg0 $tables_at $tables_bytes
    address xdma/M_AXI_BYPASS beltline/s_axi_tables/reg0 $tables_at $tables_bytes
}

# Give the machine its own clock: an MMCM generates it from XDMA's clock. The crossbars and a synchroniser of the
# interrupt cross between the two clocks.
proc own_clock {crossbars} {
    global clock_mhz shell_hz
    set clock [create_bd_cell -type ip -vlnv xilinx.com:ip:clk_wiz clock]
    set_property -dict [list \
        CONFIG.PRIM_SOURCE No_buffer \
        CONFIG.PRIM_IN_FREQ [expr {$shell_hz / 1000000}] \
        CONFIG.CLKOUT1_REQUESTED_OUT_FREQ $clock_mhz \
        CONFIG.RESET_TYPE ACTIVE_LOW \
        CONFIG.RESET_PORT resetn \
    ] $clock
    connect_bd_net [get_bd_pins xdma/axi_aclk] [get_bd_pins clock/clk_in1]
    connect_bd_net [get_bd_pins xdma/axi_aresetn] [get_bd_pins clock/resetn]
    foreach name $crossbars {
        set_property CONFIG.NUM_CLKS 2 [get_bd_cells $name]
        connect_bd_net [get_bd_pins xdma/axi_aclk] [get_bd_pins $name/aclk1]
    }
    clock_and_reset clock/clk_out1 xdma/axi_aresetn $crossbars {}
    connect_bd_net [get_bd_pins clock/locked] [get_bd_pins reset/dcm_locked]

    set crossing [create_bd_cell -type ip -vlnv xilinx.com:ip:xpm_cdc_gen crossing]
    set_property CONFIG.CDC_TYPE xpm_cdc_single $crossing
    connect_bd_net [get_bd_pins clock/clk_out1] [get_bd_pins crossing/src_clk]
    connect_bd_net [get_bd_pins xdma/axi_aclk] [get_bd_pins crossing/dest_clk]
    connect_bd_net [get_bd_pins beltline/interrupt] [get_bd_pins crossing/src_in]
    connect_bd_net [get_bd_pins crossing/dest_out] [get_bd_pins xdma/usr_irq_req]
}
