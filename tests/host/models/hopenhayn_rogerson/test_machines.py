"""Firing costs on machines: the economy is the processor's, and gateware returns the bits of the emulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import beltline as bl

BUILD: dict[str, Any] = {"lanes": 2, "general": 1}


@pytest.mark.parametrize("exits", ["before", "after"])
def test_a_machine_finds_the_processors_economy(exits: str) -> None:
    economy = bl.hopenhayn_rogerson(tau=0.1, grid=60, states=8, exits=exits)
    found, right = bl.solve(economy, device="emulator"), bl.solve(economy)
    assert found.success, found.message
    assert found.price == pytest.approx(right.price, rel=1e-8)
    np.testing.assert_array_equal(found.policy, right.policy)
    assert found.employment == pytest.approx(right.employment, rel=1e-8)
    assert found.solution.verified
    assert found.solution.clocks > 0
    # Where a firm keeps its workers, hire and fire are worth the same, and rounding decides which is reported.
    for r, n, z in np.argwhere(found.solution.tables.choice != right.solution.tables.choice):
        taken = [one.solution.tables.choice[r, n, z] for one in (found, right)]
        assert (found.solution.tables.policy[taken, n, z] == n).all()


@pytest.mark.gateware
def test_gateware_returns_the_emulators_economy() -> None:
    economy = bl.hopenhayn_rogerson(tau=0.1, grid=24, states=1, share=1.0)
    found, right = (bl.solve(economy, device=device, **BUILD) for device in ("rtl", "emulator"))
    assert found.success, found.message
    assert found.price == right.price
    for name in ("value", "values", "policy", "choice"):
        np.testing.assert_array_equal(getattr(found.solution.tables, name), getattr(right.solution.tables, name))
    assert found.solution.clocks == right.solution.clocks
