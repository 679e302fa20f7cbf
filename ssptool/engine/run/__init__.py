"""Initialized and coupled systems, stepped to the stop time."""
