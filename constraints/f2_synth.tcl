# Synthesis of the custom logic. The HDK's build_all.tcl sources this file in place of synth_CL_TEMPLATE.tcl; the variables
# are those of build_all.tcl.
source ${HDK_SHELL_DIR}/build/scripts/synth_cl_header.tcl

# Messages that Vivado does not treat as errors, although the chip would then not behave as the Verilog does: in the
# custom logic's sources a latch, or a net with two drivers, in four forms. The same messages about files of the kit and
# of the vendor are accepted.
foreach message {{Synth 8-327} {Synth 8-3352} {Synth 8-5559} {Synth 8-6858} {Synth 8-6859}} {
    set_msg_config -id $message -string [list "[file tail $src_post_enc_dir]/"] -new_severity ERROR
}

print "Reading encrypted user source codes"
# Headers are found in the folder of the file that includes them.
read_verilog -sv [glob ${src_post_enc_dir}/*.sv]
read_verilog [glob ${src_post_enc_dir}/*.v]

print "Reading CL IP blocks"
read_ip [list \
    ${HDK_IP_SRC_DIR}/axi_register_slice/axi_register_slice.xci \
    ${HDK_IP_SRC_DIR}/axi_register_slice_light/axi_register_slice_light.xci \
@IPS@]

print "Reading user constraints"
read_xdc [list \
    ${constraints_dir}/cl_synth_user.xdc \
    ${constraints_dir}/cl_timing_user.xdc \
]
set_property PROCESSING_ORDER LATE [get_files cl_synth_user.xdc]
set_property PROCESSING_ORDER LATE [get_files cl_timing_user.xdc]

print "Starting synthesizing customer design ${CL}"
update_compile_order -fileset sources_1
synth_design -mode out_of_context \
    -top ${CL} \
    -verilog_define XSDB_SLV_DIS \
    -part ${DEVICE_TYPE} \
    -keep_equivalent_registers

source ${HDK_SHELL_DIR}/build/scripts/synth_cl_footer.tcl
