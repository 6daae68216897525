"""The layout of printed reports, as text and as tables of notebooks."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

REPORT_WIDTH = 118
"""Width of a printed report, in characters."""


@dataclass(frozen=True)
class Report:
    """A report: a heading, rows of a name and a text, and the width of the column of names in characters."""

    heading: str
    rows: tuple[tuple[str, str], ...]
    names: int = 14

    def __str__(self) -> str:
        margin = " " * (self.names + 2)
        wrapped = [
            textwrap.fill(
                f"  {name:<{self.names}}{text}", REPORT_WIDTH, subsequent_indent=margin, break_on_hyphens=False
            )
            for name, text in self.rows
        ]
        return "\n".join([self.heading, *wrapped])


class Reported(Protocol):
    """An object that has a report."""

    def _report(self) -> Report: ...


def report(title: str, rows: Iterable[tuple[str, str]], names: int = 14) -> Report:
    """Return a report: a title, and below it one line per row, with a column of names ``names`` characters wide.

    A text that is too long for a line continues on the next.

    >>> print(report("Savings", [("status", "solved")]))
    Savings
      status        solved
    """
    return Report(title, tuple(rows), names)


def as_text(shown: Reported) -> str:
    """Return the report of an object as text. Classes that have a report use this as ``__str__`` and ``__repr__``."""
    return str(shown._report())


def as_html(shown: object) -> str:
    """Return what a notebook shows of an object: its report as a table, or else its printed text.

    Classes that are printed in several lines use this as their ``_repr_html_``.

    >>> class Solved:
    ...     def _report(self):
    ...         return report("Savings", [("status", "solved")])
    >>> as_html(Solved())
    '<table><caption>Savings</caption><tr><th>status</th><td>solved</td></tr></table>'
    """
    of = getattr(shown, "_report", None)
    if of is None:
        return f"<pre>{html.escape(str(shown))}</pre>"
    found = of()
    rows = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(cell)}</td></tr>" for name, cell in found.rows)
    return f"<table><caption>{html.escape(found.heading)}</caption>{rows}</table>"
