"""Write the Verilog of a board's build or of a variation of it.

Command: ``python -m beltline.constraints.board_verilog --board NAME --out DIR``. The other options are those of
:mod:`beltline.hw.top.verilog`; their defaults are those of the board's build.
"""

from __future__ import annotations

import sys

from beltline.constraints.boards import BOARDS, Flow
from beltline.hw.bus.serial_frames import BAUD
from beltline.hw.top.verilog import option_parser, write_build


def main(argv: list[str] | None = None) -> int:
    """Write the Verilog and print the names of the files; returns the exit code."""
    parser = option_parser("python -m beltline.constraints.board_verilog")
    parser.add_argument(
        "--board",
        required=True,
        metavar="NAME",
        help="board whose build gives the defaults of the other options",
    )
    given = parser.parse_args(argv)
    if given.board not in BOARDS:
        parser.exit(2, f"verilog: board must be one of {', '.join(BOARDS)}, not '{given.board}'\n")
    board = BOARDS[given.board]
    return write_build(parser, given, board.machine, BAUD if board.flow is Flow.ECP5 else None)


if __name__ == "__main__":
    sys.exit(main())
