"""Files are written completely or not at all: on full disks, under signals, by threads, and with links in the way."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import secrets
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

import beltline as bl
from beltline.host.results import files
from beltline.host.results.files import PART, replacing
from beltline.sim.ctrl_c import ENDING
from beltline.sim.file_lock import lock
from support.files import WRITERS, figure, small
from support.paths import ROOT, TESTS


@pytest.fixture(scope="module")
def result() -> bl.Result:
    return small()


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, ValueError])
def test_a_block_that_fails_leaves_the_old_file(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def fail() -> None:
        with replacing(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_an_interrupt_of_which_the_writer_made_another_error(tmp_path: Path) -> None:
    def interrupted() -> None:
        with replacing(tmp_path / "a.npz") as file, zipfile.ZipFile(file, "w") as archive:
            archive.open("a.npy", "w")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert os.listdir(tmp_path) == []
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        # The caller has handled an older interrupt, which does not concern the writer.
        with pytest.raises(OSError, match=r"/a\.txt'$"), replacing(tmp_path / "a.txt"):
            raise OSError(28, "No space left on device")  # noqa: B904


def test_an_interrupt_between_the_parts_of_an_archive_is_all_that_is_heard(
    result: bl.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, lost = zipfile.ZipFile.open, []

    def interrupted(archive: zipfile.ZipFile, *given: object, **more: object) -> None:
        # In a circle, as of a traceback, the garbage collector ends the archive before its open part.
        circle: list[object] = [opened(archive, *given, **more)]  # type: ignore[arg-type]
        circle.append(circle)
        raise KeyboardInterrupt

    monkeypatch.setattr(zipfile.ZipFile, "open", interrupted)
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: lost.append(unraisable.exc_value))
    with contextlib.suppress(KeyboardInterrupt):
        result.save(tmp_path / "a.npz")
    gc.collect()
    assert (lost, os.listdir(tmp_path)) == ([], [])


TERMINATED = """
import os, signal, sys, time
from pathlib import Path
from beltline.host.results.files import replacing
with replacing(Path(sys.argv[1])) as file:
    file.write(b"half")
    if sys.argv[2].isdecimal():
        os.kill(os.getpid(), int(sys.argv[2]))
    print("now", flush=True)
    time.sleep(120)
print("too late")
"""


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_to_end_leaves_the_old_file(tmp_path: Path, number: int) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    command = [sys.executable, "-c", TERMINATED, str(path), str(int(number))]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-number, "", "")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_files_of_writers_that_are_gone_are_removed_by_the_next(tmp_path: Path) -> None:
    command = [sys.executable, "-c", TERMINATED, str(tmp_path / "a.txt"), "later"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "now\n"
        (part,) = os.listdir(tmp_path)
        with replacing(tmp_path / "b.txt"), replacing(tmp_path / "c.txt"):
            assert len(os.listdir(tmp_path)) == 3
        assert sorted(os.listdir(tmp_path)) == [part, "b.txt", "c.txt"]
        writer.kill()
    with replacing(tmp_path / "b.txt"):
        assert part not in os.listdir(tmp_path)


def test_a_file_that_was_removed_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def late(file: int) -> None:
        if not seen:
            seen.extend(os.listdir(tmp_path))
            (tmp_path / seen[0]).unlink()
        lock(file)

    monkeypatch.setattr(files, "lock", late)
    with replacing(tmp_path / "a.txt") as file:
        file.write(b"whole")
    assert (tmp_path / "a.txt").read_text() == "whole"
    assert len(seen) == 1


def test_a_file_that_another_writer_is_about_to_remove_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removing: list[tuple[int, Path]] = []

    def second(file: int) -> None:
        if not removing:
            (part,) = tmp_path.iterdir()
            removing.append((os.open(part, os.O_RDWR), part))
            lock(removing[0][0])
        lock(file)

    monkeypatch.setattr(files, "lock", second)
    with replacing(tmp_path / "a.txt") as file:
        entry, part = removing[0]
        part.unlink()
        os.close(entry)
        file.write(b"whole")
    assert os.listdir(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "whole"


def test_an_interrupt_as_the_file_is_opened_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def interrupted(*given: object) -> int:
        os.close(opened(*given))  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "open", interrupted)
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "a.txt"):
        pass
    monkeypatch.undo()
    assert os.listdir(tmp_path) == []


def test_an_error_of_the_disk_has_the_name_of_the_file(tmp_path: Path) -> None:
    with (
        pytest.raises(OSError, match=r"^\[Errno 28\] No space left on device: '.*/a\.txt'$"),
        replacing(tmp_path / "a.txt"),
    ):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("kind", [*WRITERS, "figure"])
def test_content_is_on_the_disk_before_its_name(
    result: bl.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    events: list[tuple[str, int, int]] = []
    fsync, replace = os.fsync, os.replace

    def watched_fsync(file: int) -> None:
        known = os.fstat(file)
        events.append(("fsync", known.st_ino, known.st_size))
        fsync(file)

    def watched_replace(old: Path, new: Path) -> None:
        known = os.stat(old)
        events.append(("replace", known.st_ino, known.st_size))
        replace(old, new)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "replace", watched_replace)
    path = (WRITERS | {"figure": figure})[kind](result, tmp_path)
    known = path.stat()
    renamed = events.index(("replace", known.st_ino, known.st_size))
    # The whole file must be on disk: buffers that are written later are lost in a power cut.
    assert ("fsync", known.st_ino, known.st_size) in events[:renamed]
    assert path.parent.stat().st_ino in [inode for _, inode, _ in events[renamed:]]


def test_planted_links_are_not_followed(result: bl.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    # A link at the fixed name of earlier versions, and one at the right name.
    for name in (f".result.{os.getpid()}.part.npz", PART.format("00")):
        (tmp_path / name).symlink_to(victim)
    drawn = iter(["00", "01"])
    monkeypatch.setattr(secrets, "token_hex", lambda count: next(drawn))
    path = result.save(tmp_path / "result.npz")
    assert list(drawn) == []
    assert victim.read_text() == "precious"
    assert not path.is_symlink()
    assert (tmp_path / PART.format("00")).is_symlink()


def test_names_cannot_be_guessed(tmp_path: Path) -> None:
    names = set()
    for _ in range(20):
        with replacing(tmp_path / "a.txt"):
            names |= set(os.listdir(tmp_path)) - {"a.txt"}
    assert len(names) == 20
    assert all(len(name) >= len(PART.format("")) + 16 for name in names)


@pytest.mark.parametrize(("suffix", "saves"), [("npz", 75), ("nc", 24)])
def test_threads_save_and_read_one_file(result: bl.Result, tmp_path: Path, suffix: str, saves: int) -> None:
    path = result.save(tmp_path / f"a.{suffix}")
    failures: list[BaseException] = []
    saved: list[Path] = []

    def work() -> None:
        try:
            for _ in range(saves // 3):
                saved.append(result.save(path))
                assert (bl.load(path).value == result.value).all()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(saved) == saves
    assert os.listdir(tmp_path) == [path.name]


FULL = """
import contextlib, errno, io, json, os, resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
folder, saved, how = Path(sys.argv[2]), sys.argv[3], sys.argv[4]
import beltline as bl
from beltline.host.cli.main import main
from support.files import WRITERS, figure
result = bl.load(saved)
writers = WRITERS | {"figure": figure}
# What has to be imported or compiled is, and there is an old file of each kind.
old = {kind: write(result, folder) for kind, write in writers.items()}
before = {kind: path.read_bytes() for kind, path in old.items()}
if how == "limit":
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
else:
    with contextlib.suppress(OSError), open(folder / "filler", "wb", buffering=0) as filler:
        while True:
            filler.write(bytes(4096))
found = {}
names = sorted(os.listdir(folder))
for kind, write in writers.items():
    # An entry of a store begins with its lock, whose file stays.
    try:
        write(result, folder)
        found[kind] = "written"
    except OSError as error:
        name = os.path.basename(error.filename or "none")
        found[kind] = f"{errno.errorcode[error.errno]} {name == old[kind].name}"
    assert old[kind].read_bytes() == before[kind], kind
    assert not [name for _, _, names in os.walk(folder) for name in names if name.endswith(".part")], kind
assert sorted(os.listdir(folder)) == names
heard = io.StringIO()
with contextlib.redirect_stderr(heard):
    found["code"] = main(["plot", saved, "--out", str(folder / "other.png"), "--quiet"])
found["heard"] = heard.getvalue()
# Past the limits of the file: a pipe.
print(json.dumps(found))
"""


def full(result: bl.Result, tmp_path: Path, how: str, prefix: list[str]) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    saved = result.save(tmp_path / "given.npz")
    command = [*prefix, sys.executable, "-c", FULL, str(TESTS), str(folder), str(saved), how]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    word = "EFBIG" if how == "limit" else "ENOSPC"
    found = json.loads(ended.stdout)
    code, heard = found.pop("code"), found.pop("heard")
    assert found == dict.fromkeys([*WRITERS, "figure"], f"{word} True")
    assert code == 1
    assert heard.startswith("beltline plot: [Errno ")
    assert heard.endswith("/other.png'\n")
    assert heard.count("\n") == 1


def test_a_limit_of_file_sizes_is_an_error_with_the_name(result: bl.Result, tmp_path: Path) -> None:
    full(result, tmp_path, "limit", [])
