"""Interface between a machine and its host: parameters of builds, registers, table windows, and files of builds."""
