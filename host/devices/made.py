"""Options of the devices ``"emulator"`` and ``"rtl"``, which are built for a problem: engine and size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from beltline.host.problem.checks import ProblemError, whole
from beltline.hw.interface.parameters import (
    EVALUATORS,
    FOLD_LIMIT,
    GENERAL_STATES,
    LANES_LIMIT,
    ROW_WORDS,
    MachineParameters,
)
from beltline.hw.interface.registers import Engine

OPTIONS = {
    "fold": f"number of stages of the assembly line that share one physical stage, 1 to {FOLD_LIMIT} (default 1)",
    "evaluators": f"number of utility evaluators in each physical stage: {', '.join(map(str, EVALUATORS))} (default 4)",
    "lanes": f"number of lanes of a sweep engine, a power of two from 1 to {LANES_LIMIT} (default: an assembly line)",
    "general": "1 for a sweep engine that solves the general form: costs of each choice, alternatives and regimes, "
    "taste shocks, bounds of x' that depend on x, eta = 0; needs lanes= (default 0)",
}


GENERAL_LANES = 4
"""Default number of lanes of a machine that a model with alternatives builds for itself."""


def general_options(points: int, given: Mapping[str, object]) -> dict[str, object]:
    """Return the options with which ``"emulator"`` or ``"rtl"`` is built for a problem of the general form.

    Parameters
    ----------
    points
        Grid points of the problem; a lane has at least ``ROW_WORDS`` of them.
    given
        Options of the user. Unless they name ``lanes``, options that select such a machine are added.
    """
    if "lanes" in given:
        return dict(given)
    lanes = GENERAL_LANES
    while lanes > 1 and lanes * ROW_WORDS > points:
        lanes //= 2
    return {"lanes": lanes, "general": 1, **given}


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
    general = "general" in options and whole("general", options["general"], "0 or 1", lambda v: v in (0, 1))
    if general and "lanes" not in options:
        raise ProblemError("option 'general' needs the sweep engine: pass lanes=, too")


def sweep_build(
    build: MachineParameters, grid: int, states: int, lanes: int, general: bool = False
) -> MachineParameters:
    """Return the smallest sweep engine with ``lanes`` lanes for a grid and exogenous states; otherwise as ``build``.

    It stores the values of one age only; with a horizon the host reads them after each age.
    """
    states = 1 << (states - 1).bit_length()
    return replace(
        build,
        grid=max(grid, ROW_WORDS * lanes),
        states=max(states, GENERAL_STATES[0]) if general else states,
        results=0,
        engine=Engine.SWEEP,
        lanes=lanes,
        general=general,
    )


def made(
    parameters: MachineParameters,
    fold: int | None,
    evaluators: int | None,
    lanes: int | None,
    general: int | None,
) -> MachineParameters:
    """Return the parameters of an accelerator with at least these sizes and these options.

    An option that is None has the value that it has in ``parameters``.
    """
    if lanes is not None:
        return sweep_build(parameters, parameters.grid, parameters.states, lanes, bool(general))
    return replace(
        parameters,
        fold=parameters.fold if fold is None else fold,
        evaluators=parameters.evaluators if evaluators is None else evaluators,
    )
