"""The economy of Krusell and Smith (1998): heterogeneous households, aggregate risk, and a forecast of capital."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from beltline.host.models.base import Model
from beltline.host.models.krusell_smith.algorithm import solve
from beltline.host.models.krusell_smith.calibration import CHOICES, Calibration
from beltline.host.models.krusell_smith.options import Options
from beltline.host.models.krusell_smith.result import Equilibrium
from beltline.host.models.model_result import reading
from beltline.host.problem.checks import ProblemError, check_progress, shown
from beltline.host.results.fields import table_of

INAPPLICABLE = ("max_sweeps", "verify", "value_bits", "amount_bits", "timeout", "checkpoint", "checkpoint_every")
"""Options of :func:`beltline.solve` for one problem, which do not apply to an economy that solves many."""


@dataclass(frozen=True, kw_only=True, eq=False)
class KrusellSmith(Calibration, Model):
    """The economy of Krusell and Smith (1998): households with unemployment risk and aggregate risk.

    A household with capital ``k >= 0`` and employment ``e`` (0 or 1) lives with aggregate productivity ``a``, bad or
    good. Of other households it knows mean capital ``K`` only, and solves::

        V(k, K, a, e) = max over k' >= 0 of  U((1 - delta + r) k + ((1 - tau) lbar e + mu (1 - e)) w - k')
                                             +  beta E[V(k', K', a', e') | a, e]
        ln K' = b0(a) + b1(a) ln K

    with CRRA utility and competitive prices ``r`` and ``w`` given ``K`` and ``a``. In equilibrium the forecast of
    ``K'`` is the regression of a simulated panel. A period is a quarter; the default parameters are the calibration of
    Den Haan, Judd and Juillard (2010).

    ``bl.solve(bl.krusell_smith(...), agents=..., device=...)`` returns an :class:`~beltline.Equilibrium`;
    :meth:`KrusellSmith.solve` lists the options.

    ``wealth``, ``gross``, ``income``, ``ahead`` and ``problem`` are tables of the household.

    Raises
    ------
    ProblemError
        A parameter is out of range.

    Examples
    --------
    >>> import beltline as bl
    >>> bl.krusell_smith(points=50).grid.shape
    (50,)
    """

    kinds: ClassVar[tuple[str, ...]] = tuple(Equilibrium.figures)
    finds_prices: ClassVar[bool] = True

    def solve(self, progress: Any = None, *, choices: int = CHOICES, **options: Any) -> Equilibrium:
        """Find the equilibrium law of motion: the one that mean capital follows if all households believe in it.

        Given a law, the household's problem is solved, a panel of households is simulated, and the law is estimated
        from it; this is repeated until the estimate agrees with the law.

        Parameters
        ----------
        progress
            As in :func:`beltline.solve`.
        choices : int
            Number of grid points of a table.
        **options
            The fields of :class:`~beltline.host.models.krusell_smith.options.Options`, and options of the device or of
            the solver in double precision, its ``method`` included. On a sweep engine ``method`` is ``"shift"`` or left
            out, and ``start`` applies to the first household.

        Returns
        -------
        Equilibrium
            If the law does not converge, ``success`` is false and ``message`` gives the reason.

        Raises
        ------
        ProblemError
            An argument is out of range, or an option of :func:`beltline.solve` does not apply.
        DeviceError
            The device cannot be opened or failed, or the first household was not solved, so that there is no result.
        MemoryError
            The panel does not fit into the memory.
        KeyboardInterrupt
            The user stopped the solve.

        Examples
        --------
        >>> import beltline as bl
        >>> near = ((0.127, 0.9647), (0.1385, 0.963))
        >>> bl.solve(bl.krusell_smith(points=40), agents=100, periods=120, discard=20, law=near).status
        'converged'
        """
        check_progress(progress)
        own = {name: options.pop(name) for name in table_of(Options).keys() - {"options"} if name in options}
        return solve(self, Options(choices=choices, **own, options=_applicable(options)), progress)


def _applicable(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that are not None, after checking that a device or method could have them."""
    given = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        if name in INAPPLICABLE:
            instead = ": use max_iterations" if name == "max_sweeps" else ""
            raise ProblemError(f"{name} is not an option of a Krusell-Smith economy{instead}")
        if name in table_of(Calibration) or name == "gamma":
            known = "eta" if name == "gamma" else name
            raise ProblemError(f"{name} is a parameter of the economy: use krusell_smith({known}={shown(value)})")
    return given


def krusell_smith(**parameters: Any) -> KrusellSmith:
    """Set up the economy of Krusell and Smith (1998): households with unemployment risk and aggregate risk.

    Parameters
    ----------
    **parameters
        Parameters of :class:`~beltline.KrusellSmith`; the default ones are the calibration of Den Haan, Judd and
        Juillard (2010).

    Raises
    ------
    ProblemError
        A parameter is out of range or unknown.

    Sources
    -------
    Krusell and Smith (1998), "Income and wealth heterogeneity in the macroeconomy", Journal of Political Economy
    106(5), 867-896. Sources of the calibration and the grids are named in
    :class:`beltline.host.models.krusell_smith.calibration.Calibration`.

    Examples
    --------
    >>> import beltline as bl
    >>> bl.krusell_smith(eta=2.0).steady_capital                              # doctest: +ELLIPSIS
    37.98...
    """
    unknown = {name: value for name, value in parameters.items() if name not in table_of(Calibration)}
    if unknown:
        _refuse(unknown)
    return KrusellSmith(**parameters)


def _refuse(unknown: dict[str, Any]) -> NoReturn:
    name = min(unknown)
    if name == "gamma":
        raise ProblemError(f"relative risk aversion is called eta, not gamma: use eta={shown(unknown[name])}")
    if name in table_of(Options).keys() | {"progress", "method"}:
        raise ProblemError(f"{name!r} is an option of the solve: use solve(krusell_smith(...), {name}=...)")
    raise ProblemError(f"{name!r} is not a parameter of the economy")


read = reading(Equilibrium, KrusellSmith)
