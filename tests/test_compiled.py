"""Compiled functions in Numba's cache on disk are up to date, whichever file was changed."""

from __future__ import annotations

import ast
import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from beltline.compiled import TESTED
from support.paths import ROOT

PROGRAM = """
import beltline.compiled, numba
from beltline.outer import outer
print(outer(3.0), sum(outer.stats.cache_hits.values()))
@numba.njit(cache=True)
def mine(x): return x + 1
print(mine(1), type(mine._cache._impl.locator).__module__, type(outer._cache._impl.locator).__module__)
"""

ARRAYS = """
from beltline.compiled import vectorize
import beltline.outer
from beltline.outer import outer
halved = vectorize(["float64(float64)"], cache=True)(lambda x: 0.5 * x)
print(outer(3.0), halved([1.0, 3.0]).sum())
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Write a small package: the decorators, three functions that call each other, and a table."""
    folder = tmp_path / "beltline"
    folder.mkdir()
    (folder / "__init__.py").touch()
    for name in ("compiled.py", "callees.py", "compile_clock.py", "ownership.py"):
        shutil.copy(ROOT / "beltline" / name, folder)
    (tmp_path / "elsewhere").mkdir()
    (folder / "linked").symlink_to("../elsewhere")
    (tmp_path / "elsewhere" / "__init__.py").touch()
    (tmp_path / "elsewhere" / "inner.py").write_text(
        "import json\nfrom pathlib import Path\nfrom beltline.compiled import njit\n"
        "from beltline.linked.innermost import innermost\n"
        "FACTOR = json.loads(Path(__file__).with_suffix('.json').read_text())\n"
        "@njit(cache=True)\ndef inner(x):\n    return FACTOR * innermost(x) + 1.0\n"
    )
    (tmp_path / "elsewhere" / "innermost.py").write_text(
        "from beltline.compiled import njit\n@njit(cache=True)\ndef innermost(x):\n    return x\n"
    )
    (tmp_path / "elsewhere" / "inner.json").write_text("2.0")
    (folder / "outer.py").write_text(
        "from beltline.compiled import njit\nfrom beltline.linked import inner as other\ninner = other.inner\n"
        "@njit(cache=True)\ndef outer(x):\n    return 10.0 * inner(x)\n"
    )
    return tmp_path


def run(package: Path, **environment: str) -> list[str]:
    (package / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=package,
        env={**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    value, hits, _, others, own = done.stdout.split()
    # A function of another package is cached by Numba itself.
    assert (others, own) == ("numba.core.caching", "beltline.compiled")
    return [value, hits]


@pytest.mark.parametrize("where", ["beside", "directory"])
def test_a_change_of_what_is_called_is_seen(package: Path, where: str) -> None:
    environment = {"NUMBA_CACHE_DIR": str(package / "cache")} if where == "directory" else {}
    assert run(package, **environment) == ["70.0", "0"]
    assert run(package, **environment) == ["70.0", "1"]
    inner = package / "elsewhere" / "inner.py"
    stat = inner.stat()
    inner.write_text(inner.read_text().replace("1.0", "2.0"))
    # The change is found even if time stamps do not show it, as after a checkout.
    os.utime(inner, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert run(package, **environment) == ["80.0", "0"]
    (package / "elsewhere" / "inner.json").write_text("3.0")
    assert run(package, **environment) == ["110.0", "0"]
    assert run(package, **environment) == ["110.0", "1"]
    # The function changed is two calls away.
    innermost = package / "elsewhere" / "innermost.py"
    innermost.write_text(innermost.read_text().replace("return x", "return x + 1.0"))
    assert run(package, **environment) == ["140.0", "0"]
    assert run(package, **environment) == ["140.0", "1"]


def block(folder: Path) -> None:
    """Leave no user, not even root, a place for a cache beside a source."""
    (folder / "__pycache__").touch()


@pytest.mark.parametrize("why", ["nowhere", "no home", "damaged", "full", "unreadable"])
def test_without_a_cache_each_process_compiles_and_one_notice_says_so(package: Path, why: str) -> None:
    """Also with files of another user, which cannot be read: a directory in their place stands for these."""
    inside = package / "beltline"
    (inside / "arrays.py").write_text(ARRAYS)
    environment = {**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/dev/null"}
    run = [sys.executable, "-W", "always", "-c", "import beltline.arrays"]
    for name in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR"):
        environment.pop(name, None)
    if why in ("nowhere", "no home"):
        block(inside)
        block(package / "elsewhere")
    if why == "no home":
        # As Python finds it for a user without an entry in the list of users, in a directory that could be written.
        del environment["HOME"]
        (package / "sitecustomize.py").write_text("import os.path\nos.path.expanduser = lambda path: path\n")
    if why == "full":
        (package / "sitecustomize.py").write_text(
            "import os\ndef full(*names): raise OSError(28, 'No space left on device')\nos.replace = full\n"
        )
    if why in ("damaged", "unreadable"):
        subprocess.run(run, cwd=package, env=environment, check=True)
        for kept in package.rglob("*.nb[ic]"):
            kept.unlink()
            kept.touch() if why == "damaged" else kept.mkdir()
    done = subprocess.run(run, cwd=package, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["70.0", "2.0"], done.stderr
    assert done.stderr.count("RuntimeWarning: compiled code is not kept") == 1
    assert "set NUMBA_CACHE_DIR" in done.stderr
    assert not (package / "~").exists()


@pytest.mark.parametrize("where", ["beside", "directory"])
def test_code_that_was_compiled_for_a_read_only_image_is_used(package: Path, where: str) -> None:
    environment = {"NUMBA_CACHE_DIR": str(package / "cache")} if where == "directory" else {}
    environment |= {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null"}
    assert run(package, **environment) == ["70.0", "0"]
    (package / "sitecustomize.py").write_text(
        "import os, tempfile\ndef full(*names, **more): raise OSError(30, 'Read-only file system')\n"
        "os.replace = tempfile.TemporaryFile = full\n"
    )
    # Numba refuses to cache a function of another package there.
    program = PROGRAM.partition("@numba")[0]
    environment |= {**os.environ, "PYTHONPATH": str(package), **environment}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=package, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("70.0 1\n", "")


FOREIGN = """
import os, stat
known = os.stat
def seen(path, *more, **options):
    found = known(path, *more, **options)
    values = list(found)
    if os.fspath(path) == {folder!r}:
        values[0] |= stat.S_IWOTH * {writable}
        values[4] += 12345 * {owned}
    return os.stat_result(values)
os.stat = seen
"""


class Planted:
    """A pickle that makes a folder when it is read."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.mark),)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners here")
@pytest.mark.parametrize(("writable", "owned"), [(0, 1), (1, 0), (0, 0)])
@pytest.mark.parametrize("where", ["beside", "directory", "folder in it"])
def test_code_that_another_user_could_have_put_there_is_not_run(
    package: Path, where: str, writable: int, owned: int
) -> None:
    cache, mark = package / "cache", package / "it ran"
    environment = {"NUMBA_CACHE_DIR": "" if where == "beside" else str(cache)}
    environment |= {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null"}
    assert run(package, **environment) == ["70.0", "0"]
    (index,) = package.rglob("outer.outer*.nbi")
    index.write_bytes(pickle.dumps(Planted(mark)))
    folder = str(cache if where == "directory" else index.parent)
    # Stands for the file system, because only root can give a folder to another user.
    (package / "sitecustomize.py").write_text(FOREIGN.format(folder=folder, writable=writable, owned=owned))
    environment = {**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    command = [sys.executable, "-c", "import beltline.compiled\nfrom beltline.outer import outer\nprint(outer(3.0))"]
    done = subprocess.run(command, cwd=package, env=environment, capture_output=True, text=True, check=False)
    # A folder that is this user's shows that this would be seen.
    assert mark.exists() == (not writable and not owned), done.stderr
    if writable or owned:
        assert done.stdout == "70.0\n"
        assert ("could be another user's" in done.stderr) == (where != "beside")
        assert ("compiled code is not kept" in done.stderr) == (where == "beside")


SHAPES = """
from typing import NamedTuple
class Old(NamedTuple):
    x: float
make = Old
"""

TAKES = """
from beltline.compiled import njit
from beltline.shapes import make
@njit(cache=True)
def twice(of): return 2.0 * of.x
print(twice(make(3.0)), sum(twice.stats.cache_hits.values()))
"""


def test_a_cache_that_names_a_class_of_before_is_not_read(package: Path) -> None:
    def printed() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", "import beltline.takes"],
            cwd=package,
            env={**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    (package / "beltline" / "takes.py").write_text(TAKES)
    shapes = package / "beltline" / "shapes.py"
    shapes.write_text(SHAPES)
    assert printed() == ["6.0", "0"]
    assert printed() == ["6.0", "1"]
    # The function's own file has not changed.
    shapes.write_text(SHAPES.replace("Old", "New"))
    assert printed() == ["6.0", "0"]
    assert printed() == ["6.0", "1"]


def program(text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, in which no threads have been started."""
    return subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_NUM_THREADS": "2", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


WAITING = """
import time
import numba
from beltline.compiled import njit, prange

@njit(parallel=True)
def uneven(n):
    total = 0.0
    for i in prange(2):
        x = 0.5
        for _ in range(n if i == 0 else 0):
            x = 3.7 * x * (1.0 - x)
        total += x
    return total

seconds = []
for count in (1, 2):
    numba.set_num_threads(count)
    uneven(1)
    begin = time.process_time()
    for _ in range(200):
        uneven(1_000_000)
    seconds.append(time.process_time() - begin)
print(numba.threading_layer(), *seconds)
"""


def test_a_thread_that_waits_takes_little_time() -> None:
    done = program(WAITING)
    layer, alone, both = done.stdout.split()
    assert layer in ("omp", "tbb", "workqueue"), done.stderr
    assert float(both) < 1.2 * float(alone)
    # Child processes and other libraries are not affected.
    left = "import os, beltline.compiled; print(*(os.environ.get(name) for name in beltline.compiled.WAITING))"
    assert program(left).stdout == "None None\n"


ALGEBRA = """
import sys
import numpy as np
from beltline.compiled import njit

@njit
def doubled(a):
    return 2.0 * a

doubled(np.ones(2))
print("scipy.linalg" in sys.modules)
import numba
print(numba.njit(lambda a: a @ np.linalg.inv(a))(2.0 * np.eye(2)).tolist())
print(numba.njit(lambda a: np.convolve(a, a))(np.ones(2)).tolist())
"""


def test_linear_algebra_is_loaded_only_when_needed() -> None:
    done = program(ALGEBRA)
    assert done.stdout.splitlines() == ["False", "[[1.0, 0.0], [0.0, 1.0]]", "[1.0, 2.0, 1.0]"], done.stderr


FORK = """
import os, sys
import numba
from beltline.compiled import njit, prange

@njit(parallel=True)
def doubled(a):
    for i in prange(a.size):
        a[i] *= 2
    return a

import numpy as np
doubled(np.ones(4))
child = os.fork()
if not child:
    try:
        print(doubled(np.ones(2)))
        @njit(parallel=True)
        def later(a):
            for i in prange(a.size):
                a[i] *= 3
            return a
        print(later(np.ones(2)))
    except RuntimeError as error:
        print(error)
    sys.stdout.flush()
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), numba.threading_layer())
"""


@pytest.mark.parametrize("layer", ["default", "workqueue"])
def test_fork_after_a_solve_is_survived_or_refused_in_a_sentence(layer: str) -> None:
    done = program(FORK, NUMBA_THREADING_LAYER=layer)
    assert done.stderr == ""
    *said, end = done.stdout.splitlines()
    assert end.startswith("7 ")
    if end == "7 omp":
        assert len(said) == 1
        assert said[0].startswith("this process was forked from one that had solved already")
    else:
        assert said == ["[2. 2.]", "[3. 3.]"]


def test_no_test_keeps_compiled_code_that_calls_the_package() -> None:
    """Outside the package Numba compares only the function's own file, so a test could run old code."""
    stored = [
        f"{path.relative_to(ROOT)}: {function.name}"
        for folder in ("tests", "examples", "docs")
        for path in (ROOT / folder).rglob("*.py")
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef)
        and any("cache=True" in ast.unparse(mark) for mark in function.decorator_list)
    ]
    assert stored == []


VERSIONS = """
import sys
import numba
numba.version_info = numba.version_info._replace(short={short})
import numpy as np
from beltline.gpu_ref import tables
Q, V = np.full((2, 2), 0.5), np.arange(8192.0).reshape(-1, 2) ** 0.5
found = [compute(Q, V, 0.9) for compute in (tables.expectation_on_one_thread, tables._expectation_on_all)]
print("beltline.callees" in sys.modules, *(ev.tobytes().hex() for ev in found))
"""


def test_another_version_of_numba_compiles_by_its_own_steps(tmp_path: Path) -> None:
    printed = []
    for number, short in enumerate((TESTED, (0, 0))):
        done = program(VERSIONS.format(short=short), NUMBA_CACHE_DIR=str(tmp_path / str(number)))
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout.split())
    (replaced, *found), (plain, *wanted) = printed
    assert (replaced, plain) == ("True", "False")
    assert found == wanted


FIRST = """
import json, sys
from numba.core import event
compiled = []
class Listener(event.Listener):
    def on_start(self, event):
        function, kinds = event.data["dispatcher"].py_func, event.data["args"]
        compiled.append((f"{function.__module__}.{function.__qualname__}", str(kinds)))
    def on_end(self, event):
        pass
event.register("numba:compile", Listener())
import beltline as bl
lines = []
result = bl.solve(bl.rbc(grid=1024), progress=lines.append)
str(result)
json.dump([compiled, result.timing, lines], sys.stdout)
"""

MOST_COMPILED = 90
"""Most functions of this package that a first solve compiles."""


@pytest.fixture(scope="module")
def first_solves(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Solve the README's problem in two processes, the first of which finds nothing in the cache."""
    cache = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path_factory.mktemp("cache"))}
    run = [sys.executable, "-c", FIRST]
    return [
        json.loads(subprocess.run(run, cwd=ROOT, env=cache, capture_output=True, text=True, check=True).stdout)
        for _ in range(2)
    ]


@pytest.mark.slow
def test_a_first_solve_compiles_little_and_each_function_for_one_type_of_arguments(first_solves: list[Any]) -> None:
    # A short function that Python and compiled code call is compiled for either, for the same types.
    own = {(name, kinds) for name, kinds in first_solves[0][0] if name.startswith("beltline.")}
    assert len(own) <= MOST_COMPILED
    names = [name for name, _ in own]
    assert [name for name in set(names) if names.count(name) > 1] == []


@pytest.mark.slow
def test_compilation_is_reported_apart(first_solves: list[Any]) -> None:
    (_, timing, lines), (again, timing_again, lines_again) = first_solves
    assert timing["compile"] > timing["solve"] + timing["verify"]
    assert any(line.startswith("compiling") for line in lines)
    assert again == []
    assert "compile" not in timing_again
    assert not any(line.startswith("compiling") for line in lines_again)
