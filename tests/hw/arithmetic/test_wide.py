"""128-bit arithmetic against Python's integers."""

from __future__ import annotations

import numpy as np
from numba import njit

from beltline.hw.arithmetic.wide import add, leading_zeros, multiply, multiply_signed, shift_left, shift_right, subtract

EXTREMES = [0, 1, 2, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]


@njit
def _operations(a, b, c, d, bits, out):  # type: ignore[no-untyped-def]
    for k in range(a.size):
        out[k, 0], out[k, 1] = multiply(a[k], b[k])
        out[k, 2], out[k, 3] = multiply_signed(np.int64(a[k]), b[k])
        out[k, 4], out[k, 5] = add((a[k], b[k]), (c[k], d[k]))
        out[k, 6], out[k, 7] = subtract((a[k], b[k]), (c[k], d[k]))
        out[k, 8], out[k, 9] = shift_left(a[k], bits[k])
        out[k, 10] = shift_right((a[k], b[k]), bits[k])
        out[k, 11] = leading_zeros(a[k])


def test_all_operations() -> None:
    rng = np.random.default_rng(1)
    words = rng.integers(0, 2**64, (100_000, 4), dtype=np.uint64)
    words >>= rng.integers(0, 64, words.shape, dtype=np.uint64)
    extremes = np.array(EXTREMES, dtype=np.uint64)
    corners = np.stack(np.meshgrid(*[extremes] * 4)).reshape(4, -1).T
    words = np.concatenate([words, corners])
    bits = rng.integers(1, 64, len(words))
    out = np.empty((len(words), 12), np.uint64)
    a, b, c, d = words.T.copy()
    _operations(a, b, c, d, bits, out)

    wide = words.astype(object)
    left, right = wide[:, 0] * 2**64 + wide[:, 1], wide[:, 2] * 2**64 + wide[:, 3]
    found = out.astype(object)
    pairs = found[:, 0:10:2] * 2**64 + found[:, 1:10:2]
    signed = a.view(np.int64).astype(object)
    assert (pairs[:, 0] == wide[:, 0] * wide[:, 1]).all()
    assert (pairs[:, 1] == signed * wide[:, 1] % 2**128).all()
    assert (pairs[:, 2] == (left + right) % 2**128).all()
    assert (pairs[:, 3] == (left - right) % 2**128).all()
    shifts = np.array([1 << int(k) for k in bits], dtype=object)
    assert (pairs[:, 4] == wide[:, 0] * shifts).all()
    assert (found[:, 10] == left // shifts % 2**64).all()
    assert found[:, 11].tolist() == [64 - word.bit_length() for word in wide[:, 0].tolist()]


def test_leading_zeros_of_every_length() -> None:
    a = np.array([0, *(1 << k for k in range(64)), *((2 << k) - 1 for k in range(64))], dtype=np.uint64)
    out = np.empty((a.size, 12), np.uint64)
    _operations(a, a, a, a, np.ones(a.size, np.int64), out)
    assert out[:, 11].tolist() == [64, *range(63, -1, -1), *range(63, -1, -1)]
