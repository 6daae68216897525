"""Models by the names that the command line uses."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

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
from beltline.host.problem.checks import ProblemError, word
from beltline.host.problem.problem import Problem
from beltline.host.results.fields import Declared


@dataclass(frozen=True)
class Entry:
    """A model of the command line.

    Parameters
    ----------
    make
        Function that makes the model; its arguments are keywords with a number or a text as default.
    about
        Short description of the model.
    names
        Names of the parameters that the command line offers, between blanks.
    """

    make: Callable[..., Problem | Model]
    about: str
    names: str

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters that the command line offers."""
        return self.names.split()

    def default(self, name: str) -> Any:
        """Return the default of a parameter."""
        return _described(self.make)[name][0]

    def text(self, name: str) -> str:
        """Return the description of a parameter in the help: the first sentence of its documentation."""
        return _described(self.make)[name][1]


@cache
def _described(make: Callable[..., Any]) -> dict[str, tuple[Any, str]]:
    """Return default and text of each parameter of a model: of its class, or of the function that makes it."""
    found: dict[str, tuple[Any, str]] = {}
    made = make if isinstance(make, type) else get_type_hints(make)["return"]
    if issubclass(made, Declared):
        found = {each.name: (each.default, sentence(each.metadata["field"].text)) for each in _declared(made)}
    known = inspect.signature(make).parameters
    sections = inspect.cleandoc(make.__doc__ or "").partition("Parameters\n----------\n")[2]
    for names, text in re.findall(r"^(\S.*?)(?: : .*)?\n((?:    .*\n)+)", sections.partition("\n\n")[0] + "\n", re.M):
        for name in names.split(", "):
            if name in known and known[name].default is not inspect.Parameter.empty:
                before = found.get(name, (None, ""))[1]
                found[name] = known[name].default, before or sentence(" ".join(text.split()))
    return found


def _declared(made: type) -> list[Any]:
    """Return the declared fields of a class, and those of an economy among its parameters."""
    found = [each for each in dataclasses.fields(made) if "field" in each.metadata]
    inner = [part for each in found if each.metadata["field"].of for part in _declared(each.metadata["field"].of)]
    return inner + found


def sentence(text: str) -> str:
    """Return the first sentence of a text as the help of a command has it."""
    text = re.sub(r", \d to ``\w+``", "", re.split(r"\. |\.$| \(:func:", text)[0]).replace("``", "")
    return text[0].lower() + text[1:] if text[1:2].islower() else text


MODELS: dict[str, Entry] = {
    "rbc": Entry(
        rbc,
        "real business cycle: a planner, capital and productivity",
        "grid states beta eta alpha delta rho sigma",
    ),
    "life-cycle": Entry(
        life_cycle,
        "life cycle: saving with uncertain wages over a finite life",
        "grid states ages beta eta interest wage rho sigma",
    ),
    "cohort": Entry(
        cohort,
        "life cycle of a cohort: work, retirement and death, with income and survival by age; on device cpu, gpu, "
        "emulator or rtl",
        "grid states education first retirement last beta eta interest bequest luxury rho high",
    ),
    "aiyagari": Entry(
        aiyagari,
        "Aiyagari (1994): saving with income risk, and an interest rate that clears the market",
        "grid states beta eta alpha delta rho sigma high",
    ),
    "aiyagari-path": Entry(
        aiyagari_path,
        "transition path of Aiyagari's economy after an unexpected shock to productivity; on device cpu",
        "grid shock persistence periods states beta eta alpha delta rho sigma high",
    ),
    "aiyagari-types": Entry(
        aiyagari_types,
        "Aiyagari's economy with several types of households, by patience; on device cpu",
        "grid types beta spread eta states alpha delta rho sigma high",
    ),
    "arellano": Entry(
        arellano,
        "Arellano (2008): a government that may default, and prices at which lenders break even; on device cpu, gpu, "
        "emulator or rtl",
        "bonds incomes beta eta interest reentry rho sigma share limit",
    ),
    "retirement": Entry(
        retirement,
        "a worker who decides when to retire; on device cpu, gpu, emulator or rtl",
        "grid ages wage disutility beta interest taste low high",
    ),
    "lumpy-investment": Entry(
        lumpy_investment,
        "a firm with fixed and convex costs of adjusting its capital; on device cpu, without a convex cost also on gpu",
        "steps states beta alpha delta rho sigma fixed convex low high",
    ),
    "hopenhayn-rogerson": Entry(
        hopenhayn_rogerson,
        "Hopenhayn and Rogerson (1993): firms with firing costs, entry and exit",
        "grid tau states beta alpha rho variance high",
    ),
}
"""The models by name; the first is the default."""


def parameters() -> dict[str, tuple[type, str]]:
    """Return every parameter of any model: its type, and its help, with a line for each model that has it."""
    found: dict[str, tuple[type, str]] = {}
    for model, entry in MODELS.items():
        for name in entry.parameters:
            text = entry.text(name)
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
    entry = MODELS[word("model", model, MODELS)]
    for name in given:
        if name not in entry.parameters:
            takes = ", ".join(f"--{known}" for known in entry.parameters)
            raise ProblemError(f"model {model!r} has no parameter --{name}: it takes {takes}")
    return entry.make(**given)
