"""FMUs: a model description as frozen values, and a loaded binary with its function table.

This layer knows FMI and nothing of SSP. Of FMPy it takes files: the XML Schemas of FMI, and the native logger.
"""
