"""Options of the devices that are made to measure: which engine they have."""

from __future__ import annotations

from dataclasses import replace

from beltline.host.problem.checks import ProblemError, whole
from beltline.hw.interface.parameters import EVALUATORS, FOLD_LIMIT, LANES_LIMIT, ROW_WORDS, MachineParameters
from beltline.hw.interface.registers import Engine

OPTIONS = {
    "fold": f"stages of the line that a physical stage serves in turn, 1 to {FOLD_LIMIT} (default 1)",
    "evaluators": f"evaluators of a physical stage, {', '.join(map(str, EVALUATORS))} (default 4)",
    "lanes": f"a sweep engine with so many lanes, a power of two from 1 to {LANES_LIMIT} (default the assembly line)",
    "proof": "1 for a sweep engine that proves the choices of every sweep (default 0)",
    "costs": "1 for one that takes a cost of each choice, with proof=1 (default 0)",
    "alternatives": "1 for one that takes alternatives and regimes, with costs=1 (default 0)",
}


def check_options(**options: object) -> None:
    """Check the options, of those that are given.

    Raises
    ------
    ProblemError
        One is wrong.
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
                    f"option {name!r} is for an assembly line, and lanes = {lanes} asks for a sweep engine"
                )
    proves = "proof" in options and whole("proof", options["proof"], "0 or 1", lambda v: v in (0, 1))
    if proves and "lanes" not in options:
        raise ProblemError("option 'proof' is for a sweep engine: pass lanes= too")
    costs = "costs" in options and whole("costs", options["costs"], "0 or 1", lambda v: v in (0, 1))
    if costs and not proves:
        raise ProblemError("option 'costs' is for a sweep engine that proves its choices: pass lanes= and proof=1 too")
    name = "alternatives"
    if name in options and whole(name, options[name], "0 or 1", lambda v: v in (0, 1)) and not costs:
        raise ProblemError(
            f"option {name!r} is for a sweep engine that takes costs: pass lanes=, proof=1 and costs=1 too"
        )


def sweep_build(build: MachineParameters, lanes: int) -> MachineParameters:
    """The least sweep engine of so many lanes that holds what ``build`` does, but for the values of a horizon."""
    return replace(
        build,
        grid=max(build.grid, ROW_WORDS * lanes),
        states=1 << (build.states - 1).bit_length(),
        results=0,
        engine=Engine.SWEEP,
        lanes=lanes,
    )


def made(
    parameters: MachineParameters,
    fold: int | None,
    evaluators: int | None,
    lanes: int | None,
    proof: int | None = None,
    costs: int | None = None,
    alternatives: int | None = None,
) -> MachineParameters:
    """A machine of these sizes, or little larger, with these options; None is as it is in ``parameters``."""
    if lanes is not None:
        build = sweep_build(parameters, lanes)
        if alternatives and build.states == 1:
            build = replace(build, states=2, results=0)
        return replace(build, proof=bool(proof), costs=bool(costs), alternatives=bool(alternatives))
    return replace(
        parameters,
        fold=parameters.fold if fold is None else fold,
        evaluators=parameters.evaluators if evaluators is None else evaluators,
    )
