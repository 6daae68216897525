# Zynq-7000: registers and tables on the port GP0 of the processing system.
proc design {} {
    global ps7
    set ps [create_bd_cell -type ip -vlnv xilinx.com:ip:processing_system7 ps]
    set_property -dict $ps7 $ps
    create_bd_intf_port -mode Master -vlnv xilinx.com:interface:ddrx_rtl:1.0 DDR
    connect_bd_intf_net [get_bd_intf_ports DDR] [get_bd_intf_pins ps/DDR]
    create_bd_intf_port -mode Master -vlnv xilinx.com:display_processing_system7:fixedio_rtl:1.0 FIXED_IO
    connect_bd_intf_net [get_bd_intf_ports FIXED_IO] [get_bd_intf_pins ps/FIXED_IO]

    processor ps/M_AXI_GP0 ps/M_AXI_GP0_ACLK ps/FCLK_CLK0 ps/FCLK_RESET0_N ps/IRQ_F2P
}
