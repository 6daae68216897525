"""Compare printed texts without their numbers."""

from __future__ import annotations

import re

NUMBER = re.compile(r"-?\d[\d,.]*(e[-+]?\d+)?")


def plain(text: str) -> list[str]:
    """Return the words of a text, wherever its lines break, with every number replaced by ``#``."""
    return NUMBER.sub("#", text).split()
