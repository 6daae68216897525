"""Krusell and Smith's economy: many households, aggregate risk, and a law of motion that they forecast capital with."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, NoReturn

from numpy.typing import ArrayLike

from beltline.host.devices import Device, Progress
from beltline.host.models.base import Model
from beltline.host.models.krusell_smith.algorithm import Options, solve
from beltline.host.models.krusell_smith.calibration import CHOICES, TRANSITION, UNCHANGED, Calibration
from beltline.host.models.krusell_smith.options import HouseholdOptions, LawOptions, PanelOptions
from beltline.host.models.krusell_smith.plot import KINDS
from beltline.host.models.krusell_smith.result import SUFFIXES, Equilibrium
from beltline.host.problem.checks import ProblemError, check_progress, shown, table
from beltline.host.solver.options import UNNAMED
from beltline.host.solver.processor_session import ProcessorSession
from beltline.host.solver.session import Session

INAPPLICABLE = ("max_sweeps", "verify", "value_bits", "money_bits", "timeout", "checkpoint", "checkpoint_every")
"""Options of :func:`beltline.solve` that one problem has, and an economy of many does not."""


@dataclass(frozen=True, kw_only=True, eq=False)
class KrusellSmith(Calibration, Model):
    """The economy of Krusell and Smith (1998); made by :func:`krusell_smith`, which says what the parameters are.

    A period is a quarter. ``wealth``, ``gross``, ``income``, ``ahead`` and ``problem`` are the household's tables.
    """

    suffixes: ClassVar[tuple[str, ...]] = SUFFIXES
    kinds: ClassVar[tuple[str, ...]] = tuple(KINDS)

    def solve(
        self,
        agents: int = 10_000,
        periods: int = 1_100,
        discard: int = 100,
        household: str | None = None,
        device: str | Device | Session | ProcessorSession = UNNAMED,
        interpolation: str = "bicubic",
        panel: str = "cpu",
        tol: float = 1e-7,
        relaxation: float = 0.4,
        max_iterations: int = 100,
        household_tol: float | None = None,
        choices: int = CHOICES,
        refine: bool = True,
        law: ArrayLike = UNCHANGED,
        seed: int = 0,
        progress: Progress | Literal[False] | None = None,
        **options: Any,
    ) -> Equilibrium:
        """Find the law of motion that the economy follows when everyone believes in it.

        >>> import beltline as bl
        >>> near = ((0.127, 0.9647), (0.1385, 0.963))
        >>> bl.solve(bl.krusell_smith(points=40), agents=100, periods=120, discard=20, law=near).status
        'converged'

        Parameters
        ----------
        agents
            Of the panel; 10% and 4% of them must be whole numbers.
        periods, discard
            Of the panel, and how many at the beginning are not looked at.
        household
            ``"euler"``: Euler-equation iteration, on devices ``"cpu"`` and ``"gpu"`` and the default there.
            ``"table"``: value function iteration, ``4 N_K`` exogenous states, on every device, the default on any
            other.
        device
            Where the household is solved: any device that :func:`beltline.solve` knows, or an open
            :class:`~beltline.host.solver.session.Session`, which is left open.
        interpolation
            Of the panel: one of ``beltline.gpu_ref.krusell_smith.panel.INTERPOLATIONS``.
        panel
            Where it is simulated: ``"cpu"`` or ``"gpu"``.
        tol
            Difference between the law believed and the law estimated below which to stop, above 0.
        relaxation
            How far the law goes towards the one estimated, above 0 and at most 1.
        max_iterations
            After which to stop in any case.
        household_tol
            Of the household: change of ``k'`` (1e-8) or of ``V`` (1e-7).
        choices
            Points of a table, from 0 to ``top``, closer at 0.
        refine
            Whether a table's policy is moved off its grid
            (:func:`beltline.host.analysis.policy.refined`).
        law
            To begin with.
        seed
            Of the shocks.
        progress
            As of :func:`beltline.solve`.
        **options
            Of the device or the reference solver, its ``method`` included; on a sweep engine that is ``"shift"`` or
            none, and ``start`` that of the first household.

        Raises
        ------
        ProblemError
            An argument is wrong, or an option of :func:`beltline.solve` does not apply; nothing was done.
        DeviceError
            The device cannot be opened or does not behave.
        MemoryError
            The panel does not fit.
        KeyboardInterrupt
            After the device was stopped.
        """
        check_progress(progress)
        told = Options(
            PanelOptions(
                agents=agents, periods=periods, discard=discard, interpolation=interpolation, panel=panel, seed=seed
            ),
            LawOptions(tol=tol, relaxation=relaxation, max_iterations=max_iterations, law=law),
            HouseholdOptions(
                household=household, device=device, household_tol=household_tol, choices=choices, refine=refine,
                options=_applicable(options),
            ),
        )  # fmt: skip
        return solve(self, told, progress)


def _applicable(options: dict[str, Any]) -> dict[str, Any]:
    """Return those that are given, if a device or method may have them.

    Raises
    ------
    ProblemError
        One is not a Krusell-Smith economy's.
    """
    given = {name: value for name, value in options.items() if value is not None}
    parameters = {field.name for field in fields(Calibration)}
    for name, value in given.items():
        if name in INAPPLICABLE:
            instead = ": use max_iterations" if name == "max_sweeps" else ""
            raise ProblemError(f"{name} is not an option of a Krusell-Smith economy{instead}")
        if name in parameters or name == "gamma":
            known = "eta" if name == "gamma" else name
            raise ProblemError(f"{name} is a parameter of the economy: use krusell_smith({known}={shown(value)})")
    return given


def krusell_smith(
    *,
    beta: float = 0.99,
    eta: float = 1.0,
    alpha: float = 0.36,
    delta: float = 0.025,
    hours: float = 1 / 0.9,
    benefit: float = 0.15,
    spread: float = 0.01,
    unemployment: tuple[float, float] = (0.10, 0.04),
    transition: ArrayLike = TRANSITION,
    points: int = 100,
    top: float = 1000.0,
    power: float = 7.0,
    means: int = 4,
    low: float = 30.0,
    high: float = 50.0,
    **unknown: Any,
) -> KrusellSmith:
    """Return the economy of Krusell and Smith (1998): uninsured unemployment, and productivity that moves capital.

    Households own capital ``k >= 0``, work or do not, and live with aggregate productivity, bad or good; all that they
    know of the others is mean capital ``K``, which they believe to follow ``ln K' = b0(a) + b1(a) ln K``. A period is a
    quarter; the defaults are the calibration of Den Haan, Judd and Juillard (2010).

    ``bl.solve(bl.krusell_smith(...), agents=..., device=...)`` returns an :class:`~beltline.Equilibrium`;
    :meth:`KrusellSmith.solve` says what its options are.

    >>> import beltline as bl
    >>> bl.krusell_smith(eta=2.0).steady_capital                              # doctest: +ELLIPSIS
    37.98...

    Parameters
    ----------
    beta, eta, alpha, delta
        Discount factor, above 0 and below 1; relative risk aversion, above 0 and at most 16 (1 is log utility);
        capital's share, above 0 and below 1; depreciation, from 0 to 1.
    hours
        ``lbar``: time worked by an employed household, above 0.
    benefit
        ``mu``: what an unemployed one receives, in wages, above 0.
    spread
        ``D``: aggregate productivity is ``1 - D`` or ``1 + D``.
    unemployment
        In the bad and in the good state, above 0 and below 1.
    transition
        ``(4, 4)`` probabilities over (bad, unemployed), (bad, employed), (good, unemployed), (good, employed).
    points, top, power
        Grid of ``k``: :func:`~beltline.grid_polynomial` from 0 to ``top``.
    means, low, high
        Grid of ``K``: points, uniform from ``low`` to ``high``.

    Raises
    ------
    ProblemError
        A parameter is out of range, or is not one of the economy's; in one sentence.

    Sources
    -------
    Krusell and Smith (1998), "Income and wealth heterogeneity in the macroeconomy", Journal of Political Economy
    106(5), 867-896. Those of the calibration and the grids are named in
    :class:`beltline.host.models.krusell_smith.calibration.Calibration`.
    """
    if unknown:
        _refuse(unknown)
    return KrusellSmith(
        beta=beta, eta=eta, alpha=alpha, delta=delta, hours=hours, benefit=benefit, spread=spread,
        unemployment=unemployment, transition=table("transition", transition, 2), points=points, top=top, power=power,
        means=means, low=low, high=high,
    )  # fmt: skip


def _refuse(unknown: dict[str, Any]) -> NoReturn:
    name = min(unknown)
    if name == "gamma":
        raise ProblemError(f"relative risk aversion is called eta, not gamma: use eta={shown(unknown[name])}")
    options = {field.name for made in (PanelOptions, LawOptions, HouseholdOptions) for field in fields(made)}
    if name in options | {"progress", "method"}:
        raise ProblemError(f"{name!r} is an option of the solve: use solve(krusell_smith(...), {name}=...)")
    raise ProblemError(f"{name!r} is no parameter of the economy")
