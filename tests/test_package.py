"""The installed package: one name, quick to import, with all files that it needs."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import beltline as bl
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.top import presets
from beltline.sim.yosys import use_yosys
from support.paths import ROOT

NOT_SOURCES = shutil.ignore_patterns(
    ".venv", ".git", "build", "dist", "written", "*.egg-info", "__pycache__", ".*_cache"
)

SMALL = MachineParameters(grid=4, states=1)
"""A machine whose Verilog is in the wheel."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a wheel of the present sources with the Verilog of :data:`SMALL`, from the source distribution."""
    pytest.importorskip("build")
    use_yosys()
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, folder / "sources", symlinks=True, ignore=NOT_SOURCES)
    presets.write_presets([SMALL], folder / "sources" / "hw" / "top" / "written")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(folder / "sources")]
    subprocess.run(command, check=True, capture_output=True)
    (found,) = folder.glob("*.whl")
    return found


def test_each_extra_that_a_message_names_brings_the_package() -> None:
    extras = (ROOT / "pyproject.toml").read_text().partition("[project.optional-dependencies]")[2].split("\n[")[0]
    listed = dict(re.findall(r"^(\w+) = \[\n(.*?)^\]", extras, re.M | re.S))
    calls = [
        [getattr(each, "value", "") for each in node.args]
        for folder in ("host", "sim", "gpu_ref")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("missing_package", "pip_install")
    ]
    assert len(calls) >= 8
    for *_, extra in calls:
        assert not extra or extra in listed
    for package, extra in (call[-2:] for call in calls if len(call) > 1 and call[-2]):
        assert extra == "" or f'    "{package}' in listed[extra]


def test_nothing_but_beltline_lands_at_the_top(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"beltline", f"beltline-{bl.__version__}.dist-info"}


def test_every_source_is_in_the_wheel(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    kinds = (".py", ".cpp", ".cu", ".v", ".sv", ".vh", ".tcl", ".xdc", ".sh", ".json")
    wanted = {
        f"beltline/{path.relative_to(ROOT)}"
        for folder in ("hw", "host", "sim", "gpu_ref", "constraints")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in kinds and "__pycache__" not in path.parts
    }
    assert wanted - names == set()
    assert "beltline/__init__.py" in names


def test_pip_installs_what_solves_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    # With the packages of this environment, so that nothing is downloaded.
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"]
    subprocess.run([*pip, "--target", str(site), str(wheel)], check=True, capture_output=True)
    program = (
        "import beltline as bl\n"
        "from beltline.hw.interface.parameters import MachineParameters\n"
        "from beltline.hw.top.presets import find\n"
        "found = [bl.solve(bl.rbc(grid=32), tol=1e-6), bl.solve(bl.rbc(grid=32), tol=1e-6, device='emulator')]\n"
        "verilog = find(MachineParameters(grid=4, states=1))\n"
        "print(bl.__file__, *((one.device, one.success) for one in found), sorted(verilog))"
    )
    environment = {**os.environ, "PYTHONPATH": str(site)}
    for command in (["-c", program], [str(site / "bin" / "beltline"), "devices"]):
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        if command[0] == "-c":
            names = ["beltline.v", "beltline_build.v", "beltline_evaluator.v", "beltline_ram.v"]
            assert done.stdout == f"{site / 'beltline' / '__init__.py'} ('cpu', True) ('emulator', True) {names}\n"
        else:
            assert done.stdout.startswith("auto ")


def test_the_citation_names_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {bl.__version__}\n" in text
    assert "\nlicense: BSD-2-Clause\n" in text
    assert text.startswith("cff-version: 1.2.0\n")


def test_public_names_are_those_that_the_type_checker_sees() -> None:
    tree = ast.parse((ROOT / "beltline" / "__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    seen = {
        alias.asname or alias.name: f"{node.module}{':' + alias.name if alias.asname not in (None, alias.name) else ''}"
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == bl._HOMES
    assert sorted(bl.__all__) == sorted([*bl._HOMES, "__version__"])


@pytest.mark.parametrize("name", bl.__all__)
def test_every_public_name_exists(name: str) -> None:
    assert getattr(bl, name) is not None
    assert name in dir(bl)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'beltline' has no attribute 'slove'$"):
        bl.slove  # type: ignore[attr-defined]  # noqa: B018


def test_a_checkout_without_symbolic_links_is_refused_with_what_to_do(tmp_path: Path) -> None:
    # As Git leaves it on Windows: each link is a file that contains its target. The present Beltline is installed too.
    (tmp_path / "beltline").mkdir()
    for entry in (ROOT / "beltline").iterdir():
        if entry.is_symlink():
            (tmp_path / "beltline" / entry.name).write_text(os.readlink(entry))
        elif entry.suffix == ".py":
            shutil.copy(entry, tmp_path / "beltline")
    command = [sys.executable, "-c", "import beltline; print(beltline.host.__file__)"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    here = tmp_path / "beltline"
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: this copy of Beltline is incomplete: {str(here / 'constraints')!r} must be a symbolic link "
        f"to the folder 'constraints' beside {str(here)!r}, and links are lost in a zip file, and by Git on Windows "
        "without core.symlinks: clone the repository with `git clone -c core.symlinks=true`, or install a wheel"
    )


def test_problems_are_solved_where_modules_of_unix_are_missing() -> None:
    missing = ("fcntl", "grp", "pwd", "resource", "termios", "tty")
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({missing!r}))\n"
        "import beltline as bl\n"
        "print(bl.solve(bl.rbc(grid=32), progress=False).success)"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
