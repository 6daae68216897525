"""Generator of the documentation page of registers and table windows: ``python -m beltline.hw.top.register_page``."""

from __future__ import annotations

import argparse
import enum
import sys
from pathlib import Path

from beltline.hw.control.table_sums import TableSums
from beltline.hw.interface.parameters import ROW_WORDS, MachineParameters
from beltline.hw.interface.registers import (
    ENGINE_MEANINGS,
    FLAGS,
    IDENTITY,
    READABLE,
    REGISTERS,
    VERSION,
    WRITABLE,
    Access,
    Table,
)
from beltline.hw.interface.sums import LAW
from beltline.hw.interface.windows import WindowParameters

COMMAND = "python -m beltline.hw.top.register_page"
"""Command that prints the page."""

PAGE = Path(__file__).resolve().parents[2] / "docs" / "registers.md"
"""The page in the documentation."""

ACCESS = {Access.READ: "R", Access.WRITE: "W", Access.READ_WRITE: "RW"}
"""Abbreviations of the kinds of access."""

CONTENT = {
    Table.X: "`X`, the grid of choices. The host fills the words after `GRID` up to the build's grid with `2^63 - 1`, "
    "which no state can afford. With `ENGINE` 4, 5 or 7, the cost of `x'` in state `s`, at word `x' * STATES_MAX + s`; "
    "it must be nondecreasing in `x'`, unless consumption may be negative (`UTILITY_FORM`). With `ENGINE` 7, if `MODE` "
    "asks for updates of prices, the words of state "
    "`STATES_MAX - 1` are what bond `x'` pays, over the discount factor and the return of a safe bond. If bit 21 of "
    "`ENGINE` is set, the second half of the window has the bounds of the choice in each state, in the order of `W`: "
    "the lowest `x'` in bits 0 to 15, the highest in bits 16 to 31. Neither may fall in `x`",
    Table.W: "`W(x, s)`, cash on hand, at word `x * STATES + s`",
    Table.Q: "`beta Q(s, s')`, unsigned with 64 fraction bits, at word `s * STATES_MAX + s'`; on a sweep engine "
    "followed by a [second matrix](#second-matrix-of-q)",
    Table.V: "value, at word `x * STATES + s`: the start value before a run, the result after it; with a horizon, the "
    "results of sweep `t` begin at word `t * GRID * STATES`",
    Table.POLICY: "policy index of the best `x'`, in the order of `V`; the upper bits are 0",
}
"""Contents of the tables."""


def _rows(*rows: tuple[object, ...]) -> str:
    """Return the rows of a Markdown table."""
    return "".join("| " + " | ".join(map(str, row)) + " |\n" for row in rows)


def _table(heads: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    """Return a Markdown table."""
    return _rows(heads, ("---",) * len(heads), *rows)


def _registers() -> str:
    """Return the table of the registers."""
    flagged = {"ENGINE", *(kind.__name__.upper() for kind in FLAGS)}
    rows: list[tuple[object, ...]] = []
    for name, register in REGISTERS.items():
        shown = f"[`{name}`](#{name.lower()})" if name in flagged else f"`{name}`"
        bits = f"{register.bits}{'&nbsp;signed' if register.signed else ''}"
        rows.append((f"`0x{register.offset:03X}`", shown, bits, ACCESS[register.access], register.description))
    return _table(("byte offset", "register", "bits", "access", "what"), rows)


def _flags(kind: type[enum.IntFlag]) -> str:
    """Return the table of the flags of a register."""
    rows: list[tuple[object, ...]] = [
        (flag.bit_length() - 1, f"`{flag.name}`", meaning) for flag, meaning in FLAGS[kind].items()
    ]
    return _table(("bit", "flag", "meaning"), rows)


def _engines() -> str:
    """Return the table of the engines."""
    return _table(("engine", "what it is"), list(ENGINE_MEANINGS.items()))


def _windows(parameters: MachineParameters) -> str:
    """Return the table of the table windows of a build."""
    windows = WindowParameters(parameters)
    rows: list[tuple[object, ...]] = []
    for table in Table:
        access = ("R" if table in READABLE else "") + ("W" if table in WRITABLE else "")
        rows.append(
            (f"`0x{windows.offset(table):07X}`", f"`{table.name}`", f"{windows.words(table):,}", access, CONTENT[table])
        )
    return _table(("byte offset", "table", "words", "access", "what"), rows)


def page(parameters: MachineParameters) -> str:
    """Return the page in Markdown, with the table windows of the build ``parameters``."""
    windows = WindowParameters(parameters)
    flags = "\n".join(f"### `{kind.__name__.upper()}`\n\n{_flags(kind)}" for kind in FLAGS)
    sizes = f"{parameters.grid:,} points, {parameters.states} states and {parameters.results:,} results"
    tables = ", ".join(f"{int(table)} for `{table.name}`" for table in READABLE)
    law = "\n".join(line.strip() for line in LAW.splitlines())
    return f"""\
<!-- Written by `{COMMAND} --write`. -->
# Registers and table windows

This page is printed by `{COMMAND}` from `hw/interface/registers.py` and `hw/interface/windows.py`, which gateware,
driver and benches also use. A driver checks `IDENTITY`, which is 0x{IDENTITY:08X} (ASCII `BLT1`) in every build, and
`VERSION`, which is {VERSION}.

## Registers
The registers are on `s_axi_registers`, AXI4-Lite, a window of 4 KiB. Every register has 32 bits; a longer quantity
takes consecutive registers, low word first. R means read, W write. A setting takes effect with the next `RUN`;
`COMMAND` and `INTERRUPT` take effect immediately. After a reset of the chip all `RW` registers are 0; the command
`RESET` does not change them.

{_registers()}
`UTILITY_A`, `UTILITY_B` and `UTILITY_FORM` are the constants of [utility](design.md#utility-hw-arithmetic-utility-py).

Registers can be read at any time. These accesses are answered with SLVERR and change nothing:

- an address beyond the registers, or not a multiple of 4;
- a write of fewer than 32 bits;
- a write of an R register, or a read of a W register;
- while busy, a write of any register but `COMMAND`; it also sets a flag of `REFUSED`.

## Flags

{flags}
All bits of `STATUS` but `BUSY` describe the run that ended last, and the next run clears them. The bits of `REFUSED`
are cleared by a reset.

## `ENGINE`

{_engines()}
## Sums of tables
With these check sums a host verifies that its words arrived at the device, and that it read the device's words without
error. They are modulo `2^32`. They are 0 after a reset of the chip and are never cleared otherwise, so a host
takes the difference of two readings, each when `SUMMING` is 0.

- `WRITTEN_X`, `WRITTEN_W`, `WRITTEN_Q`, `WRITTEN_V`: sum of all words that were written to the table. The sum includes
  a write {TableSums.SETTLE + 1} clocks after it passed the machine's port. A word that is written twice counts twice; a
  refused write does not count.
- `SUM`: command `SUM` adds `SUM_COUNT` words of table `SUM_TABLE` ({tables}) from word `SUM_FIRST`,
  one in every clock in which the host does not read a table word. Reads of the host do not count, because a wide bus
  may read more words than a host requests, and a narrow bus may read the same word twice. The host must not change
  these registers and the tables until `SUMMING` is 0.

A word has two halves of 32 bits; half 0 is the lower one. Let `x` be a half, with 0 for its bytes without strobe, and
`k = 2 word + half`, to which `2^28`, `2^29`, `2^30` or `2^31` is added for each byte without strobe. The sum of a word
is the sum of the hashes of its halves; a half without any strobe is left out. Every step is modulo `2^32`:

```text
{law}
```

`hw/interface/sums.py` gives the reasons for this hash, and a Python function.

## Table windows
The table windows are on `s_axi_tables`, AXI4. A table is an array of 64-bit words, low byte first. All windows have the
same size, a power of two of at least 4 KiB, and follow each other. In a build for {sizes},
a window has {1 << windows.window_bits:,} bytes, and the bus has {windows.address_bits} address bits:

{_windows(parameters)}
`{COMMAND} --grid 256 --states 2` prints this page for another build. These accesses are
answered with SLVERR and change nothing:

- an access beyond a table;
- a write of an R table, or a read of a W table;
- a burst that is not INCR;
- while busy, any access to a table; a write also sets a flag of `REFUSED`.

[The buses](engineer.md#the-buses) lists more rules.

### Order of words on a sweep engine
On a sweep engine the words of all windows but `Q` are in another order (`hw/interface/layout.py`). A window is divided
into `LANES` equal blocks, one for each lane:

- *Points of a lane*: each lane has `2^c` points of a problem, where `2^c` is the smallest power of two of at least
  {ROW_WORDS} such that all lanes together have at least `GRID` points. Lane `l` has the points from `l 2^c` on.
- *First word of block `l`*: word `l * GRID_MAX / LANES` of `X`, and word `l * GRID_MAX / LANES * STATES_MAX` of `W`,
  `V` and `POLICY`.
- *Inside the block* the words are in the order above: state `(x, s)` is at word `(x - l 2^c) * STATES + s`.

The host need not fill the words of `X` after `GRID`. If `GRID` is `GRID_MAX` and `STATES` is `STATES_MAX`, the order is
that of the assembly line.

### Second matrix of `Q`
On a sweep engine the matrix of window `Q` is followed by a second one of the same size:

| `ENGINE` | content of the second matrix |
| --- | --- |
| not 5 or 7 | the weights of the shifts, `beta Q (I - beta Q)^-1 / 2^12`, in the order of the first matrix |
| 5, 7 | row 0: amounts added to the value of each state. Row 1: marks and candidates, see below. No other row is read |

| bits of a word in row 1 | meaning |
| --- | --- |
| 0 | the state is the first of a group; the maximum of a group enters the expectation |
| 1 | the state is the last of a group |
| 2 | the state keeps its value, and nothing is added to it |
| 3 | with `ENGINE` 7: bonds pay nothing where the alternative of the state is chosen |
| 4 | with `ENGINE` 7: the machine computes the costs of the state and its lowest candidate, if `MODE` says so |
| 16 to 31 | the lowest candidate of the state |
| 32 to 47 | the highest candidate of the state, less than `GRID` and at least the lowest |

The machine chooses among the candidates from the lowest to the highest, in each state, as if the grid had no others.
All bits must be written: with zeros the only candidate is the first point of the grid.
"""


def main(argv: list[str] | None = None) -> int:
    """Print the page, or write it to the documentation; returns the exit code."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--grid", type=int, default=65_536, metavar="N", help="largest N_k (default: %(default)s)")
    parser.add_argument("--states", type=int, default=4, metavar="N", help="largest N_z (default: %(default)s)")
    parser.add_argument(
        "--results", type=int, default=0, metavar="N", help="words of the value memory (default: grid * states)"
    )
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
