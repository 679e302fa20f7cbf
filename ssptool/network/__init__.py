"""Documents and model descriptions flattened to one `Network`; its dependency graph, blocks and tearing.

This layer knows how the parts of a system depend on each other, and not how anything is solved.
"""
