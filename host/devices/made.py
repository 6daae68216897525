"""Options of the devices ``"emulator"`` and ``"rtl"``, which are built for a problem: engine, size and features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from beltline.host.problem.checks import ProblemError, whole
from beltline.hw.interface.parameters import (
    EVALUATORS,
    FOLD_LIMIT,
    LANES_LIMIT,
    MULTIPLIERS_LIMIT,
    ROW_WORDS,
    SLOTS,
    STATES_LIMIT,
    TURNS_STATES_LIMIT,
    MachineParameters,
)
from beltline.hw.interface.registers import Engine

OPTIONS = {
    "fold": f"number of stages of the assembly line that share one physical stage, 1 to {FOLD_LIMIT} (default 1)",
    "evaluators": f"number of utility evaluators in each physical stage: {', '.join(map(str, EVALUATORS))} (default 4)",
    "lanes": f"number of lanes of a sweep engine, a power of two from 1 to {LANES_LIMIT} (default: an assembly line)",
    "proof": "1 for a sweep engine that proves the choices of its sweeps; needs lanes= (default 0)",
    "costs": "1 for a sweep engine that supports a cost of each choice; needs proof=1 (default 0)",
    "alternatives": "1 for a sweep engine that supports alternatives and regimes; needs costs=1 (default 0)",
    "midpoints": "1 for a sweep engine that computes shifts from the smallest and the largest change of each state, "
    "which saves sweeps; needs lanes=, and excludes proof=1 (default 0)",
    "multipliers": f"number of multipliers that compute the products of an expectation one after another, a power of "
    f"two up to {MULTIPLIERS_LIMIT}; allows up to {TURNS_STATES_LIMIT} alternatives times exogenous states; needs "
    f"alternatives=1 (default 0: one multiplier for each state)",
    "prices": "1 for a sweep engine that computes the prices of bonds itself, from the default set, without the host; "
    "needs multipliers= (default 0)",
    "taste": "1 for a sweep engine that supports taste shocks; needs alternatives=1, and excludes prices=1 (default 0)",
    "bounds": "1 for a sweep engine that supports bounds of x' that depend on x; needs alternatives=1, and excludes "
    "prices=1 and taste=1 (default 0)",
    "slots": "number of lanes of a sweep engine that share a row bus, 4 or 8: with 4, rows come twice as fast, and the "
    "buses take twice their LUTs (default 4 with up to 16 lanes, else 8)",
    "overlap": "1 for a sweep engine that computes the expected values of points during the local search of others, "
    "which saves clocks; needs lanes=, and excludes proof=1 (default 0)",
}


GENERAL_LANES = 4
"""Default number of lanes of a machine that a model with alternatives builds for itself."""


GENERAL_MULTIPLIERS = 4
"""Default number of multipliers that such a machine takes in turn, if it has more than ``STATES_LIMIT`` states."""


def general_options(
    points: int, states: int, given: Mapping[str, object], bounds: bool = False, taste: bool = False
) -> dict[str, object]:
    """Return the options with which ``"emulator"`` or ``"rtl"`` is built for a problem with alternatives.

    Parameters
    ----------
    points
        Grid points of the problem; a lane has at least ``ROW_WORDS`` of them.
    states
        Number of states of the machine: distinct alternatives times exogenous states.
    given
        Options of the user. Unless they name ``lanes``, options that select such a machine are added.
    bounds
        Whether the problem has bounds of ``x'`` that depend on ``x``.
    taste
        Whether the problem has taste shocks.
    """
    if "lanes" in given:
        return dict(given)
    lanes = GENERAL_LANES
    while lanes > 1 and lanes * ROW_WORDS > points:
        lanes //= 2
    turns = {"multipliers": GENERAL_MULTIPLIERS} if states > STATES_LIMIT or given.get("prices") else {}
    kinds = {"proof": 1, "costs": 1, "alternatives": 1}
    cuts, shocks = {"bounds": 1} if bounds else {}, {"taste": 1} if taste else {}
    return {"lanes": lanes, **kinds, **turns, **cuts, **shocks, **given}


def check_options(**options: object) -> None:
    """Check the values of the options that are given.

    Raises
    ------
    ProblemError
        An option has a wrong value, or two options exclude each other.
    """
    if "fold" in options:
        wanted = f"a whole number from 1 to {FOLD_LIMIT}"
        whole("fold", options["fold"], wanted, lambda v: 1 <= v <= FOLD_LIMIT)
    if "evaluators" in options:
        *some, last = EVALUATORS
        wanted = f"{', '.join(map(str, sorted(some)))} or {last}"
        whole("evaluators", options["evaluators"], wanted, lambda v: v in EVALUATORS)
    if "lanes" in options:
        wanted = f"a power of two from 1 to {LANES_LIMIT}"
        lanes = whole("lanes", options["lanes"], wanted, lambda v: 1 <= v <= LANES_LIMIT and not v & (v - 1))
        for name in ("fold", "evaluators"):
            if name in options:
                raise ProblemError(
                    f"option {name!r} is for the assembly line, but lanes = {lanes} selects the sweep engine: leave "
                    f"out one of them"
                )
    for name in ("midpoints", "overlap"):
        if name in options and whole(name, options[name], "0 or 1", lambda v: v in (0, 1)) and "lanes" not in options:
            raise ProblemError(f"option {name!r} needs the sweep engine: pass lanes=, too")
    proves = "proof" in options and whole("proof", options["proof"], "0 or 1", lambda v: v in (0, 1))
    if proves and "lanes" not in options:
        raise ProblemError("option 'proof' needs the sweep engine: pass lanes=, too")
    for name in filter(options.get, ("midpoints", "overlap") if proves else ()):
        raise ProblemError(f"option {name!r} is for a sweep engine without proofs: leave out {name!r} or 'proof'")
    costs = "costs" in options and whole("costs", options["costs"], "0 or 1", lambda v: v in (0, 1))
    if costs and not proves:
        raise ProblemError("option 'costs' needs a sweep engine that proves its choices: pass lanes= and proof=1, too")
    name = "alternatives"
    if name in options and whole(name, options[name], "0 or 1", lambda v: v in (0, 1)) and not costs:
        raise ProblemError(
            f"option {name!r} is for a sweep engine that takes costs: pass lanes=, proof=1 and costs=1 too"
        )
    if "multipliers" in options:
        wanted = f"0 or a power of two up to {MULTIPLIERS_LIMIT}"
        number = whole(
            "multipliers", options["multipliers"], wanted, lambda v: 0 <= v <= MULTIPLIERS_LIMIT and not v & (v - 1)
        )
        if number and not options.get("alternatives"):
            raise ProblemError("option 'multipliers' is for a sweep engine with alternatives: pass alternatives=1, too")
    name = "prices"
    if (
        name in options
        and whole(name, options[name], "0 or 1", lambda v: v in (0, 1))
        and not options.get("multipliers")
    ):
        raise ProblemError(
            f"option {name!r} is for a sweep engine that takes its multipliers in turn: pass multipliers=, too"
        )
    for name, excluded in (("taste", ("prices",)), ("bounds", ("prices", "taste"))):
        if name in options and whole(name, options[name], "0 or 1", lambda v: v in (0, 1)):
            if not options.get("alternatives"):
                raise ProblemError(f"option {name!r} is for a sweep engine with alternatives: pass alternatives=1, too")
            for other in filter(options.get, excluded):
                raise ProblemError(f"option {name!r} excludes {other!r}: leave out one of them")
    name = "slots"
    if name in options and whole(name, options[name], "4 or 8", lambda v: v in SLOTS) and "lanes" not in options:
        raise ProblemError(f"option {name!r} needs the sweep engine: pass lanes=, too")


def sweep_build(build: MachineParameters, lanes: int) -> MachineParameters:
    """Return the smallest sweep engine with ``lanes`` lanes for the sizes of ``build``.

    It stores the values of one age only; with a horizon the host reads them after each age.
    """
    return replace(
        build,
        grid=max(build.grid, ROW_WORDS * lanes),
        states=1 << (build.states - 1).bit_length(),
        results=0,
        engine=Engine.SWEEP,
        lanes=lanes,
    )


def in_turn(multipliers: int, states: int, prices: bool = False) -> int:
    """Return the parameter ``multipliers`` of a build with ``states`` exogenous states, given the user's option.

    It is 0 for a build in which each exogenous state has its own multiplier, which is possible up to ``STATES_LIMIT``,
    but not if the build computes ``prices``.
    """
    if multipliers < states:
        return multipliers
    return 0 if states <= STATES_LIMIT and not prices else states // 2


def made(
    parameters: MachineParameters,
    fold: int | None,
    evaluators: int | None,
    lanes: int | None,
    *,
    proof: int | None = None,
    costs: int | None = None,
    alternatives: int | None = None,
    midpoints: int | None = None,
    multipliers: int | None = None,
    slots: int | None = None,
    prices: int | None = None,
    taste: int | None = None,
    bounds: int | None = None,
    overlap: int | None = None,
) -> MachineParameters:
    """Return the parameters of an accelerator with at least these sizes and these options.

    An option that is None has the value that it has in ``parameters``.
    """
    if lanes is not None:
        build = sweep_build(parameters, lanes)
        least = 4 if taste else 2 if alternatives else 1
        if build.states < least:
            build = replace(build, states=least, results=0)
        kinds: dict[str, Any] = {"proof": bool(proof), "costs": bool(costs), "alternatives": bool(alternatives)}
        kinds |= {"midpoints": bool(midpoints), "prices": bool(prices), "bounds": bool(bounds), "taste": bool(taste)}
        turns = in_turn(multipliers or 0, build.states, bool(prices))
        return replace(build, **kinds, multipliers=turns, slots=slots or 0, overlap=bool(overlap))
    return replace(
        parameters,
        fold=parameters.fold if fold is None else fold,
        evaluators=parameters.evaluators if evaluators is None else evaluators,
    )
