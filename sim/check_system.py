"""Check that this computer has the programs that Beltline's set-up needs: ``python3 -I sim/check_system.py``.

If programs are missing, it names them, prints the command that installs them, and exits with code 1. It runs before
anything is installed, under any Python from 3.6 on.
"""

import ctypes
import importlib.util
import os
import shutil
import sys
import sysconfig

OLDEST = (3, 11)
"""Oldest version of Python that Beltline runs on."""


def has_shared_library() -> bool:
    """Return whether Python has a shared library, from which cocotb loads Python into the simulator."""
    name = sysconfig.get_config_var("INSTSONAME") or ""
    if ".so" not in name:
        return False
    folders = [sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("LIBPL")]
    if any(folder and os.path.exists(os.path.join(folder, name)) for folder in folders):
        return True
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def main() -> int:
    """Print which programs are missing; returns the exit code, 0 if none is."""
    if sys.version_info < OLDEST:
        oldest, found = (".".join(map(str, version[:2])) for version in (OLDEST, sys.version_info))
        print(f"Beltline needs Python {oldest} or newer, and {sys.executable or 'this'} is {found}.")
        print(f"    sudo apt install python{oldest} python{oldest}-venv python{oldest}-dev g++")
        print(f"and then add PYTHON=python{oldest} to the make command.")
        return 1
    python = "python" + ".".join(map(str, sys.version_info[:2]))
    missing = []
    if shutil.which("make") is None:
        missing.append(("make", "make"))
    if shutil.which("c++") is None:
        missing.append(("a C++ compiler", "g++"))
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        missing.append(("Python's venv module", python + "-venv"))
    if not has_shared_library():
        if sys.base_prefix != "/usr":
            print(
                f"{sys.executable or 'This Python'} was built without a shared library, which cocotb needs: "
                "build it with --enable-shared, or add PYTHON=/usr/bin/python3 to the make command."
            )
            return 1
        missing.append(("Python's shared library", python + "-dev"))
    if missing:
        names = [name for name, _ in missing]
        listed = names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
        print(f"Beltline needs {listed}, which this computer lacks. On Debian and Ubuntu:")
        print("    sudo apt install " + " ".join(package for _, package in missing))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
