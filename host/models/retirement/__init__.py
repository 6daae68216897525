"""Work or retire permanently, after Iskhakov, Jorgensen, Rust and Schjerning: model, closed form and result."""
