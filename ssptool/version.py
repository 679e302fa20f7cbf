"""The version, stated only here. The build reads this file, so that the metadata of the package are not needed."""

__version__ = "0.1.0"
