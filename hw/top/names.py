"""Names of signals that are the same on all versions of Python.

The hash of a build covers the names of its signals. Amaranth finds the name of a signal in the bytecode after the call
that makes it, as the variable that the next instruction stores. From Python 3.13 on, one instruction may store two
variables, or store one and load another. Amaranth does not know these, and the signal has no name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from opcode import opname
from types import CodeType
from typing import Any

from amaranth import tracer

_PASSED = {
    "LOAD_GLOBAL",
    "LOAD_NAME",
    "LOAD_ATTR",
    "LOAD_FAST",
    "LOAD_FAST_LOAD_FAST",
    "LOAD_DEREF",
    "BUILD_LIST",
    "COPY",
}
"""Instructions between a call and the one that stores its result, as Amaranth's tracer knows them."""

_STORES = {"STORE_FAST_STORE_FAST", "STORE_FAST_LOAD_FAST"}
"""Instructions for two variables, each with four bits of the argument; the first one is stored first."""


def stored_first(instructions: Iterator[tuple[str, int]]) -> int | None:
    """Return the number of the variable that an instruction for two variables stores first, after a call.

    Parameters
    ----------
    instructions
        Name and argument of each instruction after the call.

    Returns
    -------
    int or None
        ``None`` if another instruction comes first.

    Examples
    --------
    >>> stored_first(iter([("LOAD_FAST", 3), ("STORE_FAST_STORE_FAST", 0x21)]))
    2
    >>> stored_first(iter([("STORE_FAST", 2)])) is None
    True
    """
    high = 0
    for name, argument in instructions:
        if name == "EXTENDED_ARG":
            high = (high | argument) << 8
        elif name in _STORES:
            return (high | argument) >> 4
        elif name in _PASSED:
            high = 0
        elif name != "CACHE":
            return None
    return None


def _after(code: CodeType, index: int) -> Iterator[tuple[str, int]]:
    """Return the instructions after a call; ``index`` is that of the call, or of one of its caches."""
    raw = code.co_code
    while index > 0 and opname[raw[index]] == "CACHE":
        index -= 2
    while opname[raw[index]] == "EXTENDED_ARG":
        index += 2
    if opname[raw[index]].startswith("CALL"):
        yield from ((opname[raw[at]], raw[at + 1]) for at in range(index + 2, len(raw), 2))


def _named(find: Callable[..., Any]) -> Callable[..., Any]:
    """Return Amaranth's function ``find``, which finds the name, with the instructions that it does not know."""
    nothing = object()

    def get_var_name(depth: int = 2, default: Any = tracer._raise_exception) -> Any:
        name = find(depth + 1, nothing)
        if name is not nothing:
            return name
        frame = sys._getframe(depth)
        number = stored_first(_after(frame.f_code, frame.f_lasti))
        if number is not None:
            variables: Any = frame.f_code
            return variables._varname_from_oparg(number)
        if default is tracer._raise_exception:
            raise tracer.NameNotFound
        return default

    return get_var_name


def same_names() -> None:
    """Let Amaranth find the names of signals that it finds on Python 3.11, for all signals that are made later."""
    if sys.version_info >= (3, 13) and tracer.get_var_name.__module__ == tracer.__name__:
        tracer.get_var_name = _named(tracer.get_var_name)
