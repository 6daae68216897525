"""Engine *assembly line*: a pipelined search for the best candidate (Peri 2019, appendix C), complete or folded."""
