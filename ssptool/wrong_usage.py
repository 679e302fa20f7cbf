"""Errors of whoever calls, as against those of systems and runs."""


class WrongUsage(Exception):
    """What was asked for by name is not there, or cannot be: a signal, a variant, a format, a rule, the value of a
    parameter. Other words mend it; nothing is wrong with the system. The command line exits with 2.
    """
