"""The Aiyagari economy with several types of households."""
