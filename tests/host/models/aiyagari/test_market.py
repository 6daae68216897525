"""An economy counts as solved only if its market clears and its grid is long enough."""

from __future__ import annotations

import re

import pytest

import beltline as bl
from beltline.host.models.aiyagari.result import MARKET_TOLERANCE
from beltline.host.results.outcome import GRID_END_SHARE


@pytest.mark.parametrize("device", ["emulator", "cpu"])
def test_a_market_that_does_not_clear_is_no_success(device: str) -> None:
    found = bl.solve(bl.aiyagari(grid=100, states=3), tol=1e-5, device=device, progress=False)
    assert abs(found.excess) > MARKET_TOLERANCE
    assert (found.success, found.status) == (False, "market not solved")
    assert re.fullmatch(
        r"The market does not clear: at r = 2\.828\d% the supply of capital is [\d.]+ and demand [\d.]+, an excess of "
        + re.escape(
            f"{found.excess:+.2%}, and at most 1% is allowed. Supply jumps there because assets are grid points: "
        )
        + r"raise grid above 100 or states above 3; if that does not help, lower tol below 1e-05\.",
        found.message,
    )
    assert "market not solved: The market does not clear" in str(found)


def test_what_the_message_advises_helps() -> None:
    for more in ({"grid": 600}, {"grid": 250, "states": 7}):
        found = bl.solve(bl.aiyagari(**{"grid": 100, "states": 3} | more), tol=1e-5, device="cpu", progress=False)
        assert found.success, found.message
        assert abs(found.excess) <= MARKET_TOLERANCE


@pytest.mark.parametrize("device", ["emulator", "cpu"])
def test_a_grid_that_ends_too_early_is_no_success(device: str) -> None:
    found = bl.solve(bl.aiyagari(grid=200, high=10.0), tol=1e-5, device=device, progress=False)
    assert found.at_top > GRID_END_SHARE
    assert (found.success, found.status) == (False, "grid ends too early")
    assert found.message.startswith(
        f"{found.at_top:.2%} of households choose the highest grid point, 10, and at most 0.10% may: raise high"
    )
    longer = bl.solve(bl.aiyagari(grid=200, high=40.0), tol=1e-5, device=device, progress=False)
    assert longer.success, longer.message
    assert longer.at_top <= GRID_END_SHARE
