"""Files of builds."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from beltline.hw.interface.builds import Build, from_json, read, to_json
from beltline.hw.interface.parameters import MachineParameters, Multiplier
from beltline.hw.interface.registers import Engine

FOLDED = MachineParameters(16, 2, fold=15, evaluators=1, multiplier=Multiplier.MULT18X18D, clock_hz=50_000_000)
BUILDS = (
    Build("beltline", 0x0123_4567_89AB_CDEF, MachineParameters(64, 3, results=400, bus_bits=512)),
    Build("beltline", 3, MachineParameters(64, 4, engine=Engine.SWEEP, lanes=2)),
    Build("beltline_serial", 0xF, FOLDED, 1_000_000, "ecp5"),
)


def test_written_words_are_read(tmp_path: Path) -> None:
    (tmp_path / "build.json").write_text(to_json(BUILDS))
    assert read(tmp_path / "build.json") == BUILDS
    assert [build.digits for build in BUILDS] == ["0123456789abcdef", "0000000000000003", "000000000000000f"]
    assert from_json("[]") == ()


def test_builds_of_which_no_engine_is_named_are_assembly_lines() -> None:
    (entry,) = json.loads(to_json(BUILDS[:1]))
    del entry["parameters"]["engine"], entry["parameters"]["lanes"]
    assert from_json(json.dumps([entry])) == BUILDS[:1]


def altered(**changes: Any) -> str:
    (entry,) = json.loads(to_json(BUILDS[:1]))
    return json.dumps([entry | changes])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "Expecting value: line 1 column 1 (char 0)"),
        ("{}", "a file of builds must hold a list, not {}"),
        ("[3]", "a build must be an object with exactly board, top, hash, parameters, baud, each of its type, not 3"),
        (altered(hash="0x12"), "hash of a build must be 16 hexadecimal digits, not '0x12'"),
        (
            altered(parameters={"multiplier": "DSP48E2", "engine": "MAZE"}),
            "parameters of a build must be those of MachineParameters, not {'multiplier': 'DSP48E2', 'engine': 'MAZE'}",
        ),
        (altered(parameters={}), "parameters of a build must be those of MachineParameters, not {}"),
        (
            altered(parameters={"multiplier": "DSP48", "grid": 4}),
            "parameters of a build must be those of MachineParameters, not {'multiplier': 'DSP48', 'grid': 4}",
        ),
        (
            altered(parameters={"multiplier": "DSP48E2", "grid": 5}),
            "grid of a build must be a power of two from 4 to 65536, not 5",
        ),
    ],
)
def test_files_that_do_not_exist(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(sentence) + "$"):
        from_json(text)


@pytest.mark.parametrize("changes", [{"baud": "1"}, {"baud": True}, {"more": 1}, {"top": None}])
def test_a_build_has_just_its_fields(changes: dict[str, Any]) -> None:
    with pytest.raises(
        ValueError, match="^a build must be an object with exactly board, top, .*, each of its type, not {.*$"
    ):
        from_json(altered(**changes))
