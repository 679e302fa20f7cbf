"""Systems as drawings: one sheet per system, with the positions of its documents, or laid out if they state none."""
