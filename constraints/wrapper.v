// The machine with the ports that a block design expects.
module beltline_board (
@PORTS@
);
    // Align an address: the machine requires a multiple of the size of a beat, but at most of 8.
    function [2:0] aligned;
        input [2:0] address;
        input [2:0] size;
        aligned = {address[2] & (size < 3'd3), address[1] & (size < 3'd2), address[0] & (size < 3'd1)};
    endfunction

    reg reset = 1'b1;
    always @(posedge clk) reset <= !aresetn;

    beltline machine (
        .clk(clk),
        .rst(reset),
        .interrupt(interrupt),
@PINS@
    );
endmodule
