"""Checksums of bitstreams: one file has all, and a changed, missing or additional bitstream is found."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from beltline.constraints.bitstreams import BitstreamError, check, main, of_build, read
from support.bitstreams import finished


def test_the_file_says_what_the_bitstream_is(tmp_path: Path) -> None:
    path = finished(tmp_path, content=b"some bits")
    found = check(path)
    assert found.sha256 == hashlib.sha256(b"some bits").hexdigest()
    assert (found.file, found.bytes, found.board, found.part) == (path.name, 9, "ecp5", "LFE5UM5G-85F-8BG381")
    assert path.name == f"beltline-ecp5-{found.build_hash}.bit"
    assert check(path.with_suffix(".svf")).bytes == 13
    assert [one.file for one in read(tmp_path / "bitstreams.json")] == [path.name, path.with_suffix(".svf").name]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"bots", r"has the SHA-256 [0-9a-f]{64}, and '.*bitstreams\.json' says [0-9a-f]{64}: copy it again$"),
        (b"bit", r"has 3 bytes, and '.*bitstreams\.json' says 4: copy it again$"),
    ],
)
def test_a_changed_bitstream_is_refused(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = finished(tmp_path)
    path.write_bytes(content)
    with pytest.raises(BitstreamError, match=rf"^bitstream '{re.escape(str(path))}' {sentence}"):
        check(path)


def test_unlisted_and_missing_bitstreams_are_refused(tmp_path: Path) -> None:
    path = finished(tmp_path)
    other = path.with_name("other.bit")
    with pytest.raises(BitstreamError, match=r"^there is no bitstream '.*other\.bit'$"):
        check(other)
    other.write_bytes(b"bits")
    with pytest.raises(BitstreamError, match=r"has no entry for bitstream 'other\.bit', and must have one$"):
        check(other)
    listed = tmp_path / "bitstreams.json"
    listed.write_text(json.dumps(2 * json.loads(listed.read_text())))
    with pytest.raises(BitstreamError, match=r"has 2 entries for bitstream '.*', and must have one$"):
        check(path)
    listed.unlink()
    with pytest.raises(BitstreamError, match=r"which has the checksums, cannot be read: No such file or directory$"):
        check(path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"file": "../x.bit"}, "file of a bitstream must be a name without a folder, not '../x.bit'"),
        ({"sha256": "abc"}, "sha256 of a bitstream must be 64 hexadecimal digits, not 'abc'"),
        ({"bytes": "4"}, "bytes of a bitstream must be a whole number above 0, not '4'"),
        ({"board": "f2"}, "board of a bitstream must be one of ecp5, ecp5-sweep, ulx3s, not 'f2'"),
        ({"build_hash": 12}, "build_hash of a bitstream must be 16 hexadecimal digits, not 12"),
    ],
)
def test_a_file_with_a_wrong_entry_is_refused(tmp_path: Path, change: dict[str, Any], sentence: str) -> None:
    path = finished(tmp_path)
    listed = tmp_path / "bitstreams.json"
    first, *rest = json.loads(listed.read_text())
    listed.write_text(json.dumps([first | change, *rest]))
    with pytest.raises(
        BitstreamError, match=rf"^'.*bitstreams\.json' is no file of bitstreams: {re.escape(sentence)}$"
    ):
        check(path)


@pytest.mark.parametrize("text", ["{}", "[1]", "[{}]", "no", "", "[" * 100_000])
def test_another_file_is_refused(tmp_path: Path, text: str) -> None:
    path = finished(tmp_path)
    (tmp_path / "bitstreams.json").write_text(text)
    with pytest.raises(BitstreamError, match=r"^'.*bitstreams\.json' is no file of bitstreams: "):
        check(path)


def test_builds_are_collected_with_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = finished(tmp_path / "a")
    second = finished(tmp_path / "b", "ulx3s", content=b"others")
    out = tmp_path / "release"
    assert main([str(tmp_path / "a"), str(tmp_path / "b"), "--out", str(out)]) == 0
    names = [path.with_suffix(suffix).name for path in (first, second) for suffix in (".bit", ".svf")]
    assert sorted(path.name for path in out.iterdir()) == sorted([*names, "bitstreams.json"])
    found = read(out / "bitstreams.json")
    assert [one.file for one in found] == names
    assert [asdict(check(out / name)) for name in names] == [asdict(one) for one in found]
    assert capsys.readouterr().out.splitlines() == [f"{one.sha256}  {one.file}" for one in found]


def test_a_wrong_type_of_household_is_not_collected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = finished(tmp_path / "a")
    out = tmp_path / "release"

    def refused(sentence: str, *builds: str, code: int = 1) -> None:
        with pytest.raises(SystemExit, match=f"^{code}$"):
            main([*(str(tmp_path / build) for build in builds), "--out", str(out)])
        assert re.search(sentence, capsys.readouterr().err)
        assert not list(tmp_path.glob(".release*"))

    refused(r"is in two of the builds$", "a", "a")
    refused(r"'.*none' holds no finished build of a bitstream: report\.json: ", "none")
    path.write_bytes(b"bots")
    refused(r"has the SHA-256", "a")
    path.unlink()
    refused(rf"holds no finished build of a bitstream: {path.name} is missing$", "a")
    assert not out.exists()
    out.mkdir()
    refused(r"^bitstreams: out must be a directory that does not exist, not ", "a", code=2)


def test_a_build_needs_no_svf(tmp_path: Path) -> None:
    path = finished(tmp_path)
    path.with_suffix(".svf").unlink()
    assert [one.file for one in of_build(tmp_path)] == [path.name]
