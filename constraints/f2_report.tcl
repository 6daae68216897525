# Writes reports about a routed checkpoint, which the HDK's scripts do not. Arguments: its file, and the directory of the
# reports.
lassign $argv checkpoint directory
open_checkpoint $checkpoint
report_utilization -cells [get_cells WRAPPER/CL] -file $directory/utilization.txt
report_timing_summary -delay_type min_max -max_paths 10 -file $directory/timing.txt
