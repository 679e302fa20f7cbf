"""Recording of the rows of a run in files.

A file can be read at any time while it grows. However the run ends, the file contains the rows that were written.
"""
