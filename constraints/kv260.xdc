# The fan's enable, active low: github.com/Xilinx/kria-base-hardware, k26_starter_kits/kv260/xdc/default.xdc
set_property -dict {PACKAGE_PIN A12 IOSTANDARD LVCMOS33 SLEW SLOW DRIVE 4} [get_ports fan_en_b]
