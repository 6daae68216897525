"""Lists of replaced phrases, and a search for them in a text: for the checks of pages and of code in ``tests/docs``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Term:
    """What a page writes, and the phrases that it does not."""

    replaced: list[str]
    use: str
    but: list[str]


def load(path: Path) -> list[Term]:
    """Return the rows of the table in ``path``, without its head."""
    table = [line for line in path.read_text().splitlines() if line.startswith("|")][2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return [Term(replaced.split("; "), use, [word for word in but.split("; ") if word]) for replaced, use, but in rows]


def words(phrase: str) -> re.Pattern[str]:
    """A phrase, across the ends of lines and of any letter case."""
    found = (re.escape(word).replace(r"\*", r"\w*") for word in phrase.split())
    return re.compile(r"(?<![\w-])" + r"\s+".join(found) + r"(?![\w-])", re.I)


def matches(name: str, text: str, terms: Sequence[Term]) -> list[str]:
    """A sentence for each replaced phrase of ``terms`` in ``text``, in the order of its lines."""
    found = set[tuple[int, str]]()
    for term in terms:
        right = [match.span() for phrase in term.but for match in words(phrase).finditer(text)]
        for phrase in term.replaced:
            for match in words(phrase).finditer(text):
                if not any(begin <= match.start() and match.end() <= end for begin, end in right):
                    line = text.count("\n", 0, match.start()) + 1
                    said = " ".join(match[0].split())
                    found.add((line, f"{name}:{line}: instead of '{said}' write: {term.use}"))
    return [sentence for _, sentence in sorted(found)]
