"""What to do about a table that is refused, for messages. Without compiled code, as boards refuse tables, too."""

from __future__ import annotations

from typing import Any

import numpy as np

ROUNDED = 0.05
"""Largest distance from 1 of the sum of a row of rounded probabilities, as of ten with two decimals."""

FALLING = "solve it as a discrete program, bl.from_factors, which takes any reward of x, x' and s"
"""What to do about cash on hand that falls as ``x`` rises."""


def of_sums(transition: Any) -> str:
    """Return the end of a message about rows that do not sum to 1: what may be wrong, and what to do.

    Parameters
    ----------
    transition
        ``(m, n)`` or ``(T, m, n)``, an array or a sparse one; empty for other shapes.

    Returns
    -------
    str
        Empty if nothing is known.

    Examples
    --------
    >>> of_sums(np.array([[0.7, 0.4], [0.3, 0.6]]))
    ': its columns sum to 1: transpose?'
    >>> of_sums(np.float32([[0.1, 0.9], [0.5, 0.5]]))
    ': if it is rounded, pass Q / Q.sum(-1, keepdims=True) of Q in float64'
    """
    rows, columns = (np.abs(np.asarray(transition.sum(axis=axis)) - 1.0).max() for axis in (-1, -2))
    square = transition.shape[-1] == transition.shape[-2]
    if square and columns <= ROUNDED and columns < 1e-3 * rows:
        return ": its columns sum to 1: transpose?"
    if rows <= ROUNDED:
        return ": if it is rounded, pass Q / Q.sum(-1, keepdims=True) of Q in float64"
    return ""
