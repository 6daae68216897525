"""The reference of the gateware has every unit, under the name of the module that defines it."""

from __future__ import annotations

import importlib
import inspect
import re

from amaranth.lib import wiring

from support.paths import ROOT

LISTED = re.findall(r"^\.\. auto(?:class|function):: (\S+)$", (ROOT / "docs/gateware.md").read_text(), re.M)


def test_every_component_is_listed_once() -> None:
    components = []
    for path in sorted((ROOT / "hw").rglob("*.py")):
        name = ".".join(("beltline", *path.relative_to(ROOT).with_suffix("").parts))
        if path.stem == "__init__":
            continue
        for what, thing in vars(importlib.import_module(name)).items():
            own = inspect.isclass(thing) and thing.__module__ == name and not what.startswith("_")
            if own and issubclass(thing, wiring.Component):
                components.append(f"{name}.{what}")
    assert len(components) > 70
    assert sorted(set(components) - set(LISTED)) == [], "add these units to docs/gateware.md"
    assert sorted(set(LISTED)) == sorted(LISTED)


def test_names_are_those_of_the_definitions() -> None:
    for name in LISTED:
        module, _, what = name.rpartition(".")
        assert getattr(importlib.import_module(module), what).__module__ == module, name
