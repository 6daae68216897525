"""Compare the exact sweeps with full search on random problems, in every state.

``python -m beltline.gpu_ref.general.exactness --problems 1000`` draws problems and sweeps each of them three times,
first from an arbitrary policy, then from the last one found; or once at each age. It prints where value, choice of
``x'``, choice of alternative or a probability differs from full search by more than a tie, and exits with 1 if anything
does.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from beltline.gpu_ref.cuda.device import available
from beltline.gpu_ref.general.form import Branch, Form, Indexes
from beltline.gpu_ref.general.full_search import full_sweep, future, objectives
from beltline.gpu_ref.general.operator import sweep
from beltline.gpu_ref.general.random_forms import RandomForm, random_form
from beltline.gpu_ref.general.solution import Iterate
from beltline.gpu_ref.tables import Array

TIE = 1e-13
"""Differences up to this share of a value, and of the expectations among which it is chosen, count as ties."""


@dataclass
class Compared:
    """What was compared, and what was found.

    Attributes
    ----------
    states
        Number of states of alternatives compared, counted once per sweep.
    searched
        Number of columns (exogenous states of alternatives) that the sweeps searched in full.
    columns
        Number of columns compared.
    evaluations
        Number of objectives that the sweeps computed.
    other
        Number of choices of ``x'`` that differ from those of full search within ties.
    largest
        Largest difference of a value, as a share.
    differences
        One line for each alternative or regime that differs by more than ties.
    """

    states: int = 0
    searched: int = 0
    columns: int = 0
    evaluations: int = 0
    other: int = 0
    largest: float = 0.0
    differences: list[str] = field(default_factory=list)


def _record(found: Compared, where: str, what: str, share: Array) -> None:
    """Record the largest of the differences ``share`` (relative), and a line if some exceed ties."""
    share = np.where(np.isnan(share), np.inf, share)
    found.largest = max(found.largest, float(share.max(initial=0.0)))
    if (share > TIE).any():
        first = [int(i) for i in np.argwhere(share > TIE)[0]]
        found.differences.append(
            f"{where}: {what} differs in {int((share > TIE).sum())} states, first {first}, by {share.max():.3g}"
        )


def _gap(one: Array, other: Array) -> Array:
    """Return ``|one - other|``, and 0 where both are the same infinity."""
    with np.errstate(invalid="ignore"):
        gap: Array = np.where(one == other, 0.0, np.abs(one - other))
    return gap


def compare_sweep(found: Compared, where: str, form: Form, V: Array, swept: Iterate, age: int = 0) -> None:
    """Compare a sweep from ``V`` with full search from ``V``, and add the outcome to ``found``."""
    oracle = full_sweep(form, V, age)
    sizes = []
    for d, one in enumerate(form.alternatives):
        size = np.abs(np.where(np.isfinite(oracle.values[d]), oracle.values[d], 0.0))
        if isinstance(one, Branch):
            tables = one.at(age)
            size = np.maximum(size, np.abs(future(tables, V)).max(axis=0)) + np.finfo(float).tiny
            _record(found, f"{where}, {one.name}", "value", _gap(swept.values[d], oracle.values[d]) / size)
            regret = np.zeros(size.shape)
            for x, s in np.argwhere(swept.policy[d] != oracle.policy[d]):
                chosen = swept.policy[d][x, s]
                own = objectives(tables, V, form.eta, s, negative=form.negative)[x, chosen] if chosen >= 0 else -np.inf
                regret[x, s] = oracle.values[d][x, s] - own
                found.other += 1
            _record(found, f"{where}, {one.name}", "choice", regret / size)
            found.states += size.size
            found.columns += size.shape[1]
        sizes.append(size + np.finfo(float).tiny)
    for regime in range(form.shape[0]):
        own = form.of_regime(regime)
        size = np.max([sizes[d] for d in own], axis=0) + form.sigma
        _record(found, f"{where}, regime {regime}", "value", _gap(swept.value[regime], oracle.value[regime]) / size)
        taken = np.take_along_axis(oracle.values, swept.choice[regime][None], axis=0)[0]
        best = oracle.values[own].max(axis=0)
        _record(found, f"{where}, regime {regime}", "alternative", _gap(taken, best) / size)
        if form.sigma > 0.0:
            for d in own:
                gap = _gap(swept.probabilities[d], oracle.probabilities[d]) * form.sigma / size
                _record(found, f"{where}, {form.alternatives[d].name}", "probability", gap)
    found.evaluations += swept.evaluations
    found.searched += swept.searched


def _sweeps(drawn: RandomForm) -> Iterator[tuple[str, Array, Indexes, int]]:
    """Yield the sweeps to compare: a label, the value and the policy from which to start, and the age."""
    form, V, policy = drawn.form, drawn.value, drawn.policy
    ages = range(form.horizon - 1, -1, -1) if form.horizon else (0, 0, 0)
    for number, age in enumerate(ages):
        yield (f"age {age + 1}" if form.horizon else f"sweep {number}"), V, policy, age
        last = full_sweep(form, V, age)
        V, policy = last.value, last.policy


Sweep = Callable[[Form, Array, Indexes, int], Iterate]


def compare_form(found: Compared, name: str, drawn: RandomForm, by: Sweep = sweep) -> None:
    """Compare sweeps of a problem with full search. Each starts from the value of full search, so differences do not
    accumulate.
    """
    for where, V, policy, age in _sweeps(drawn):
        swept = by(drawn.form, V, policy, age)
        compare_sweep(found, f"{name} ({drawn.kind}), {where}", drawn.form, V, swept, age)


def run(problems: int, seed: int, grid: int, report: Callable[[str], None], by: Sweep = sweep) -> Compared:
    """Compare ``problems`` random problems; the first is drawn with ``seed``, and each further one with the next
    number.
    """
    found = Compared()
    begin = last_report = time.monotonic()
    for number in range(problems):
        compare_form(found, f"problem {seed + number}", random_form(seed + number, grid), by)
        if time.monotonic() - last_report > 5.0:
            last_report = time.monotonic()
            done, differences = f"{number + 1} of {problems} problems", len(found.differences)
            report(f"{done}, {differences} differences, {last_report - begin:.0f} s")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m beltline.gpu_ref.general.exactness", description=__doc__)
    parser.add_argument("--problems", type=int, default=100, help="number of random problems (default 100)")
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the first problem; the others have the next ones (default 0)"
    )
    parser.add_argument("--grid", type=int, default=100, help="largest number of grid points (default 100)")
    parser.add_argument(
        "--device", choices=("cpu", "gpu"), default="cpu", help="device whose sweeps are compared (default cpu)"
    )
    options = parser.parse_args(arguments)
    for name, least in (("problems", 1), ("seed", 0), ("grid", 1)):
        if getattr(options, name) < least:
            parser.error(f"--{name} must be at least {least}, not {getattr(options, name)}")
    by = sweep
    if options.device == "gpu":
        from beltline.gpu_ref.cuda import general

        if why := available():
            parser.error(f"--device gpu cannot be used: {why}")
        by = general.sweep
    found = run(options.problems, options.seed, options.grid, lambda line: print(line, file=sys.stderr, flush=True), by)
    for line in found.differences:
        print(line)
    print(
        f"{options.problems} problems, {found.states:,} states of alternatives compared with full search: "
        f"{len(found.differences)} differences beyond ties of {TIE:g}, {found.other:,} other choices within ties; "
        f"largest difference {found.largest:.2g}; {found.evaluations / max(found.states, 1):.1f} evaluations a state; "
        f"{found.searched:,} of {found.columns:,} columns searched in full."
    )
    return 1 if found.differences else 0


if __name__ == "__main__":
    sys.exit(main())
