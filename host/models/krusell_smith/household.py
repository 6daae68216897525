"""The household's problem, given a law of motion: by its Euler equation, or as tables on a device."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from beltline.gpu_ref.krusell_smith import euler_iteration
from beltline.host.analysis.between import Between
from beltline.host.devices import Progress
from beltline.host.models.base import session_of
from beltline.host.models.krusell_smith.calibration import Calibration
from beltline.host.models.krusell_smith.options import Options
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError
from beltline.host.results.result import Result
from beltline.host.solver.session import Session
from beltline.host.solver.solve import ProcessorSession


class Household(Protocol):
    """A solver of the household's problem for one law after another, each solve starting from the last solution."""

    grid: Array
    work: int

    def solve(self, law: Array, report: Progress | None) -> Array:
        """Return ``k'``, ``(N_k, N_K, 2, 2)`` on ``grid``; adds the number of iterations to ``work``."""


class NotSolved(Exception):
    """The household's problem is not solved; the message is a sentence."""


class EulerHousehold:
    """Solves the Euler equation by iteration: :mod:`beltline.gpu_ref.krusell_smith.euler_iteration`, or ``cuda_euler``
    there on a GPU.
    """

    def __init__(self, economy: Calibration, tol: float, device: str = "cpu") -> None:
        self.economy, self.tol = economy, tol
        self._module: Any = (
            euler_iteration if device == "cpu" else importlib.import_module("beltline.gpu_ref.krusell_smith.cuda_euler")
        )
        self.grid = economy.grid
        self.work = 0
        self._wealth = economy.wealth(self.grid).reshape(economy.points, economy.means, 4)
        self._policy = 0.9 * np.broadcast_to(self.grid[:, None, None], self._wealth.shape)

    def solve(self, law: Array, report: Progress | None) -> Array:
        economy = self.economy
        ahead = economy.ahead(law)
        try:
            found: euler_iteration.Household = self._module.solve(
                self.grid,
                economy.mean_grid,
                self._wealth,
                ahead,
                economy.gross(ahead),
                economy.income(ahead).reshape(economy.means, 2, 4),
                economy.transition,
                economy.beta,
                economy.eta,
                self._policy,
                self.tol,
                progress=None
                if report is None
                else lambda n, change: report(f"household: iteration {n:,}, {change:.2g}"),
            )
        except FloatingPointError as error:
            raise NotSolved(f"The household is not solved: {error}.") from None
        except ValueError as error:
            raise ProblemError(f"{error}") from error
        self.work += found.iterations
        if not found.converged:
            raise NotSolved(
                f"The household's k' still changed by {found.change:.3g} after {found.iterations:,} iterations, "
                f"and its tolerance is {self.tol:g}."
            )
        self._policy = found.policy
        return found.policy.reshape(economy.points, economy.means, 2, 2)


class TableHousehold:
    """Solves the Bellman equation as tables in a session; only the transition matrix changes from law to law.

    ``more`` are options of its solves, with the ``start`` of the first. With ``refine`` the policy is improved between
    grid points.
    """

    def __init__(
        self, economy: Calibration, options: Options, session: Session | ProcessorSession, more: dict[str, Any]
    ) -> None:
        self.economy, self.grid, self.tol, self.refine = (
            economy, economy.choices(options.choices), options.tolerance, options.refine,
        )  # fmt: skip
        self.work = 0
        self._session, self._start, self._more = session, more.pop("start", "problem"), more

    def solve(self, law: Array, report: Progress | None) -> Array:
        result = self._solved(law, report, False)
        chosen = Between(result.problem).improve(result.value[None]).choice if self.refine else result.choice
        return chosen.reshape(self.grid.size, self.economy.means, 2, 2)

    def check(self, law: Array, report: Progress | None) -> None:
        """Solve once more and verify by an exact search."""
        self._solved(law, report, True)

    def _solved(self, law: Array, report: Progress | None, verify: bool) -> Result:
        # An open session may have a solution from before.
        start: Any = "last" if self.work or self._start == "problem" else self._start
        progress: Any = False if report is None else lambda text: report(f"household: {text}")
        problem = self.economy.problem(law, self.grid)
        result: Result = self._session.solve(
            problem, self.tol, start=start, progress=progress, verify=verify, **self._more
        )
        self.work += result.sweeps
        if not result.success:
            raise NotSolved(f"The household is not solved: {result.message}")
        return result


@contextlib.contextmanager
def opened(economy: Calibration, options: Options) -> Iterator[Household]:
    """Open the device that ``options`` name and give the household on it; a device that was opened here is closed."""
    if options.household == "euler":
        yield EulerHousehold(economy, options.tolerance, str(options.device))
        return
    with session_of(options.device, dict(options.options)) as (session, more):
        yield TableHousehold(economy, options, session, more)
