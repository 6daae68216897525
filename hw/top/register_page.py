"""The registers and table windows as a page of the documentation: ``python -m beltline.hw.top.register_page``."""

from __future__ import annotations

import argparse
import enum
import sys
from pathlib import Path

from beltline.hw.control.table_sums import TableSums
from beltline.hw.interface.parameters import ROW_WORDS, MachineParameters
from beltline.hw.interface.registers import (
    FLAGS,
    IDENTITY,
    READABLE,
    REGISTERS,
    VERSION,
    WRITABLE,
    Access,
    Engine,
    Table,
)
from beltline.hw.interface.sums import LAW
from beltline.hw.interface.windows import WindowParameters

COMMAND = "python -m beltline.hw.top.register_page"

PAGE = Path(__file__).resolve().parents[2] / "docs" / "registers.md"

ACCESS = {Access.READ: "R", Access.WRITE: "W", Access.READ_WRITE: "RW"}

CONTENT = {
    Table.X: "`X`, the grid of choices. The host fills it up to the build's grid with `2^63 - 1`, which "
    "nothing can afford. On a sweep engine with costs (`ENGINE` 4 or 5), what `x'` costs in state `s`, at word "
    "`x' * STATES_MAX + s`; it must not fall in `x'`",
    Table.W: "`W(x, s)`, cash on hand, at word `x * STATES + s`",
    Table.Q: "`beta Q(s, s')`, unsigned with 64 fraction bits, at word `s * STATES_MAX + s'`. On a sweep "
    "engine followed by as many words, the weights of its shifts in the same order: `beta Q (I - beta Q)^-1 / 2^12`; "
    "or with alternatives (`ENGINE` 5) by a row of what is added to the value of each state, a row of marks (bit 0: "
    "the state begins a group, of which the maximum enters the expectation, bit 1: it ends one, bit 2: it keeps its "
    "value), and rows that are not read",
    Table.V: "value, at word `x * STATES + s`: before a run the start, after it the result; with a horizon, sweep `t` "
    "begins at word `t * GRID * STATES`",
    Table.POLICY: "index of the best `x'`, as `V`; the upper bits are 0",
}
"""What the tables hold."""


def _rows(*rows: tuple[object, ...]) -> str:
    return "".join("| " + " | ".join(map(str, row)) + " |\n" for row in rows)


def _table(heads: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    return _rows(heads, ("---",) * len(heads), *rows)


def _registers() -> str:
    flagged = {kind.__name__.upper() for kind in FLAGS}
    rows: list[tuple[object, ...]] = []
    for name, register in REGISTERS.items():
        shown = f"[`{name}`](#{name.lower()})" if name in flagged else f"`{name}`"
        bits = f"{register.bits}{'&nbsp;signed' if register.signed else ''}"
        rows.append((f"`0x{register.offset:03X}`", shown, bits, ACCESS[register.access], register.description))
    return _table(("byte offset", "register", "bits", "access", "what"), rows)


def _flags(kind: type[enum.IntFlag]) -> str:
    rows: list[tuple[object, ...]] = [
        (flag.bit_length() - 1, f"`{flag.name}`", meaning) for flag, meaning in FLAGS[kind].items()
    ]
    return _table(("bit", "flag", "meaning"), rows)


def _windows(parameters: MachineParameters) -> str:
    windows = WindowParameters(parameters)
    rows: list[tuple[object, ...]] = []
    for table in Table:
        access = ("R" if table in READABLE else "") + ("W" if table in WRITABLE else "")
        rows.append(
            (f"`0x{windows.offset(table):07X}`", f"`{table.name}`", f"{windows.words(table):,}", access, CONTENT[table])
        )
    return _table(("byte offset", "table", "words", "access", "what"), rows)


def page(parameters: MachineParameters) -> str:
    """Return the page, in Markdown; the table windows are those of a build."""
    windows = WindowParameters(parameters)
    flags = "\n".join(f"### `{kind.__name__.upper()}`\n\n{_flags(kind)}" for kind in FLAGS)
    sizes = f"{parameters.grid:,} points, {parameters.states} states and {parameters.results:,} results"
    tables = ", ".join(f"{int(table)} for `{table.name}`" for table in READABLE)
    law = "\n".join(line.strip() for line in LAW.splitlines())
    engines = ", ".join(f"{engine.value} for `{engine.name}`" for engine in Engine)
    return f"""\
<!-- Written by `{COMMAND} --write`. -->
# Registers and table windows

Printed by `{COMMAND}` from `hw/interface/registers.py` and `hw/interface/windows.py`, which gateware, driver and
benches read too. A driver checks `IDENTITY`, 0x{IDENTITY:08X} (ASCII `BLT1`) in every build, and `VERSION`, which is
{VERSION}.

## Registers
On `s_axi_registers`, AXI4-Lite, 4 KiB. Every register has 32 bits; a quantity of more takes consecutive ones, low
word first. R is read, W write. What is written acts with the next `RUN`, but for `COMMAND` and `INTERRUPT`, which act
at once. When the chip comes out of reset all `RW` registers are 0; the command `RESET` leaves them as they are.

{_registers()}
`ENGINE` is {engines}. `UTILITY_A`, `UTILITY_B` and `UTILITY_FORM` are the constants of
[utility](design.md#utility-hw-arithmetic-utility-py).

An access beyond the registers or at no multiple of 4, a write of less than 32 bits, a write of an R register and a
read of a W register answer SLVERR and change nothing. So does, while busy, a write of anything but `COMMAND`, which
is also flagged in `REFUSED`. Reads of registers are answered at any time.

## Flags

{flags}
All bits of `STATUS` but `BUSY` describe the run that ended last, and are cleared by the next. Those of `REFUSED` stay
until a reset.

## Sums of tables
By sums a host finds out whether what it wrote arrived, and whether what it read is what the device holds. All are
modulo `2^32`, 0 when the chip comes out of reset, and run on: a host takes the difference of two readings, when
`SUMMING` reads 0.

- `WRITTEN_X`, `WRITTEN_W`, `WRITTEN_Q`, `WRITTEN_V`: every write of a word of the table that is done,
  {TableSums.SETTLE + 1} clocks after the port of the machine. A word that is written twice counts twice; a refused
  write does not count.
- `SUM`: command `SUM` adds `SUM_COUNT` words of table `SUM_TABLE` ({tables}) from word `SUM_FIRST`,
  one a clock less those in which the host reads a table itself. Which reads reach the tables does not matter: a wide
  bus may read more than a host asks for, a narrow one the same word twice. Those registers and the tables must not
  change meanwhile.

A word is two halves of 32 bits, half 0 the lower. With `x` a half, its bytes without strobe 0, and `k = 2 word + half`,
to which `2^28`, `2^29`, `2^30` or `2^31` is added for each byte without strobe, the sum of a word is that of the hashes
of its halves, of which one without any strobe is left out, every step modulo `2^32`:

```text
{law}
```

`hw/interface/sums.py` says why, and computes it.

## Table windows
On `s_axi_tables`, AXI4. A table is an array of 64-bit words, low byte first. Windows are equally large, a power of
two of at least 4 KiB, one after the other. In a build for {sizes},
a window is {1 << windows.window_bits:,} bytes, and the bus has {windows.address_bits} address bits:

{_windows(parameters)}
The words of a sweep engine's windows, but for `Q`, are in another order (`hw/interface/layout.py`): a window is
`LANES` equal blocks, one for each lane. A lane has `2^c` points of a problem, the least power of two, and at least
{ROW_WORDS}, for which the lanes hold `GRID` points: lane `l` those from `l 2^c` on. Block `l` begins at word
`l * GRID_MAX / LANES` of `X`, and `l * GRID_MAX / LANES * STATES_MAX` of `W`, `V` and `POLICY`, and from there holds
what the lane's points have in the order above: state `(x, s)` at word `(x - l 2^c) * STATES + s` of the block. `X` need
not be filled up. If `GRID` is `GRID_MAX` and `STATES` is `STATES_MAX`, this is the order above.

`{COMMAND} --grid 256 --states 2` prints this page for another build. An access beyond a table, one of
the wrong kind, a burst that is not INCR and, while busy, any access of a table answer SLVERR and change nothing; a
write that is refused while busy is flagged in `REFUSED`. [The buses](engineer.md#the-buses) have more rules.
"""


def main(argv: list[str] | None = None) -> int:
    """Print the page, or write the one of the documentation."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--grid", type=int, default=65_536, metavar="N", help="largest N_k (default: %(default)s)")
    parser.add_argument("--states", type=int, default=4, metavar="N", help="largest N_z (default: %(default)s)")
    parser.add_argument("--results", type=int, default=0, metavar="N", help="values kept (default: grid * states)")
    parser.add_argument("--write", action="store_true", help="write docs/registers.md instead of printing")
    given = parser.parse_args(argv)
    try:
        text = page(MachineParameters(given.grid, given.states, given.results))
    except ValueError as error:
        parser.exit(2, f"register_page: {error}\n")
    if given.write:
        PAGE.write_text(text, encoding="ascii")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
