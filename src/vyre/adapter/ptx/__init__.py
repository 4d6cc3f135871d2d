"""PTX: read to values, and what can be proved of a kernel in it."""
