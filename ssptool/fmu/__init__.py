"""FMUs: a model description as frozen values, and a loaded binary with its function table.

This layer knows FMI and nothing of SSP. Both halves go through FMPy.
"""
