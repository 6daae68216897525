# Builds the bitstream of this directory:
#
#     vivado -mode batch -source build.tcl
#
# Exit code 0 with <name>.bit, <name>.hwh and reports/, or 1 with a sentence that begins with "build:".
# The script asks no questions. It deletes an earlier project in project/.

cd [file dirname [file normalize [info script]]]
source settings.tcl
source design.tcl

# Messages that Vivado does not treat as errors, although the chip would then not behave as the Verilog does, or lack a
# pin. In our sources: a latch, or a net with two drivers, in four forms. In our constraints: a property of a pin that
# does not exist. A message names the file at its end. The vendor's IPs cause the same messages about their own files;
# these are accepted.
set fatal {
    sources/ {{Synth 8-327} {Synth 8-3352} {Synth 8-5559} {Synth 8-6858} {Synth 8-6859}}
    pins.xdc {{Common 17-55}}
}

proc crossbar {name masters slaves} {
    set cell [create_bd_cell -type ip -vlnv xilinx.com:ip:smartconnect $name]
    set_property -dict [list CONFIG.NUM_SI [llength $masters] CONFIG.NUM_MI [llength $slaves]] $cell
    set number 0
    foreach master $masters {
        connect_bd_intf_net [get_bd_intf_pins $master] [get_bd_intf_pins [format "%s/S%02d_AXI" $name $number]]
        incr number
    }
    set number 0
    foreach slave $slaves {
        connect_bd_intf_net [get_bd_intf_pins [format "%s/M%02d_AXI" $name $number]] [get_bd_intf_pins $slave]
        incr number
    }
}

# Connect one clock and one reset to everything: clock and reset are the pins of their sources, clocked and resets are
# further pins to which they are connected.
proc clock_and_reset {clock reset crossbars clocked {resets {}}} {
    global clock_pin
    set clock_pin $clock
    create_bd_cell -type ip -vlnv xilinx.com:ip:proc_sys_reset reset
    connect_bd_net [get_bd_pins $clock] [get_bd_pins reset/slowest_sync_clk]
    connect_bd_net [get_bd_pins $clock] [get_bd_pins beltline/clk]
    foreach pin $clocked {
        connect_bd_net [get_bd_pins $clock] [get_bd_pins $pin]
    }
    connect_bd_net [get_bd_pins $reset] [get_bd_pins reset/ext_reset_in]
    foreach pin [concat beltline/aresetn $resets] {
        connect_bd_net [get_bd_pins reset/peripheral_aresetn] [get_bd_pins $pin]
    }
    foreach name $crossbars {
        connect_bd_net [get_bd_pins $clock] [get_bd_pins $name/aclk]
        connect_bd_net [get_bd_pins reset/interconnect_aresetn] [get_bd_pins $name/aresetn]
    }
}

proc address {space segment offset bytes} {
    assign_bd_address -offset $offset -range $bytes -target_address_space [get_bd_addr_spaces $space] \
        [get_bd_addr_segs $segment]
}

# Connect the machine to one master of a processor. Since version 3, PYNQ finds an interrupt only at a controller.
proc processor {master master_clock clock reset line} {
    global registers_at registers_bytes tables_at tables_bytes interrupts_at interrupts_bytes
    set controller [create_bd_cell -type ip -vlnv xilinx.com:ip:axi_intc interrupts]
    set_property CONFIG.C_IRQ_CONNECTION 1 $controller
    crossbar fabric $master {beltline/s_axi_registers beltline/s_axi_tables interrupts/s_axi}
    clock_and_reset $clock $reset fabric [list $master_clock interrupts/s_axi_aclk] interrupts/s_axi_aresetn
    connect_bd_net [get_bd_pins beltline/interrupt] [get_bd_pins interrupts/intr]
    connect_bd_net [get_bd_pins interrupts/irq] [get_bd_pins $line]
    address ps/Data beltline/s_axi_registers/reg0 $registers_at $registers_bytes
    address ps/Data beltline/s_axi_tables/reg0 $tables_at $tables_bytes
    address ps/Data interrupts/S_AXI/Reg $interrupts_at $interrupts_bytes
}

proc run {name} {
    global jobs
    launch_runs $name -jobs $jobs
    wait_on_run $name
    set run [get_runs $name]
    if {[get_property PROGRESS $run] ne "100%" || [string match -nocase "*error*" [get_property STATUS $run]]} {
        error "$name ended with '[get_property STATUS $run]': see project/beltline.runs/$name/runme.log"
    }
}

# Least slack in ns of the paths that are checked for setup or for hold.
proc slack {check} {
    set path [get_timing_paths -max_paths 1 -$check]
    if {$path eq ""} {
        error "no path was checked for $check: the clocks' constraints are lost"
    }
    return [get_property SLACK $path]
}

# Register CLOCK_HZ must report the actual clock, up to the tolerance of a crystal.
proc check_clock {} {
    global clock_pin clock_hz
    set hertz [get_property CONFIG.FREQ_HZ [get_bd_pins $clock_pin]]
    if {![string is double -strict $hertz] || abs($hertz - $clock_hz) > 1e-4 * $clock_hz} {
        error "the clock is '$hertz' Hz, and the machine was made for $clock_hz Hz"
    }
}

# Write the critical warnings of all runs to a file.
proc report_critical_warnings {file} {
    set report [open $file w]
    foreach log [lsort [glob -nocomplain project/beltline.runs/*/runme.log]] {
        set input [open $log]
        foreach line [split [read $input] "\n"] {
            if {[string match "CRITICAL WARNING:*" $line]} {
                puts $report $line
            }
        }
        close $input
    }
    close $report
}

proc build {} {
    global name part board_part connections fatal
    file delete -force reports $name.bit $name.hwh beltline.bit beltline.hwh
    create_project -force -part $part beltline project
    foreach {place messages} $fatal {
        foreach message $messages {
            set_msg_config -id $message -string [list "[pwd]/$place"] -new_severity ERROR
        }
    }
    if {$board_part ne ""} {
        set board [get_board_parts -quiet -latest_file_version $board_part]
        if {$board eq ""} {
            error "this Vivado has no board file $board_part: install it (Tools, Vivado Store, Boards)"
        }
        set_property board_part $board [current_project]
    }
    if {$connections ne ""} {
        set_property board_connections $connections [current_project]
    }
    add_files -norecurse [lsort [glob sources/*.v]]
    foreach constraints [glob -nocomplain *.xdc] {
        add_files -norecurse -fileset constrs_1 $constraints
    }
    update_compile_order -fileset sources_1

    create_bd_design system
    create_bd_cell -type module -reference beltline_board beltline
    design
    validate_bd_design
    check_clock
    save_bd_design
    set system [get_files system.bd]
    generate_target all $system
    make_wrapper -top -import -files $system
    set_property top system_wrapper [current_fileset]
    update_compile_order -fileset sources_1

    set_property strategy Performance_ExplorePostRoutePhysOpt [get_runs impl_1]
    run synth_1
    run impl_1
    open_run impl_1
    file mkdir reports
    report_timing_summary -delay_type min_max -max_paths 10 -file reports/timing.txt
    report_utilization -file reports/utilization.txt
    report_utilization -hierarchical -file reports/utilization_hierarchical.txt
    report_route_status -file reports/route_status.txt
    report_drc -file reports/drc.txt
    report_critical_warnings reports/critical_warnings.txt
    set setup [slack setup]
    set hold [slack hold]
    if {$setup < 0 || $hold < 0} {
        error "timing is not met: least slack is $setup ns for setup and $hold ns for hold, see reports/timing.txt"
    }
    write_bitstream -force $name.bit
    file copy -force project/beltline.gen/sources_1/bd/system/hw_handoff/system.hwh $name.hwh
    # What the driver looks for where no file is named.
    file copy -force $name.bit beltline.bit
    file copy -force $name.hwh beltline.hwh
    puts "build: $name.bit, least slack $setup ns for setup and $hold ns for hold"
}

if {[catch {build} message]} {
    puts stderr "build: $message"
    exit 1
}
exit 0
