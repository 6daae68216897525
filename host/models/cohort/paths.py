"""Means and percentiles of a cohort by age, from its distribution, without simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.host.analysis.inequality import gini, percentiles
from beltline.host.problem.arrays import Array
from beltline.host.problem.report import as_html

EVERY = 10
"""Years between two columns of the report."""


@dataclass(frozen=True, eq=False)
class Paths:
    """Means, percentiles and inequality of the living by age; ``print`` shows them as a table.

    Parameters
    ----------
    ages : (T,) int array
        Ages in years.
    alive : (T,) float64 array
        Share of the cohort that is alive.
    mean : dict of str to (T,) float64 array
        Means of ``income``, ``consumption``, ``assets`` at the beginning of the year, and ``saving``, the growth of
        assets during the year; in units of the good.
    shares : (n,) float64 array
        Which percentiles were computed, from 0 to 1.
    percentiles : dict of str to (n, T) float64 array
        Percentiles of the same variables.
    log_variance : dict of str to (T,) float64 array
        Variances of the logarithms of ``income`` and ``consumption``.
    gini : (T,) float64 array
        Gini coefficient of assets; nan where all assets are 0.
    title : str
        Heading of the report.
    """

    ages: NDArray[np.int64]
    alive: Array
    mean: dict[str, Array]
    shares: Array
    percentiles: dict[str, Array]
    log_variance: dict[str, Array]
    gini: Array
    title: str

    def __str__(self) -> str:
        at = [t for t, age in enumerate(self.ages.tolist()) if t == 0 or age % EVERY == 0]
        rows = [("age", [f"{self.ages[t]}" for t in at]), ("alive", [f"{self.alive[t]:.3f}" for t in at])]
        for name, mean in self.mean.items():
            rows.append((name, [f"{mean[t]:.2f}" for t in at]))
            rows += [
                (f"  percentile {100 * share:g}", [f"{line[t]:.2f}" for t in at])
                for share, line in zip(self.shares, self.percentiles[name], strict=True)
            ]
        rows += [(f"var. log {name}", [f"{line[t]:.3f}" for t in at]) for name, line in self.log_variance.items()]
        rows.append(("gini of assets", [f"{self.gini[t]:.3f}" for t in at]))
        return "\n".join([self.title, *(f"  {name:<16}{''.join(f'{cell:>9}' for cell in row)}" for name, row in rows)])

    __repr__ = __str__
    _repr_html_ = as_html


def summary(ages: NDArray[np.int64], mass: Array, tables: Mapping[str, Array], shares: Array, title: str) -> Paths:
    """Compute statistics of ``tables``, ``(T, N_k, N_s)`` each, under the distribution ``mass`` of this shape."""
    alive = mass.sum(axis=(1, 2))
    weight = mass / alive[:, None, None]
    logs = {name: np.log(tables[name]) for name in ("income", "consumption")}
    return Paths(
        ages=ages,
        alive=alive,
        mean={name: (weight * table).sum(axis=(1, 2)) for name, table in tables.items()},
        shares=shares,
        percentiles={
            name: np.stack([percentiles(*both, shares) for both in zip(table, mass, strict=True)], axis=1)
            for name, table in tables.items()
        },
        log_variance={
            name: (weight * log**2).sum(axis=(1, 2)) - (weight * log).sum(axis=(1, 2)) ** 2
            for name, log in logs.items()
        },
        gini=np.array([gini(*both) if both[0] @ both[1] > 0 else np.nan for both in _by_age(tables["assets"], mass)]),
        title=title,
    )


def _by_age(assets: Array, mass: Array) -> list[tuple[Array, Array]]:
    """Return the levels of assets and the share of people at each, by age."""
    return [(levels[:, 0], people.sum(axis=1)) for levels, people in zip(assets, mass, strict=True)]
