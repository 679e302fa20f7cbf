"""Values that functions of ssptool accept and return. Each is loaded at first use."""

from ssptool.public_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
