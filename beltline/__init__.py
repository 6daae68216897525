"""Beltline: an accelerator for Bellman equations.

>>> import beltline as bl
>>> result = bl.solve(bl.rbc(grid=1024))
>>> print(result)                                        # doctest: +SKIP
"""

from beltline.host import __version__
from beltline.host.analysis.euler import euler_errors, euler_report
from beltline.host.analysis.inequality import gini, lorenz
from beltline.host.analysis.simulation import impulse_response, moments, simulate, stationary_distribution
from beltline.host.batch.pool import Workers
from beltline.host.batch.solve_many import Attempt, solve_many
from beltline.host.batch.store import Store
from beltline.host.devices import DeviceError, DeviceInUseError, DeviceLostError, DeviceTimeoutError
from beltline.host.models.aiyagari.model import Economy, aiyagari
from beltline.host.models.base import Model
from beltline.host.models.krusell_smith.algorithm import Equilibrium, krusell_smith, load_equilibrium, panel_errors
from beltline.host.models.life_cycle import life_cycle, life_paths
from beltline.host.models.rbc import rbc
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.grids import grid_log, grid_polynomial, grid_uniform
from beltline.host.problem.markov import rouwenhorst, tauchen
from beltline.host.problem.problem import Problem
from beltline.host.results.result import Result, load
from beltline.host.solver.session import Session
from beltline.host.solver.session import open_session as open
from beltline.host.solver.solve import solve

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
