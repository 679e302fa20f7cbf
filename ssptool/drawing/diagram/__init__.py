"""Diagrams of systems: one sheet per system, with positions from the documents, or a layout if there are none."""
