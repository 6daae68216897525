"""Aiyagari's economy from its file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from beltline.host.models.aiyagari.model import Aiyagari
from beltline.host.models.aiyagari.result import Economy, Step
from beltline.host.results.outcome import Outcome
from beltline.host.results.record import restored


def read(name: str, facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> Economy:
    """Return the economy that :meth:`~beltline.host.models.aiyagari.result.Economy.save` wrote; errors as of
    :func:`beltline.host.results.record.restored`.
    """
    known = facts["aiyagari"]
    # Files of before economies had a status lack it.
    status = known.get("status", Outcome.SOLVED.value if known["success"] else Outcome.MARKET.value)
    return Economy(
        model=Aiyagari(**known["model"]), interest=known["interest"],
        household=restored(name, str(arrays["about"]), arrays), distribution=arrays["distribution"],
        success=known["success"], status=status, message=known["message"],
        steps=tuple(Step(**{**step, "moved": tuple(step["moved"])}) for step in known["steps"]),
    )  # fmt: skip
