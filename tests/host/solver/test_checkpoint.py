"""Checkpoints are deleted last, and one that cannot be written ends no run."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.cli.main import main
from beltline.host.results.result import Result
from beltline.host.solver.complete import Completed
from beltline.hw.interface.registers import Status
from support.compared import same
from support.fakes import BruteDevice, problem


def refused(*_: object, **__: object) -> None:
    raise OSError(30, "Read-only file system")


class Interrupted(BruteDevice):
    """A device in whose first sweep Ctrl-C is pressed."""

    pressed = False

    def wait(self, seconds: float) -> bool:
        if not self.pressed:
            signal.raise_signal(signal.SIGINT)
        self.pressed = True
        self.sweep()
        return not self.status & Status.BUSY


def test_ctrl_c_says_that_the_checkpoint_was_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "run.npz"
    monkeypatch.setattr(np.lib.format, "write_array", refused)
    with pytest.raises(KeyboardInterrupt, match=f"^checkpoint {re.escape(repr(str(file)))} could not be written: Read"):
        bl.solve(problem(50, 3), device=Interrupted(), checkpoint=file)


def test_one_that_cannot_be_deleted_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "run.npz"
    monkeypatch.setattr(Path, "unlink", refused)
    found = bl.solve(problem(30, 2), checkpoint=file, device="emulator")
    assert found.success
    assert found.message.endswith(f" The checkpoint {str(file)!r} could not be deleted: Read-only file system.")


def test_it_is_deleted_after_the_verification(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, file = problem(30, 2), tmp_path / "run.npz"
    right = bl.solve(given, device="emulator")

    def killed(self: Completed, *_: Any) -> Any:
        assert file.exists()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Completed, "result", killed)
        with pytest.raises(KeyboardInterrupt):
            bl.solve(given, checkpoint=file, device="emulator")
    # Nothing is computed again.
    monkeypatch.setattr(BruteDevice, "sweep", None)
    same(bl.solve(given, checkpoint=file, device=BruteDevice()), right)
    assert not file.exists()


def test_the_command_line_deletes_it_after_it_has_written_the_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "run.npz", tmp_path / "out.npz"
    command = ["solve", "--grid", "16", "--device", "emulator", "--checkpoint", str(file), "--out", str(out)]
    with monkeypatch.context() as patch:
        patch.setattr(Result, "save", refused)
        assert main(command) == 1
    assert capsys.readouterr().err == "beltline solve: [Errno 30] Read-only file system\n"
    assert os.listdir(tmp_path) == ["run.npz"]
    assert main(command) == 0
    assert os.listdir(tmp_path) == ["out.npz"]
