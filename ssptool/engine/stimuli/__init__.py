"""Inputs from outside a system, and scenarios."""
