"""The arguments of a batch that are the same for all problems: their checks, and the keys of results."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from beltline.host.batch.store import key
from beltline.host.batch.worker import Settings, alternatives
from beltline.host.devices import DEVICES, REFERENCES, DeviceError, check_options, known
from beltline.host.problem.checks import ProblemError, check_former_names, flag
from beltline.host.problem.general import extras
from beltline.host.problem.problem import Problem
from beltline.host.solver.options import (
    LEAST_TOL,
    UNNAMED,
    SolveOptions,
    boards,
    check_names,
    check_unnamed,
    machine_method,
)
from beltline.host.solver.reference import check_method, check_method_options, reference_module
from beltline.host.solver.session import Session, no_options
from beltline.host.solver.solve_general import DEVICES as GENERAL_DEVICES
from beltline.host.solver.solve_general import METHOD, check_general, check_steps

ARGUMENTS_OF_BATCH = ("order", "warm", "store", "workers", "executor", "chunk", "in_flight")
"""Arguments of a batch that a solve does not have; messages suggest them for a mistyped name."""


def chosen(
    device: Any, method: str | None, options: dict[str, Any], here: bool, warm: object
) -> tuple[str | Session, str | None]:
    """Return device and method, chosen by rule if none is named; options of a board are added to ``options``."""
    if not (isinstance(device, str) and device == UNNAMED):
        return device, method
    check_unnamed(method, options)
    if warm:
        raise ProblemError("warm needs a device of the accelerator: name one, as in device='emulator'")
    for name, where in boards() if here and method is None else ():
        with contextlib.suppress(DeviceError), Session(name, False, **where) as session:
            session.open()
            options |= where
            return name, None
    return "cpu", method


def settings_of(
    device: object, options: dict[str, Any], each: SolveOptions, warm: object, executor: object, workers: object
) -> Settings:
    """Check all arguments that do not depend on a problem; return them as settings.

    Raises
    ------
    ProblemError, DeviceError
        As :func:`beltline.host.batch.solve_many.solve_many`.
    """
    if executor is not None and workers is not None:
        raise ProblemError("workers must be None if an executor is given, which has its own")
    machine = isinstance(device, Session) or known(device) in DEVICES
    name = "" if isinstance(device, Session) else str(device)
    if machine:
        method, start = machine_method(device, each.method, options)
        if start == "last":
            raise ProblemError("start='last' is not supported in a batch: use warm=True")
        each = replace(each, method=method, start=start)
    if isinstance(device, Session):
        no_options(options)
        if executor is not None or workers is not None:
            raise ProblemError("device must be a name if workers or executor is given, as an open one cannot be sent")
    elif machine:
        for build in alternatives(options):
            check_options(name, build)
        if missing := (workers is None and executor is None) and DEVICES[name].missing():
            raise DeviceError(f"device {name!r} cannot be used here: {missing}")
    elif executor is None and workers is None:
        reference_module(name)
    warm = flag("warm", warm)
    if not machine:
        if warm:
            raise ProblemError(
                f"warm is not supported by device {device!r}: leave it out, or name a device of the accelerator, such "
                f"as device='emulator'"
            )
        check_former_names(options)
        way = each.method or UNNAMED
        each = replace(each, method=way)
        if way not in (UNNAMED, METHOD):
            check_method(way)
        if "update" in options:
            raise ProblemError("update must not be given to a batch: prices belong to one problem, so use bl.solve")
        _check_method_options(name, way, options)
    return Settings(device=name, options=options, solve=each, warm=warm)


def _check_method_options(device: str, method: str, options: Mapping[str, Any]) -> None:
    """Check options of a method in double precision that no problem of the batch could take, whatever its form.

    What only some problems cannot take becomes an error of these problems. ``device`` is ``"cpu"`` or ``"gpu"``.

    Raises
    ------
    ProblemError
        No method that the batch may use has an option, or its value is wrong.
    """
    if method not in (UNNAMED, METHOD):
        check_method_options(method, options)
        return
    takes = ("start", "steps") if method == UNNAMED else ("steps",)
    check_names(options, f"device {device!r} in a batch", takes, ARGUMENTS_OF_BATCH)
    for name, value in options.items():
        if name == "start":
            check_method_options("shift", {name: value})
        else:
            check_steps(name, value)


class Key:
    """The key of a result, which is computed when it is first needed: hashing large tables takes milliseconds."""

    def __init__(self, settings: Settings, problem: Problem) -> None:
        self._settings = settings
        self._problem = problem

    @cached_property
    def text(self) -> str:
        """The key. All devices of the accelerator return the same bits, so they share keys."""
        settings = self._settings
        machine, each = settings.device not in REFERENCES, settings.solve
        decides = {
            "solver": "machine" if machine else settings.device,
            "method": each.method or "",
            "options": None if machine else sorted(settings.options.items()),
            **({} if each.start == "given" else {"start": each.start}),
            "tol": each.of(self._problem, LEAST_TOL if machine else 0.0).tol,
            "max_sweeps": each.max_sweeps,
            "verify": each.verify,
            "warm": settings.warm,
            "value_bits": each.value_bits,
            # Former name of the option: with it, stores of earlier versions keep their keys.
            "money_bits": each.amount_bits,
        }
        return key(self._problem, decides)


def check_form(index: int, problem: Problem, settings: Settings) -> None:
    """Check that a problem of the general form can be solved with these settings, before it is sent anywhere."""
    if settings.device not in REFERENCES:
        raise ProblemError(
            f"problem {index}, {problem.name!r}, has {', '.join(extras(problem))}, which the accelerator does not "
            f"support in a batch: pass device={' or device='.join(map(repr, GENERAL_DEVICES))}"
        )
    try:
        check_general(problem, settings.solve, settings.device, settings.options)
    except ProblemError as error:
        raise ProblemError(f"problem {index}, {problem.name!r}: {error}") from None
