"""Simulate a flat network: plan, initialization, loop solvers, master algorithms, kernel.

This layer works on signals and slots. It does not know XML, terminals or computer networks.
"""
