// The machine as a block design takes it.
module beltline_board (
@PORTS@
);
    // An address for a machine that wants a multiple of the beat's size, or of 8 where that is more.
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
