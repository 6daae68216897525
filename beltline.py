"""Beltline: an accelerator for Bellman equations.

>>> import beltline as bl
>>> result = bl.solve(bl.rbc(grid=1024))
>>> print(result)                                        # doctest: +SKIP
"""

from host import __version__
from host.aiyagari import Economy, aiyagari
from host.checks import ProblemError
from host.devices import DeviceError, DeviceInUseError, DeviceLostError, DeviceTimeoutError
from host.equilibrium import Equilibrium, krusell_smith, load_equilibrium, panel_errors
from host.euler import euler_errors, euler_report
from host.grids import grid_log, grid_polynomial, grid_uniform
from host.inequality import gini, lorenz
from host.life_cycle import life_cycle, life_paths
from host.markov import rouwenhorst, tauchen
from host.model import Model
from host.models import rbc
from host.problem import Problem
from host.result import Result, load
from host.session import Session
from host.session import open_session as open
from host.simulation import impulse_response, moments, simulate, stationary_distribution
from host.solve import solve
from host.solve_many import Attempt, solve_many
from host.store import Store
from host.workers import Workers

__all__ = [
    "Attempt",
    "DeviceError",
    "DeviceInUseError",
    "DeviceLostError",
    "DeviceTimeoutError",
    "Economy",
    "Equilibrium",
    "Model",
    "Problem",
    "ProblemError",
    "Result",
    "Session",
    "Store",
    "Workers",
    "__version__",
    "aiyagari",
    "euler_errors",
    "euler_report",
    "gini",
    "grid_log",
    "grid_polynomial",
    "grid_uniform",
    "impulse_response",
    "krusell_smith",
    "life_cycle",
    "life_paths",
    "load",
    "load_equilibrium",
    "lorenz",
    "moments",
    "open",
    "panel_errors",
    "rbc",
    "rouwenhorst",
    "simulate",
    "solve",
    "solve_many",
    "stationary_distribution",
    "tauchen",
]

if __name__ == "__main__":
    import sys

    from host.cli import main

    sys.exit(main())
