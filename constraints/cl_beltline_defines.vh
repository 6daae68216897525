// Name of the module that the HDK's simulation instantiates.
`ifndef CL_BELTLINE_DEFINES
`define CL_BELTLINE_DEFINES
`define CL_NAME cl_beltline
`endif
