"""What the descriptions of files may say: a rule for each fact."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from beltline.host.problem.checks import ProblemError, is_plain, shown


@dataclass(frozen=True)
class Rule:
    """What a fact must be: ``wanted`` in words, whether a value ``holds``, and whether the fact may be ``absent``."""

    wanted: str
    holds: Callable[[Any], bool]
    absent: bool = False


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _real(value: Any) -> bool:
    return isinstance(value, float) or _whole(value)


FLAG = Rule("true or false", lambda v: isinstance(v, bool))
COUNT = Rule("a whole number from 0 to 2**64 - 1", lambda v: _whole(v) and 0 <= v < 2**64)
BITS = Rule("a whole number from 0 to 128, or nothing", lambda v: v is None or (_whole(v) and 0 <= v <= 128))
NUMBER = Rule("a finite number", lambda v: _real(v) and math.isfinite(v))
POSITIVE = Rule("a finite number above 0", lambda v: _real(v) and 0 < v < math.inf)
MEASURE = Rule("a number from 0, infinite where nothing is known", lambda v: _real(v) and v >= 0)
ANY_NUMBER = Rule("a number", _real)
TEXT = Rule("text without control characters", lambda v: isinstance(v, str) and is_plain(v))
LIST = Rule("a list", lambda v: isinstance(v, list | tuple))
TEXTS = Rule("a list of such texts", lambda v: LIST.holds(v) and all(TEXT.holds(each) for each in v))
NUMBERS = Rule("a list of finite numbers", lambda v: LIST.holds(v) and all(NUMBER.holds(each) for each in v))
SECONDS = Rule(
    "seconds by name",
    lambda v: isinstance(v, dict) and all(TEXT.holds(name) and MEASURE.holds(spent) for name, spent in v.items()),
)
PARTS = Rule("an object", lambda v: isinstance(v, dict))


def one_of(values: tuple[str, ...]) -> Rule:
    """A rule for one of several words."""
    return Rule(f"one of {', '.join(map(repr, values))}", lambda v: isinstance(v, str) and v in values)


def checked(name: str, facts: object, rules: Mapping[str, Rule]) -> dict[str, Any]:
    """Return ``facts`` if they are those that ``rules`` name, and each is what its rule wants.

    A fact may only lack where its rule says so.

    Raises
    ------
    ProblemError
        They are not: the first fault, which calls the facts ``name``.
    """
    if not isinstance(facts, dict):
        raise ProblemError(f"{name} must be an object, not {shown(facts)}")
    for fact in facts:
        if fact not in rules:
            raise ProblemError(f"{name} has {shown(fact)}, which does not belong there")
    for fact, rule in rules.items():
        if fact not in facts:
            if rule.absent:
                continue
            raise ProblemError(f"{name} has no {fact!r}")
        if not rule.holds(facts[fact]):
            raise ProblemError(f"{fact} of {name} must be {rule.wanted}, not {shown(facts[fact])}")
    return facts
