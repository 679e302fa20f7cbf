"""Simulations that a program steps."""
