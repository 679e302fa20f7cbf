"""Systems as drawings: one sheet per system, as its documents place things, and laid out where they do not."""
