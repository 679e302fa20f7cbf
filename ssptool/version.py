"""The version, stated here alone: the build reads it from here, and nobody has to look for the package's metadata."""

__version__ = "0.1.0"
