"""Options of a solve of the economy of Krusell and Smith (1998), checked when they are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from beltline.gpu_ref.krusell_smith import shocks
from beltline.gpu_ref.krusell_smith.panel import INTERPOLATIONS
from beltline.host.devices import DEVICES, REFERENCES, Device, known
from beltline.host.models.krusell_smith.calibration import CHOICES, UNCHANGED
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, flag, shown, suggestion, table, whole
from beltline.host.problem.model_parameters import DEPRECIATION, POSITIVE, Check, count, one_of
from beltline.host.results.fields import Declared, parameter, table_of
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.session import Session
from beltline.host.solver.solve import ProcessorSession, named

HOUSEHOLDS = ("euler", "table")
PANELS = ("cpu", "gpu")

AGENTS_LIMIT, PERIODS_LIMIT = 10**9, 10**6
"""Largest panel, so that a mistyped size is refused before memory is allocated."""


def _from(least: int) -> Check:
    return lambda name, value: whole(name, value, f"a whole number from {least}", lambda v: v >= least)


def _law(name: str, law: Any) -> Array:
    found = table(name, law, 2)
    if found.shape != (2, 2):
        raise ProblemError(f"{name} must be two pairs of b0 and b1, not of shape {found.shape}")
    return np.array(found)


def _resolved(device: Any) -> Any:
    """Return the name of a device after checking it, or an open device."""
    found: Any = named(device)
    if not isinstance(found, str):
        return found
    return REFERENCES[0] if found == UNNAMED else known(found)


@dataclass(frozen=True, kw_only=True, eq=False)
class Options(Declared):
    """Options of a solve, which :meth:`beltline.KrusellSmith.solve` explains."""

    agents: int = parameter(
        10_000, count(1, AGENTS_LIMIT), "Number of households in the panel; 10% and 4% of them must be whole numbers "
        "(with the default unemployment)",
    )  # fmt: skip
    periods: int = parameter(1_100, count(10, PERIODS_LIMIT), "Number of quarters of the panel")
    discard: int = parameter(
        100, count(0, PERIODS_LIMIT), "Number of quarters at the start of the panel that are not used for estimation"
    )
    household: str | None = parameter(
        None,
        lambda name, value: None if value is None else one_of(HOUSEHOLDS)(name, value),
        "Method for the household's problem: ``euler``, iteration on the Euler equation, on devices ``cpu`` and "
        "``gpu``, where it is the default, or ``table``, value function iteration with ``4 N_K`` exogenous states, on "
        "every device, the default on all others",
    )
    device: str | Device | Session | ProcessorSession = parameter(
        UNNAMED, lambda _, device: _resolved(device),
        f"Device that solves the household's problem: {', '.join((UNNAMED, *REFERENCES, *DEVICES))}. Or an open "
        ":class:`~beltline.Session`, which stays open",
    )  # fmt: skip
    interpolation: str = parameter(
        "bicubic", one_of(INTERPOLATIONS), f"Interpolation of the policy in the panel: {', '.join(INTERPOLATIONS)}"
    )
    panel: str = parameter("cpu", one_of(PANELS), f"Where the panel is simulated: {' or '.join(PANELS)}")
    tol: float = parameter(
        1e-7,
        POSITIVE,
        "The iteration ends when law and estimate differ by less than this in each coefficient; above 0",
    )
    relaxation: float = parameter(
        0.4, DEPRECIATION, "Share of the distance to the estimate by which the law is changed, above 0 and at most 1"
    )
    max_iterations: int = parameter(100, _from(1), "Largest number of iterations")
    household_tol: float | None = parameter(
        None, lambda name, tol: None if tol is None else POSITIVE(name, tol),
        "Tolerance of the household's problem: change of ``k'`` (by default 1e-8) or of ``V`` (by default 1e-7)",
    )  # fmt: skip
    choices: int = parameter(
        CHOICES, count(16, 65_536), "Number of grid points of a table, from 0 to ``top`` and closer near 0"
    )
    refine: bool = parameter(
        True, flag, "Whether the policy of a table is improved between grid points, once, as in :func:`beltline.refine`"
    )
    law: Any = parameter(
        UNCHANGED, _law, "First guess of the law, ``(2, 2)``: ``b0`` and ``b1`` of the bad and of the good state"
    )
    seed: int = parameter(0, _from(0), "Seed of the shocks")
    options: Mapping[str, Any] = parameter(dict, lambda _, options: options, "Options of the device or of the method")

    def validate(self) -> None:
        """Check that periods are left; choose the household if none is given, and check that its device has it."""
        below = f"a whole number from 0 to below {self.periods} periods"
        whole("discard", self.discard, below, lambda v: v < self.periods)
        if not self.household:
            object.__setattr__(self, "household", "euler" if self.reference else "table")
        if self.household == "euler" and not self.reference:
            raise ProblemError(f"household 'euler' is solved on device 'cpu' or 'gpu', not on {shown(self.device)}")
        if self.household == "euler" and self.options:
            name = min(self.options)
            known = suggestion(name, table_of(Options))
            raise ProblemError(f"household 'euler' has no options, but {name!r} is given{known}")

    def check_unemployment(self, unemployment: tuple[float, float]) -> None:
        """Check that the numbers of unemployed agents in both states are whole numbers."""
        try:
            shocks.whole_numbers(self.agents, np.asarray(unemployment))
        except ValueError as error:
            raise ProblemError(str(error)) from None

    @property
    def reference(self) -> bool:
        """Whether a solver in double precision is requested."""
        return isinstance(self.device, str) and self.device in REFERENCES

    @property
    def tolerance(self) -> float:
        """``household_tol``, or its default."""
        return self.household_tol or (1e-8 if self.household == "euler" else 1e-7)
