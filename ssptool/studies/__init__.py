"""Studies of one system: many runs with their points, worker processes, results, plots and reports.

The names in `__init__.pyi` are public and are loaded at first use.
"""

from ssptool.public_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
