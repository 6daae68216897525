"""Options of the devices that are made to measure: how their assembly line is folded."""

from __future__ import annotations

from dataclasses import replace

from host.checks import whole
from hw.parameters import EVALUATORS, FOLD_LIMIT, MachineParameters

OPTIONS = {
    "fold": f"stages of the line that a physical stage serves in turn, 1 to {FOLD_LIMIT} (default 1)",
    "evaluators": f"evaluators of a physical stage, {', '.join(map(str, EVALUATORS))} (default 4)",
}


def check_options(*, fold: object = 1, evaluators: object = 4) -> None:
    """Check the options, of those that are given.

    Raises
    ------
    ProblemError
        One is wrong.
    """
    whole("fold", fold, f"a whole number from 1 to {FOLD_LIMIT}", lambda v: 1 <= v <= FOLD_LIMIT)
    *some, last = EVALUATORS
    wanted = f"{', '.join(map(str, sorted(some)))} or {last}"
    whole("evaluators", evaluators, wanted, lambda v: v in EVALUATORS)


def folded(parameters: MachineParameters, fold: int | None, evaluators: int | None) -> MachineParameters:
    """A machine of these sizes whose line is folded so; None is as it is in ``parameters``."""
    return replace(
        parameters,
        fold=parameters.fold if fold is None else fold,
        evaluators=parameters.evaluators if evaluators is None else evaluators,
    )
