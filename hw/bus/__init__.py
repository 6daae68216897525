"""Bus slaves that connect the machine to its host: AXI4, AXI4-Lite and a serial line."""
