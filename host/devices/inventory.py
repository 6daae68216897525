"""The lists that ``beltline devices`` prints: devices that can be used on this computer, and options of all devices.

Nothing is opened for them, so that they appear at once.
"""

from __future__ import annotations

import importlib.util
import textwrap
from dataclasses import dataclass

from beltline.host.devices import DEVICES, REFERENCES
from beltline.host.devices.base import DeviceError
from beltline.host.problem.checks import pip_install

WIDTH = 100
"""Largest number of characters in a line of the list of options."""


@dataclass(frozen=True)
class Entry:
    """One line of the list.

    Parameters
    ----------
    name
        Name for ``device=``.
    place
        Place that identifies one of several devices of this name, such as ``"slot 0"``; empty if there is only one.
    what
        Description of the device, and of the one at this place if there are several.
    missing
        Why it cannot be used on this computer; empty if it can.
    """

    name: str
    place: str
    what: str
    missing: str


def inventory() -> list[Entry]:
    """Return all devices, those that can be used on this computer and those that cannot."""
    entries = [Entry("auto", "", "the default: a free board, else gpu if it saves time, else cpu", "")]
    for name, backend in DEVICES.items():
        missing = backend.missing()
        places: list[tuple[str, str, str]] = []
        if not missing:
            try:
                places = backend.places()
            except DeviceError as error:
                missing = str(error)
        if places:
            entries += [Entry(name, place, f"{backend.description}: {what}", lacks) for place, what, lacks in places]
        else:
            entries.append(Entry(name, "", backend.description, missing))
    entries.append(Entry("cpu", "", "solvers in double precision, on the processor", ""))
    entries.append(Entry("gpu", "", "solvers in double precision, on a CUDA GPU", _no_gpu()))
    return entries


def _no_gpu() -> str:
    # Checked first, because the import below takes a second.
    if importlib.util.find_spec("cupy") is None:
        return f"package cupy not installed: {pip_install('gpu')}"
    from beltline.gpu_ref.cuda import solver as cuda

    return str(cuda.available())


def table(entries: list[Entry]) -> str:
    """Return ``entries`` as lines with three columns: name, description, and "here" or what is missing."""
    rows = [(f"{e.name} {e.place}".rstrip(), e.what, e.missing or "here") for e in entries]
    first, second = (max(len(row[k]) for row in rows) + 2 for k in (0, 1))
    return "".join(f"{name:<{first}}{what:<{second}}{state}\n" for name, what, state in rows)


def options_table() -> str:
    """Return the options of all devices as lines of text: name, and meaning with limits and default.

    Devices that take the same options are listed together. The options of ``"cpu"`` and ``"gpu"`` are those of their
    methods, or of problems of the general form, which are named before the meaning.
    """
    from beltline.gpu_ref.methods import METHODS, OPTIONS

    parts: dict[str, dict[str, str]] = {}
    for name, backend in DEVICES.items():
        same = next((names for names, options in parts.items() if options == backend.options), "")
        options = parts.pop(same, backend.options)
        parts[f"{same}, {name}".removeprefix(", ")] = options
    having = {option: [name for name, method in METHODS.items() if option in method.options] for option in OPTIONS}
    parts[", ".join(REFERENCES)] = {
        option: f"{'method ' + ', '.join(having[option]) if having[option] else 'the general form'}: {meaning}"
        for option, meaning in OPTIONS.items()
    }
    indent = max(len(option) for options in parts.values() for option in options) + 4
    lines = []
    for names, options in parts.items():
        lines.append(names)
        for option, meaning in options.items():
            first = f"  {option}".ljust(indent)
            lines += textwrap.wrap(meaning, WIDTH, initial_indent=first, subsequent_indent=" " * indent)
    return "\n".join(lines) + "\n"
