"""Compare printed texts without their numbers."""

from __future__ import annotations

import re

NUMBER = re.compile(r"-?\d[\d,.]*(e[-+]?\d+)?")

COMPILED = re.compile(r"compile\s+\d[\d.]* s,\s+")
"""What a report says of compilation only the first time."""


def plain(text: str) -> list[str]:
    """Return the words of a text, wherever its lines break, with ``#`` for every number and without compilation."""
    return NUMBER.sub("#", COMPILED.sub("", text)).split()
