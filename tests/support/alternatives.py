"""Problems with alternatives that the accelerator supports, and their sweeps by full search in fixed point."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.general.form import Tables
from beltline.host.problem.alternative import Alternative
from beltline.host.problem.problem import Problem
from beltline.host.solver.fixed_point import Image
from beltline.hw.arithmetic.numbers import MINIMUM
from beltline.hw.arithmetic.utility import UtilityParameters

KINDS = ("default", "retirement", "exit", "random")

MOST = 16
"""Product states of the largest build with one multiplier for each; "random" has more from 8 states on."""


def with_alternatives(
    kind: str, seed: int = 0, points: int = 40, states: int = 2, horizon: int | None = None
) -> Problem:
    """Return a problem of a kind, with numbers that ``seed`` draws.

    ``"default"``: a sovereign whose bonds have a price, and who may default and re-enter. ``"retirement"``: work or
    retire, permanently or not. ``"exit"``: stay or take a table of values, which cannot be taken everywhere.
    ``"random"``: one to four alternatives in one or two regimes with tables, chains, discount factors, bounds and
    mixes of their own.
    """
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    drawn = {"default": _default, "retirement": _retirement, "exit": _exit, "random": _random}[kind](
        rng, points, states
    )
    eta = float((2.0, 1.0, 0.5, 3.0)[seed % 4])
    return Problem(horizon=horizon, eta=eta, name=f"{kind} {seed}", **drawn)


def chain(rng: np.random.Generator, states: int) -> NDArray[np.float64]:
    found = rng.dirichlet(np.ones(states), states) + 0.5 * np.eye(states)
    found /= found.sum(axis=1, keepdims=True)
    return np.asarray(found, np.float64)


def _default(rng: np.random.Generator, points: int, states: int) -> dict[str, Any]:
    # Some have so much debt that they cannot repay.
    bonds = np.linspace(-1.4, 0.3, points)
    zero = int(np.abs(bonds).argmin())
    bonds -= bonds[zero]
    income = np.sort(rng.uniform(0.7, 1.2, states))
    price = 0.97 / (1.0 + np.exp(-rng.uniform(8.0, 20.0) * (bonds[:, None] + rng.uniform(0.2, 0.4) * income)))
    autarky = np.repeat(np.minimum(income, 0.95 * income.mean())[None], points, axis=0)
    back = float(rng.uniform(0.05, 0.5))
    excluded: dict[str, Any] = {
        "wealth": autarky, "cost": np.zeros((points, states)), "choice": zero,
        "leads_to": {"good": back, "excluded": 1.0 - back},
    }  # fmt: skip
    return {
        "grid": bonds,
        "wealth": income + bonds[:, None],
        "transition": chain(rng, states),
        "start": np.zeros((points, states)),
        "beta": float(rng.uniform(0.8, 0.92)),
        "alternatives": (
            Alternative(name="repay", regime="good", cost=price * bonds[:, None]),
            Alternative(name="default", regime="good", **excluded),
            Alternative(name="excluded", regime="excluded", **excluded),
        ),
    }


def _retirement(rng: np.random.Generator, points: int, states: int) -> dict[str, Any]:
    grid = np.linspace(0.0, 8.0, points)
    wealth = 0.1 + rng.uniform(1.0, 1.05) * grid[:, None] + np.zeros(states)
    least = int(rng.integers(0, points // 6))
    back = float(rng.choice([0.0, 0.3]))
    return {
        "grid": grid,
        "wealth": wealth,
        "transition": chain(rng, states),
        "start": np.zeros((points, states)),
        "beta": rng.uniform(0.75, 0.9, states),
        "alternatives": (
            Alternative(
                name="work", regime="worker", wealth=wealth + rng.uniform(0.5, 3.0, states), low=least,
                kappa=-rng.uniform(0.1, 1.0, states),
            ),
            Alternative(name="retire", regime="worker", leads_to="retired"),
            Alternative(
                name="rest", regime="retired", beta=0.85, leads_to={"retired": 1.0 - back, "worker": back},
            ),
        ),
    }  # fmt: skip


def _exit(rng: np.random.Generator, points: int, states: int) -> dict[str, Any]:
    grid = np.linspace(0.0, 5.0, points)
    wealth = 0.2 + grid[:, None] + np.sort(rng.uniform(0.0, 1.0, states))
    rises = bool(rng.random() < 0.5)
    worth = np.linspace(-2.0, 2.0, points)[:, None] * (1.0 if rises else -1.0) + rng.normal(-3.0, 3.0, states)
    if rises:
        worth[: points // 3, 0] = -np.inf
    else:
        worth[points // 3 :, 0] = -np.inf
    return {
        "grid": grid,
        "wealth": wealth,
        "transition": chain(rng, states),
        "start": np.full((points, states), -5.0),
        "beta": 0.85,
        # Where the table of values falls in x, no candidate may be dominated: the cost is x' itself, which rises.
        "cost": None if not rises else grid + 0.2 * np.sin(3.0 * grid),
        "alternatives": (
            Alternative(name="stay", kappa=float(rng.uniform(-0.5, 0.5))),
            Alternative(name="leave", value=worth),
            Alternative(name="stay for less", wealth=wealth * 0.9, transition=np.eye(states)),
        ),
    }


def _random(rng: np.random.Generator, points: int, states: int) -> dict[str, Any]:
    grid = np.linspace(0.0, 6.0, points)
    regimes = ["a", "b"][: int(rng.integers(1, 3))]
    alternatives = []
    most = max(len(regimes), min(4, MOST // states))
    total = int(rng.integers(len(regimes), most + 1))
    for d in range(total):
        regime = regimes[d % len(regimes)]
        wealth = np.sort(rng.uniform(-1.0, 9.0, (points, states)), axis=0)
        if d < len(regimes):
            wealth += 2.0 - np.minimum(wealth[0], 0.0)
        cost = np.sort(rng.uniform(0.0, 6.0, (points, states)), axis=0) + rng.normal(0.0, 0.2, (points, states))
        cost -= cost[0]
        low = int(rng.integers(0, 3)) if d >= len(regimes) else 0
        chance = float(rng.uniform(0.0, 1.0))
        alternatives.append(
            Alternative(
                name=f"{regime}.{d}", regime=regime, wealth=wealth, cost=cost, low=low,
                high=int(rng.integers(points // 2, points)), transition=chain(rng, states),
                beta=rng.uniform(0.6, 0.9, states), kappa=rng.normal(0.0, 1.0, states),
                leads_to=dict(zip(regimes, (chance, 1.0 - chance), strict=False)) if len(regimes) > 1 else None,
            )
        )  # fmt: skip
    return {
        "grid": grid,
        "wealth": 1.0 + np.zeros((points, states)) + grid[:, None],
        "transition": chain(rng, states),
        "start": np.sort(rng.normal(0.0, 1.0, (points, states)), axis=0),
        "beta": 0.8,
        "alternatives": tuple(alternatives),
    }


class FullSearch:
    """Sweeps of an image with alternatives by the definition of the problem: every candidate, exact sums.

    Regimes, mixes and tables of values are those of the problem's alternatives; only the integers are those of the
    image. Tables are those of its age.
    """

    def __init__(self, image: Image) -> None:
        assert image.products is not None
        assert image.groups is not None
        self.image, self.products = image, image.products
        points, count = image.wealth.shape
        self.u = np.empty((points, count, points), object)
        for x, p in np.ndindex(points, count):
            u, feasible, over = UtilityParameters().model(image.wealth[x, p] - image.grid[:, p], image.constants)
            assert not over[feasible].any()
            if self.products.form.negative or self.products.by_point:
                # Bounds are not costs here.
                feasible &= np.arange(points) >= self.products.low[x, p]
                feasible &= np.arange(points) <= self.products.high[x, p]
            self.u[x, p] = [int(word) if able else None for word, able in zip(u, feasible, strict=True)]

    def regimes(self, value: NDArray[np.int64]) -> NDArray[Any]:
        """Return the values of regimes, ``(N_r, N_k, N_z)``."""
        form = self.products.form
        of = [[value[:, self.products.of(d)] for d in form.of_regime(r)] for r in range(form.shape[0])]
        return np.array([np.max(words, axis=0) for words in of], object)

    def __call__(self, before: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the value of a sweep from ``before`` and its lowest best choices, -1 where none is affordable.

        All candidates are compared. A choice below the lowest candidate of the image, which then promises and costs
        the same, is returned as that one.
        """
        form, image = self.products.form, self.image
        assert image.groups is not None
        largest = self.regimes(before)
        value, choices = np.empty_like(before), np.full(before.shape, -1, np.int64)
        last, count = self.products.arrangement.last, self.products.count
        for d, one in enumerate(form.alternatives):
            tables = one.at(self.products.age)
            for s, p in enumerate(self.products.of(d)):
                if not isinstance(tables, Tables):
                    value[:, p] = before[:, p]
                    choices[:, p] = 0
                    continue
                promise = np.zeros(before.shape[0], object)
                for r, after in np.ndindex(form.shape[0], self.products.states):
                    weight = int(image.transition[p, after * count + last[r]])
                    exact = float(tables.beta[s] * tables.mix[r] * tables.transition[s, after])
                    assert abs(weight - exact * 2.0**64) <= 2.0**12
                    promise = promise + weight * largest[r, :, after]
                promise = (promise + 2**63) // 2**64
                for x in range(before.shape[0]):
                    worth = [(word + promise[i], -i) for i, word in enumerate(self.u[x, p]) if word is not None]
                    if not worth:
                        value[x, p] = MINIMUM
                        continue
                    best, index = max(worth)
                    value[x, p], choices[x, p] = best + int(image.groups.kappa[p]), max(-index, image.groups.lowest[p])
        return value, choices
