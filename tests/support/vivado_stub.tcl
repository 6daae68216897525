# Commands of Vivado, each handed to the model in Python by [call], which the interpreter provides.
proc flat {command arguments} {
    # A property list is a list of Tcl's, which is taken apart here.
    set dict [lsearch -exact $arguments -dict]
    if {$command eq "set_property" && $dict >= 0} {
        set pairs [lindex $arguments [expr {$dict + 1}]]
        if {[llength $pairs] % 2} {error "set_property: a property without value"}
        return [lreplace $arguments $dict [expr {$dict + 1}] -dict [llength $pairs] {*}$pairs]
    }
    return $arguments
}
foreach command $commands {
    proc $command args "return \[call $command {*}\[flat $command \$args]]"
}
