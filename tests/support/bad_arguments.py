"""Calls of every public function with one bad argument each: a table of good calls, a list of bad values.

A call either returns numbers that are finite wherever those of the good call are, or raises one of the package's own
errors with one sentence that names the argument. :func:`fault` says what is wrong with a call.

``python -m tests.support.bad_arguments`` makes all of the calls, and 10,000 with two bad values, and prints the faults.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import os
import re
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import beltline as bl

from .bad_values import FUNCTIONS, SAME, SAME_FUNCTIONS, OwnError, changed, changes_of, never


class Call(NamedTuple):
    """A good call: a function and its arguments by name."""

    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    names: Mapping[str, str] = {}
    """What messages call an argument, where it is not its name."""
    raises: tuple[type[Exception], ...] = (bl.ProblemError, bl.DeviceError)


def _savings(xp: Any, beta: Any) -> Any:
    grid = xp.linspace(0.0, 10.0, 24)
    wealth = (1.02 * grid[:, None] + xp.array([0.5, 1.5]))[None].repeat(len(beta), 0)
    return {"grid": grid, "wealth": wealth, "transition": xp.full((2, 2), 0.5), "beta": beta, "eta": 2.0}


def _solve_many(problems: Any, **more: Any) -> Any:
    found = list(bl.solve_many(problems, **more))
    for attempt in found:
        if attempt.error is not None:
            raise attempt.error
    return [attempt.result for attempt in found]


def _opened(**arguments: Any) -> None:
    with bl.open(**arguments):
        pass


@functools.cache
def calls(folder: Path) -> dict[str, Call]:
    """Return a good call of every public function by name; files are written to ``folder``."""
    rbc, cpu = bl.rbc(grid=200, states=2, sigma=0.05), {"device": "cpu", "progress": False}
    result = bl.solve(rbc, **cpu)
    ages = bl.solve(bl.life_cycle(grid=24, states=3, ages=4), **cpu)
    of_ages = {"result": ages, "start": 0, "choices": "grid", "physical": ages.problem.transition[::-1, ::-1]}
    chosen = bl.solve(bl.retirement(grid=24, ages=4).problem(), **cpu)
    R, Q = np.array([[5.0, 10.0], [-1.0, 2.0]]), np.array([[(0.5, 0.5), (0, 1)], [(0, 1), (0.5, 0.5)]])
    discrete = bl.from_discrete_dp(R, Q, 0.95)
    solved = bl.solve(discrete, **cpu)
    half, grid = np.full((2, 2), 0.5), np.linspace(0.0, 5.0, 12)
    wealth = 1.02 * grid[:, None] + np.array([0.5, 1.5])
    tables = {"grid": grid, "wealth": wealth, "transition": half, "beta": 0.9, "eta": 2.0}
    facts = {"name": "saving", "asset": "a", "shock": "s", "labels": ("low", "high"), "parameters": {"r": 0.02}}
    facts |= {"shock_values": np.array([0.5, 1.5]), "marginal_wealth": np.full((12, 2), 1.02), "output": wealth}
    start, work = np.zeros((12, 2)), bl.Alternative(name="work")
    stop = bl.Alternative(name="stop", value=np.full((12, 2), -50.0))
    moved = np.array([[(1.0, 0.0), (0.0, 1.0)]] * 2)
    chance = {"R": R, "Q": moved, "beta": 0.95, "endog_size": 2, "horizon": 3, "start": np.zeros((2, 1)), "name": "d"}
    shape = np.indices((3, 2, 3))
    factors = {"endog_size": 3, "exog_chain": half, "num_actions": 3, "reward": shape.sum(0) / 10.0}
    factors |= {"endog_next": shape[2], "beta": 0.9, "feasible": shape[2] <= shape[0], "name": "f"}
    rule = bl.BondPrices("a", "b", grid, 0.01)
    economy = bl.aiyagari(grid=24, states=2)
    firms = bl.hopenhayn_rogerson(grid=24, states=3)
    lumpy = bl.lumpy_investment(states=2)
    ks = bl.KrusellSmith(points=40)
    sizes = {"agents": 100, "periods": 120, "discard": 20, "law": np.array([[0.127, 0.9647], [0.1385, 0.963]])}
    equilibrium = ks.solve(**sizes, progress=False)
    government = bl.arellano(bonds=11, incomes=3)
    file = result.save(folder / "result.npz")
    amounts = {"values": np.array([1.0, 2.0, 4.0]), "mass": np.array([1.0, 1.0, 2.0])}
    draws = {"result": result, "periods": 20, "burn_in": 2, "seed": 0}
    follows = {"choices": "grid", "physical": rbc.transition[::-1, ::-1]}
    of = {"output": np.ones((200, 2)), "own": lambda v: 2.0 * v["output"]}
    double = {"tol": 1e-6, "max_sweeps": 500, "device": "cpu", "progress": False, "verify": True, "method": "auto"}
    accelerator = {"problem": rbc, "tol": 1e-6, "max_sweeps": 5, "device": "emulator", "progress": False}
    accelerator |= {"value_bits": 30, "amount_bits": 30, "timeout": 60.0, "verify": False}
    saving = {"checkpoint": folder / "run.npz", "checkpoint_every": 10.0}
    batch = {"problems": [rbc], "tol": 1e-6, "max_sweeps": 500, "device": "cpu", "order": "given", "progress": False}
    store = bl.Store(folder / "store")
    [first] = bl.solve_many([rbc], device="cpu", store=store, progress=False)
    model = {"tol": 1e-6, "device": "cpu", "progress": False}
    market = economy.solve(**model)

    def lender(p: Any) -> bl.Problem:
        return bl.Problem(**tables | {"wealth": p.gross * grid[:, None] + p.wage * np.array([0.5, 1.5])})

    def excess(a: Any, p: Any) -> float:
        return a.x / 0.3 - 1.0 - 20.0 * (1.03 - p.gross)

    def twice(p: Any, problem: Any, choice: Any) -> Any:
        return {"twice": 2.0 * choice}

    own = {"household": lender, "markets": {"assets": excess}}
    option = {"variables": twice}
    # A household's problem can be wrong because of what is given.
    said = {"household": "household|wealth"}
    at = bl.equilibrium(**own, **option, guess={"gross": 1.0}, given={"wage": 1.0}, progress=False)
    linear = bl.sequence_jacobian(**own, **option, at=at, periods=4)
    cohort = bl.solve(bl.cohort(24, 2, first=25, retirement=28, last=30), **cpu)
    law = np.array([[0.1, 0.97], [0.1, 0.97]])
    plotted = {"path": folder / "figure.png", "kind": "policy"}
    each = {"problems": "problem"}
    return {
        "Problem": Call(bl.Problem, tables | facts | {"start": start, "horizon": None}),
        "Problem, general": Call(bl.Problem, tables | {
            "beta": np.array([0.9, 0.8]), "horizon": 3, "cost": grid**1.1, "low": 0, "high": np.full(12, 11),
            "taste": 0.1, "alternatives": [work, stop], "negative": False,
        }),
        "Problem, negative": Call(bl.Problem, tables | {"negative": True, "eta": 0.0}),
        "Alternative": Call(bl.Alternative, {
            "name": "repay", "regime": "good", "leads_to": {"good": 1.0}, "wealth": wealth, "cost": grid, "low": 0,
            "high": 5, "transition": half, "beta": 0.9, "kappa": 0.0,
        }),
        "Alternative, choice": Call(bl.Alternative, {"name": "wait", "choice": 0, "leads_to": "good"}),
        "Alternative, value": Call(bl.Alternative, {"name": "leave", "value": start}),
        "from_discrete_dp": Call(bl.from_discrete_dp, chance),
        "from_discrete_dp, by pairs": Call(bl.from_discrete_dp, {
            "R": np.array([5.0, 10.0, -1.0]), "Q": np.array([(0.5, 0.5), (0, 1), (0, 1)]), "beta": 0.95,
            "s_indices": np.array([0, 0, 1]), "a_indices": np.array([0, 1, 0]),
        }),
        "from_factors": Call(bl.from_factors, factors),
        "from_factors, functions": Call(bl.from_factors, factors | {
            "reward": lambda k, z, a: (k + z + a) / 10.0, "endog_next": lambda k, z, a: a,
            "feasible": lambda k, z, a: a <= k,
        }),
        "from_factors, ages": Call(bl.from_factors, factors | {"horizon": 3, "start": np.zeros((3, 2))}),
        "to_discrete_dp": Call(bl.to_discrete_dp, {"problem": rbc}),
        "grid_uniform": Call(bl.grid_uniform, {"low": 0.0, "high": 2.0, "points": 5}),
        "grid_log": Call(bl.grid_log, {"low": 0.0, "high": 2.0, "points": 5, "shift": 1.0}),
        "grid_polynomial": Call(bl.grid_polynomial, {"low": 0.0, "high": 2.0, "points": 5, "power": 2.0}),
        "rouwenhorst": Call(bl.rouwenhorst, {"n": 3, "rho": 0.5, "sigma": 0.1, "mean": 0.0}),
        "tauchen": Call(bl.tauchen, {"n": 3, "rho": 0.5, "sigma": 0.1, "mean": 0.0, "width": 3.0}),
        "concave_majorant": Call(bl.concave_majorant, {"values": wealth**0.5, "grid": grid}),
        "solve": Call(bl.solve, {"problem": rbc} | double),
        "solve, shift": Call(bl.solve, {"problem": rbc, "method": "shift", "start": "given", **cpu}),
        "solve, discrete": Call(bl.solve, {"problem": discrete, "tol": 1e-6, "max_sweeps": 500, "verify": True, **cpu}),
        "solve, accelerator": Call(bl.solve, accelerator | saving),
        "solve, lanes": Call(bl.solve, {
            "problem": rbc, "device": "emulator", "lanes": 2, "method": "shift", "start": "given", "max_sweeps": 5,
            "verify": False, "progress": False,
        }),
        "solve, general": Call(bl.solve, {
            "problem": government.problem(), "update": government.update, "steps": 5, "max_sweeps": 50, **cpu,
        }),
        "solve_many": Call(_solve_many, batch | {"verify": True, "chunk": 1, "in_flight": 2, "method": None}, each),
        "solve_many, accelerator": Call(_solve_many, batch | {
            "device": "emulator", "max_sweeps": 5, "warm": False, "value_bits": 30, "amount_bits": 30, "timeout": 60.0,
            "store": folder / "runs", "workers": None, "executor": None, "verify": False,
        }, each),
        "solve_family": Call(bl.solve_family, {
            "family": _savings, "parameters": {"beta": np.array([0.5, 0.6])}, "tol": 1e-6, "max_sweeps": 500, **cpu,
        }, {"parameters": "parameter"}),
        "open": Call(_opened, {"device": "emulator", "progress": False}),
        "open, lanes": Call(_opened, {"device": "emulator", "lanes": 2}),
        "open, serial": Call(_opened, {
            "device": "serial", "port": folder / "none", "baud": 115200, "patience": 1.0, "retries": 1, "builds": None,
            "bitstream": None,
        }),
        "open, pynq": Call(_opened, {
            "device": "pynq", "bitstream": folder / "none.bit", "download": True, "interrupt": "beltline/interrupt",
            "registers": 0, "tables": 4096, "builds": None,
        }),
        "open, f2": Call(_opened, {"device": "f2", "slot": 0, "builds": None}),
        "open, xdma": Call(_opened, {"device": "xdma", "builds": None}),
        "Session": Call(bl.Session, {"device": "emulator", "progress": False}),
        "Session.solve": Call(bl.Session("emulator").solve, {
            "problem": rbc, "tol": 1e-6, "max_sweeps": 5, "start": "given", "method": None, "verify": False,
            "progress": False, "value_bits": 30, "amount_bits": 30, "timeout": 60.0, "checkpoint": None,
            "checkpoint_every": None, "update": None, "update_every": None,
        }),
        "certify": Call(bl.certify, {"problem": rbc, "value": result.value, "policy": result.policy}),
        "certify, discrete": Call(bl.certify, {"problem": discrete, "value": solved.value, "policy": solved.policy}),
        "certify, alternatives": Call(bl.certify, {
            "problem": chosen.problem, "value": chosen.value, "policy": chosen.policy,
            "alternative": chosen.alternative,
        }),
        "refine": Call(bl.refine, {"result": result, "tol": 1e-3, "max_steps": 5}),
        "gini": Call(bl.gini, amounts),
        "lorenz": Call(bl.lorenz, amounts),
        "simulate": Call(bl.simulate, draws | follows | {"start": (3, 1)}),
        "simulate, ages": Call(bl.simulate, {"result": ages, "agents": 20}),
        "moments": Call(bl.moments, draws | follows | {"how": "simulation", "periods": 200, "of": of}),
        "moments, ages": Call(bl.moments, {"result": ages, "start": 0}),
        "euler_errors": Call(bl.euler_errors, {"result": result}),
        "euler_report": Call(bl.euler_report, draws),
        "impulse_response": Call(bl.impulse_response, follows | {
            "result": result, "state": 0, "to": 1, "periods": 20,
        }),
        "stationary_distribution": Call(bl.stationary_distribution, follows | {"result": result}),
        "age_distribution": Call(bl.age_distribution, of_ages),
        "life_paths": Call(bl.life_paths, of_ages | {"people": 20, "seed": 0}),
        "load": Call(bl.load, {"path": file}),
        "panel_errors": Call(bl.panel_errors, {"result": equilibrium}),
        "Store": Call(bl.Store, {"path": store.path}, {"path": "store"}),
        "Store.file": Call(store.file, {"key": first.key}),
        "Store.load": Call(store.load, {"key": first.key}),
        "Store.get": Call(store.get, {"key": first.key, "problem": rbc}),
        "Workers": Call(bl.Workers, {"count": 1}),
        "Result.save": Call(result.save, {"path": folder / "saved.npz"}, {"path": "out"}),
        "Result.plot": Call(result.plot, plotted, {"path": "plot"}),
        "Refined.of": Call(bl.Refined.of, {"result": result}),
        "Result.taken": Call(result.taken, {"alternative": "save"}),
        "DiscreteProblem.state_name": Call(discrete.state_name, {"number": 1}),
        "rbc": Call(bl.rbc, {
            "grid": 24, "states": 2, "beta": 0.98, "eta": 2.0, "alpha": 0.35, "delta": 0.02, "rho": 0.9, "sigma": 0.01,
            "width": 3.0,
        }),
        "life_cycle": Call(bl.life_cycle, {
            "grid": 24, "states": 3, "ages": 4, "beta": 0.97, "eta": 2.0, "interest": 0.07, "wage": 5.0, "rho": 0.9,
            "sigma": 0.02, "width": 1.5, "low": 0.1, "high": 4.0,
        }),
        "cohort": Call(bl.cohort, {
            "grid": 24, "states": 2, "education": "college", "first": 25, "retirement": 28, "last": 30,
            "income": np.ones(4), "survival": np.full(5, 0.9),
        }),
        "retirement": Call(bl.retirement, {
            "grid": 24, "ages": 4, "wage": 20.0, "disutility": 1.0, "beta": 0.98, "interest": 0.0, "taste": 0.1,
            "low": 0.1, "high": 40.0,
        }),
        "aiyagari": Call(bl.aiyagari, {
            "grid": 24, "states": 2, "beta": 0.96, "eta": 3.0, "alpha": 0.36, "delta": 0.08, "rho": 0.6, "sigma": 0.2,
            "width": 3.0, "high": 60.0, "power": 3.0,
        }),
        "aiyagari.capital": Call(economy.capital, {"interest": 0.03, "productivity": 1.0}),
        "aiyagari.wage": Call(economy.wage, {"interest": 0.03, "productivity": 1.0}),
        "aiyagari.rate": Call(economy.rate, {"capital": 5.0, "productivity": 1.0}),
        "aiyagari.at": Call(economy.at, {"interest": 0.03, "wage": 1.2, "start": np.zeros((24, 2))}),
        "aiyagari.problem": Call(economy.problem, {"interest": 0.03, "start": np.zeros((24, 2))}),
        "aiyagari_path": Call(bl.aiyagari_path, {"grid": 24, "shock": -0.01, "persistence": 0.9, "periods": 5}),
        "aiyagari_path, given": Call(bl.aiyagari_path, {"productivity": np.array([0.9, 1.0, 1.1])}),
        "aiyagari_types": Call(bl.aiyagari_types, {
            "grid": 24, "types": 2, "beta": 0.95, "spread": 0.01, "eta": 2.0, "high": 50.0,
            "weights": np.array([0.5, 0.5]),
        }),
        "aiyagari_types, given": Call(bl.aiyagari_types, {
            "betas": np.array([0.9, 0.95]), "etas": np.array([2.0, 3.0]),
        }),
        "arellano": Call(bl.arellano, {
            "bonds": 11, "incomes": 3, "beta": 0.9, "eta": 2.0, "interest": 0.017, "reentry": 0.3, "rho": 0.9,
            "sigma": 0.025, "share": 0.969, "width": 3.0, "limit": 0.45,
        }),
        "arellano.prices": Call(government.prices, {"defaults": np.zeros((11, 3), bool)}),
        "arellano.costs": Call(government.costs, {"prices": np.full((11, 3), 0.9)}),
        "arellano.problem": Call(government.problem, {
            "prices": np.full((11, 3), 0.9), "start": government.problem().start,
        }),
        "hopenhayn_rogerson": Call(bl.hopenhayn_rogerson, {
            "tau": 0.1, "grid": 24, "states": 3, "beta": 0.8, "alpha": 0.64, "rho": 0.93, "variance": 0.5,
            "drift": 0.07, "width": 3.0, "fixed_cost": 12.0, "share": 0.65, "employment": 0.6, "high": 5000.0,
            "spacing": "log", "exits": "before",
        }),
        "hopenhayn_rogerson.problem": Call(firms.problem, {"price": 1.0, "start": np.zeros((24, 3))}),
        "lumpy_investment": Call(bl.lumpy_investment, {
            "steps": 4, "states": 2, "beta": 0.95, "alpha": 0.6, "delta": 0.07, "rho": 0.9, "sigma": 0.1,
            "fixed": 0.01, "convex": 0.0, "width": 3.0, "low": 0.02, "high": 50.0,
        }),
        "lumpy_investment.adjustment": Call(lumpy.adjustment, {
            "capital": np.array([1.0, 2.0]), "following": np.array([1.5, 2.0]),
        }),
        "KrusellSmith": Call(bl.KrusellSmith, {
            "beta": 0.99, "eta": 1.0, "alpha": 0.36, "delta": 0.025, "hours": 1.1, "benefit": 0.15, "spread": 0.01,
            "unemployment": (0.1, 0.04), "transition": ks.transition, "points": 12, "top": 1000.0, "power": 7.0,
            "means": 4, "low": 30.0, "high": 50.0,
        }),
        "KrusellSmith.problem": Call(ks.problem, {
            "law": law, "choices": np.linspace(0.0, 900.0, 9), "start": np.zeros((9, 16)),
        }),
        "KrusellSmith.chain": Call(ks.chain, {"law": law}),
        "KrusellSmith.ahead": Call(ks.ahead, {"law": law}),
        "KrusellSmith.choices": Call(ks.choices, {"points": 64}),
        "KrusellSmith.gross": Call(ks.gross, {"mean": np.array([40.0])}),
        "KrusellSmith.income": Call(ks.income, {"mean": np.array([40.0])}),
        "KrusellSmith.wealth": Call(ks.wealth, {"k": np.array([1.0, 40.0])}),
        "aiyagari.solve": Call(economy.solve, model | {"device": "cpu", "max_sweeps": 2000, "verify": True}),
        "aiyagari_path.solve": Call(bl.aiyagari_path(24, periods=5, states=2).solve, model | {"max_steps": 20}),
        "aiyagari_types.solve": Call(bl.aiyagari_types(24, 2, states=2).solve, model),
        "equilibrium": Call(bl.equilibrium, own | option | {
            "guess": {"gross": 1.0}, "bounds": {"gross": (0.5, 1.1)}, "given": {"wage": 1.0}, "method": "cubics",
            "tol": 1e-9, "max_steps": 50, "progress": False,
        }, said),
        "transition": Call(bl.transition, own | option | {
            "before": at, "shocks": {"wage": np.array([0.99, 1.0, 1.0])}, "after": at, "predetermined": "gross",
            "max_steps": 5, "progress": False,
        }),
        "sequence_jacobian": Call(bl.sequence_jacobian, own | option | {
            "at": at, "periods": 4, "predetermined": "gross",
        }),
        "SequenceJacobian.responses": Call(linear.responses, {"shocks": {"wage": np.array([0.1, 0.0, 0.0, 0.0])}}),
        "arellano.solve": Call(government.solve, model | {"start": None, "max_sweeps": 2000, "verify": True}),
        "hopenhayn_rogerson.solve": Call(firms.solve, model | {"max_sweeps": 2000}),
        "lumpy_investment.solve": Call(lumpy.solve, model),
        "retirement.solve": Call(bl.retirement(24, 4).solve, {"device": "cpu", "progress": False}),
        "KrusellSmith.solve": Call(ks.solve, sizes | {
            "household": "euler", "device": "cpu", "interpolation": "bicubic", "panel": "cpu", "tol": 1e-3,
            "relaxation": 0.4, "max_iterations": 2, "household_tol": 1e-5, "choices": 64, "refine": True, "seed": 0,
            "progress": False,
        }),
        "Economy.plot": Call(market.plot, {"path": folder / "economy.png", "kind": "lorenz"}, {"path": "plot"}),
        "Economy.save": Call(market.save, {"path": folder / "economy.npz"}, {"path": "out"}),
        "CohortResult.paths": Call(cohort.paths, {"shares": np.array([0.1, 0.5])}),
        "DefaultEconomy.moments": Call(government.solve(**model).moments, {
            "paths": 2, "periods": 200, "burn_in": 10, "seed": 0, "before_default": 5,
        }),
        "Refined.plot": Call(bl.refine(result).plot, {"path": folder / "refined.png"}, {"path": "plot"}),
        "BondPrices": Call(
            bl.BondPrices, {"repay": "a", "default": "b", "face": grid, "interest": 0.01}, raises=(ValueError,)
        ),
        "BondPrices.costs": Call(rule.costs, {"prices": np.full((12, 2), 0.9)}, raises=(ValueError,)),
        "BondPrices.numbers": Call(rule.numbers, {"names": ["a", "b"]}, {"names": "names|alternative"}, (ValueError,)),
    }  # fmt: skip


def cases(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Return an iterator over function, argument and bad value by name, in a fixed order."""
    for function, call in calls(folder).items():
        for argument, good in call.arguments.items():
            for value in changes_of(good):
                yield function, argument, value


def _unlike(name: str, found: Any, good: Any, seen: set[int]) -> str:
    """Return where a returned value is of another type, or not finite though that of the good call is; or ""."""
    number = np.ndarray | float | np.generic
    if not name and type(found) is not type(good) and not (isinstance(found, number) and isinstance(good, number)):
        return f"an object of type {type(found).__name__}"
    if isinstance(found, number):
        # The value of what cannot be done may be minus infinity.
        numeric = np.asarray(found).dtype.kind in "fc" and good is not None and np.isfinite(good).all()
        return name or "a number" if numeric and not (np.asarray(found) < np.inf).all() else ""
    if id(found) in seen:
        return ""
    seen.add(id(found))
    if isinstance(found, tuple | list):
        others = [*good, *[None] * len(found)] if isinstance(good, tuple | list) else [None] * len(found)
        parts = [(f"{name}[{i}]", each, others[i]) for i, each in enumerate(found)]
    elif isinstance(found, Mapping):
        others = good if isinstance(good, Mapping) else {}
        parts = [(f"{name}[{key!r}]", each, others.get(key)) for key, each in found.items()]
    elif dataclasses.is_dataclass(found):
        keys = [each.name for each in dataclasses.fields(found)]
        parts = [(f"{name}.{key}", getattr(found, key), getattr(good, key, None)) for key in keys]
    else:
        return ""
    return next((where for where in (_unlike(*part, seen) for part in parts) if where), "")


def _equal(found: Any, good: Any) -> bool:
    """Whether two returned values have the same numbers."""
    if type(found) is not type(good):
        return False
    if isinstance(found, np.ndarray | float | np.generic):
        return bool(np.array_equal(found, good, equal_nan=np.asarray(found).dtype.kind in "fc"))
    if isinstance(found, tuple | list):
        return len(found) == len(good) and all(map(_equal, found, good))
    if isinstance(found, Mapping):
        return [*found] == [*good] and all(_equal(found[key], good[key]) for key in found)
    if dataclasses.is_dataclass(found):
        keys = [each.name for each in dataclasses.fields(found) if each.name not in ("timing", "seconds")]
        return all(_equal(getattr(found, key), getattr(good, key)) for key in keys)
    return True


@functools.cache
def _good(folder: Path, function: str) -> Any:
    call = calls(folder)[function]
    try:
        return call.function(**call.arguments)
    except bl.DeviceError:
        return None  # a board that is not here


def fault(folder: Path, function: str, bad: Mapping[str, str]) -> str:
    """Return what is wrong with a call in which some arguments have bad values, by name; empty if nothing is."""
    call = calls(folder)[function]
    good, kinds = _good(folder, function), set(bad.values())
    given = {**call.arguments, **{name: changed(call.arguments[name], value) for name, value in bad.items()}}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = call.function(**given)
    except bl.DeviceTimeoutError:
        return ""
    except OwnError:
        return "" if "raises" in kinds else "raw OwnError"
    except (*call.raises, OSError) as error:
        text = str(error)
        if not isinstance(error, call.raises) and not any(isinstance(given[name], str | os.PathLike) for name in bad):
            return f"raw {type(error).__name__}: {text}"
        if kinds <= set(SAME | SAME_FUNCTIONS):
            return f"refused: {text}"
        if not text or not text.isprintable() or re.search(r"[.!?] [A-Z]", text):
            return f"not one sentence: {text!r}"
        # A value of the right type may be wrong only beside another argument, which the sentence may name instead.
        names = bad if all(map(never, kinds)) else call.arguments
        words = [call.names.get(name, name) for name in names]
        return "" if any(re.search(rf"\b{word}", text) for word in words) else f"does not name {words}: {text}"
    except Exception as error:  # a raw error is what is looked for
        return f"raw {type(error).__name__}: {str(error)[:200]}"
    if kinds <= set(SAME | SAME_FUNCTIONS):
        return "" if _equal(found, good) else "other numbers"
    if any(map(never, kinds)):
        return f"accepted, returned {type(found).__name__}"
    if not np.all(getattr(found, "success", True)):
        return ""
    if kinds & set(FUNCTIONS):
        return f"accepted a function that is wrong, returned {type(found).__name__}"
    where = _unlike("", found, good, set())
    return f"returned {where}" if where else ""


def pairs(folder: Path, count: int, seed: int = 0) -> Iterator[tuple[str, dict[str, str]]]:
    """Return an iterator over ``count`` calls with two bad values each, drawn by NumPy's generator."""
    random, every = np.random.default_rng(seed), defaultdict(list)
    for function, argument, value in cases(folder):
        every[function].append((argument, value))
    several = [function for function, found in every.items() if len({argument for argument, _ in found}) > 1]
    for _ in range(count):
        function = several[random.integers(len(several))]
        bad: dict[str, str] = {}
        while len(bad) < 2:
            argument, value = every[function][random.integers(len(every[function]))]
            bad.setdefault(argument, value)
        yield function, bad


def main() -> int:
    """Make the calls that the command line asks for, and print the faults among them."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.bad_arguments", description="Call with bad values.")
    parser.add_argument("--pairs", type=int, default=10_000, help="calls with two bad values (default 10,000)")
    parser.add_argument("--seed", type=int, default=0, help="seed by which these are drawn (default 0)")
    parser.add_argument("--only", default="", metavar="FUNCTION", help="functions whose names begin so")
    given = parser.parse_args()
    begin, count, faults, home = time.monotonic(), 0, 0, Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)
        single = ((function, {argument: value}) for function, argument, value in cases(folder))
        for function, bad in chain(single, pairs(folder, given.pairs, given.seed)):
            if not function.startswith(given.only):
                continue
            count += 1
            text = fault(folder, function, bad)
            if text:
                faults += 1
                print(function, bad, " ".join(text.split()), sep=" | ", flush=True)
        os.chdir(home)
    print(f"{count:,} calls in {time.monotonic() - begin:.0f} s: {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
