"""Random problems of every kind, solved on the processor and on every engine, against the oracle.

``python -m tests.endurance problems`` draws as many as it is told to.
"""

from __future__ import annotations

import pytest
from endurance.problems import KNOWN, WAYS, ends

WAYS_HERE = ("default", "not verified", "warm", "line", "sweep", "sweep not verified", "sweep shift", "general")

INEXACT = ("units", "penalties")
"""Kinds for whose amounts or values the numbers of a machine may be too short."""


@pytest.mark.parametrize("kind", KNOWN)
def test_each_success_is_within_its_bound_and_so_are_its_choices(kind: str) -> None:
    for number in range(2):
        found = dict(ends(kind, number, 1, WAYS_HERE, 60))
        assert [(way, one.wrong) for way, one in found.items() if one.end == "wrong"] == []
        # The assembly line cannot verify that it found the highest of several peaks.
        must = [way for way in found if "device" not in WAYS[way][1] or (way != "line" and kind not in INEXACT)]
        assert {found[way].end for way in must} <= {"success", "refused"}
        assert found["default"].end == "success"
