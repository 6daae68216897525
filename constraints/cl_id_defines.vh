// The HDK's aws_build_dcp_from_cl.py reads this file and splits each number at its underscore.
`ifndef CL_ID_DEFINES
`define CL_ID_DEFINES
// Device and vendor of the PCIe function; with Amazon's vendor 1D0F the device is F000 to F0FF.
`define CL_SH_ID0 32'hF0BE_1D0F
// Subsystem and its vendor; neither may be 0.
`define CL_SH_ID1 32'h1D51_FEDC
`endif
