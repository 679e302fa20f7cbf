"""FMUs: model descriptions as frozen values, and loaded binaries with their functions (through FMPy).

This layer knows FMI, but not SSP.
"""
