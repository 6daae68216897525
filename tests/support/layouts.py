"""Words of a struct layout as Python dictionaries, and back."""

from __future__ import annotations

import random
from typing import Any

from amaranth.hdl import Shape
from amaranth.lib import data


def pack(layout: data.StructLayout, fields: dict[str, Any]) -> int:
    """Return the word with ``fields``, dictionaries for inner structs; negative numbers are truncated to the width, and
    missing fields are 0.
    """
    word = 0
    for name, value in fields.items():
        field = layout[name]
        bits = value if isinstance(value, int) else pack(field.shape, value)
        word |= (bits & (1 << Shape.cast(field.shape).width) - 1) << field.offset
    return word


def unpack(layout: data.StructLayout, word: int) -> dict[str, Any]:
    """Return all fields of a word as unsigned numbers."""
    fields: dict[str, Any] = {}
    for name, field in layout:
        part = word >> field.offset & (1 << Shape.cast(field.shape).width) - 1
        fields[str(name)] = unpack(field.shape, part) if isinstance(field.shape, data.StructLayout) else part
    return fields


def any_word(layout: data.StructLayout, rng: random.Random) -> dict[str, Any]:
    """Return all fields of a word of random bits."""
    return unpack(layout, rng.getrandbits(Shape.cast(layout).width))
