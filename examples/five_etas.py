"""Solve the real business cycle for five values of risk aversion on one open device: ``python examples/five_etas.py``.

The device keeps its tables between two solves, so each solve transfers only the tables that changed.
"""

import beltline as bl

with bl.open("emulator") as device:
    for eta in (1.0, 1.5, 2.0, 2.5, 3.0):
        result = device.solve(bl.rbc(grid=1024, eta=eta), start="last")
        capital = result.problem.grid @ bl.stationary_distribution(result).sum(axis=1)
        print(f"eta {eta}: {result.status} after {result.sweeps:,} sweeps, mean capital {capital:.2f}")
        print("   moved to the device:", ", ".join(device.moved))
