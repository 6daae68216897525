"""Pages use the terms of the two fields: ``vocabulary.md`` lists the words that they replace."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.paths import ROOT

LIST = Path(__file__).with_name("vocabulary.md")

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

NOT_WORDS = (
    r"^ *(?P<fence>```+|\$\$)[^\n]*\n.*?^ *(?P=fence)$",
    r"<!--.*?-->",
    r"^(?: {4,}|\t)[^\n]+$",
    r"(?P<ticks>`+)[^`].*?(?P=ticks)",
    r"\$[^$\n]+\$",
    r"\]\([^)\s]*\)",
)
"""Blocks of code and equations, comments, indented blocks, code in a line, equations in a line, addresses of links."""


@dataclass(frozen=True)
class Term:
    """What a page writes, and the phrases that it does not."""

    replaced: list[str]
    use: str
    but: list[str]


def load() -> list[Term]:
    """Every row of the list below its heads."""
    table = [line for line in LIST.read_text().splitlines() if line.startswith("|")][2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return [Term(replaced.split("; "), use, [word for word in but.split("; ") if word]) for replaced, use, but in rows]


TERMS = load()


def words(phrase: str) -> re.Pattern[str]:
    """A phrase, across the ends of lines and of any letter case."""
    found = (re.escape(word).replace(r"\*", r"\w*") for word in phrase.split())
    return re.compile(r"(?<![\w-])" + r"\s+".join(found) + r"(?![\w-])", re.I)


def prose(text: str) -> str:
    """The text with dots for all that is not words, so that lines keep their numbers and nothing joins up."""
    for pattern in NOT_WORDS:
        text = re.sub(pattern, lambda match: re.sub(r"[^\n]", ".", match[0]), text, flags=re.M | re.S)
    return text


def faults(name: str, text: str) -> list[str]:
    """What a page says in other words, by line."""
    text, found = prose(text), set[tuple[int, str]]()
    for term in TERMS:
        right = [match.span() for phrase in term.but for match in words(phrase).finditer(text)]
        for phrase in term.replaced:
            for match in words(phrase).finditer(text):
                if not any(begin <= match.start() and match.end() <= end for begin, end in right):
                    line = text.count("\n", 0, match.start()) + 1
                    said = " ".join(match[0].split())
                    found.add((line, f"{name}:{line}: instead of '{said}' write: {term.use}"))
    return [sentence for _, sentence in sorted(found)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_uses_the_terms(page: Path) -> None:
    found = faults(str(page.relative_to(ROOT)), page.read_text())
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("phrase", "use"), [(phrase, term.use) for term in TERMS for phrase in term.replaced], ids=lambda value: value
)
def test_every_phrase_is_found(phrase: str, use: str) -> None:
    said = phrase.replace("*", "s")
    broken = said.replace(" ", "\n", 1)
    for text in (f"It says {said}, twice.", f"| {said.upper()} |", f"It says\n{broken}."):
        assert any(f"write: {use}" in fault for fault in faults("page.md", text)), text


def test_message_names_page_line_phrase_and_term() -> None:
    assert faults("docs/page.md", "# Page\n\nAfter each sweep, held\nsweeps follow.\n") == [
        "docs/page.md:3: instead of 'held sweeps' write: policy evaluation step"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "The class `Walk` has a `walker`.",
        "```\nwalk\n```\n",
        "- one\n  ```text\n  held sweeps\n  ```\n",
        "An equation:\n\n    money = walk\n",
        "$$\nwalk\n$$\n",
        "Here $money$ is.",
        "[the page](walk.md#held-sweeps)",
        "<!-- money -->",
        "| walking ones and zeros |",
        "A stationary distribution, and a sidewalk.",
        "so `x` many",
    ],
)
def test_code_and_other_words_are_let_be(text: str) -> None:
    assert faults("page.md", text) == []


def test_words_after_code_are_read() -> None:
    text = "`a` and ``b`` walk.\n\n```\ncode\n```\n\nThey climb.\n\n$$\nx\n$$\n\nMoney.\n"
    assert [fault.partition(":")[2][:2].rstrip(":") for fault in faults("page.md", text)] == ["1", "7", "13"]
