"""Models by the names that the command line calls them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from beltline.host.models.aiyagari.model import aiyagari
from beltline.host.models.aiyagari_path.model import aiyagari_path
from beltline.host.models.aiyagari_types.model import aiyagari_types
from beltline.host.models.arellano.model import arellano
from beltline.host.models.base import Model
from beltline.host.models.cohort.model import cohort
from beltline.host.models.hopenhayn_rogerson.model import hopenhayn_rogerson
from beltline.host.models.life_cycle import life_cycle
from beltline.host.models.lumpy_investment.model import lumpy_investment
from beltline.host.models.rbc import rbc
from beltline.host.models.retirement.model import retirement
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.problem import Problem


@dataclass(frozen=True)
class Entry:
    """A model that can be named.

    Parameters
    ----------
    make
        Called with the parameters as keywords; each has a number or text as its default.
    about
        What it is, in a few words.
    parameters
        Those that the command line offers, and what the help says of each, without its default.
    """

    make: Callable[..., Problem | Model]
    about: str
    parameters: Mapping[str, str]

    def default(self, name: str) -> Any:
        """The default of a parameter."""
        return inspect.signature(self.make).parameters[name].default


MODELS: dict[str, Entry] = {
    "rbc": Entry(
        rbc,
        "the real business cycle",
        {
            "grid": "grid points of capital, up to 65536 on a machine and 1048576 on cpu and gpu",
            "states": "productivity states, 1 to 16",
            "beta": "discount factor a quarter, between 0 and 1",
            "eta": "relative risk aversion, above 0 up to 16; 1 is log",
            "alpha": "capital's share of output, between 0 and 1",
            "delta": "depreciation a quarter, 0 to 1",
            "rho": "persistence of log productivity, between -1 and 1",
            "sigma": "standard deviation of its shock a quarter",
        },
    ),
    "life-cycle": Entry(
        life_cycle,
        "a life of finitely many ages",
        {
            "grid": "grid points of assets",
            "states": "productivity states",
            "ages": "ages, from 1",
            "beta": "discount factor from age to age",
            "eta": "relative risk aversion",
            "interest": "of assets from age to age, above -1",
            "wage": "of a unit of productivity, above 0",
            "rho": "persistence of log productivity",
            "sigma": "standard deviation of its shock",
        },
    ),
    "cohort": Entry(
        cohort,
        "work, retirement and death, with income and survival by age; on device cpu or gpu",
        {
            "grid": "grid points of assets",
            "states": "states of the persistent part of income",
            "education": "whose income: 'no high school', 'high school' or 'college'",
            "first": "first age, in years",
            "retirement": "last age of work",
            "last": "last age",
            "beta": "discount factor a year",
            "eta": "relative risk aversion",
            "interest": "a year, above -1",
            "bequest": "weight of what is left behind, from 0",
            "luxury": "what is added to it, above 0",
            "rho": "persistence of log income, above -1 and at most 1",
            "high": "highest assets",
        },
    ),
    "aiyagari": Entry(
        aiyagari,
        "saving against uncertain labour, with an interest rate that clears the market",
        {
            "grid": "grid points of assets",
            "states": "labour states",
            "beta": "discount factor a year",
            "eta": "relative risk aversion",
            "alpha": "capital's share of output",
            "delta": "depreciation a year",
            "rho": "persistence of log labour",
            "sigma": "its standard deviation, unconditional",
            "high": "highest assets",
        },
    ),
    "aiyagari-path": Entry(
        aiyagari_path,
        "the same economy after an unexpected shock to productivity, and the way back; on device cpu",
        {
            "grid": "grid points of assets, between which households choose",
            "shock": "to productivity at the first date, above -1",
            "persistence": "of the shock, 0 to 1; 1 is for good",
            "periods": "dates of the path",
            "states": "labour states",
            "beta": "discount factor a year",
            "eta": "relative risk aversion",
            "alpha": "capital's share of output",
            "delta": "depreciation a year",
            "rho": "persistence of log labour",
            "sigma": "its standard deviation, unconditional",
            "high": "highest assets",
        },
    ),
    "aiyagari-types": Entry(
        aiyagari_types,
        "the same economy with households of several kinds, by patience; on device cpu",
        {
            "grid": "grid points of assets, between which households choose",
            "types": "kinds of households",
            "beta": "middle of their discount factors",
            "spread": "from there to the first and the last of them, from 0",
            "eta": "relative risk aversion",
            "states": "labour states",
            "alpha": "capital's share of output",
            "delta": "depreciation a year",
            "rho": "persistence of log labour",
            "sigma": "its standard deviation, unconditional",
            "high": "highest assets",
        },
    ),
    "arellano": Entry(
        arellano,
        "a government that may default, and prices at which lenders break even; on device cpu or gpu",
        {
            "bonds": "grid points of bonds, an odd number",
            "incomes": "income states",
            "beta": "discount factor a quarter",
            "eta": "relative risk aversion",
            "interest": "of a safe bond a quarter, above -1",
            "reentry": "probability of good standing again a quarter after default",
            "rho": "persistence of log income",
            "sigma": "standard deviation of its shock",
            "share": "of mean income, more than which is lost in default",
            "limit": "bonds go from minus this to this",
        },
    ),
    "retirement": Entry(
        retirement,
        "a worker who may retire for good; on device cpu or gpu",
        {
            "grid": "grid points of wealth",
            "ages": "ages, from 1",
            "wage": "of a period of work, at the age after it",
            "disutility": "of a period of work",
            "beta": "discount factor from age to age",
            "interest": "from age to age, above -1",
            "taste": "scale of taste shocks over working and retiring",
            "low": "lowest wealth, above 0",
            "high": "highest wealth",
        },
    ),
    "lumpy-investment": Entry(
        lumpy_investment,
        "a firm with fixed and convex costs of adjusting its capital; on device cpu, without the latter also on gpu",
        {
            "steps": "grid points that a year's depreciation is",
            "states": "productivity states",
            "beta": "discount factor a year",
            "alpha": "curvature of profits, between 0 and 1",
            "delta": "depreciation a year, between 0 and 1",
            "rho": "persistence of log productivity",
            "sigma": "standard deviation of its shock",
            "fixed": "cost of adjusting, from 0",
            "convex": "cost of the square of the investment rate, from 0",
            "low": "lowest capital, above 0",
            "high": "highest capital",
        },
    ),
    "hopenhayn-rogerson": Entry(
        hopenhayn_rogerson,
        "firms that pay for dismissals, enter and exit, and a price that makes entry free; on device cpu or gpu",
        {
            "grid": "grid points of workers",
            "tau": "firing cost of a worker, units of a period's wage, from 0",
            "states": "productivity states",
            "beta": "discount factor of five years",
            "alpha": "exponent of labour, between 0 and 1",
            "rho": "persistence of log productivity",
            "variance": "of log productivity in the long run",
            "high": "most workers of a firm",
        },
    ),
}
"""The first is the default."""


def parameters() -> dict[str, tuple[type, str]]:
    """Every parameter of any model: its type, and what the help says of it, model by model."""
    found: dict[str, tuple[type, str]] = {}
    for model, entry in MODELS.items():
        for name, text in entry.parameters.items():
            default = entry.default(name)
            if name not in found and model == next(iter(MODELS)):
                found[name] = type(default), f"{text} (default {default})"
            elif name not in found:
                found[name] = type(default), f"{model}: {text} ({default})"
            else:
                kind, before = found[name]
                found[name] = kind, f"{before}; {model}: {text} ({default})"
    return found


def made(model: str, given: Mapping[str, Any]) -> Problem | Model:
    """Return the model called ``model`` with the parameters that were ``given``.

    Raises
    ------
    ProblemError
        No model has that name, or it has no such parameter; or one is out of range.
    """
    if model not in MODELS:
        raise ProblemError(f"model must be one of {', '.join(map(repr, MODELS))}, not {model!r}")
    entry = MODELS[model]
    for name in given:
        if name not in entry.parameters:
            takes = ", ".join(f"--{known}" for known in entry.parameters)
            raise ProblemError(f"model {model!r} has no parameter --{name}: it takes {takes}")
    return entry.make(**given)
