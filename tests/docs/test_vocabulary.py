"""Pages use the terms of the two fields: ``vocabulary.md`` lists the words that they replace."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.paths import ROOT
from support.terms import load, matches

LIST = Path(__file__).with_name("vocabulary.md")

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]

NOT_WORDS = (
    r"^ *(?P<fence>```+|\$\$)[^\n]*\n.*?^ *(?P=fence)$",
    r"<!--.*?-->",
    r"^(?: {4,}|\t)[^\n]+$",
    r"(?P<ticks>`+)[^`].*?(?P=ticks)",
    r"\$[^$\n]+\$",
    r"\]\([^)\s]*\)",
)
"""Patterns of text that is not read: code, equations, comments, indented blocks, addresses of links."""


TERMS = load(LIST)


def prose(text: str) -> str:
    """Return the text with dots in place of what is not words; lines keep their numbers and words do not join."""
    for pattern in NOT_WORDS:
        text = re.sub(pattern, lambda match: re.sub(r"[^\n]", ".", match[0]), text, flags=re.M | re.S)
    return text


def faults(name: str, text: str) -> list[str]:
    """Return the replaced phrases that a page contains, with their lines."""
    return matches(name, prose(text), TERMS)


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
