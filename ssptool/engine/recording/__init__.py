"""Recording: from rows of a run to files.

A file can be read at any time while it grows; however the run ends, it holds the rows that were written."""
