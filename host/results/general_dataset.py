"""Results of the general form as labelled arrays (xarray)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from beltline.host.results.dataset import ages, asset_unit, attributes, axes, check_xarray, unit
from beltline.host.results.general_record import KIND, parts_of
from beltline.host.results.general_result import GeneralResult

if TYPE_CHECKING:
    from xarray import Dataset

_AMOUNT = "amount"  # Placeholder for the unit of the good in the tables below.
_ABOUT = {
    "wealth": ("cash on hand", _AMOUNT),
    "cost": ("cost of ending the period with each choice", _AMOUNT),
    "low": ("lowest index of the choice", "1"),
    "high": ("highest index of the choice", "1"),
    "choice": ("index of the only choice", "1"),
    "transition": ("probability of the next state", "1"),
    "start": ("first guess of the value, or the value after the last age", "utility"),
    "beta": ("discount factor", "1"),
    "kappa": ("utility from taking the alternative", "utility"),
    "value": ("value that replaces a choice", "utility"),
    "marginal_wealth": ("marginal cash on hand of the asset, dW/dx", "1"),
    "output": ("output of the period", _AMOUNT),
    "prices": ("prices that update returned last", "1"),
}
"""Description and unit of each table of a problem or an alternative."""


def to_xarray(result: GeneralResult, kind: str = KIND, more: Mapping[str, Any] | None = None) -> Dataset:
    """Return ``result`` as an ``xarray.Dataset``; the method ``GeneralResult.to_xarray`` calls this.

    Parameters
    ----------
    result
        A result of the general form.
    kind
        Kind of content of a file of the dataset.
    more
        Facts that such a file holds beside the result, for solutions of models that contain one.
    """
    check_xarray()
    import xarray

    problem = result.problem
    asset, good = problem.asset_name, unit(problem)
    coordinates = axes(problem)
    coordinates["regime"] = ("regime", np.array(result.regimes), {"long_name": "regime"})
    coordinates["alternative"] = ("alternative", np.array(result.alternatives), {"long_name": "alternative"})
    aged: tuple[str, ...] = ()
    if problem.horizon is not None:
        aged, coordinates["age"] = ("age",), ages(1, problem.horizon)
    by_regime, by_alternative = (*aged, "regime", asset, "state"), (*aged, "alternative", asset, "state")
    answers = {
        "value": (by_regime, "value of each regime", "utility"),
        "choice": (by_regime, "number of the best alternative, from 0", "1"),
        "values": (by_alternative, "value of each alternative", "utility"),
        "policy": (by_alternative, f"index of the best {problem.asset} of the next period, from 0", "1"),
        "policy_values": (by_alternative, f"best {problem.asset} of the next period", asset_unit(problem)),
        "probabilities": (by_alternative, "probability of the alternative in its regime", "1"),
    }
    facts, arrays = parts_of(result)
    sizes = {axis: len(values) for axis, (of, values, *_) in coordinates.items() if axis == of}
    data: dict[str, Any] = {}
    for name, table in (arrays | {"policy_values": result.policy_values}).items():
        if name in answers:
            dimensions, what, units = answers[name]
        elif name in ("grid", "shock_values"):
            continue
        else:
            owner, _, plain = name.partition("_") if name.startswith("alternative") else ("", "", name)
            what, units = _ABOUT[plain]
            if owner:
                what = f"{what} of alternative {result.alternatives[int(owner.removeprefix('alternative'))]}"
            dimensions = _dimensions(name, plain, table.shape, asset, sizes)
        data[name] = (dimensions, table.copy(), {"long_name": what, "units": good if units == _AMOUNT else units})
    known: dict[str, Any] = {name: getattr(result, name) for name in ("evaluations", "searched", "price_change")}
    machine = {name: getattr(result, name) for name in ("clocks", "clocks_source", "amount_bits", "value_bits")}
    known |= {name: value for name, value in machine.items() if value}
    if result.build_hash:
        known["build_hash"] = f"{result.build_hash:#018x}"
    content = facts if more is None else {**more, "solution": facts}
    known |= {"taste": problem.taste, "negative": int(problem.negative)}
    return xarray.Dataset(data, coordinates, attributes(result, known, kind, content, arrays))


def _dimensions(name: str, plain: str, shape: tuple[int, ...], asset: str, sizes: dict[str, int]) -> tuple[str, ...]:
    """Return the names of a table's axes; axes of other sizes, such as those of prices, get names of their own."""
    last = {"transition": ("state", "next_state"), "beta": ("state",), "kappa": ("state",)}.get(plain, (asset, "state"))
    found = ("regime" if plain == "start" else "age", *last)[-len(shape) :] if shape else ()
    if len(shape) == 1 and len(last) == 2:
        found = (asset,)
    if shape == tuple(sizes.get(axis) for axis in found):
        return found
    return tuple(f"{name}_{k}" for k in range(len(shape)))
