"""Chapters of the catalogue. Importing this module enters their rules."""

from ssptool.rules.arrays_and_clocks import CLOCKS, DIMENSIONS
from ssptool.rules.connections import CONNECTIONS, LOOPS
from ssptool.rules.connectors import CONNECTORS
from ssptool.rules.dictionaries import DICTIONARIES
from ssptool.rules.elements import ELEMENTS, EXPERIMENT, TABLES
from ssptool.rules.fmu import FMU_COMPONENTS, FMUS
from ssptool.rules.geometry import GEOMETRY
from ssptool.rules.interoperability import OTHER_TOOLS
from ssptool.rules.metadata import ANNOTATIONS, METADATA
from ssptool.rules.package import ENTRIES
from ssptool.rules.parameters import BINDINGS, MAPPINGS, PARAMETER_SETS
from ssptool.rules.sources import SOURCES
from ssptool.rules.transformations import TRANSFORMATIONS
from ssptool.rules.units import ENUMERATIONS, UNITS
from ssptool.rules.xml import FILES

CHAPTERS = (
    ENTRIES,
    FILES,
    ANNOTATIONS,
    ENUMERATIONS,
    UNITS,
    DIMENSIONS,
    CLOCKS,
    TRANSFORMATIONS,
    METADATA,
    ELEMENTS,
    CONNECTORS,
    CONNECTIONS,
    LOOPS,
    DICTIONARIES,
    BINDINGS,
    PARAMETER_SETS,
    MAPPINGS,
    SOURCES,
    FMU_COMPONENTS,
    TABLES,
    FMUS,
    GEOMETRY,
    EXPERIMENT,
    OTHER_TOOLS,
)
"""In the order of the standard."""
