"""Options of a solve of the economy of Krusell and Smith (1998), checked when they are made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from beltline.gpu_ref.krusell_smith import shocks
from beltline.gpu_ref.krusell_smith.panel import INTERPOLATIONS
from beltline.host.devices import REFERENCES, Device, known
from beltline.host.models.krusell_smith.calibration import CHOICES, UNCHANGED
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, real, shown, suggestion, table, whole
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.processor_session import ProcessorSession, named
from beltline.host.solver.session import Session

HOUSEHOLDS = ("euler", "table")
PANELS = ("cpu", "gpu")

AGENTS_LIMIT, PERIODS_LIMIT = 10**9, 10**6
"""Largest panel, so that a mistyped size is refused before memory is allocated."""


def _one_of(name: str, value: Any, those: tuple[str, ...]) -> None:
    if value not in those:
        raise ProblemError(f"{name} must be one of {', '.join(map(repr, those))}, not {shown(value)}")


@dataclass(frozen=True, kw_only=True)
class PanelOptions:
    """Options of the panel of households.

    Parameters
    ----------
    agents
        Number of households; the unemployed of both states must be whole numbers of them.
    periods, discard
        Number of quarters, and number of quarters at the start that are not used.
    interpolation
        One of ``beltline.gpu_ref.krusell_smith.panel.INTERPOLATIONS``.
    panel
        Where the panel is simulated: ``"cpu"`` or ``"gpu"``.
    seed
        Seed of the shocks.
    """

    agents: int = 10_000
    periods: int = 1_100
    discard: int = 100
    interpolation: str = "bicubic"
    panel: str = "cpu"
    seed: int = 0

    def __post_init__(self) -> None:
        wanted = "a whole number from {} to {}"
        whole("agents", self.agents, wanted.format(1, AGENTS_LIMIT), lambda v: 1 <= v <= AGENTS_LIMIT)
        whole("periods", self.periods, wanted.format(10, PERIODS_LIMIT), lambda v: 10 <= v <= PERIODS_LIMIT)
        below = f"a whole number from 0 to below {self.periods} periods"
        whole("discard", self.discard, below, lambda v: 0 <= v < self.periods)
        whole("seed", self.seed, "a whole number from 0", lambda v: v >= 0)
        _one_of("panel", self.panel, PANELS)
        _one_of("interpolation", self.interpolation, tuple(INTERPOLATIONS))
        for name in ("agents", "periods", "discard", "seed"):
            object.__setattr__(self, name, int(getattr(self, name)))

    def check_unemployment(self, unemployment: tuple[float, float]) -> None:
        """Check that the numbers of unemployed agents in both states are whole numbers.

        Raises
        ------
        ProblemError
            One of these numbers is not whole.
        """
        try:
            shocks.whole_numbers(self.agents, np.asarray(unemployment))
        except ValueError as error:
            raise ProblemError(str(error)) from None


@dataclass(frozen=True, kw_only=True)
class LawOptions:
    """Options of the iteration on the law of motion.

    Parameters
    ----------
    tol
        The iteration ends when law and estimate differ by less than this in every coefficient; above 0.
    relaxation
        Share of the distance to the estimate by which the law is changed, above 0 and at most 1.
    max_iterations
        Largest number of iterations.
    law
        First guess of the law.
    """

    tol: float = 1e-7
    relaxation: float = 0.4
    max_iterations: int = 100
    law: ArrayLike = UNCHANGED

    def __post_init__(self) -> None:
        made = {
            "tol": real("tol", self.tol, "a number above 0", lambda v: 0 < v < math.inf),
            "relaxation": real("relaxation", self.relaxation, "a number above 0 and at most 1", lambda v: 0 < v <= 1),
            "max_iterations": whole("max_iterations", self.max_iterations, "a whole number from 1", lambda v: v >= 1),
        }
        for name, value in made.items():
            object.__setattr__(self, name, value)
        if self.begin.shape != (2, 2):
            raise ProblemError(f"law must be two pairs of b0 and b1, not of shape {self.begin.shape}")

    @property
    def begin(self) -> Array:
        """``law`` as an array, ``(2, 2)``."""
        return np.array(table("law", self.law, 2))


@dataclass(frozen=True, kw_only=True)
class HouseholdOptions:
    """Options of the household's problem.

    Parameters
    ----------
    household
        ``"euler"``: iteration on the Euler equation, on devices ``"cpu"`` and ``"gpu"``, where it is the default.
        ``"table"``: value function iteration with ``4 N_K`` exogenous states, on every device; the default on others.
    device
        The name of a device, or an open one; ``"auto"`` is ``"cpu"``.
    household_tol
        Change of ``k'`` (by default 1e-8) or of ``V`` (by default 1e-7) below which to stop.
    choices
        Number of grid points of a table.
    refine
        Whether the policy of a table is improved between grid points.
    options
        Options of the device or of the solver in double precision, its ``method`` included.
    """

    household: str | None = None
    device: str | Device | Session | ProcessorSession = UNNAMED
    household_tol: float | None = None
    choices: int = CHOICES
    refine: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        device = named(self.device)
        object.__setattr__(self, "device", REFERENCES[0] if isinstance(device, str) and device == UNNAMED else device)
        if self.household_tol is not None:
            tol = real("household_tol", self.household_tol, "a number above 0", lambda v: 0 < v < math.inf)
            object.__setattr__(self, "household_tol", tol)
        choices = whole("choices", self.choices, "a whole number from 16 to 65536", lambda v: 16 <= v <= 65_536)
        object.__setattr__(self, "choices", choices)
        if not self.household:
            object.__setattr__(self, "household", "euler" if self.reference else "table")
        _one_of("household", self.household, HOUSEHOLDS)
        if isinstance(self.device, str):
            object.__setattr__(self, "device", known(self.device))
        if self.household == "euler" and not self.reference:
            raise ProblemError(f"household 'euler' is solved on device 'cpu' or 'gpu', not on {shown(self.device)}")
        if self.household == "euler" and self.options:
            name = min(self.options)
            others = [each.name for kind in (PanelOptions, LawOptions, type(self)) for each in fields(kind)]
            raise ProblemError(f"household 'euler' has no options, but {name!r} is given{suggestion(name, others)}")

    @property
    def reference(self) -> bool:
        """Whether a solver in double precision is requested."""
        return isinstance(self.device, str) and self.device in REFERENCES

    @property
    def tolerance(self) -> float:
        """``household_tol``, or its default."""
        if self.household_tol is not None:
            return self.household_tol
        return 1e-8 if self.household == "euler" else 1e-7
