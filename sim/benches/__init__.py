"""cocotb test modules, run by ``beltline.sim.cocotb_runner.run_bench``."""
