"""The cache of compiled simulations: entries are complete or absent, even with several processes at the same time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from beltline.sim.cache import SimulationError, cache_directory, cached, digest, run_tool
from support.paths import ROOT


def test_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("BELTLINE_CACHE", raising=False)
    assert cache_directory() == tmp_path / "beltline"
    monkeypatch.setenv("BELTLINE_CACHE", str(tmp_path / "mine"))
    assert cache_directory() == tmp_path / "mine"
    assert (tmp_path / "mine").is_dir()


@pytest.mark.parametrize("name", [f"my{odd}cache" for odd in " #$'\"\\;`:%=~\né\udcff"])
def test_directory_in_which_make_cannot_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    monkeypatch.setenv("BELTLINE_CACHE", str(tmp_path / name))
    with pytest.raises(SimulationError, match="^GNU Make cannot build in .* set BELTLINE_CACHE to a directory of"):
        cache_directory()
    assert not (tmp_path / name).exists()


def test_without_a_home_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BELTLINE_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    with pytest.raises(SimulationError, match="^this user has no home directory .* set BELTLINE_CACHE"):
        cache_directory()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
@pytest.mark.parametrize("whose", ["another's", "everybody's"])
def test_directory_into_which_others_can_put_programs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, whose: str
) -> None:
    monkeypatch.setenv("BELTLINE_CACHE", str(tmp_path / "cache"))
    assert cache_directory().stat().st_mode & 0o077 == 0
    if whose == "everybody's":
        (tmp_path / "cache").chmod(0o1777)
    else:
        # Only root can give files away: here it is the user that is another one.
        os.chown(tmp_path / "cache", 12345, -1) if os.geteuid() == 0 else None
        monkeypatch.setattr("os.geteuid", lambda: 12346)
    with pytest.raises(SimulationError, match="another user's, .* set BELTLINE_CACHE to a directory that is yours"):
        cache_directory()


def test_directory_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("BELTLINE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(SimulationError, match="^cannot make the cache directory .*: set BELTLINE_CACHE to a writable"):
        cache_directory()


def test_digest_counts_boundaries() -> None:
    assert digest("ab", "c") == digest("ab", "c")
    assert len({digest("ab", "c"), digest("a", "bc"), digest("abc"), digest("abc", "")}) == 4


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_failed_build_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    def build(directory: Path) -> None:
        (directory / "half").touch()
        raise error

    with pytest.raises(error):
        cached("thing", "key", build, directory=tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["thing-key.lock"]
    whole = cached("thing", "key", lambda directory: (directory / "whole").touch(), directory=tmp_path)
    assert [entry.name for entry in whole.iterdir()] == ["whole"]


def test_what_a_killed_process_left_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "thing-key.building").mkdir()
    (tmp_path / "thing-key.building" / "half").touch()
    whole = cached("thing", "key", lambda directory: (directory / "whole").touch(), directory=tmp_path)
    assert [entry.name for entry in whole.iterdir()] == ["whole"]


def test_processes_that_want_the_same_build_it_once(tmp_path: Path) -> None:
    program = textwrap.dedent("""
        import os, sys, time
        from pathlib import Path
        from beltline.sim.cache import cached
        def build(directory):
            with open("builds", "a") as log:
                log.write("built\\n")
            time.sleep(1.0)
            (directory / "whole").touch()
        assert (cached("thing", "key", build, directory=Path.cwd()) / "whole").exists()
    """)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    processes = [subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, env=environment) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    assert (tmp_path / "builds").read_text() == "built\n"


def _runs(process: int) -> bool:
    try:
        # A process that has ended is a zombie until init removes it.
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_progress_is_reported_once_a_second_after_two_seconds(tmp_path: Path) -> None:
    said: list[str] = []
    arguments = {"directory": tmp_path, "log": tmp_path / "log", "environment": os.environ, "doing": "waiting"}
    run_tool(["sleep", "0.5"], progress=said.append, **arguments)  # type: ignore[arg-type]
    assert said == []
    run_tool(["sleep", "4.7"], progress=said.append, **arguments)  # type: ignore[arg-type]
    assert said == ["waiting: 3 s", "waiting: 4 s"]


KILLED = """
import os
from pathlib import Path
from beltline.sim.cache import run_tool
here = Path.cwd()
run_tool(["make"], directory=here, log=here / "log", environment=os.environ, doing="sleeping")
"""


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_tools_end_with_the_process_that_started_them(tmp_path: Path, way: signal.Signals) -> None:
    # This process ignores the signal to end.
    (tmp_path / "slow.sh").write_text("trap '' TERM; echo $$ > child; while :; do sleep 0.1; done\n")
    (tmp_path / "Makefile").write_text("slow:\n\tsh slow.sh\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", KILLED], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60.0
    while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text().strip():
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.05)
    child = int((tmp_path / "child").read_text())
    assert _runs(child)
    process.send_signal(way)
    process.wait(timeout=60.0)
    end = time.monotonic() + 60.0
    while _runs(child):
        assert time.monotonic() < end
        time.sleep(0.1)


def test_tools_are_reported_as_they_end(tmp_path: Path) -> None:
    arguments = {"directory": tmp_path, "log": tmp_path / "log", "environment": os.environ, "doing": "failing"}
    with pytest.raises(subprocess.CalledProcessError, match="exit status 3") as failed:
        run_tool(["sh", "-c", "echo wrong; exit 3"], **arguments)  # type: ignore[arg-type]
    assert failed.value.cmd == ["sh", "-c", "echo wrong; exit 3"]
    assert (tmp_path / "log").read_text().endswith("\nwrong\n")
    with pytest.raises(FileNotFoundError, match=r"^there is no command 'no-such-tool'$"):
        run_tool(["no-such-tool"], **arguments)  # type: ignore[arg-type]


def test_a_command_that_others_start_ends_with_them(tmp_path: Path) -> None:
    program = (
        "import subprocess; from beltline.sim.cache import guarded\n"
        "subprocess.run(guarded(['sh', '-c', 'echo $$; exec sleep 120'], 0), stdin=subprocess.PIPE)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    assert _runs(child)
    process.kill()
    process.wait()
    end = time.monotonic() + 60.0
    while _runs(child):
        assert time.monotonic() < end
        time.sleep(0.1)
