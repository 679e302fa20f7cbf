"""Simulate a flat network: plan, initialization, loop solvers, master algorithms, kernel.

This layer knows signals and slots; XML, terminals and networks of computers are beyond it.
"""
