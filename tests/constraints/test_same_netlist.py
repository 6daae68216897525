"""The comparison of two designs up to names: differences that it finds, and those that it ignores."""

from __future__ import annotations

from pathlib import Path

import pytest

from beltline.constraints.same_netlist import differences, flattened, main

DESIGN = """
module inner(input clk, input [3:0] a, output reg [3:0] q = 5);
    always @(posedge clk) q <= a + 4'd1;
endmodule

module top(input clk, input [3:0] a, input [3:0] b, input s, output [3:0] q, output [3:0] word);
    wire [3:0] first;
    reg [3:0] second;
    reg [3:0] words [0:7];
    reg [3:0] read;
    inner one(.clk(clk), .a(s ? a : b), .q(first));
    always @(posedge clk) begin
        second <= first;
        if (s) words[a[2:0]] <= b;
        read <= words[b[2:0]];
    end
    assign q = second;
    assign word = read;
endmodule
"""

FLAT = """
module top(input clk, input [3:0] a, input [3:0] b, input s, output [3:0] q, output reg [3:0] word);
    reg [3:0] early = 5, late, table_[0:7];
    wire [3:0] chosen = s ? a : b;
    assign q = late;
    always @(posedge clk) {late, early} <= {early, chosen + 4'd1};
    always @(posedge clk) word <= table_[b[2:0]];
    always @(posedge clk) if (s) table_[a[2:0]] <= b;
endmodule
"""

pytestmark = pytest.mark.gateware


def compare(new: str, old: str = DESIGN) -> list[str]:
    return differences(flattened({"top.v": old}, "top"), flattened({"top.v": new}, "top"))


def test_names_and_hierarchy_do_not_count() -> None:
    assert compare(DESIGN) == []
    assert compare(DESIGN.replace("inner", "other").replace("second", "held")) == []


@pytest.mark.parametrize(
    ("was", "now", "ports"),
    [
        ("s ? a : b", "s ? b : a", "q"),
        ("q = 5", "q = 4", "q"),
        ("second <= first", "second <= {first[2:0], first[3]}", "q"),
        ("words[b[2:0]]", "words[a[2:0]]", "word"),
        ("if (s) words", "if (!s) words", "word"),
        ("assign word = read", "assign word = ~read", "word"),
    ],
)
def test_what_a_port_shows_counts(was: str, now: str, ports: str) -> None:
    assert was in DESIGN
    assert compare(DESIGN.replace(was, now))[0] == f"output ports are not the same: {ports}"


def test_a_duplicated_register_counts() -> None:
    once = DESIGN.replace("q = second", "q = second & {second[0], second[3:1]}")
    twice = DESIGN.replace("reg [3:0] second;", "reg [3:0] second, copy;")
    twice = twice.replace("second <= first;", "second <= first; copy <= first;").replace(
        "q = second", "q = second & {copy[0], copy[3:1]}"
    )
    assert compare(twice, once) == ["only in NEW: 4 $_DFF_P_"]
    assert compare(once, twice) == ["only in OLD: 4 $_DFF_P_"]


def test_ports_must_be_the_same() -> None:
    wider = DESIGN.replace("output [3:0] word", "output [4:0] word")
    assert compare(wider) == ["ports are not the same: output word"]


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("old", DESIGN), ("new", FLAT), ("wrong", FLAT.replace("4'd1", "4'd2"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "design.v").write_text(text, encoding="ascii")
    old, new, wrong = (str(tmp_path / name) for name in ("old", "new", "wrong"))
    assert main([old, f"{new}/design.v", "--top", "top"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("top: the same, ")
    assert said.endswith(" of them flip-flops\n")
    assert main([old, wrong, "--top", "top"]) == 1
    assert capsys.readouterr().out.startswith("top: output ports are not the same: q\n")
    with pytest.raises(SystemExit) as ended:
        main([old, new, "--top", "nothing"])
    assert ended.value.code == 1
    with pytest.raises(SystemExit) as ended:
        main([old, str(tmp_path / "nowhere"), "--top", "top"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith(f"same_netlist: no Verilog in '{tmp_path / 'nowhere'}'\n")
