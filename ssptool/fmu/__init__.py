"""FMUs: model descriptions as frozen values, and loaded binaries with their functions, the latter through FMPy.

This layer knows FMI and nothing of SSP.
"""
