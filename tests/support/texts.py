"""Compare printed texts without their numbers."""

from __future__ import annotations

import re

NUMBER = re.compile(r"-?\d[\d,.]*(e[-+]?\d+)?")


def plain(text: str) -> list[str]:
    """The words of a text, wherever its lines break, with every number as ``#``."""
    return NUMBER.sub("#", text).split()
