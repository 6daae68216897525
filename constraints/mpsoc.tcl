# Zynq UltraScale+: registers and tables on the port HPM0_FPD of the processing system.
proc design {} {
    global clock_mhz fan bus_bits
    set ps [create_bd_cell -type ip -vlnv xilinx.com:ip:zynq_ultra_ps_e ps]
    apply_bd_automation -rule xilinx.com:bd_rule:zynq_ultra_ps_e -config {apply_board_preset "1"} $ps
    set_property -dict [list \
        CONFIG.PSU__USE__M_AXI_GP0 1 \
        CONFIG.PSU__USE__M_AXI_GP1 0 \
        CONFIG.PSU__USE__M_AXI_GP2 0 \
        CONFIG.PSU__MAXIGP0__DATA_WIDTH $bus_bits \
        CONFIG.PSU__USE__IRQ0 1 \
        CONFIG.PSU__USE__FABRIC__RST 1 \
        CONFIG.PSU__FPGA_PL0_ENABLE 1 \
        CONFIG.PSU__FPGA_PL1_ENABLE 0 \
        CONFIG.PSU__CRL_APB__PL0_REF_CTRL__FREQMHZ $clock_mhz \
    ] $ps

    processor ps/M_AXI_HPM0_FPD ps/maxihpm0_fpd_aclk ps/pl_clk0 ps/pl_resetn0 ps/pl_ps_irq0

    # A timer of the processing system drives the fan of a Kria board, through the fabric.
    if {$fan} {
        set_property -dict [list \
            CONFIG.PSU__TTC0__WAVEOUT__ENABLE 1 \
            CONFIG.PSU__TTC0__WAVEOUT__IO EMIO \
        ] $ps
        set slice [create_bd_cell -type ip -vlnv xilinx.com:ip:xlslice fan]
        set_property -dict [list CONFIG.DIN_WIDTH 3 CONFIG.DIN_FROM 2 CONFIG.DIN_TO 2 CONFIG.DOUT_WIDTH 1] $slice
        create_bd_port -dir O -from 0 -to 0 fan_en_b
        connect_bd_net [get_bd_pins ps/emio_ttc0_wave_o] [get_bd_pins fan/Din]
        connect_bd_net [get_bd_pins fan/Dout] [get_bd_ports fan_en_b]
    }
}
