"""Checks of the options of the measuring commands."""

from __future__ import annotations

import argparse


def require_least(parser: argparse.ArgumentParser, given: argparse.Namespace, **least: int) -> None:
    """End the command with one sentence if an option, or an entry of a list of numbers, is below its least value.

    An option without a value, None, is not checked.

    Examples
    --------
    >>> parser = argparse.ArgumentParser()
    >>> _ = parser.add_argument("--grid", type=int)
    >>> require_least(parser, parser.parse_args(["--grid", "8"]), grid=8)
    """
    for name, bound in least.items():
        value = getattr(given, name)
        if value is not None and min(value if isinstance(value, list) else [value]) < bound:
            parser.error(f"--{name} must be at least {bound}, not {value}")
