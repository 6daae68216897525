"""Functions of other parts that a solution offers as methods."""

from __future__ import annotations

import importlib
import sys

import pytest

import beltline as bl
from beltline.host.results import services


def test_every_service_exists_and_its_solution_has_the_method() -> None:
    solutions = {"Result": bl.Result, "ModelResult": bl.Economy, "Refined": bl.Refined}
    names = services.services()
    assert {name.partition(".")[0] for name in names} == {*solutions, "load"}
    for name in names:
        assert callable(services.service(name))
        owner, _, method = name.partition(".")
        assert owner == "load" or hasattr(solutions[owner], method)


def test_a_part_is_imported_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "_PROVIDED", {})
    services.provide({"Result.colour": "colorsys:rgb_to_hsv", "load.never": "no_such_module:read"})
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    assert services.services("load.") == ("load.never",)
    assert "colorsys" not in sys.modules
    assert services.service("Result.colour") is importlib.import_module("colorsys").rgb_to_hsv
    with pytest.raises(LookupError, match=r"^no part of beltline\.host provides 'Result\.plot'; provided are "):
        services.service("Result.plot")
