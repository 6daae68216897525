"""The layout of printed reports, as text and as tables of notebooks."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterable

REPORT_WIDTH = 118
"""Width of a printed report, in characters."""


class Report(str):
    """The text of a report, with its ``heading`` and its ``rows`` (name, text) as attributes."""

    heading: str
    rows: tuple[tuple[str, str], ...]


def report(title: str, rows: Iterable[tuple[str, str]], names: int = 14) -> Report:
    """Return a report: a title, and below it one line per row, with a column of names ``names`` characters wide.

    A text that is too long for a line continues on the next.

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
    text = Report("\n".join([title, *wrapped]))
    text.heading, text.rows = title, rows
    return text


def as_html(shown: object) -> str:
    """Return what a notebook shows of an object: its report as a table, or else its printed text.

    Classes that have a report use this as their ``_repr_html_``.

    >>> class Solved:
    ...     def __str__(self):
    ...         return report("Savings", [("status", "solved")])
    >>> as_html(Solved())
    '<table><caption>Savings</caption><tr><th>status</th><td>solved</td></tr></table>'
    """
    text = shown.__str__()
    if not isinstance(text, Report):
        return f"<pre>{html.escape(text)}</pre>"
    rows = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(cell)}</td></tr>" for name, cell in text.rows)
    return f"<table><caption>{html.escape(text.heading)}</caption>{rows}</table>"
