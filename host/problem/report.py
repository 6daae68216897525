"""How a report is laid out, as text and for notebooks."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterable

REPORT_WIDTH = 118
"""Columns of a printed report."""


class Report(str):
    """Text of a report, which knows its ``heading`` and ``rows``."""

    heading: str
    rows: tuple[tuple[str, str], ...]


def report(title: str, rows: Iterable[tuple[str, str]], names: int = 14) -> Report:
    """A title, and below it each row's text beside its name, which has ``names`` columns; long texts are wrapped.

    >>> print(report("Savings", [("status", "solved")]))
    Savings
      status        solved
    """
    rows = tuple(rows)
    margin = " " * (names + 2)
    wrapped = [
        textwrap.fill(f"  {name:<{names}}{text}", REPORT_WIDTH, subsequent_indent=margin, break_on_hyphens=False)
        for name, text in rows
    ]
    told = Report("\n".join([title, *wrapped]))
    told.heading, told.rows = title, rows
    return told


def as_html(shown: object) -> str:
    """What a notebook shows of an object: its report as a table, or else its text as it is printed.

    ``_repr_html_`` of whatever has a report is this.

    >>> class Solved:
    ...     def __str__(self):
    ...         return report("Savings", [("status", "solved")])
    >>> as_html(Solved())
    '<table><caption>Savings</caption><tr><th>status</th><td>solved</td></tr></table>'
    """
    text = shown.__str__()
    if not isinstance(text, Report):
        return f"<pre>{html.escape(text)}</pre>"
    rows = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(said)}</td></tr>" for name, said in text.rows)
    return f"<table><caption>{html.escape(text.heading)}</caption>{rows}</table>"
