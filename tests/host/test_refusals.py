"""Bad arguments: each is refused in one sentence, before anything is written to a device."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import beltline as bl
from beltline.gpu_ref import check_tables, exact_sweep
from beltline.gpu_ref.general import Branch, Form, Outside
from beltline.gpu_ref.general import solve as general_solve
from beltline.host.devices import DeviceError, open_device
from beltline.host.problem.markov import rouwenhorst_by_age
from beltline.host.solver import checked
from beltline.host.solver.fixed_point import fixed_point
from beltline.host.solver.options import SolveOptions
from beltline.hw.interface.registers import VERSION
from support.ages import with_ages, with_cost_by_age
from support.alternatives import with_alternatives
from support.bounds import bounded
from support.costs import with_cost
from support.discrete import storage
from support.fakes import BruteDevice, problem, tables


def never() -> Iterator[bl.Problem]:
    raise AssertionError("a problem was taken")
    yield


def changed(table: Any, where: Any, value: float) -> Any:
    table = np.array(table, dtype=np.asarray(table).dtype if isinstance(value, int) else float)
    table[where] = value
    return table


def refused_table(changes: dict[str, Any], options: dict[str, Any]) -> Any:
    return fixed_point(problem(5, 2, **changes), **({"tol": 1e-10} | options))


NAMES = {
    one.__name__: one
    for one in (
        Branch, BruteDevice, Form, Outside, SolveOptions, bounded, changed, check_tables, exact_sweep, never,
        open_device, problem, refused_table, rouwenhorst_by_age, replace, storage, tables, with_ages,
        with_alternatives, with_cost, with_cost_by_age,
    )
} | {"bl": bl, "np": np, "sparse": sparse, "VERSION": VERSION, "general_solve": general_solve}  # fmt: skip


@functools.cache
def namespace(lets: tuple[str, ...]) -> dict[str, Any]:
    names = dict(NAMES)
    for line in lets:
        exec(line, names)
    return names


def cases() -> Iterator[Any]:
    call, lets, inner = "", [], False
    lines = Path(__file__).with_name("refusals.txt").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if line.startswith(("== ", "=- ")):
            call, lets, inner = line[3:], [], line.startswith("=-")
        elif line.startswith("let "):
            lets.append(line[4:])
        elif " -> " in line and not line.startswith("#"):
            arguments, _, sentence = line.rpartition(" -> ")
            yield pytest.param(call.replace("@", arguments), tuple(lets), sentence, inner, id=f"line {number}")


@pytest.mark.parametrize(("call", "lets", "sentence", "inner"), list(cases()))
def test_bad_arguments(
    call: str, lets: tuple[str, ...], sentence: str, inner: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = namespace(lets)
    monkeypatch.setattr(checked, "write_table", lambda *_: pytest.fail("a table was written"))
    with pytest.raises(ValueError if inner else (bl.ProblemError, DeviceError)) as caught:
        eval(call, names)
    said = str(caught.value)
    assert re.fullmatch(".*".join(map(re.escape, sentence.split("..."))), said), said
    assert said.isprintable()
    assert "np." not in said
