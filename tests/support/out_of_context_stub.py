"""A substitute for Vivado without projects: it implements one unit at a time and writes reports without content."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partialmethod
from typing import ClassVar

from support.vivado_stub import COMMANDS, PARTS, Refused, Vivado

REPORTS = {
    # Options that take no value, and options that do, apart from -file. UG835; -logic_level_distribution also UG906.
    "report_timing_summary": ("", "-delay_type -max_paths"),
    "report_utilization": ("-hierarchical", ""),
    "report_design_analysis": ("-logic_level_distribution", ""),
    "report_qor_assessment": ("", ""),
    "report_ram_utilization": ("", ""),
}

STEPS = ("opt_design", "place_design", "phys_opt_design", "route_design")
"""Steps in the order in which they follow synthesis."""


@dataclass
class OutOfContext(Vivado):
    """Refuses steps in the wrong order, missing files, undefined modules, and reports without contents.

    Parameters
    ----------
    slack_of
        Least slack in ns of a top module, where it is not 0.125; empty where no path was checked.
    broken
        Top modules whose synthesis fails.
    """

    slack_of: dict[str, str] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    implemented: list[str] = field(default_factory=list)
    """Top modules that were routed, in order."""

    commands: ClassVar[dict[str, tuple[str, str, int, int]]] = {
        "close_project": ("-quiet", "", 0, 0),
        "create_project": ("-in_memory -quiet", "-part", 0, 0),
        "get_property": COMMANDS["get_property"],
        "get_timing_paths": COMMANDS["get_timing_paths"],
        "read_verilog": ("-sv -quiet", "", 1, 1),
        "read_xdc": ("-unmanaged -quiet", "-mode", 1, 1),
        "set_msg_config": COMMANDS["set_msg_config"],
        "synth_design": ("-quiet", "-mode -top -part", 0, 0),
        **dict.fromkeys(STEPS, ("-quiet", "", 0, 0)),
        **{name: (f"{flags} -quiet", f"{options} -file", 0, 0) for name, (flags, options) in REPORTS.items()},
    }

    def _set_msg_config(self, given: dict[str, str]) -> None:
        self.fatal[given["-id"]] = given["-new_severity"]

    def _create_project(self, given: dict[str, str], *_: str) -> None:
        if self.part:
            raise Refused("a project is open already")
        self._known(given["-part"], PARTS | {"xcvu47p-fsvh2892-2-e"}, "part")
        self.part, self.texts, self.steps, self.constraints = given["-part"], [], [], []

    def _close_project(self, given: dict[str, str]) -> None:
        if not self.part:
            raise Refused("no project is open")
        self.part = ""

    def _read(self, name: str) -> str:
        if not self.part:
            raise Refused("no project is open")
        path = self.directory / name
        if not path.is_file():
            raise Refused(f"there is no file {name}")
        return path.read_text()

    def _read_verilog(self, given: dict[str, str], names: str) -> None:
        self.texts += [self._read(name) for name in names.split()]

    def _read_xdc(self, given: dict[str, str], name: str) -> None:
        self.constraints.append(self._read(name))

    def _synth_design(self, given: dict[str, str]) -> None:
        defined = re.findall(r"^module (\w+)", "\n".join(self.texts), re.M)
        if given["-top"] not in defined:
            raise Refused(f"module {given['-top']} is not defined in {defined}")
        if given.get("-mode") != "out_of_context" or given["-part"] != self.part or not self.constraints:
            raise Refused(f"synthesis of another part, in context, or without a clock: {given}")
        if given["-top"] in self.broken:
            raise Refused("synthesis failed")
        self.top, self.steps = given["-top"], ["synth_design"]

    def _step(self, name: str) -> None:
        order = ["synth_design", *STEPS]
        if self.steps != order[: order.index(name)]:
            raise Refused(f"{name} after {self.steps}")
        self.steps.append(name)
        if name == STEPS[-1]:
            self.implemented.append(self.top)

    _opt_design, _place_design, _phys_opt_design, _route_design = (
        partialmethod(lambda self, given, name: self._step(name), name=name) for name in STEPS
    )

    def _report(self, given: dict[str, str]) -> None:
        if self.steps[-1:] != [STEPS[-1]]:
            raise Refused("no design is routed")
        (self.directory / given["-file"]).write_text("report")

    _report_timing_summary = _report_utilization = _report_design_analysis = _report
    _report_qor_assessment = _report_ram_utilization = _report

    def _get_timing_paths(self, given: dict[str, str]) -> str:
        if self.steps[-1:] != [STEPS[-1]]:
            raise Refused("no design is routed")
        return "setup" if "-setup" in given and self.slack_of.get(self.top, "0.125") else ""

    def _get_property(self, given: dict[str, str], name: str, thing: str) -> str:
        self._known(name, {"SLACK"}, "property")
        return self.slack_of.get(self.top, "0.125")
