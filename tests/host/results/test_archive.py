"""Manipulated files: each is refused before it is expanded, in one sentence, and nothing in it is executed."""

from __future__ import annotations

import json
import os
import pickle
import re
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import xarray

import beltline as bl
from beltline.host.batch.store import Store
from beltline.host.cli.main import main
from beltline.host.results import archive, netcdf, record
from beltline.host.solver.run import Checkpoint
from support.files import KEY, WRITERS, image, small

NOT_OURS = "is damaged or was not saved by Beltline: "


@pytest.fixture(scope="module")
def result() -> bl.Result:
    return small()


def refused(path: Path, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Check the messages of ``load`` and ``beltline plot`` for a file."""
    with pytest.raises(bl.ProblemError, match=f"^{re.escape(repr(str(path)))} {reason}$") as raised:
        bl.load(path)
    sentence = str(raised.value)
    assert sentence.isprintable()
    before = sorted(os.listdir(path.parent))
    capsys.readouterr()
    assert main(["plot", str(path)]) == 2
    assert capsys.readouterr() == ("", f"beltline plot: {sentence}\n")
    assert sorted(os.listdir(path.parent)) == before


def parts(result: bl.Result) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the metadata and arrays of a result, to be changed."""
    facts = json.loads(json.dumps(record.facts_of(result)))
    return facts, {name: np.array(array) for name, array in record.arrays_of(result).items()}


def crafted(suffix: str, path: Path, result: bl.Result, facts: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write a file with any content and the right checksum."""
    if suffix == "npz":
        archive.write(path, record.KIND, facts, arrays)
        return
    about = archive.describe(record.KIND, facts)
    dims = {1: ["x"], 2: ["x", "state"]}
    data = {
        {"grid": "x"}.get(name, name): (["state", "next_state"] if name == "transition" else dims[array.ndim], array)
        for name, array in arrays.items()
    }
    checksum = archive.checksum(arrays | {"about": np.array(about)})
    xarray.Dataset(data, attrs={"about": about, "checksum": checksum}).to_netcdf(path, engine="h5netcdf")


def choice(index: int) -> Callable[[Any, Any], None]:
    def change(facts: Any, arrays: Any) -> None:
        arrays["policy"][3, 1] = index

    return change


def number(name: str) -> Callable[[Any, Any], None]:
    def change(facts: Any, arrays: Any) -> None:
        arrays[name][2, 0] = np.nan

    return change


def fact(name: str, value: Any, part: str = "result") -> Callable[[Any, Any], None]:
    def change(facts: Any, arrays: Any) -> None:
        facts[part][name] = value

    return change


CHANGES: dict[str, tuple[Callable[[Any, Any], None], str]] = {
    "no choice": (choice(-1), r"choices are from 0 to 39, but policy\[3, 1\] is -1"),
    "choice off the grid": (choice(40), r"choices are from 0 to 39, but policy\[3, 1\] is 40"),
    "value": (number("value"), r"value must be finite, but value\[2, 0\] is nan"),
    "wealth": (number("wealth"), r"wealth must be finite, but wealth\[2, 0\] is nan"),
    "success": (fact("success", "no"), "success of its result must be true or false, not 'no'"),
    "status": (fact("status", "fine"), "status of its result must be one of 'converged', .*, not 'fine'"),
    "success of a failure": (
        fact("status", "saturated"),
        "success of its result must be false with status 'saturated', not true",
    ),
    "sweeps": (fact("sweeps", float("inf")), "sweeps of its result must be a whole number from 0 .*, not inf"),
    "bound": (fact("error_bound", -1.0), "error_bound of its result must be a number of at least 0.*, not -1.0"),
    "timing": (
        fact("timing", {"\x1b[2J": 1.0}),
        r"timing of its result must be an object with a number of seconds under each name, not .*",
    ),
    "escape in a name": (
        fact("name", "\x1b]0;gone\x07", "problem"),
        r"name of its problem must be text without control characters, not '\\x1b\]0;gone\\x07'",
    ),
    "escape in a label": (
        fact("labels", ["low", "mid", "\x1b[31mhigh"], "problem"),
        "labels of its problem must be a list of texts without control characters, not .*",
    ),
    "escape in a message": (
        fact("message", "All is well.\x1b[1A"),
        "message of its result must be text without control characters, not .*",
    ),
    "escape in a fact": (fact("\x1b[2J", 1), r"its result has an unknown entry '\\x1b\[2J'; known are .*"),
    "another horizon": (fact("horizon", 3, "problem"), r"array 'value' has shape \(40, 3\), not \(ages, 40, 3\)"),
    "beta": (fact("beta", 2.0, "problem"), "beta must be a number above 0 and below 1, not 2.0"),
}


@pytest.mark.parametrize("suffix", ["npz", "nc"])
@pytest.mark.parametrize("change", CHANGES)
def test_what_no_solve_returns(
    result: bl.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: str, suffix: str
) -> None:
    facts, arrays = parts(result)
    path = tmp_path / f"a.{suffix}"
    crafted(suffix, path, result, facts, arrays)
    assert bl.load(path).success
    act, reason = CHANGES[change]
    act(facts, arrays)
    crafted(suffix, path, result, facts, arrays)
    refused(path, NOT_OURS + reason, capsys)


def test_arrays_of_other_shapes_and_types(
    result: bl.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.npz"
    facts, arrays = parts(result)
    for name, array, reason in (
        ("value", arrays["value"][:-1], r"array 'value' has shape \(39, 3\), not \(40, 3\)"),
        ("value", arrays["value"].astype(np.float32), "array 'value' has type <f4, not <f8"),
        ("policy", arrays["policy"].astype(np.int64), "array 'policy' has type <i8, not <i4"),
        ("extra", np.zeros(3), "it has an array 'extra', which does not belong there"),
    ):
        archive.write(path, record.KIND, facts, arrays | {name: array})
        refused(path, NOT_OURS + reason, capsys)
    del arrays["start"]
    archive.write(path, record.KIND, facts, arrays)
    refused(path, NOT_OURS + "it has no array 'start'", capsys)


@pytest.mark.parametrize("suffix", ["npz", "nc"])
def test_content_that_was_changed(
    result: bl.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    path = tmp_path / f"a.{suffix}"
    if suffix == "npz":
        with np.load(result.save(path)) as file:
            arrays = dict(file)
        arrays["value"][5, 1] += 1e-9
        np.savez(path, **arrays)
    else:
        dataset = result.to_xarray()
        dataset["value"][5, 1] += 1e-9
        dataset.to_netcdf(path, engine="h5netcdf")
    refused(path, "is damaged or was changed: its content does not match its checksum", capsys)


def test_one_flipped_bit_of_netcdf_that_others_wrote(result: bl.Result, tmp_path: Path) -> None:
    """One flipped bit is found even in NetCDF files without the checksum at the end and without compression."""
    path = tmp_path / "a.nc"
    result.to_xarray().to_netcdf(path, engine="h5netcdf")
    data = bytearray(path.read_bytes())
    data[bytes(data).index(result.value.tobytes()) + 6] ^= 1
    path.write_bytes(data)
    with pytest.raises(bl.ProblemError, match="its content does not match its checksum$"):
        bl.load(path)


def test_one_flipped_bit_of_netcdf_that_is_not_loaded(
    result: bl.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One flipped bit in attributes, names or the last line, which Beltline does not need, is found, too."""
    path = result.save(tmp_path / "a.nc")
    whole = path.read_bytes()
    for text in (b": value and policy", b"Beltline sha256"):
        data = bytearray(whole)
        data[whole.rindex(text) + 3] ^= 1
        path.write_bytes(data)
        refused(path, "is damaged or was changed: its content does not match its checksum", capsys)


def member(array: np.ndarray[Any, Any]) -> bytes:
    stream = BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def header(shape: str, kind: str = "<f8") -> bytes:
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def repacked(result: bl.Result, path: Path, change: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> None:
    """Save a result, and write its archive again with other members."""
    result.save(path)
    with zipfile.ZipFile(path) as file:
        members = {info.filename: file.read(info) for info in file.infolist()}
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in (members | change).items():
            file.writestr(name, data)


class Payload:
    """An object that leaves a trace when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


NESTED = "[" * 100_000 + "]" * 100_000


def test_archives_that_attack(
    result: bl.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, trace = tmp_path / "a.npz", tmp_path / "trace"
    objects = np.array([Payload(trace)], dtype=object)
    expanded = [0]
    read = zipfile.ZipExtFile.read

    def counted(self: zipfile.ZipExtFile, n: int | None = -1) -> bytes:
        data = read(self, n)
        expanded[0] += len(data)
        return data

    monkeypatch.setattr(zipfile.ZipExtFile, "read", counted)
    huge = "(10000000000000,)"
    for change, reason in (
        ({"value.npy": header(huge)}, r"member 'value\.npy' is not a plain array of 128 bytes"),
        ({"value.npy": header("(" * 50)}, r"member 'value\.npy' is not a plain array"),
        ({"value.npy": header("(" + "1, " * 20_000 + ")")}, r"member 'value\.npy' is not a plain array"),
        ({"value.npy": member(objects)}, r"member 'value\.npy' is not a plain array"),
        ({"value.npy": pickle.dumps(Payload(trace))}, r"member 'value\.npy' is not a plain array"),
        ({"about.npy": member(np.array(NESTED))}, "maximum recursion depth exceeded.*"),
        ({"about.npy": member(np.array("x" * 2**23))}, "its 'about' is not text"),
        ({"about.npy": member(np.array('{"kind": "result", "format": 2}'))}, r"its result must be an object, not None"),
        ({"about.npy": member(np.array("[1, 2]"))}, "its description is not one of Beltline's"),
        ({"value.npy": member(np.zeros(2**24))}, r"array 'value' has shape \(16777216,\), not \(40, 3\)"),
        ({"../../etc/value.npy": b""}, r"it has a member '\.\./\.\./etc/value\.npy', which does not belong there"),
        ({"read.me": b"hello"}, r"it has a member 'read\.me', which does not belong there"),
    ):
        repacked(result, path, change)
        expanded[0] = 0
        refused(path, NOT_OURS + reason, capsys)
        assert expanded[0] < 2**22, change.keys()
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        repacked(result, path, {}, method)
        refused(path, NOT_OURS + rf"member '\w+\.npy' is compressed by an unknown method, {method}", capsys)
    assert not trace.exists()
    assert pickle.loads(pickle.dumps(Payload(trace))) is None
    assert trace.exists(), "the payload does nothing"


def test_directories_that_lie(result: bl.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.npz"
    repacked(result, path, {"value.npy": header("(10000000000000,)")}, zipfile.ZIP_STORED)
    whole = bytearray(path.read_bytes())
    entry = whole.rindex(b"PK\x01\x02", 0, whole.rindex(b"value.npy"))

    def directory(at: int, value: int, size: int) -> None:
        data = bytearray(whole)
        data[entry + at : entry + at + size] = value.to_bytes(size, "little")
        path.write_bytes(data)

    directory(24, 2**32 - 2, 4)
    refused(path, NOT_OURS + r"member 'value\.npy' claims 4,294,967,294 bytes in 128 of the file", capsys)
    directory(10, 99, 2)
    refused(path, NOT_OURS + r"member 'value\.npy' is compressed by an unknown method, 99", capsys)
    directory(8, 1, 2)
    refused(path, NOT_OURS + ".*encrypted.*", capsys)
    data = bytearray(whole)
    data[entry + 20 : entry + 28] = (2**31).to_bytes(4, "little") * 2
    path.write_bytes(data)
    refused(path, NOT_OURS + "its members claim more bytes than the file has", capsys)


def test_netcdf_that_attacks(result: bl.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, secret = tmp_path / "a.nc", tmp_path / "secret.nc"
    secret.write_bytes(result.value.tobytes())

    def changed(change: Callable[[h5py.File], None]) -> None:
        result.save(path)
        with h5py.File(path, "r+") as file:
            del file["value"]
            change(file)

    def external_link(file: h5py.File) -> None:
        file["value"] = h5py.ExternalLink(str(result.save(tmp_path / "other.nc")), "value")

    def soft_link(file: h5py.File) -> None:
        file["value"] = h5py.SoftLink("/start")

    def virtual(file: h5py.File) -> None:
        layout = h5py.VirtualLayout((40, 3), "<f8")
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.nc"), "value", (40, 3))
        file.create_virtual_dataset("value", layout)

    for change in (
        external_link,
        soft_link,
        virtual,
        lambda file: file.create_dataset("value", (40, 3), "<f8", external=[(str(secret), 0, 960)]),
        lambda file: file.create_group("value"),
    ):
        changed(change)
        refused(path, NOT_OURS + "'value' is not an array in this file", capsys)
    changed(lambda file: file.create_dataset("value", (10**13,), "<f8", chunks=(1000,)))
    refused(path, NOT_OURS + r"array 'value' has shape \(10000000000000,\), not \(40, 3\)", capsys)


def test_sizes_that_no_file_and_no_memory_hold() -> None:
    tables = {"a": archive.Table(("<f8",), ("n",)), "b": archive.Table(("<f8",), ("n", 2))}
    found = {"a": ("<f8", (10**13,)), "b": ("<f8", (10**13, 2))}
    with pytest.raises(bl.ProblemError, match=r"^its arrays claim 240,000,000,000,000 bytes, more than a file"):
        archive.check_tables(tables, found, 10**9)
    with pytest.raises(MemoryError, match=r"^it needs 223,\d\d\d\.\d\d GiB, more than the "):
        archive.check_tables(tables, found, 10**18)


@pytest.mark.parametrize("change", ["version", "kind", "no checksum"])
def test_other_versions_and_kinds(
    result: bl.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: str
) -> None:
    path = tmp_path / "a.npz"
    with np.load(result.save(path)) as file:
        arrays = dict(file)
    about = json.loads(str(arrays["about"]))
    reason = {
        "version": "has file format 7, and this version of Beltline reads format 2",
        "kind": "holds 'checkpoint', which is not a kind of solution",
        "no checksum": NOT_OURS + "it has no 'checksum'",
    }[change]
    about |= {"version": {"format": 7}, "kind": {"kind": "checkpoint"}, "no checksum": {}}[change]
    arrays["about"] = np.array(json.dumps(about))
    if change == "no checksum":
        del arrays["checksum"]
    np.savez(path, **arrays)
    refused(path, reason, capsys)


OLD = "was saved by Beltline 0.1.0, whose files have no checksum, and this version does not load it, though NumPy and "


@pytest.mark.parametrize("kind", WRITERS)
def test_files_of_the_version_before(
    result: bl.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    path = WRITERS[kind](result, tmp_path)
    if kind == "nc":
        dataset = result.to_xarray()
        facts = json.loads(dataset.attrs["about"])
        del dataset.attrs["checksum"]
        dataset.attrs["about"] = json.dumps({"format": 1, "result": facts["result"], "problem": facts["problem"]})
        dataset.to_netcdf(path, engine="h5netcdf")
    else:
        with np.load(path) as file:
            arrays = dict(file)
        facts = json.loads(str(arrays["about"])) | {"format": 1}
        del arrays["checksum"], facts["kind"]
        np.savez(path, **arrays | {"about": np.array(json.dumps(facts))})
    if kind == "checkpoint":
        with pytest.raises(bl.ProblemError, match=re.escape(OLD) + ".*: delete it, or name another file$"):
            Checkpoint(path).load(image(result))
    elif kind == "store":
        with pytest.raises(bl.ProblemError, match=re.escape(OLD) + ".*: delete it, and its problem is solved again$"):
            Store(path.parents[1]).load(KEY)
    else:
        refused(path, re.escape(OLD) + "xarray read its arrays", capsys)


def test_a_checkpoint_of_choices_off_the_grid(result: bl.Result, tmp_path: Path) -> None:
    path = WRITERS["checkpoint"](result, tmp_path)
    with np.load(path) as file:
        arrays = dict(file)
    facts = json.loads(str(arrays.pop("about")))
    kind = facts.pop("kind")
    del facts["format"], arrays["checksum"]
    arrays["policy"][3, 1] = 40
    archive.write(path, kind, facts, arrays)
    with pytest.raises(bl.ProblemError, match=r"policy\[3, 1\] is 40, not a grid point: delete it, or name another"):
        Checkpoint(path).load(image(result))
    arrays["policy"][3, 1] = 0
    archive.write(path, kind, facts | {"sweeps": -1}, arrays)
    with pytest.raises(bl.ProblemError, match=r"sweeps of its run must be a whole number from 0 .*, not -1: delete it"):
        Checkpoint(path).load(image(result))


@pytest.mark.parametrize("suffix", ["npz", "nc"])
def test_no_ordinary_files(tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    os.mkfifo(path)
    refused(path, "is not an ordinary file", capsys)
    path.unlink()
    path.mkdir()
    refused(path, "is not an ordinary file", capsys)


def test_what_could_not_be_loaded_is_not_saved(result: bl.Result, tmp_path: Path) -> None:
    wrong = result.policy.copy()
    wrong[3, 1] = -2
    for suffix in ("npz", "nc"):
        for other, sentence in (
            (replace(result, policy=wrong), r"^choices are from 0 to 39, but policy\[3, 1\] is -2$"),
            (replace(result, device="\x1b[2J"), "^device of its result must be text without control characters, not "),
        ):
            with pytest.raises(bl.ProblemError, match=sentence):
                other.save(tmp_path / f"a.{suffix}")
    assert os.listdir(tmp_path) == []


def test_errors_travel_between_processes() -> None:
    error = pickle.loads(pickle.dumps(archive.FileError("'a.npz'", "is damaged")))
    assert str(error) == "'a.npz' is damaged"
    assert error.reason == "is damaged"


@pytest.mark.parametrize("suffix", ["npz", "nc"])
def test_a_file_with_the_former_name_of_a_fact_is_read(suffix: str, result: bl.Result, tmp_path: Path) -> None:
    facts, arrays = parts(result)
    bits = facts["result"].pop("amount_bits")
    facts["result"]["money_bits"] = bits
    crafted(suffix, path := tmp_path / f"a.{suffix}", result, facts, arrays)
    assert bl.load(path).amount_bits == bits == result.amount_bits


LOOPS = (484, 628, 1644, *range(1732, 1781, 24), *range(1844, 1869, 24), *range(1916, 1941, 24), *range(2148, 2341, 24))
"""Places of zeros in a file of :func:`support.files.small` that make HDF5 loop for ever if they are 8, in HDF5 1.14."""


def test_a_netcdf_file_that_has_no_end(result: bl.Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Times have as many digits each time, and so the file the same places.
    result = replace(result, timing=dict.fromkeys(result.timing, 0.25))
    path = result.save(tmp_path / "a.nc")
    whole = path.read_bytes()[: -len(netcdf.seal(b""))]
    for place in LOOPS:
        data = bytearray(whole)
        data[place] = 8
        path.write_bytes(data + netcdf.seal(data))
        begin = time.monotonic()
        try:
            assert bl.load(path).value.tobytes() == result.value.tobytes()
        except bl.ProblemError as error:
            if "HDF5 did not read it within 3 seconds" in str(error):
                assert time.monotonic() - begin < 60
                return
    raise AssertionError("no file makes HDF5 loop")
