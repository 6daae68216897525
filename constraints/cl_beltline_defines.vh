// The HDK's simulation instances the module of this name.
`ifndef CL_BELTLINE_DEFINES
`define CL_BELTLINE_DEFINES
`define CL_NAME cl_beltline
`endif
