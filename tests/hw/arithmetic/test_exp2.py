"""``2**f`` against MPFR, over every boundary of its tables, and its gateware against its model."""

from __future__ import annotations

import gmpy2
import numpy as np
import pytest
from numpy.typing import NDArray

from beltline.hw.arithmetic import polynomials as tables
from beltline.hw.arithmetic.exp2 import FRACTION, RESULT_FRACTION, Exp2, Exp2Parameters
from beltline.hw.interface.parameters import Multiplier
from support.streams import MULTIPLIERS, Stream

CELL = FRACTION - tables.EXP_FIRST - tables.EXP_SECOND


def operands(rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Return operands, a quarter of which have nearly all ones below the tables' bits, where truncation loses most."""
    tops = rng.integers(0, 1 << (FRACTION - CELL), count // 4) << CELL
    worst = tops | ((1 << CELL) - 1 - rng.integers(0, 1 << 16, tops.size))
    extremes = [0, 1, 2, (1 << FRACTION) - 1, (1 << FRACTION) - 2, *(1 << k for k in range(FRACTION))]
    return np.concatenate([rng.integers(0, 1 << FRACTION, count - tops.size), worst, np.array(extremes)])


def test_error_against_oracle() -> None:
    f = operands(np.random.default_rng(1), 200_000)
    found = Exp2Parameters().model(f)
    with gmpy2.context(gmpy2.get_context(), precision=96):
        exact = [gmpy2.exp2(gmpy2.div_2exp(gmpy2.mpfr(operand), FRACTION)) for operand in f.tolist()]
        error = np.array(
            [
                float(gmpy2.div_2exp(gmpy2.mpfr(word), RESULT_FRACTION) - wanted)
                for word, wanted in zip(found.tolist(), exact, strict=True)
            ]
        )
    relative = error / np.array([float(wanted) for wanted in exact])
    print(
        f"2^f: from -2^{np.log2(-error.min()):.2f} to 2^{np.log2(error.max()):.2f}, "
        f"relative 2^{np.log2(np.abs(relative).max()):.2f}"
    )
    assert np.abs(error).max() < 2.0**-60.2
    assert np.abs(relative).max() < 2.0**-60.5


def test_zero_is_exact_and_results_stay_in_the_octave() -> None:
    first, last = Exp2Parameters().model([0, (1 << FRACTION) - 1]).tolist()
    assert first == 1 << RESULT_FRACTION
    assert last < 2 << RESULT_FRACTION


def test_never_falls_at_any_boundary_of_the_tables() -> None:
    edges = np.arange(1, 1 << (FRACTION - CELL)) << CELL
    model = Exp2Parameters().model
    before, at, after = (model(edges + d) for d in (-1, 0, 1))
    assert (before <= at).all()
    assert (at <= after).all()


def test_never_falls_between_neighbours() -> None:
    f = operands(np.random.default_rng(2), 1_000_000)
    f = f[f < (1 << FRACTION) - 1]
    model = Exp2Parameters().model
    assert (model(f) <= model(f + 1)).all()
    assert (np.diff(model(np.sort(f)).astype(np.int64)) >= 0).all()


@pytest.mark.gateware
@pytest.mark.parametrize("multiplier", MULTIPLIERS)
def test_gateware_equals_model(stream: Stream, multiplier: Multiplier) -> None:
    rng = np.random.default_rng(3)
    edges = rng.integers(1, 1 << (FRACTION - CELL), 3000) << CELL
    f = np.concatenate([operands(rng, 14_000), edges - 1, edges])
    rng.shuffle(f)
    unit = Exp2Parameters(multiplier)
    found = stream(Exp2(unit), {"operand": f}, ["result"], unit.latency)
    np.testing.assert_array_equal(found["result"], unit.model(f))
