"""Lists of replaced phrases, and a search for them in a text: for the checks of pages and of code in ``tests/docs``."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Term:
    """A term to use, and the phrases that it replaces."""

    replaced: list[str]
    use: str
    but: list[str]


def load(path: Path) -> list[Term]:
    """Return the rows of the table in ``path``, without its head."""
    table = [line for line in path.read_text().splitlines() if line.startswith("|")][2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return [Term(replaced.split("; "), use, [word for word in but.split("; ") if word]) for replaced, use, but in rows]


@functools.cache
def words(*phrases: str) -> re.Pattern[str]:
    """Return a pattern of any of ``phrases``, across the ends of lines and in any letter case."""
    each = (r"\s+".join(re.escape(word).replace(r"\*", r"\w*") for word in phrase.split()) for phrase in phrases)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(each)})(?![\w-])", re.I)


def matches(name: str, text: str, terms: Sequence[Term]) -> list[str]:
    """Return a sentence for each replaced phrase of ``terms`` in ``text``, in the order of its lines."""
    found = set[tuple[int, str]]()
    # One search for all phrases decides about most texts, which have none.
    if not words(*(phrase for term in terms for phrase in term.replaced)).search(text):
        return []
    for term in terms:
        right = [match.span() for phrase in term.but for match in words(phrase).finditer(text)]
        for phrase in term.replaced:
            for match in words(phrase).finditer(text):
                if not any(begin <= match.start() and match.end() <= end for begin, end in right):
                    line = text.count("\n", 0, match.start()) + 1
                    said = " ".join(match[0].split())
                    found.add((line, f"{name}:{line}: instead of '{said}' write: {term.use}"))
    return [sentence for _, sentence in sorted(found)]
