"""cocotb test modules, run by ``sim.bench.run_bench``."""
