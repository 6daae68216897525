"""Beltline solves dynamic economic models: exactly on the grid, with an error bound, on processors, GPUs and FPGAs.

>>> import beltline as bl
>>> result = bl.solve(bl.rbc(grid=1024))
>>> result.success
True
>>> print(result)                                        # doctest: +SKIP

Each name is imported when it is first used, so that ``import beltline`` takes no time.
"""

import os
from typing import TYPE_CHECKING, Any

_HERE = os.path.dirname(os.path.abspath(__file__))
_MISSING = [
    part
    for part in ("constraints", "gpu_ref", "host", "hw", "sim")
    if not os.path.isfile(os.path.join(_HERE, part, "__init__.py"))
]
# Otherwise an installed copy of Beltline might provide the part that is missing here.
if _MISSING:
    raise ImportError(
        f"this copy of Beltline is incomplete: {os.path.join(_HERE, _MISSING[0])!r} must be a symbolic link to the "
        f"folder {_MISSING[0]!r} beside {_HERE!r}, and links are lost in a zip file, and by Git on Windows without "
        "core.symlinks: clone the repository with `git clone -c core.symlinks=true`, or install a wheel"
    )

from beltline.host import __version__  # noqa: E402
from beltline.sim.ctrl_c import import_whole  # noqa: E402

if TYPE_CHECKING:
    from beltline.gpu_ref.general.prices import BondPrices as BondPrices
    from beltline.gpu_ref.general.solution import Prices as Prices
    from beltline.host.analysis.euler import euler_errors as euler_errors
    from beltline.host.analysis.euler import euler_report as euler_report
    from beltline.host.analysis.impulse import impulse_response as impulse_response
    from beltline.host.analysis.inequality import gini as gini
    from beltline.host.analysis.inequality import lorenz as lorenz
    from beltline.host.analysis.moments import moments as moments
    from beltline.host.analysis.refine import Refined as Refined
    from beltline.host.analysis.refine import refine as refine
    from beltline.host.analysis.simulation import life_paths as life_paths
    from beltline.host.analysis.simulation import simulate as simulate
    from beltline.host.analysis.stationary import age_distribution as age_distribution
    from beltline.host.analysis.stationary import stationary_distribution as stationary_distribution
    from beltline.host.batch.family import Solutions as Solutions
    from beltline.host.batch.family import solve_family as solve_family
    from beltline.host.batch.pool import Workers as Workers
    from beltline.host.batch.solve_many import Attempt as Attempt
    from beltline.host.batch.solve_many import solve_many as solve_many
    from beltline.host.batch.store import Store as Store
    from beltline.host.devices import DeviceError as DeviceError
    from beltline.host.devices import DeviceInUseError as DeviceInUseError
    from beltline.host.devices import DeviceLostError as DeviceLostError
    from beltline.host.devices import DeviceTimeoutError as DeviceTimeoutError
    from beltline.host.models.aiyagari.model import aiyagari as aiyagari
    from beltline.host.models.aiyagari.result import Economy as Economy
    from beltline.host.models.aiyagari_path.model import aiyagari_path as aiyagari_path
    from beltline.host.models.aiyagari_path.result import TransitionPath as TransitionPath
    from beltline.host.models.aiyagari_types.model import TypesEconomy as TypesEconomy
    from beltline.host.models.aiyagari_types.model import aiyagari_types as aiyagari_types
    from beltline.host.models.arellano.model import DefaultEconomy as DefaultEconomy
    from beltline.host.models.arellano.model import arellano as arellano
    from beltline.host.models.base import Model as Model
    from beltline.host.models.cohort.model import CohortResult as CohortResult
    from beltline.host.models.cohort.model import cohort as cohort
    from beltline.host.models.equilibrium.economy import MarketEquilibrium as MarketEquilibrium
    from beltline.host.models.equilibrium.economy import equilibrium as equilibrium
    from beltline.host.models.equilibrium.sequence import SequenceJacobian as SequenceJacobian
    from beltline.host.models.equilibrium.sequence import sequence_jacobian as sequence_jacobian
    from beltline.host.models.equilibrium.transition import MarketPath as MarketPath
    from beltline.host.models.equilibrium.transition import transition as transition
    from beltline.host.models.hopenhayn_rogerson.model import hopenhayn_rogerson as hopenhayn_rogerson
    from beltline.host.models.hopenhayn_rogerson.result import FirmEconomy as FirmEconomy
    from beltline.host.models.krusell_smith.model import KrusellSmith as KrusellSmith
    from beltline.host.models.krusell_smith.model import krusell_smith as krusell_smith
    from beltline.host.models.krusell_smith.result import Equilibrium as Equilibrium
    from beltline.host.models.krusell_smith.result import panel_errors as panel_errors
    from beltline.host.models.life_cycle import life_cycle as life_cycle
    from beltline.host.models.lumpy_investment.model import LumpyInvestmentResult as LumpyInvestmentResult
    from beltline.host.models.lumpy_investment.model import lumpy_investment as lumpy_investment
    from beltline.host.models.rbc import rbc as rbc
    from beltline.host.models.retirement.model import RetirementResult as RetirementResult
    from beltline.host.models.retirement.model import retirement as retirement
    from beltline.host.problem.alternative import Alternative as Alternative
    from beltline.host.problem.checks import ProblemError as ProblemError
    from beltline.host.problem.concavity import concave_majorant as concave_majorant
    from beltline.host.problem.discrete import DiscreteProblem as DiscreteProblem
    from beltline.host.problem.discrete import from_factors as from_factors
    from beltline.host.problem.discrete_dp import from_discrete_dp as from_discrete_dp
    from beltline.host.problem.discrete_of import to_discrete_dp as to_discrete_dp
    from beltline.host.problem.grids import grid_log as grid_log
    from beltline.host.problem.grids import grid_polynomial as grid_polynomial
    from beltline.host.problem.grids import grid_uniform as grid_uniform
    from beltline.host.problem.markov import rouwenhorst as rouwenhorst
    from beltline.host.problem.markov import tauchen as tauchen
    from beltline.host.problem.problem import Problem as Problem
    from beltline.host.results.load import load as load
    from beltline.host.results.result import Result as Result
    from beltline.host.solver.certificate import Certificate as Certificate
    from beltline.host.solver.certify import certify as certify
    from beltline.host.solver.session import Session as Session
    from beltline.host.solver.solve import open_session as open
    from beltline.host.solver.solve import solve as solve

_HOMES = {
    "Alternative": "beltline.host.problem.alternative",
    "Attempt": "beltline.host.batch.solve_many",
    "BondPrices": "beltline.gpu_ref.general.prices",
    "Certificate": "beltline.host.solver.certificate",
    "CohortResult": "beltline.host.models.cohort.model",
    "DefaultEconomy": "beltline.host.models.arellano.model",
    "DeviceError": "beltline.host.devices",
    "DeviceInUseError": "beltline.host.devices",
    "DeviceLostError": "beltline.host.devices",
    "DeviceTimeoutError": "beltline.host.devices",
    "DiscreteProblem": "beltline.host.problem.discrete",
    "Economy": "beltline.host.models.aiyagari.result",
    "Equilibrium": "beltline.host.models.krusell_smith.result",
    "FirmEconomy": "beltline.host.models.hopenhayn_rogerson.result",
    "KrusellSmith": "beltline.host.models.krusell_smith.model",
    "LumpyInvestmentResult": "beltline.host.models.lumpy_investment.model",
    "MarketEquilibrium": "beltline.host.models.equilibrium.economy",
    "MarketPath": "beltline.host.models.equilibrium.transition",
    "Model": "beltline.host.models.base",
    "Prices": "beltline.gpu_ref.general.solution",
    "Problem": "beltline.host.problem.problem",
    "ProblemError": "beltline.host.problem.checks",
    "Refined": "beltline.host.analysis.refine",
    "Result": "beltline.host.results.result",
    "RetirementResult": "beltline.host.models.retirement.model",
    "SequenceJacobian": "beltline.host.models.equilibrium.sequence",
    "Session": "beltline.host.solver.session",
    "Solutions": "beltline.host.batch.family",
    "Store": "beltline.host.batch.store",
    "TransitionPath": "beltline.host.models.aiyagari_path.result",
    "TypesEconomy": "beltline.host.models.aiyagari_types.model",
    "Workers": "beltline.host.batch.pool",
    "age_distribution": "beltline.host.analysis.stationary",
    "aiyagari": "beltline.host.models.aiyagari.model",
    "aiyagari_path": "beltline.host.models.aiyagari_path.model",
    "aiyagari_types": "beltline.host.models.aiyagari_types.model",
    "arellano": "beltline.host.models.arellano.model",
    "certify": "beltline.host.solver.certify",
    "cohort": "beltline.host.models.cohort.model",
    "concave_majorant": "beltline.host.problem.concavity",
    "equilibrium": "beltline.host.models.equilibrium.economy",
    "euler_errors": "beltline.host.analysis.euler",
    "euler_report": "beltline.host.analysis.euler",
    "from_discrete_dp": "beltline.host.problem.discrete_dp",
    "from_factors": "beltline.host.problem.discrete",
    "gini": "beltline.host.analysis.inequality",
    "grid_log": "beltline.host.problem.grids",
    "grid_polynomial": "beltline.host.problem.grids",
    "grid_uniform": "beltline.host.problem.grids",
    "hopenhayn_rogerson": "beltline.host.models.hopenhayn_rogerson.model",
    "impulse_response": "beltline.host.analysis.impulse",
    "krusell_smith": "beltline.host.models.krusell_smith.model",
    "life_cycle": "beltline.host.models.life_cycle",
    "life_paths": "beltline.host.analysis.simulation",
    "load": "beltline.host.results.load",
    "lorenz": "beltline.host.analysis.inequality",
    "lumpy_investment": "beltline.host.models.lumpy_investment.model",
    "moments": "beltline.host.analysis.moments",
    "open": "beltline.host.solver.solve:open_session",
    "panel_errors": "beltline.host.models.krusell_smith.result",
    "rbc": "beltline.host.models.rbc",
    "refine": "beltline.host.analysis.refine",
    "retirement": "beltline.host.models.retirement.model",
    "rouwenhorst": "beltline.host.problem.markov",
    "sequence_jacobian": "beltline.host.models.equilibrium.sequence",
    "simulate": "beltline.host.analysis.simulation",
    "solve": "beltline.host.solver.solve",
    "solve_family": "beltline.host.batch.family",
    "solve_many": "beltline.host.batch.solve_many",
    "stationary_distribution": "beltline.host.analysis.stationary",
    "tauchen": "beltline.host.problem.markov",
    "to_discrete_dp": "beltline.host.problem.discrete_of",
    "transition": "beltline.host.models.equilibrium.transition",
}
"""The module of each public name, and after a colon the name that it has there, if that differs."""

__all__ = [
    "Alternative",
    "Attempt",
    "BondPrices",
    "Certificate",
    "CohortResult",
    "DefaultEconomy",
    "DeviceError",
    "DeviceInUseError",
    "DeviceLostError",
    "DeviceTimeoutError",
    "DiscreteProblem",
    "Economy",
    "Equilibrium",
    "FirmEconomy",
    "KrusellSmith",
    "LumpyInvestmentResult",
    "MarketEquilibrium",
    "MarketPath",
    "Model",
    "Prices",
    "Problem",
    "ProblemError",
    "Refined",
    "Result",
    "RetirementResult",
    "SequenceJacobian",
    "Session",
    "Solutions",
    "Store",
    "TransitionPath",
    "TypesEconomy",
    "Workers",
    "__version__",
    "age_distribution",
    "aiyagari",
    "aiyagari_path",
    "aiyagari_types",
    "arellano",
    "certify",
    "cohort",
    "concave_majorant",
    "equilibrium",
    "euler_errors",
    "euler_report",
    "from_discrete_dp",
    "from_factors",
    "gini",
    "grid_log",
    "grid_polynomial",
    "grid_uniform",
    "hopenhayn_rogerson",
    "impulse_response",
    "krusell_smith",
    "life_cycle",
    "life_paths",
    "load",
    "lorenz",
    "lumpy_investment",
    "moments",
    "open",
    "panel_errors",
    "rbc",
    "refine",
    "retirement",
    "rouwenhorst",
    "sequence_jacobian",
    "simulate",
    "solve",
    "solve_family",
    "solve_many",
    "stationary_distribution",
    "tauchen",
    "to_discrete_dp",
    "transition",
]


def __getattr__(name: str) -> Any:
    """Import ``name`` from its module, and store it here for the next use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'beltline' has no attribute {name!r}")
    module, _, other_name = _HOMES[name].partition(":")
    value = getattr(import_whole(module), other_name or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
