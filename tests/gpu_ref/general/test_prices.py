"""Prices at which lenders break even, against sums in exact arithmetic, and the rule as ``update`` of a solve."""

from __future__ import annotations

import re
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from beltline.gpu_ref.general.prices import BondPrices, break_even


def test_break_even() -> None:
    rng = np.random.default_rng(3)
    transition = rng.dirichlet(np.ones(7), 7)
    lost = rng.random((23, 7)) < 0.4
    lost[0], lost[1] = True, False
    found = break_even(lost, transition, 0.017)
    for x in range(23):
        for s in range(7):
            gone = sum((Fraction(float(transition[s, t])) for t in range(7) if lost[x, t]), Fraction(0))
            exact = float(max(1 - gone, Fraction(0)) / Fraction(1.017))
            assert abs(found[x, s] - exact) <= 2.0**-51
    assert (found >= 0.0).all()
    assert (found[1] == 1.0 / 1.017).all()


def test_every_order_of_memory_gives_the_same_bits() -> None:
    rng = np.random.default_rng(5)
    transition, lost = rng.dirichlet(np.ones(5), 5), rng.random((40, 5)) < 0.5
    one = break_even(lost, transition, 0.1)
    assert (break_even(np.asfortranarray(lost), np.asfortranarray(transition), 0.1) == one).all()


def test_the_rule_follows_the_default_set_of_its_regime() -> None:
    face = np.array([-1.0, 0.0, 2.0])
    chain = np.array([[0.75, 0.25], [0.5, 0.5]])
    names = [SimpleNamespace(name=name, regime=r) for name, r in (("wait", 0), ("pay", 1), ("quit", 1))]
    names[1].at = lambda: SimpleNamespace(transition=chain)
    # Numbers of alternatives by regime, x and s; the first regime has no effect.
    choice = np.array([[[0, 0]] * 3, [[2, 2], [1, 2], [1, 1]]])
    last = SimpleNamespace(form=SimpleNamespace(alternatives=names), choice=choice)
    found = BondPrices("pay", "quit", face, 0.25)(last)  # type: ignore[arg-type]
    assert found.prices.tolist() == [[0.0, 0.0], [0.6, 0.4], [0.8, 0.8]]
    assert list(found.tables) == ["pay"]
    assert (found.tables["pay"]["cost"] == found.prices * face[:, None]).all()


def test_unknown_alternatives_are_named() -> None:
    with pytest.raises(ValueError, match="there is no alternative 'quit': there are 'pay'"):
        BondPrices("pay", "quit", np.zeros(2), 0.0).numbers(["pay"])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"repay": 3}, "repay must be the name of an alternative, not 3"),
        ({"face": "x"}, "face must be made of numbers, not 'x'"),
        ({"face": np.ones((2, 2))}, "face must be a one-dimensional array of finite numbers, not one of shape (2, 2)"),
        (
            {"face": [1.0, np.nan]},
            "face must be a one-dimensional array of finite numbers, not one with an entry that is not finite",
        ),
        ({"interest": -1.0}, "interest must be a number above -1, not -1.0"),
        ({"interest": "0.1"}, "interest must be made of numbers, not '0.1'"),
    ],
)
def test_rules_that_make_no_sense(given: dict[str, Any], sentence: str) -> None:
    good: dict[str, Any] = {"repay": "pay", "default": "quit", "face": np.zeros(2), "interest": 0.01}
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        BondPrices(**(good | given))
