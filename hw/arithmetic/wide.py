"""128-bit integer arithmetic for the compiled models, as pairs ``(high, low)`` of unsigned 64-bit words.

NumPy and Numba have no 128-bit integers, but LLVM does, so that a product is one machine instruction. All functions are
for calls from compiled code only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from beltline.compiled import njit

_WORD = ir.IntType(64)
_DOUBLE = ir.IntType(128)
_PAIR = types.UniTuple(types.uint64, 2)


def _product(context: Any, builder: Any, signature: Any, left: Any, right: Any) -> Any:
    product = builder.mul(left, right)
    low = builder.trunc(product, _WORD)
    high = builder.trunc(builder.lshr(product, ir.Constant(_DOUBLE, 64)), _WORD)
    return context.make_tuple(builder, signature.return_type, [high, low])


@intrinsic
def multiply(typing_context: Any, a: Any, b: Any) -> Any:
    """Return the product of two unsigned 64-bit words, as a pair."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, right = (builder.zext(argument, _DOUBLE) for argument in arguments)
        return _product(context, builder, signature, left, right)

    return _PAIR(types.uint64, types.uint64), codegen


@intrinsic
def multiply_signed(typing_context: Any, a: Any, b: Any) -> Any:
    """Return the product of a signed and an unsigned 64-bit word, as a pair in two's complement."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left = builder.sext(arguments[0], _DOUBLE)
        right = builder.zext(arguments[1], _DOUBLE)
        return _product(context, builder, signature, left, right)

    return _PAIR(types.int64, types.uint64), codegen


@intrinsic
def leading_zeros(typing_context: Any, a: Any) -> Any:
    """Return the number of leading zero bits of an unsigned 64-bit word; 64 for zero."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), codegen


@njit(cache=True, inline="always")
def add(a, b):  # type: ignore[no-untyped-def]
    """Return the sum of two pairs, modulo ``2**128``."""
    low = a[1] + b[1]
    return a[0] + b[0] + np.uint64(low < a[1]), low


@njit(cache=True, inline="always")
def subtract(a, b):  # type: ignore[no-untyped-def]
    """Return the difference of two pairs, modulo ``2**128``."""
    return a[0] - b[0] - np.uint64(a[1] < b[1]), a[1] - b[1]


@njit(cache=True, inline="always")
def shift_left(a, bits):  # type: ignore[no-untyped-def]
    """Return the word ``a`` shifted left by 1 to 63 bits, as a pair."""
    return a >> np.uint64(64 - bits), a << np.uint64(bits)


@njit(cache=True, inline="always")
def shift_right(a, bits):  # type: ignore[no-untyped-def]
    """Return the low word of the pair ``a`` shifted right by 1 to 63 bits."""
    return (a[0] << np.uint64(64 - bits)) | (a[1] >> np.uint64(bits))
