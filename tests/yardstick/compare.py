"""Compare answers with recorded ones, and report by kind."""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np

import beltline as bl

from .objective import of_pairs, of_problem
from .other import Pairs
from .problems import Entry
from .reading import NUMBERS, Answer

ROUNDING, SLACK = 1e-12, 1e-6
"""Shares of the largest value: a floor of error bounds, and what an equilibrium of a model may move."""

KIND_TIME, ONE_TIME, LEAST_MS = 1.2, 3.0, 5.0


def violations(entry: Entry, old: Answer, new: Answer) -> list[str]:
    """Return in which ways ``new`` is worse than ``old``; nothing on times."""
    if old.facts["check"] != new.facts["check"]:
        return ["the problem is another one than was recorded"]
    if old.value.shape != new.value.shape:
        return [f"value has shape {new.value.shape}, not {old.value.shape}"]
    before, after, found = old.facts, new.facts, []
    if before["status"] != after["status"] and not (after["success"] and not before["success"]):
        found.append(f"status {after['status']!r}, not {before['status']!r}")
    elif before["success"] and not after["success"]:
        found.append("no success")
    size = float(np.nanmax(np.abs(np.where(np.isfinite(old.value), old.value, 0.0)), initial=0.0))
    equilibrium = not isinstance(entry.made, bl.Problem | Pairs)
    slack = (SLACK if equilibrium else ROUNDING) * size
    bounds = [one["error_bound"] for one in (before, after)]
    if before["success"] and bounds[1] > 2.0 * bounds[0] + slack:
        found.append(f"error bound {bounds[1]:.3g}, was {bounds[0]:.3g}")
    # A solution of several problems has no bound: nan.
    within = float(np.nan_to_num(sum(bounds), posinf=np.inf)) + slack
    with np.errstate(invalid="ignore"):
        away = np.where(old.value == new.value, 0.0, np.abs(old.value - new.value))
    away[np.isnan(old.value) & np.isnan(new.value)] = 0.0
    if not away.max() <= within:
        found.append(f"value differs by {away.max():.3g}, bounds and rounding are {within:.3g}")
    for name in NUMBERS:
        if name in before and not abs(before[name] - after[name]) <= SLACK * abs(before[name]):
            found.append(f"{name} is {after[name]:.9g}, was {before[name]:.9g}")
    return [*found, *_choices(entry, old, new, 2.0 * within)]


def _choices(entry: Entry, old: Answer, new: Answer, within: float) -> list[str]:
    other = (old.policy != new.policy) | (old.alternative != new.alternative)
    if not other.any() or not np.isfinite(within):
        return []
    values = [objective(entry, old, one, new.problem) for one in (old, new)]
    if values[0] is None or values[1] is None:
        return []
    with np.errstate(invalid="ignore"):
        loss = np.where(other & (values[0] > -np.inf), values[0] - values[1], 0.0)
    worse = ~(loss <= within)
    if not worse.any():
        return []
    where = tuple(int(i) for i in np.argwhere(worse)[0])
    return [f"{worse.sum()} of {other.sum()} other choices are worse by up to {np.max(loss):.3g}, first at {where}"]


def objective(entry: Entry, at: Answer, taken: Answer, problem: Any) -> Any:
    """Return the objective of the choices ``taken`` at the value of ``at``; None where a model has other problems."""
    if isinstance(entry.made, Pairs):
        made = entry.made
        found = of_pairs(made.reward, made.chances, made.beta, at.value.ravel(), taken.policy.ravel())
        return found.reshape(at.value.shape)
    return of_problem(problem, at.value, taken) if isinstance(problem, bl.Problem) else None


def too_slow(rows: list[tuple[Entry, Answer, Answer]]) -> tuple[dict[str, float], dict[str, str]]:
    """Return the median ratio of times by kind, and what is too slow by name of the problem or kind."""
    ratios: dict[str, list[float]] = {}
    found = {}
    for entry, old, new in rows:
        ratio = new.facts["time"] / old.facts["time"]
        ratios.setdefault(entry.kind, []).append(ratio)
        if ratio > ONE_TIME and max(new.facts["ms"], old.facts["ms"]) >= LEAST_MS:
            found[entry.name] = f"{ratio:.2f} times the CPU time, now {new.facts['ms']:.1f} ms"
    medians = {kind: median(of) for kind, of in ratios.items()}
    return medians, found | {
        kind: f"{ratio:.2f} times the CPU time by the median of the kind"
        for kind, ratio in medians.items()
        if ratio > KIND_TIME
    }
