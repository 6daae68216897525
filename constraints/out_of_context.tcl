# Implements each unit of this directory alone, out of context:
#
#     vivado -mode batch -source out_of_context.tcl
#
# Exit code 0 with reports/UNIT/*.txt and reports/summary.txt; or 1 with a sentence that begins with "out_of_context:",
# after all units were tried. A unit whose setup times are not met is a failure. Hold times are not checked, since the
# clock is ideal.

cd [file dirname [file normalize [info script]]]
source settings.tcl

# Messages that Vivado does not treat as errors, although the chip would then not behave as the Verilog does: a latch, or
# a net with two drivers, in four forms.
foreach message {{Synth 8-327} {Synth 8-3352} {Synth 8-5559} {Synth 8-6858} {Synth 8-6859}} {
    set_msg_config -id $message -new_severity ERROR
}

# Least slack in ns of the paths that are checked for setup.
proc slack {} {
    set path [get_timing_paths -max_paths 1 -setup]
    if {$path eq ""} {
        error "no path was checked for setup: the clock's constraint is lost"
    }
    return [get_property SLACK $path]
}

proc implement {unit top} {
    global part
    set reports reports/$unit
    file mkdir $reports
    create_project -in_memory -part $part
    read_verilog [lsort [glob $unit/*.v]]
    read_xdc -mode out_of_context clock.xdc
    synth_design -mode out_of_context -top $top -part $part
    opt_design
    place_design
    phys_opt_design
    route_design
    report_timing_summary -delay_type max -max_paths 10 -file $reports/timing.txt
    report_utilization -file $reports/utilization.txt
    report_design_analysis -logic_level_distribution -file $reports/logic_levels.txt
    report_qor_assessment -file $reports/qor_assessment.txt
    report_ram_utilization -file $reports/ram.txt
    set least [slack]
    close_project
    return $least
}

file delete -force reports
file mkdir reports
set summary [open reports/summary.txt w]
set failed 0
foreach {unit top} $units {
    if {[catch {implement $unit $top} least]} {
        puts stderr "out_of_context: $unit: $least"
        puts $summary "$unit failed"
        catch {close_project}
        incr failed
        continue
    }
    puts $summary "$unit slack_ns $least clock_hz $clock_hz"
    puts "out_of_context: $unit: least slack $least ns for setup"
    if {$least < 0} {
        puts stderr "out_of_context: $unit: timing is not met by $least ns, see reports/$unit/timing.txt"
        incr failed
    }
}
close $summary
exit [expr {$failed > 0}]
