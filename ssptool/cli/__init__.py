"""The command line: parse, call one function of the public API, render, return a status.

Exit status: 0 fine, 1 findings or a failed run, 2 wrong usage, 70 a bug of ssptool, 130 interrupted,
143 terminated.
"""
