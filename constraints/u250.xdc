# github.com/Xilinx/XilinxBoardStore at 5f19190f, boards/Xilinx/au250/1.3/part0_pins.xml. The lanes' places come with
# the XDMA core, whose quads are 224 to 227.
set_property PACKAGE_PIN AM11 [get_ports pcie_refclk_clk_p]
set_property PACKAGE_PIN AM10 [get_ports pcie_refclk_clk_n]
create_clock -name pcie_refclk -period 10.000 [get_ports pcie_refclk_clk_p]
set_property -dict {PACKAGE_PIN BD21 IOSTANDARD LVCMOS12 PULLUP true} [get_ports pcie_perstn]
set_false_path -from [get_ports pcie_perstn]

# Configuration of the chip, from flash or JTAG. Source: github.com/corundum/corundum,
# fpga/mqnic/Alveo/fpga_100g/fpga_au200.xdc, which is also used for U250.
set_property CONFIG_VOLTAGE 1.8 [current_design]
set_property BITSTREAM.GENERAL.COMPRESS true [current_design]
set_property BITSTREAM.CONFIG.CONFIGFALLBACK ENABLE [current_design]
set_property BITSTREAM.CONFIG.EXTMASTERCCLK_EN DISABLE [current_design]
set_property BITSTREAM.CONFIG.CONFIGRATE 63.8 [current_design]
set_property BITSTREAM.CONFIG.SPI_32BIT_ADDR YES [current_design]
set_property BITSTREAM.CONFIG.SPI_BUSWIDTH 4 [current_design]
set_property BITSTREAM.CONFIG.SPI_FALL_EDGE YES [current_design]
set_property BITSTREAM.CONFIG.UNUSEDPIN PULLUP [current_design]
set_property BITSTREAM.CONFIG.OVERTEMPSHUTDOWN ENABLE [current_design]
