"""Documents and model descriptions flattened to one `Network`; its dependency graph, blocks and tearing.

This layer finds the dependencies between the parts of a system, but solves no equations.
"""
