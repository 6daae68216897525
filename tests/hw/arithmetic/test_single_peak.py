"""The proof of single peaks, for objectives that are flat except for their curvature and their rounding."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.hw.arithmetic.single_peak import curvature_room, single_peaked
from beltline.hw.arithmetic.utility import UtilityParameters
from beltline.hw.arithmetic.utility_constants import UtilityConstants

AMOUNT = VALUE = 40
POINTS = 50


@pytest.mark.parametrize("eta", [0.5, 1.0, 2.0, 5.0])
def test_room_is_what_errors_leave_of_the_curvature(eta: float) -> None:
    """The test allows ``EV`` to rise as fast as utility falls, less rounding errors, even on grids so fine that
    rounding alone causes additional peaks.
    """
    constants = UtilityConstants.of(eta, AMOUNT, VALUE)
    proven, rough = [], []
    for bits in range(4, 34):
        x = np.arange(POINTS, dtype=np.int64) << bits
        w = np.full((POINTS, 1), x[-1] + (1 << AMOUNT))
        u, feasible, over = UtilityParameters().model(w[0, 0] - x, constants)
        assert feasible.all()
        assert not over.any()
        slope = int(u[0] - u[-1]) // (POINTS - 1)
        ev = slope * np.arange(POINTS, dtype=np.int64)[:, None]
        signs = np.sign(np.diff(u + ev[:, 0]))
        # The objective rises, has at most one tie at the top, and then falls.
        rough.append(bool((np.diff(signs) > 0).any() or (signs == 0).sum() > 1))
        proven.append(single_peaked(ev, x, curvature_room(x, w, constants)))
    assert not any(a and b for a, b in zip(proven, rough, strict=True))
    assert any(rough)
    assert any(proven)


def test_one_rise_anywhere_is_enough() -> None:
    constants = UtilityConstants.of(2.0, AMOUNT, VALUE)
    x = np.arange(POINTS, dtype=np.int64) << 34
    w = np.tile(x[:, None] + (1 << AMOUNT), 3)
    room = curvature_room(x, w, constants)
    concave = np.tile(-(np.arange(POINTS, dtype=np.int64)[:, None] ** 2) << 20, 3)
    assert single_peaked(concave, x, room)
    for j, s in ((1, 0), (20, 1), (POINTS - 2, 2), (POINTS - 2, 0)):
        kinked = concave.copy()
        kinked[j, s] -= 1 << 39
        assert not single_peaked(kinked, x, room), (j, s)
