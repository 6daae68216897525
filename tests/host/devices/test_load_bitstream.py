"""Loading a bitstream: it is checked first; a substitute replaces the program that writes it into the chip."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from beltline.host.devices import DeviceError, load_bitstream, open_device
from beltline.host.devices.load_bitstream import load
from beltline.host.problem.checks import ProblemError
from support.bitstreams import finished


@pytest.fixture
def loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a program that records its arguments and ends with the exit code in the file ``code``."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "openFPGALoader"
    program.write_text(
        f"#!{sys.executable}\n"
        "import sys, pathlib\n"
        "here = pathlib.Path(__file__).parent\n"
        "(here / 'called').write_text('\\n'.join(sys.argv[1:]))\n"
        "code = int((here / 'code').read_text()) if (here / 'code').exists() else 0\n"
        "print('first line\\nunable to open the cable' if code else 'done', file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return folder


def refused(sentence: str) -> Any:
    return pytest.raises(DeviceError, match=f"^the bitstream was not loaded: {sentence}$")


@pytest.mark.parametrize(("board", "cable"), [("ecp5", "ecp5_evn"), ("ecp5-sweep", "ecp5_evn"), ("ulx3s", "ulx3s")])
def test_a_right_bitstream_is_loaded(tmp_path: Path, loader: Path, board: str, cable: str) -> None:
    said: list[str] = []
    path = finished(tmp_path / "build", board)
    assert load(path, progress=said.append).board == board
    assert (loader / "called").read_text().splitlines() == ["--board", cable, str(path)]
    assert said == [f"loading {path.name} into the board"]


def test_a_name_is_never_an_option(tmp_path: Path, loader: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, name = finished(tmp_path / "build"), "--write-flash.bit"
    sums = path.with_name("bitstreams.json")
    sums.write_text(sums.read_text().replace(path.name, name))
    renamed = path.rename(path.with_name(name))
    monkeypatch.chdir(path.parent)
    load(name)
    assert (loader / "called").read_text().splitlines()[2:] == [str(renamed)]


def test_a_wrong_bitstream_is_never_loaded(tmp_path: Path, loader: Path) -> None:
    path = finished(tmp_path / "build")
    path.write_bytes(b"bots")
    with refused(r"bitstream '.*' has the SHA-256 .*: copy it again"):
        load(path)
    foreign = finished(tmp_path / "foreign", digits="0123456789abcdef")
    with refused(
        rf"'{re.escape(str(foreign))}' is of build 0123456789abcdef, which this Beltline does not make: rebuild with "
        r"'make bitstream BOARD=ecp5', or name the build\.json of your own build with option builds"
    ):
        load(foreign)
    with pytest.raises(
        ProblemError, match=r"^bitstream must be the path of a bitstream, such as 'beltline\.bit', not 5$"
    ):
        load(5)
    assert not (loader / "called").exists()


def test_a_build_of_ones_own_is_known_by_its_file(tmp_path: Path, loader: Path) -> None:
    own = type("Own", (), {"digits": "0123456789abcdef"})
    path = finished(tmp_path / "own", digits="0123456789abcdef")
    assert load(path, [own]).build_hash == "0123456789abcdef"  # type: ignore[list-item]


def test_the_loader_may_fail_or_be_missing(tmp_path: Path, loader: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = finished(tmp_path / "build")
    (loader / "code").write_text("3")
    with refused("openFPGALoader ended with 3: unable to open the cable"):
        load(path)
    (loader / "openFPGALoader").write_text(f"#!{sys.executable}\nimport time\ntime.sleep(60)\n")
    monkeypatch.setattr(load_bitstream, "SECONDS", 0.1)
    with refused(r"openFPGALoader did not end in 0\.1 s"):
        load(path)
    (loader / "openFPGALoader").unlink()
    with refused("openFPGALoader is not installed: on Debian and Ubuntu, apt install openfpgaloader"):
        load(path)


def test_the_serial_device_checks_before_it_opens_the_port(tmp_path: Path, loader: Path) -> None:
    path = finished(tmp_path / "build")
    port = str(tmp_path / "no-port")
    with pytest.raises(DeviceError, match=r"^device 'serial' cannot open '.*no-port' at 1000000 baud"):
        open_device("serial", port=port, bitstream=path)
    assert (loader / "called").read_text().splitlines()[-1] == str(path)
    (loader / "called").unlink()
    path.write_bytes(b"bots")
    with refused(r"bitstream '.*' has the SHA-256 .*: copy it again"):
        open_device("serial", port=port, bitstream=path)
    assert not (loader / "called").exists()
