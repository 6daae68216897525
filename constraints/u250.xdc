# github.com/Xilinx/XilinxBoardStore at 5f19190f, boards/Xilinx/au250/1.3/part0_pins.xml. The lanes' places come with
# the XDMA core, whose quads are 224 to 227.
set_property PACKAGE_PIN AM11 [get_ports pcie_refclk_clk_p]
set_property PACKAGE_PIN AM10 [get_ports pcie_refclk_clk_n]
create_clock -name pcie_refclk -period 10.000 [get_ports pcie_refclk_clk_p]
set_property -dict {PACKAGE_PIN BD21 IOSTANDARD LVCMOS12} [get_ports pcie_perstn]
set_false_path -from [get_ports pcie_perstn]
