"""Questions about a system: frequency responses, root loci, sensitivities, stability and errors of a coupling.

The names in `__init__.pyi` are public and are loaded at first use.
"""

from ssptool.public_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
