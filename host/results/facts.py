"""Rules for the facts (numbers, texts, flags) that the description of a saved file may contain."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from beltline.host.problem.checks import FORMER_NAMES, ProblemError, is_plain, shown


@dataclass(frozen=True)
class Rule:
    """A rule for one fact.

    Parameters
    ----------
    wanted
        What the fact must be, in words, for messages.
    holds
        Whether a value is accepted.
    absent
        Whether a file may leave the fact out.
    """

    wanted: str
    holds: Callable[[Any], bool]
    absent: bool = False


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _real(value: Any) -> bool:
    return isinstance(value, float) or _whole(value)


FLAG = Rule("true or false", lambda v: isinstance(v, bool))
COUNT = Rule("a whole number from 0 to 2**64 - 1", lambda v: _whole(v) and 0 <= v < 2**64)
BITS = Rule("a whole number from 0 to 128, or null", lambda v: v is None or (_whole(v) and 0 <= v <= 128))
NUMBER = Rule("a finite number", lambda v: _real(v) and math.isfinite(v))
POSITIVE = Rule("a finite number above 0", lambda v: _real(v) and 0 < v < math.inf)
MEASURE = Rule("a number of at least 0, or infinity if it is not known", lambda v: _real(v) and v >= 0)
ANY_NUMBER = Rule("a number", _real)
TEXT = Rule("text without control characters", lambda v: isinstance(v, str) and is_plain(v))
LIST = Rule("a list", lambda v: isinstance(v, list | tuple))
TEXTS = Rule("a list of texts without control characters", lambda v: LIST.holds(v) and all(map(TEXT.holds, v)))
NUMBERS = Rule("a list of finite numbers", lambda v: LIST.holds(v) and all(NUMBER.holds(each) for each in v))
SECONDS = Rule(
    "an object with a number of seconds under each name",
    lambda v: isinstance(v, dict) and all(TEXT.holds(name) and MEASURE.holds(spent) for name, spent in v.items()),
)
PARTS = Rule("an object", lambda v: isinstance(v, dict))


def one_of(values: tuple[str, ...]) -> Rule:
    """Return a rule that accepts one of several words."""
    return Rule(f"one of {', '.join(map(repr, values))}", lambda v: isinstance(v, str) and v in values)


def checked(name: str, facts: object, rules: Mapping[str, Rule]) -> dict[str, Any]:
    """Check facts against rules, and return them.

    Files of earlier versions may have a fact under its former name (``FORMER_NAMES``), which is changed in ``facts``
    itself.

    Parameters
    ----------
    name
        What messages call the facts, such as ``"its result"``.
    facts
        What a file contains; anything that JSON can hold.
    rules
        The rule of each fact by name. Every fact must have a rule, and every rule a fact unless it may be absent.

    Raises
    ------
    ProblemError
        The first fault found.
    """
    if not isinstance(facts, dict):
        raise ProblemError(f"{name} must be an object, not {shown(facts)}")
    for former, current in FORMER_NAMES.items():
        if former in facts and current in rules and current not in facts:
            facts[current] = facts.pop(former)
    for fact in facts:
        if fact not in rules:
            raise ProblemError(f"{name} has an unknown entry {shown(fact)}; known are {', '.join(rules)}")
    for fact, rule in rules.items():
        if fact not in facts:
            if rule.absent:
                continue
            raise ProblemError(f"{name} has no {fact!r}")
        if not rule.holds(facts[fact]):
            raise ProblemError(f"{fact} of {name} must be {rule.wanted}, not {shown(facts[fact])}")
    return facts
