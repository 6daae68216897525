"""Tables and coefficients of logarithm and exponential in the utility unit, with their error bounds.

``python -m beltline.hw.arithmetic.polynomials`` computes them with mpmath and writes
``hw/arithmetic/polynomials.json``; a test computes them again and compares.

**Logarithm.** The mantissa ``m`` lies in [1, 2) and has 60 fraction bits. (Longer ones, of operands of 2**61 and more,
are cut: relative error below ``2**-60``.)

1. ``i1`` is the 10 leading fraction bits of ``m``. They select ``r1 >= 1/m_low`` with 13 fraction bits, such that
   ``z1 = m r1 - 1`` lies in ``[0, 2**-9.6)``.
2. ``i2`` is the 11 bits of ``z1`` below ``2**-9``. They select ``e2 <= z1_low/(1 + z1_low)`` with 22 fraction bits,
   such that ``z2 = (1 + z1)(1 - e2) - 1`` lies in ``[0, 2**-19.6)``.
3. ``log2 m = -log2 r1 - log2(1 - e2) + k1 z2 - k2 z2**2``, with the minimax quadratic without a constant.

| source of error of ``log2`` before rounding | bound |
|---|---|
| two tables of 64 fraction bits | ``2 * 2**-65`` |
| ``z1`` cut to 64 fraction bits: downwards | ``2**-64 / ln 2`` |
| the product in ``z2`` cut to 64 fraction bits: upwards | ``2**-64 / ln 2`` |
| quadratic instead of the series | ``2**-63.4`` |
| ``z2`` cut to 26 bits in the square, the square to 25: upwards | ``2**-63.6`` |
| sum, in either direction | below ``2**-61.5`` |

Two neighbouring 60-bit mantissas differ by more than ``2**-60.5`` in ``log2``, which is twice that bound: the sum never
falls from one operand to the next, and rounding it to 58 fraction bits preserves this. The logarithm of a power of two
is exact.

**Exponential.** The fraction ``f`` has 58 bits: ``j1`` is its 10 leading bits, ``j2`` the next 10, ``z < 2**-20`` the
rest. ``2**f = T1 (1 + t2) (1 + q)`` with ``T1 = 2**(j1/1024)`` and ``t2 = 2**(j2/2**20) - 1`` from tables, and the
minimax polynomial ``q = c1 z + c2 z**2``.

| source of error of ``2**f``, absolute | bound |
|---|---|
| tables of 64 fraction bits | ``3 * 2**-65`` |
| ``T1 (1 + t2)`` and its product with ``q`` cut to 64 fraction bits | ``2**-63`` |
| ``T1 (1 + t2)`` cut to 44 bits in that product | ``2**-63.5`` |
| ``q``, twice: quadratic and coefficients ``2**-65.5``, square ``2**-63.7``, cut to 64 bits | ``2**-61.6`` |
| result cut to 62 fraction bits | ``2**-62`` |
| sum | below ``2**-60.2``, and ``2**-60.5`` of the result |

Two neighbouring fractions differ by more than ``2**-58.6`` in ``2**f``, so the result never falls as ``f`` rises.
"""

from __future__ import annotations

import functools
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import mpmath

PATH = Path(__file__).with_suffix(".json")
"""File of the tables."""

LOG_FIRST = 10
"""Address bits of the logarithm's first table."""
LOG_SECOND = 11
"""Address bits of its second table, whose cells are ``2**-20`` wide."""
LOG_SECOND_STEP = 20
RECIPROCAL_BITS = 13
"""Fraction bits of ``r1``."""
DEFICIT_BITS = 22
"""Fraction bits of ``e2``."""
TABLE_BITS = 64
"""Fraction bits of both logarithm tables, of ``T1`` and of ``t2``."""
K1_BITS = 47
K2_BITS = 27
EXP_FIRST = 10
EXP_SECOND = 10
C1_BITS = 45
C2_BITS = 26


@dataclass(frozen=True)
class Tables:
    """Tables as lists of integers, and coefficients; the module's docstring defines their formats.

    ``reciprocal``: ``r1``; ``log_first``: ``-log2 r1``; ``deficit``: ``e2``; ``log_second``: ``-log2(1 - e2)``;
    ``exp_first``: ``T1 - 1``; ``exp_second``: ``t2``; and the coefficients.
    """

    reciprocal: list[int]
    log_first: list[int]
    deficit: list[int]
    log_second: list[int]
    k1: int
    k2: int
    exp_first: list[int]
    exp_second: list[int]
    c1: int
    c2: int


def generate() -> Tables:
    """Compute all tables and coefficients, with 60 decimal digits."""
    with mpmath.workdps(60):
        log2 = functools.partial(mpmath.log, b=2)

        def fixed(x: mpmath.mpf, bits: int) -> int:
            return int(mpmath.nint(mpmath.ldexp(x, bits)))

        reciprocal = [
            int(mpmath.ceil(mpmath.ldexp(1 / (1 + mpmath.ldexp(i, -LOG_FIRST)), RECIPROCAL_BITS)))
            for i in range(1 << LOG_FIRST)
        ]
        deficit = []
        for i in range(1 << LOG_SECOND):
            low = mpmath.ldexp(i, -LOG_SECOND_STEP)
            deficit.append(int(mpmath.floor(mpmath.ldexp(low / (1 + low), DEFICIT_BITS))))
        log_reach = mpmath.ldexp(1.25, -LOG_SECOND_STEP)
        k1, k2 = _quadratic(lambda z: log2(1 + z), log_reach)
        c1, c2 = _quadratic(lambda z: mpmath.power(2, z) - 1, mpmath.ldexp(1, -EXP_FIRST - EXP_SECOND))
        return Tables(
            reciprocal=reciprocal,
            log_first=[fixed(-log2(mpmath.ldexp(r, -RECIPROCAL_BITS)), TABLE_BITS) for r in reciprocal],
            deficit=deficit,
            log_second=[fixed(-log2(1 - mpmath.ldexp(e, -DEFICIT_BITS)), TABLE_BITS) for e in deficit],
            k1=fixed(k1, K1_BITS),
            k2=fixed(-k2, K2_BITS),
            exp_first=[
                fixed(mpmath.power(2, mpmath.ldexp(j, -EXP_FIRST)) - 1, TABLE_BITS) for j in range(1 << EXP_FIRST)
            ],
            exp_second=[
                fixed(mpmath.power(2, mpmath.ldexp(j, -EXP_FIRST - EXP_SECOND)) - 1, TABLE_BITS)
                for j in range(1 << EXP_SECOND)
            ],
            c1=fixed(c1, C1_BITS),
            c2=fixed(c2, C2_BITS),
        )


def _quadratic(function, reach):  # type: ignore[no-untyped-def]
    """Return ``(a, b)`` of the minimax polynomial ``a z + b z**2`` of ``function``, which is 0 at 0, on ``[0, reach]``.

    Remez exchange: solve for the two coefficients and the level of the error at three points, the end and the two inner
    extrema of the error, and repeat with the new extrema until they converge. To leading order the error is a cubic,
    whose extrema are the starting points.
    """
    points = [reach * mpmath.mpf("0.2"), reach * mpmath.mpf("0.65"), reach]
    for _ in range(8):
        system = mpmath.matrix([[z, z * z, (-1) ** k * reach**3] for k, z in enumerate(points)])
        a, b, _level = mpmath.lu_solve(system, mpmath.matrix([function(z) for z in points]))
        slope = functools.partial(_slope, function, a, b)
        points = [mpmath.findroot(slope, point) for point in points[:2]] + [reach]
    return a, b


def _slope(function, a, b, z):  # type: ignore[no-untyped-def]
    return mpmath.diff(function, z) - a - 2 * b * z


@functools.lru_cache(maxsize=1)
def load() -> Tables:
    """Read the tables from :data:`PATH`."""
    raw = json.loads(PATH.read_text(encoding="ascii"))
    entries: dict[str, Any] = {
        name: [int(word, 16) for word in value] if isinstance(value, list) else int(value, 16)
        for name, value in raw.items()
    }
    return Tables(**entries)


def write() -> None:
    """Compute the tables and write them to :data:`PATH`."""
    raw = {n: [f"{x:x}" for x in v] if isinstance(v, list) else f"{v:x}" for n, v in asdict(generate()).items()}
    PATH.write_text(json.dumps(raw, indent=0) + "\n", encoding="ascii")


if __name__ == "__main__":
    write()
