"""Rows on their way from a run to a file: which, how many, in what format, with what beside them.

A file can be read at any time while it grows; whatever ends the run, it holds the rows that were written.
"""
