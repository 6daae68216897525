"""Work or retire for good, after Iskhakov, Jorgensen, Rust and Schjerning: model, closed form and result."""
