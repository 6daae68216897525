"""Models by the names that the command line uses."""

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
    """A model of the command line.

    Parameters
    ----------
    make
        Function that makes the model; its arguments are keywords with a number or a text as default.
    about
        Short description of the model.
    parameters
        Parameters that the command line offers, each with its description in the help, without the default.
    """

    make: Callable[..., Problem | Model]
    about: str
    parameters: Mapping[str, str]

    def default(self, name: str) -> Any:
        """Return the default of a parameter."""
        return inspect.signature(self.make).parameters[name].default


MODELS: dict[str, Entry] = {
    "rbc": Entry(
        rbc,
        "real business cycle: a planner, capital and productivity",
        {
            "grid": "grid points of capital, up to 65536 on a machine and 1048576 on cpu and gpu",
            "states": "productivity states, up to 16 on a machine, 64 on gpu and 1024 on cpu",
            "beta": "discount factor per quarter, between 0 and 1",
            "eta": "relative risk aversion, above 0 up to 16; 1 is log",
            "alpha": "capital share of output, between 0 and 1",
            "delta": "depreciation rate per quarter, 0 to 1",
            "rho": "autocorrelation of log productivity, between -1 and 1",
            "sigma": "standard deviation of the shock to log productivity per quarter",
        },
    ),
    "life-cycle": Entry(
        life_cycle,
        "life cycle: saving with uncertain wages over a finite life",
        {
            "grid": "grid points of assets",
            "states": "productivity states",
            "ages": "number of ages, from 1",
            "beta": "discount factor from age to age",
            "eta": "relative risk aversion",
            "interest": "interest rate from age to age, above -1",
            "wage": "wage of a unit of productivity, above 0",
            "rho": "autocorrelation of log productivity",
            "sigma": "standard deviation of the shock to log productivity",
        },
    ),
    "cohort": Entry(
        cohort,
        "life cycle of a cohort: work, retirement and death, with income and survival by age; on device cpu, gpu, "
        "emulator or rtl",
        {
            "grid": "grid points of assets",
            "states": "states of the persistent shock to income",
            "education": "whose income: 'no high school', 'high school' or 'college'",
            "first": "first age, in years",
            "retirement": "last age of work",
            "last": "last age",
            "beta": "discount factor per year",
            "eta": "relative risk aversion",
            "interest": "interest rate per year, above -1",
            "bequest": "weight of bequests in utility, from 0",
            "luxury": "amount added to bequests in utility, above 0",
            "rho": "autocorrelation of log income, above -1 and at most 1",
            "high": "highest assets",
        },
    ),
    "aiyagari": Entry(
        aiyagari,
        "Aiyagari (1994): saving with income risk, and an interest rate that clears the market",
        {
            "grid": "grid points of assets",
            "states": "labour states",
            "beta": "discount factor per year",
            "eta": "relative risk aversion",
            "alpha": "capital share of output",
            "delta": "depreciation rate per year",
            "rho": "autocorrelation of log labour",
            "sigma": "unconditional standard deviation of log labour",
            "high": "highest assets",
        },
    ),
    "aiyagari-path": Entry(
        aiyagari_path,
        "transition path of Aiyagari's economy after an unexpected shock to productivity; on device cpu",
        {
            "grid": "grid points of assets, between which households choose",
            "shock": "change of productivity at the first date, above -1",
            "persistence": "persistence of the shock, 0 to 1; 1 is permanent",
            "periods": "number of dates of the path",
            "states": "labour states",
            "beta": "discount factor per year",
            "eta": "relative risk aversion",
            "alpha": "capital share of output",
            "delta": "depreciation rate per year",
            "rho": "autocorrelation of log labour",
            "sigma": "unconditional standard deviation of log labour",
            "high": "highest assets",
        },
    ),
    "aiyagari-types": Entry(
        aiyagari_types,
        "Aiyagari's economy with several types of households, by patience; on device cpu",
        {
            "grid": "grid points of assets, between which households choose",
            "types": "number of types of households",
            "beta": "middle of the discount factors of all types",
            "spread": "distance of the lowest and the highest discount factor from the middle, from 0",
            "eta": "relative risk aversion",
            "states": "labour states",
            "alpha": "capital share of output",
            "delta": "depreciation rate per year",
            "rho": "autocorrelation of log labour",
            "sigma": "unconditional standard deviation of log labour",
            "high": "highest assets",
        },
    ),
    "arellano": Entry(
        arellano,
        "Arellano (2008): a government that may default, and prices at which lenders break even; on device cpu, gpu, "
        "emulator or rtl",
        {
            "bonds": "grid points of bonds, an odd number",
            "incomes": "income states",
            "beta": "discount factor per quarter",
            "eta": "relative risk aversion",
            "interest": "interest rate of a safe bond per quarter, above -1",
            "reentry": "probability per quarter of a return to good standing after a default",
            "rho": "autocorrelation of log income",
            "sigma": "standard deviation of the shock to log income",
            "share": "in default, income above this share of mean income is lost",
            "limit": "bonds range from minus this number to this number",
        },
    ),
    "retirement": Entry(
        retirement,
        "a worker who decides when to retire; on device cpu, gpu, emulator or rtl",
        {
            "grid": "grid points of wealth",
            "ages": "number of ages, from 1",
            "wage": "wage of one age of work, paid at the next age",
            "disutility": "disutility of one age of work",
            "beta": "discount factor from age to age",
            "interest": "interest rate from age to age, above -1",
            "taste": "scale of taste shocks to working and retiring",
            "low": "lowest wealth, above 0",
            "high": "highest wealth",
        },
    ),
    "lumpy-investment": Entry(
        lumpy_investment,
        "a firm with fixed and convex costs of adjusting its capital; on device cpu, without a convex cost also on gpu",
        {
            "steps": "number of grid points by which a year's depreciation lowers capital",
            "states": "productivity states",
            "beta": "discount factor per year",
            "alpha": "exponent of capital in profits, between 0 and 1",
            "delta": "depreciation rate per year, between 0 and 1",
            "rho": "autocorrelation of log productivity",
            "sigma": "standard deviation of the shock to log productivity",
            "fixed": "fixed cost of adjusting, from 0",
            "convex": "coefficient of the squared investment rate in the cost of adjusting, from 0",
            "low": "lowest capital, above 0",
            "high": "highest capital",
        },
    ),
    "hopenhayn-rogerson": Entry(
        hopenhayn_rogerson,
        "Hopenhayn and Rogerson (1993): firms with firing costs, entry and exit",
        {
            "grid": "grid points of workers",
            "tau": "firing cost per worker, in wages of one period, from 0",
            "states": "productivity states",
            "beta": "discount factor per five years",
            "alpha": "exponent of labour, between 0 and 1",
            "rho": "autocorrelation of log productivity",
            "variance": "unconditional variance of log productivity",
            "high": "largest number of workers of a firm",
        },
    ),
}
"""The models by name; the first is the default."""


def parameters() -> dict[str, tuple[type, str]]:
    """Return every parameter of any model: its type, and its help, with a line for each model that has it."""
    found: dict[str, tuple[type, str]] = {}
    for model, entry in MODELS.items():
        for name, text in entry.parameters.items():
            default = entry.default(name)
            if name not in found and model == next(iter(MODELS)):
                found[name] = type(default), f"{model}: {text} (default {default})"
            elif name not in found:
                found[name] = type(default), f"{model}: {text} ({default})"
            else:
                kind, before = found[name]
                found[name] = kind, f"{before}\n{model}: {text} ({default})"
    return found


def made(model: str, given: Mapping[str, Any]) -> Problem | Model:
    """Make the model of a name with the parameters that are ``given``.

    Raises
    ------
    ProblemError
        ``model`` is not the name of a model, the model does not have a parameter, or a parameter is out of range.
    """
    if model not in MODELS:
        raise ProblemError(f"model must be one of {', '.join(map(repr, MODELS))}, not {model!r}")
    entry = MODELS[model]
    for name in given:
        if name not in entry.parameters:
            takes = ", ".join(f"--{known}" for known in entry.parameters)
            raise ProblemError(f"model {model!r} has no parameter --{name}: it takes {takes}")
    return entry.make(**given)
