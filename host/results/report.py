"""How a report is laid out."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

REPORT_WIDTH = 118
"""Columns of a printed report."""


def report(title: str, rows: Iterable[tuple[str, str]], names: int = 14) -> str:
    """A title, and below it each row's text beside its name, which has ``names`` columns; long texts are wrapped.

    >>> print(report("Savings", [("status", "solved")]))
    Savings
      status        solved
    """
    margin = " " * (names + 2)
    wrapped = [
        textwrap.fill(f"  {name:<{names}}{text}", REPORT_WIDTH, subsequent_indent=margin, break_on_hyphens=False)
        for name, text in rows
    ]
    return "\n".join([title, *wrapped])
